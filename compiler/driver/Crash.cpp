// Crash: see the header of that name.
#include "compiler/driver/Crash.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/thread.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

using namespace stint;

static void say(const char *text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
    return; // nothing left to tell
}

/// Removes temporary files and leaves. Safe in a signal handler.
[[noreturn]] static void leave() {
  llvm::sys::RunInterruptHandlers();
  _exit(1);
}

static void onSignal(int number) {
  say("stint: internal error (");
  say(number == SIGSEGV || number == SIGBUS ? "bad memory access or stack exhausted"
      : number == SIGABRT                   ? "a failed assertion"
                                            : "an illegal operation");
  say("): this is a bug of stint; please report it with the model\n");
  leave();
}

static void onFatalError(void *, const char *reason, bool) {
  say("stint: internal error: ");
  say(reason);
  say(": this is a bug of stint; please report it with the model\n");
  leave();
}

static void onNoMemory() {
  say("stint: out of memory: the model, or what its sizes ask for, is too large for this machine\n");
  leave();
}

/// Signals are handled on a stack of their own: the thread's may be used up.
static void useAlternateStack() {
  constexpr size_t kSize = 64 << 10;
  stack_t stack = {};
  stack.ss_sp = std::malloc(kSize); // kept for as long as the thread runs
  stack.ss_size = kSize;
  if (stack.ss_sp)
    sigaltstack(&stack, nullptr);
}

void driver::installCrashHandlers() {
  useAlternateStack();
  // LLVM installs its own handlers when it is first told of a temporary file:
  // they have to be there before ours replace them.
  llvm::sys::RemoveFileOnSignal("");
  llvm::sys::DontRemoveFileOnSignal("");
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK;
  for (int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    sigaction(number, &action, nullptr);
  llvm::install_fatal_error_handler(onFatalError);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { onNoMemory(); });
  std::set_new_handler(onNoMemory);
}

void driver::runOnDeepStack(llvm::function_ref<void()> work) {
  constexpr unsigned kStack = 256u << 20; // address space, not memory
  llvm::thread thread(std::optional<unsigned>(kStack), [&] {
    useAlternateStack();
    work();
  });
  thread.join();
}
