// A model's tokenizer and chat template: what its sections of text hold, checked
// when it is opened. The C API's section "Text" is a thin layer over it.
#ifndef STINT_RUNTIME_GENERATION_MODEL_TEXT_H
#define STINT_RUNTIME_GENERATION_MODEL_TEXT_H

#include "runtime/generation/chat.h"

namespace stint {

struct ModelText {
  Tokenizer tokenizer;
  Chat chat; // header null: none
  uint32_t specialCount = 0;
};

} // namespace stint

#endif
