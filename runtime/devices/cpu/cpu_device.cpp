// The CPU device: calls kernels from the plan's code on the executor's
// threads. Workgroups are claimed one at a time from a counter, so threads
// that are slow or late take fewer; which thread takes which never shows in
// the result, because the boxes are fixed by grid and tile.
#include "runtime/devices/device.h"

#include "runtime/base/fp_state.h"
#include "runtime/platform/platform.h"
#include "runtime/threads/executor.h"

#include <atomic>
#include <string.h>

namespace stint {
namespace {

// Kernels have no prologue of the compiler's for it to check.
#if defined(__clang__)
#define STINT_CALLS_PLAN_CODE __attribute__((no_sanitize("function")))
#else
#define STINT_CALLS_PLAN_CODE
#endif

struct alignas(64) Work {
  const DispatchCall &call;
  int64_t counts[3];
  uint64_t total;
  alignas(64) std::atomic<uint64_t> next{0};
  // The first reason to stop: a status code, and a kernel's answer.
  std::atomic<int32_t> stopped{STINT_OK};
  std::atomic<int32_t> answer{0};

  // False if somebody else was first.
  bool stop(int32_t code) {
    int32_t running = STINT_OK;
    return stopped.compare_exchange_strong(running, code);
  }
};

// The box of workgroup `index`: axis 2 varies fastest.
void setBox(const Work &work, uint64_t index, stint_workgroup *group) {
  for (int axis = 2; axis >= 0; --axis) {
    uint64_t count = static_cast<uint64_t>(work.counts[axis]);
    int64_t tile = work.call.tile[axis], grid = work.call.grid[axis];
    int64_t begin = static_cast<int64_t>(index % count) * tile;
    index /= count;
    group->begin[axis] = begin;
    group->end[axis] = tile < grid - begin ? begin + tile : grid;
  }
}

STINT_CALLS_PLAN_CODE void runWorkgroups(void *argument, uint32_t thread) {
  Work &work = *static_cast<Work *>(argument);
  const DispatchCall &call = work.call;
  stint_workgroup group;
  group.scratch = call.scratch + thread * call.scratchStride;
  group.scratch_size = call.scratchSize;
  int64_t begin = 0;
  uint64_t done = 0;
  FpState state;
  while (work.stopped.load(std::memory_order_relaxed) == STINT_OK) {
    uint64_t index = work.next.fetch_add(1, std::memory_order_relaxed);
    if (index >= work.total)
      break;
    if (stint_status_code code = call.stop->check()) {
      work.stop(code);
      break;
    }
    if (call.records && done == 0)
      begin = platform::clock();
    setBox(work, index, &group);
    int32_t answer = call.kernel(call.arguments, &group);
    ++done;
    if (answer != 0 && work.stop(STINT_STATUS_KERNEL_FAILED))
      work.answer.store(answer, std::memory_order_relaxed);
  }
  if (call.records && done)
    call.records[thread] = {begin, platform::clock(), done};
}

Status dispatch(const DispatchCall &call) {
  Work work{call, {}, 0};
  if (!countWorkgroups(call, work.counts, &work.total))
    return malformed("%o has a grid that can't be cut into workgroups");
  uint64_t threads = call.threads < work.total ? call.threads : work.total;
  parallel(call.executor, static_cast<uint32_t>(threads), runWorkgroups, &work);
  switch (work.stopped.load(std::memory_order_relaxed)) {
  case STINT_OK:
    return success();
  case STINT_STATUS_CANCELLED:
    return failure(STINT_STATUS_CANCELLED, "the run was cancelled");
  case STINT_STATUS_DEADLINE:
    return failure(STINT_STATUS_DEADLINE, "the run met its deadline");
  default:
    return failure(STINT_STATUS_KERNEL_FAILED, "the kernel of %o returned %a",
                   work.answer.load(std::memory_order_relaxed));
  }
}

Status copy(void *to, const void *from, uint64_t bytes) {
  if (bytes)
    memmove(to, from, bytes);
  return success();
}

Status finish() { return success(); }

} // namespace

const Device cpuDevice = {"cpu", true, dispatch, copy, finish};

} // namespace stint
