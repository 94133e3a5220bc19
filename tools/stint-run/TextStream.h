// Generated text on its way to the standard output: ids become text, whole
// characters only, and what may be the beginning of a stop text is held back.
#ifndef STINT_TOOLS_STINT_RUN_TEXTSTREAM_H
#define STINT_TOOLS_STINT_RUN_TEXTSTREAM_H

#include "Files.h"
#include "Options.h"
#include "stint/stint.h"

namespace stint_run {

class TextStream {
public:
  // `model` has a tokenizer. False where there is no memory.
  [[nodiscard]] bool open(const stint_model *model, const Texts *stops);

  // Takes a token. What may be given out now is at text(), size() bytes, until the
  // next call. True if a stop text is reached: all before it was given out.
  bool add(uint32_t id);
  // The end: what was held back.
  void finish();

  const char *text() const { return reinterpret_cast<const char *>(pending.data()); }
  size_t size() const { return ready; }

  // Forgets everything: another text begins.
  void reset();

private:
  bool release();

  const stint_model *model = nullptr;
  const Texts *stops = nullptr;
  stint_text_stream stream = {};
  Buffer pending;             // text that wasn't given out, `held` bytes
  size_t held = 0, ready = 0; // the first `ready` of them are given out
};

// Writes to the standard output. A terminal gets no control characters but line
// ends and tabs.
void writeText(const char *text, size_t size);

} // namespace stint_run

#endif
