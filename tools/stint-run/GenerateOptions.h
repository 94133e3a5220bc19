// The command line of `stint-run generate`: its own options; the others
// (--threads, --variant, …) are Options.
#ifndef STINT_TOOLS_STINT_RUN_GENERATEOPTIONS_H
#define STINT_TOOLS_STINT_RUN_GENERATEOPTIONS_H

#include "Options.h"
#include "stint/stint.h"

namespace stint_run {

struct GenerateOptions {
  Options common;
  const char *prompt = nullptr, *promptFile = nullptr, *tokens = nullptr, *system = nullptr;
  const char *saveState = nullptr, *loadState = nullptr;
  bool chat = false, json = false, ignoreEnd = false, help = false;
  uint32_t maxTokens = 256;
  stint_sampling sampling = {};
  Texts stops; // point into the command line

  GenerateOptions();
  ~GenerateOptions();
  GenerateOptions(const GenerateOptions &) = delete;
  GenerateOptions &operator=(const GenerateOptions &) = delete;
};

// Exit code; every mistake is named. argv[0] is "generate".
[[nodiscard]] int parseGenerateOptions(int argc, char **argv, GenerateOptions *options);

void printGenerateHelp();

} // namespace stint_run

#endif
