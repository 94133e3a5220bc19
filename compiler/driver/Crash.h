// The last net: a bug in the compiler, or in LLVM, ends the process with exit
// code 1 and a message, never with a core dump, and leaves no file behind.
#ifndef STINT_COMPILER_DRIVER_CRASH_H
#define STINT_COMPILER_DRIVER_CRASH_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace stint::driver {

/// Call once, before any work.
void installCrashHandlers();

/// Runs `work` on a thread of its own with a deep stack that a signal handler
/// survives the end of, and waits for it.
void runOnDeepStack(llvm::function_ref<void()> work);

} // namespace stint::driver

#endif
