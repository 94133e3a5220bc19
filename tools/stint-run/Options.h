// The command line of stint-run, parsed by hand: the device program uses no
// library.
#ifndef STINT_TOOLS_STINT_RUN_OPTIONS_H
#define STINT_TOOLS_STINT_RUN_OPTIONS_H

#include <cstdint>

namespace stint_run {

// A list of strings that point into the command line.
struct Texts {
  const char **items = nullptr;
  uint32_t count = 0;
};

struct Options {
  const char *plan = nullptr;
  Texts inputs, outputs, shapes; // as given: NAME=VALUE or VALUE
  const char *variant = nullptr;
  const char *device = nullptr;
  const char *entry = nullptr;
  const char *trace = nullptr; // --profile
  uint32_t threads = 0;        // 0: what the machine gives
  uint32_t *cpus = nullptr;
  uint32_t cpuCount = 0;
  uint32_t bench = 0; // timed runs; 0: none
  int64_t timeoutMs = 0;
  int32_t verify = 0;    // enum stint_verify
  bool sequence = false; // inputs have a dimension of runs in front
  bool json = false, info = false, help = false, version = false;

  Options() = default;
  ~Options();
  Options(const Options &) = delete;
  Options &operator=(const Options &) = delete;
};

// Exit code; every mistake is named.
[[nodiscard]] int parseOptions(int argc, char **argv, Options *options);

void printHelp();

// "1x3x48x320" (also with commas) -> dimensions. False if it isn't that or
// has more than `limit` dimensions. "scalar" is rank 0.
[[nodiscard]] bool parseShape(const char *text, uint32_t limit, uint32_t *rank, int64_t *dims);

} // namespace stint_run

#endif
