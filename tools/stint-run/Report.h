// What stint-run says and how it ends.
//
// Text that comes from files (names of inputs, messages) passes through here,
// so that a hostile plan can't send control sequences to a terminal.
#ifndef STINT_TOOLS_STINT_RUN_REPORT_H
#define STINT_TOOLS_STINT_RUN_REPORT_H

#include "stint/stint.h"

#include <cstddef>

namespace stint_run {

// The exit codes that scripts depend on.
enum Exit {
  ExitDone = 0,
  ExitFailed = 1,      // the work failed
  ExitUsage = 2,       // wrong usage
  ExitUnsupported = 3, // sound, but not for this machine or this program
  ExitMalformed = 4    // a file is damaged or isn't what it should be
};

// Prints one line to stderr, headed by the program's name; returns `code`.
[[nodiscard]] int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Reports a status of the library, with `what` was being done. `model` may be
// null. The exit code follows from the status.
[[nodiscard]] int failStatus(const stint_status &status, const stint_model *model, const char *what);

// Prints to stdout.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Flushes stdout; ExitFailed with a message if what was said got lost.
[[nodiscard]] int flush();

} // namespace stint_run

#endif
