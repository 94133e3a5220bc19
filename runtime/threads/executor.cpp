// Worker threads with one word each: idle, work, parked or quit. Publishing a
// task is one exchange per worker; who was parked is woken through a futex.
// Waiting spins briefly, because a model's dispatches follow each other within
// microseconds, then parks; with more threads than CPUs nobody spins.
#include "runtime/threads/executor.h"

#include "runtime/base/fp_state.h"
#include "runtime/base/options.h"
#include "runtime/platform/platform.h"

#include <atomic>
#include <new>

using namespace stint;

namespace {

enum WorkerState : uint32_t { idle, work, parked, quit };
constexpr int64_t spinNanoseconds = 50000;
// Set in `unfinished` while the publisher sleeps on it.
constexpr uint32_t publisherParked = 0x80000000u;

// A cache line each: only its own thread and the publisher touch it.
struct alignas(64) Worker {
  std::atomic<uint32_t> state{idle};
  uint32_t index = 0;
  int32_t cpu = -1;
  bool pinned = true;
  stint_executor *executor = nullptr;
  platform::Thread thread;
};

} // namespace

struct alignas(64) stint_executor {
  std::atomic<uint32_t> references{1};
  uint32_t threads = 1;
  uint32_t started = 0; // workers with a thread
  int32_t firstCpu = -1;
  bool spins = false;
  stint_parallel_for parallelFor = nullptr;
  void *parallelForUser = nullptr;
  std::atomic<bool> busy{false};
  // The task being worked on.
  Task task = nullptr;
  void *argument = nullptr;
  std::atomic<uint32_t> unfinished{0};
  Worker *workers = nullptr; // threads - 1, behind this; the caller is none

  static uint64_t bytes(uint32_t threads) { return sizeof(stint_executor) + uint64_t(threads) * sizeof(Worker); }
};

namespace {

// Spins while word == value, up to the limit; true if it changed.
bool spinWhile(std::atomic<uint32_t> &word, uint32_t value) {
  int64_t limit = 0;
  for (uint32_t i = 1;; ++i) {
    if (word.load(std::memory_order_acquire) != value)
      return true;
    cpuRelax();
    if (i % 64 != 0)
      continue;
    int64_t now = platform::clock();
    limit = limit ? limit : now + spinNanoseconds;
    if (now >= limit)
      return false;
  }
}

// Until there is something to do: `work` or `quit`.
uint32_t awaitWork(Worker &worker) {
  for (;;) {
    uint32_t state = worker.state.load(std::memory_order_acquire);
    if (state == work || state == quit)
      return state;
    if (state == idle) {
      if (worker.executor->spins && spinWhile(worker.state, idle))
        continue;
      if (!worker.state.compare_exchange_strong(state, parked, std::memory_order_acq_rel))
        continue;
    }
    platform::park(&worker.state, parked);
  }
}

void finishOne(stint_executor *executor) {
  uint32_t before = executor->unfinished.fetch_sub(1, std::memory_order_acq_rel);
  if (before == (publisherParked | 1))
    platform::unpark(&executor->unfinished);
}

void *workerMain(void *pointer) {
  Worker &worker = *static_cast<Worker *>(pointer);
  stint_executor *executor = worker.executor;
  if (worker.cpu >= 0)
    worker.pinned = platform::pinCaller(static_cast<uint32_t>(worker.cpu)).ok();
  finishOne(executor); // started
  while (awaitWork(worker) == work) {
    executor->task(executor->argument, worker.index);
    worker.state.store(idle, std::memory_order_release);
    finishOne(executor);
  }
  return nullptr;
}

void wake(Worker &worker, WorkerState state) {
  if (worker.state.exchange(state, std::memory_order_acq_rel) == parked)
    platform::unpark(&worker.state);
}

// Until `unfinished` is zero.
void awaitWorkers(stint_executor *executor) {
  std::atomic<uint32_t> &word = executor->unfinished;
  for (;;) {
    uint32_t left = word.load(std::memory_order_acquire);
    if ((left & ~publisherParked) == 0)
      break;
    if (!(left & publisherParked)) {
      if (executor->spins && spinWhile(word, left))
        continue;
      if (!word.compare_exchange_strong(left, left | publisherParked, std::memory_order_acq_rel))
        continue;
      left |= publisherParked;
    }
    platform::park(&word, left);
  }
  word.store(0, std::memory_order_relaxed);
}

void destroy(stint_executor *executor) {
  for (uint32_t i = 0; i < executor->started; ++i)
    wake(executor->workers[i], quit);
  for (uint32_t i = 0; i < executor->started; ++i)
    platform::joinThread(&executor->workers[i].thread);
  platform::free(executor, stint_executor::bytes(executor->threads));
}

Status startWorkers(stint_executor *executor, const uint32_t *cpus, uint32_t cpuCount) {
  for (uint32_t i = 0; i + 1 < executor->threads; ++i) {
    Worker &worker = *new (&executor->workers[i]) Worker;
    worker.index = i + 1;
    worker.executor = executor;
    if (cpuCount)
      worker.cpu = static_cast<int32_t>(cpus[(i + 1) % cpuCount]);
    executor->unfinished.fetch_add(1, std::memory_order_relaxed);
    Status status = platform::startThread(&worker.thread, workerMain, &worker);
    if (!status.ok()) {
      executor->unfinished.fetch_sub(1, std::memory_order_relaxed);
      awaitWorkers(executor);
      return status;
    }
    ++executor->started;
  }
  awaitWorkers(executor);
  for (uint32_t i = 0; i < executor->started; ++i)
    if (!executor->workers[i].pinned)
      return failure(STINT_STATUS_INVALID_ARGUMENT, "this process may not run on CPU %a", executor->workers[i].cpu);
  return success();
}

Status create(const stint_executor_options &options, stint_executor **result) {
  uint32_t usable = platform::usableCpus();
  uint32_t threads = options.threads;
  if (options.cpu_count && !options.cpus)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "a count of %a CPUs without a list", options.cpu_count);
  for (uint32_t i = 0; i < options.cpu_count; ++i)
    if (options.cpus[i] > INT32_MAX)
      return failure(STINT_STATUS_INVALID_ARGUMENT, "this process may not run on CPU %a", options.cpus[i]);
  if (threads == 0)
    threads = options.cpu_count ? options.cpu_count : usable;
  if (threads > maxThreads && options.threads)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "%a threads wanted, the most is %b", threads, maxThreads);
  threads = threads < maxThreads ? threads : maxThreads;

  uint64_t bytes = stint_executor::bytes(threads);
  void *memory = platform::allocate(bytes);
  if (!memory)
    return outOfMemory(bytes);
  auto *executor = new (memory) stint_executor;
  executor->workers = reinterpret_cast<Worker *>(executor + 1);
  executor->threads = threads;
  executor->spins = threads <= usable;
  executor->parallelFor = options.parallel_for;
  executor->parallelForUser = options.parallel_for_user;
  if (options.cpu_count)
    executor->firstCpu = static_cast<int32_t>(options.cpus[0]);
  if (!options.parallel_for) {
    Status status = startWorkers(executor, options.cpus, options.cpu_count);
    if (!status.ok()) {
      destroy(executor);
      return status;
    }
  }
  *result = executor;
  return success();
}

} // namespace

void stint::parallel(stint_executor *executor, uint32_t count, Task task, void *argument) {
  bool shared = executor && count > 1 && !executor->busy.exchange(true, std::memory_order_acquire);
  if (!shared) {
    for (uint32_t i = 0; i < count; ++i)
      task(argument, i);
    return;
  }
  if (executor->parallelFor) {
    executor->parallelFor(executor->parallelForUser, count, task, argument);
  } else {
    executor->task = task;
    executor->argument = argument;
    executor->unfinished.store(count - 1, std::memory_order_relaxed);
    for (uint32_t i = 0; i + 1 < count; ++i)
      wake(executor->workers[i], work);
    task(argument, 0);
    awaitWorkers(executor);
  }
  executor->busy.store(false, std::memory_order_release);
}

extern "C" {

stint_status stint_executor_create(const stint_executor_options *given, stint_executor **executor) {
  if (!executor)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "no place for the executor").value;
  *executor = nullptr;
  stint_executor_options options;
  Status status = readOptions(given, &options);
  if (status.ok())
    status = create(options, executor);
  return status.value;
}

uint32_t stint_executor_threads(const stint_executor *executor) { return executor ? executor->threads : 1; }

stint_status stint_executor_pin_caller(stint_executor *executor) {
  if (!executor || executor->firstCpu < 0)
    return success().value;
  return platform::pinCaller(static_cast<uint32_t>(executor->firstCpu)).value;
}

void stint_executor_retain(stint_executor *executor) {
  if (executor)
    executor->references.fetch_add(1, std::memory_order_relaxed);
}

void stint_executor_release(stint_executor *executor) {
  if (executor && executor->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(executor);
}

} // extern "C"
