// Messages of stint-run: formatting, cleaning of control characters, and the
// one mapping from library status to exit code.
#include "Report.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <errno.h>

namespace stint_run {

namespace {

// Longer lines are cut: names of thousands of characters help nobody.
enum { LineSize = 4096 };

void clean(char *text) {
  for (; *text; ++text) {
    unsigned char c = static_cast<unsigned char>(*text);
    if ((c < 0x20 && c != '\n') || c == 0x7f)
      *text = '?';
  }
}

} // namespace

int fail(int code, const char *format, ...) {
  char line[LineSize];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  clean(line);
  fflush(stdout);
  fprintf(stderr, "stint-run: error: %s\n", line);
  return code;
}

int failStatus(const stint_status &status, const stint_model *model, const char *what) {
  char text[1024];
  stint_status_format(&status, model, text, sizeof text);
  const char *advice = "";
  int code = ExitFailed;
  switch (status.code) {
  case STINT_STATUS_MALFORMED:
    code = ExitMalformed;
    advice = " (copy the file again, or compile it again)";
    break;
  case STINT_STATUS_UNSUPPORTED:
    code = ExitUnsupported;
    break;
  case STINT_STATUS_NOT_FOUND:
    code = ExitUsage;
    break;
  case STINT_STATUS_IO:
    if (status.a > 0 && status.a < 4096)
      return fail(code, "%s: %s (%s)", what, text, strerror(static_cast<int>(status.a)));
    break;
  case STINT_STATUS_OUT_OF_MEMORY:
    advice = " (declare smaller shapes, fewer threads, or free memory)";
    break;
  case STINT_STATUS_DEADLINE:
    advice = " (raise --timeout-ms)";
    break;
  default:
    break;
  }
  return fail(code, "%s: %s%s", what, text, advice);
}

void say(const char *format, ...) {
  char line[LineSize];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  clean(line);
  fputs(line, stdout);
}

int flush() {
  if (fflush(stdout) || ferror(stdout))
    return fail(ExitFailed, "can't write to standard output: %s", strerror(errno));
  return ExitDone;
}

} // namespace stint_run
