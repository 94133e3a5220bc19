// The text side of a plan: the tokenizer and the chat template that go into it.
#ifndef STINT_COMPILER_DRIVER_TEXTSTAGE_H
#define STINT_COMPILER_DRIVER_TEXTSTAGE_H

#include "compiler/driver/Options.h"
#include "compiler/import/Diagnostics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stint::driver {

/// Sections of text; empty: there is none.
struct TextSections {
  std::vector<uint8_t> tokenizer, chat;
  std::string file;        // of the tokenizer
  uint32_t tokenCount = 0; // ids are below
  std::vector<std::string> warnings;
};

/// Reads what `options` name; nothing: `diagnostics` says why. Where they name no
/// tokenizer and `lookBeside`, tokenizer.json beside the model is taken; what can't be
/// made of that is left out with a warning.
std::optional<TextSections> readText(const Options &options, bool lookBeside, import::Diagnostics &diagnostics);

} // namespace stint::driver

#endif
