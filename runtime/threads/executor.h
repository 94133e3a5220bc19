// Executor: threads that work on one dispatch at a time.
#ifndef STINT_RUNTIME_THREADS_EXECUTOR_H
#define STINT_RUNTIME_THREADS_EXECUTOR_H

#include "runtime/base/status.h"

#include <cstdint>

namespace stint {

constexpr uint32_t maxThreads = 256;

using Task = void (*)(void *argument, uint32_t index);

// Calls task(argument, i) for i in [0, count) at once as far as may be, on
// executor threads; returns when all have returned. The caller runs index 0.
// A null executor, a count of 1, or an executor that another session is
// using: all of them on the calling thread, one after another. `count` is at
// most stint_executor_threads. A task must do whatever is left when it is
// called, so that it doesn't matter who runs when.
void parallel(stint_executor *executor, uint32_t count, Task task, void *argument);

} // namespace stint

#endif
