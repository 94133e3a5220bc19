// One run of `stint-run generate`.
#ifndef STINT_TOOLS_STINT_RUN_GENERATE_H
#define STINT_TOOLS_STINT_RUN_GENERATE_H

#include "GenerateOptions.h"
#include "Job.h"
#include "TextStream.h"

namespace stint_run {

struct Generation {
  const GenerateOptions *options = nullptr;
  Job job;
  stint_decoder_info decoder = {};
  stint_generator *generator = nullptr;
  uint64_t sequence = 0; // 0: none yet
  bool hasText = false;  // the plan holds a tokenizer
  uint32_t stopIds[2];
  uint32_t stopCount = 0;
  TextStream stream;
  // What was written of the answer.
  char *answer = nullptr;
  size_t answerSize = 0, answerRoom = 0;
  const volatile int32_t *interrupted = nullptr;
  // Of the answer that is being written; times on stint_clock_ns.
  uint32_t promptTokens = 0, generated = 0;
  int64_t begin = 0, first = 0, last = 0;
  int32_t finish = 0; // enum stint_finish

  Generation() = default;
  ~Generation();
  Generation(const Generation &) = delete;
  Generation &operator=(const Generation &) = delete;
};

// A list of token ids.
struct Ids {
  Buffer memory;
  size_t count = 0;
  uint32_t *data() const { return reinterpret_cast<uint32_t *>(memory.data()); }
};

// Exit codes; they say what is wrong.

// Prompt.cpp: the prompt of the command line as ids, none if there is none; and
// a chat read from the standard input, an answer a line.
[[nodiscard]] int readPrompt(Generation *generation, Ids *ids);
[[nodiscard]] int chatWithInput(Generation *generation);
// Generate.cpp: goes on with these ids, in a new sequence where there is none, and
// writes the answer.
[[nodiscard]] int answerTo(Generation *generation, const uint32_t *ids, size_t count);

// argv[0] is "generate".
int generateMain(int argc, char **argv);

} // namespace stint_run

#endif
