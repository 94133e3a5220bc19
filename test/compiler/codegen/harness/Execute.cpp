// Buffers between inaccessible pages, signals caught, bytes around checked.
#include "test/compiler/codegen/harness/Execute.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace stint::test;

static constexpr uint64_t kPage = 4096;
static constexpr int kGuardByte = 0xA5;
static constexpr unsigned kSecondsPerJob = 60;

namespace {
/// One accessible range between two inaccessible pages, and data inside it.
struct Region {
  char *mapping = nullptr;
  uint64_t mappedBytes = 0, usableBytes = 0, size = 0;
  char *data = nullptr;

  char *usable() const { return mapping + kPage; }

  bool make(uint64_t bytes, uint32_t placement, uint32_t elementBytes) {
    size = bytes;
    uint64_t slack = placement == kOdd ? 64 + elementBytes : 0;
    usableBytes = (bytes + slack + kPage) / kPage * kPage;
    mappedBytes = usableBytes + 2 * kPage;
    void *memory = mmap(nullptr, mappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    mapping = static_cast<char *>(memory);
    if (mprotect(usable(), usableBytes, PROT_READ | PROT_WRITE))
      return false;
    memset(usable(), kGuardByte, usableBytes);
    data = placement == kAtEnd ? usable() + usableBytes - bytes : usable() + slack;
    return true;
  }
  bool intact() const {
    for (const char *p = usable(); p < data; ++p)
      if (*p != static_cast<char>(kGuardByte))
        return false;
    for (const char *p = data + size; p < usable() + usableBytes; ++p)
      if (*p != static_cast<char>(kGuardByte))
        return false;
    return true;
  }
  void release() {
    if (mapping)
      munmap(mapping, mappedBytes);
  }
};

struct Parts {
  const int64_t *dims;
  const JobBuffer *buffers;
  const JobBox *boxes;
  const char *operands;
  explicit Parts(const JobHeader *job)
      : dims(reinterpret_cast<const int64_t *>(job + 1)),
        buffers(reinterpret_cast<const JobBuffer *>(dims + job->dimCount)),
        boxes(reinterpret_cast<const JobBox *>(buffers + job->bufferCount)),
        operands(reinterpret_cast<const char *>(boxes + job->boxCount)) {}
};
} // namespace

uint64_t stint::test::outcomeBytes(const JobHeader *job) {
  Parts parts(job);
  uint64_t bytes = sizeof(JobOutcome);
  for (uint32_t i = 0; i < job->bufferCount; ++i)
    if (parts.buffers[i].isResult)
      bytes += padTo8(parts.buffers[i].size);
  return bytes;
}

// A kernel that faults, divides by zero or does not end comes back here.

static sigjmp_buf afterSignal;
static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGALRM};
static constexpr int kSignalCount = sizeof kSignals / sizeof *kSignals;

static void onSignal(int number) { siglongjmp(afterSignal, number); }

static void callAll(const JobHeader *job, const Parts &parts, stint_kernel kernel, const stint_dispatch *dispatch,
                    char *scratch, JobOutcome *outcome) {
  // The handlers' own stack: the kernel may have used up the thread's.
  static char handlerStack[64 * 1024];
  stack_t stack = {}, oldStack;
  stack.ss_sp = handlerStack;
  stack.ss_size = sizeof handlerStack;
  sigaltstack(&stack, &oldStack);
  struct sigaction action = {}, old[kSignalCount];
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < kSignalCount; ++i)
    sigaction(kSignals[i], &action, &old[i]);
  alarm(kSecondsPerJob);
  if (int number = sigsetjmp(afterSignal, 1)) {
    outcome->status = kJobSignal;
    outcome->detail = number;
  } else {
    for (uint64_t i = 0; i < job->boxCount && outcome->status == kJobRan; ++i) {
      stint_workgroup workgroup;
      memcpy(workgroup.begin, parts.boxes[i].begin, sizeof workgroup.begin);
      memcpy(workgroup.end, parts.boxes[i].end, sizeof workgroup.end);
      workgroup.scratch = scratch;
      workgroup.scratch_size = job->scratch;
      memset(scratch, static_cast<int>(job->poison), job->scratch);
      if (int32_t code = kernel(dispatch, &workgroup)) {
        outcome->status = kJobFailed;
        outcome->detail = code;
      }
    }
  }
  alarm(0);
  for (int i = 0; i < kSignalCount; ++i)
    sigaction(kSignals[i], &old[i], nullptr);
  sigaltstack(&oldStack, nullptr);
}

void stint::test::execute(const JobHeader *job, const char *code, JobOutcome *outcome) {
  Parts parts(job);
  outcome->outcomeBytes = outcomeBytes(job);
  outcome->status = kJobRan;
  outcome->detail = 0;
  auto *regions = static_cast<Region *>(calloc(job->bufferCount + 1, sizeof(Region)));
  auto *buffers = static_cast<stint_kernel_buffer *>(calloc(job->bufferCount + 1, sizeof(stint_kernel_buffer)));
  Region &scratch = regions[job->bufferCount];
  bool made = scratch.make(job->scratch + (64 - job->scratch % 64) % 64, kAtEnd, 64);

  const char *bytes = parts.operands;
  for (uint32_t i = 0; i < job->bufferCount && made; ++i) {
    const JobBuffer &buffer = parts.buffers[i];
    if (buffer.isResult && buffer.sharesWith >= 0) {
      buffers[i] = {regions[buffer.sharesWith].data, buffer.size};
      continue;
    }
    made = regions[i].make(buffer.size, job->placement, buffer.elementBytes);
    if (!made)
      break;
    if (buffer.isResult) {
      memset(regions[i].data, static_cast<int>(job->poison), buffer.size);
    } else {
      memcpy(regions[i].data, bytes, buffer.size);
      bytes += padTo8(buffer.size);
    }
    buffers[i] = {regions[i].data, buffer.size};
  }

  if (made) {
    memset(scratch.data, kGuardByte, scratch.size);
    stint_dispatch dispatch = {buffers, parts.dims, job->bufferCount, job->dimCount};
    callAll(job, parts, reinterpret_cast<stint_kernel>(const_cast<char *>(code) + job->entry), &dispatch, scratch.data,
            outcome);
  } else {
    outcome->status = kJobNoMemory;
  }

  if (outcome->status == kJobRan) {
    for (uint64_t i = job->scratch; i < scratch.size; ++i)
      if (scratch.data[i] != static_cast<char>(kGuardByte))
        outcome->status = kJobWroteAfterScratch;
    if (!scratch.intact())
      outcome->status = kJobWroteAfterScratch;
    bytes = parts.operands;
    for (uint32_t i = 0; i < job->bufferCount; ++i) {
      const JobBuffer &buffer = parts.buffers[i];
      if (regions[i].mapping && !regions[i].intact()) {
        outcome->status = kJobWroteOutside;
        outcome->detail = static_cast<int32_t>(i);
      }
      if (buffer.isResult)
        continue;
      bool shared = false;
      for (uint32_t j = 0; j < job->bufferCount; ++j)
        shared |= parts.buffers[j].isResult && parts.buffers[j].sharesWith == i;
      if (!shared && memcmp(regions[i].data, bytes, buffer.size) != 0) {
        outcome->status = kJobChangedOperand;
        outcome->detail = static_cast<int32_t>(i);
      }
      bytes += padTo8(buffer.size);
    }
    char *out = reinterpret_cast<char *>(outcome + 1);
    for (uint32_t i = 0; i < job->bufferCount; ++i)
      if (parts.buffers[i].isResult) {
        memcpy(out, buffers[i].data, buffers[i].size);
        out += padTo8(buffers[i].size);
      }
  }
  for (uint32_t i = 0; i <= job->bufferCount; ++i)
    regions[i].release();
  free(regions);
  free(buffers);
}

const char *stint::test::mapCode(const void *bytes, uint64_t size) {
  void *memory = mmap(nullptr, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  memcpy(memory, bytes, size);
  if (mprotect(memory, size + 1, PROT_READ | PROT_EXEC))
    return nullptr;
  char *code = static_cast<char *>(memory);
  __builtin___clear_cache(code, code + size);
  return code;
}

void stint::test::unmapCode(const char *code, uint64_t size) { munmap(const_cast<char *>(code), size + 1); }
