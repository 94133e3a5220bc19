// What lies around a tokenizer: which tokens begin and end a text, and the chat
// template. From tokenizer_config.json, or a GGUF file's metadata.
#ifndef STINT_COMPILER_TEXT_TOKENIZERCONFIG_H
#define STINT_COMPILER_TEXT_TOKENIZERCONFIG_H

#include "compiler/text/TokenizerModel.h"

#include <map>
#include <optional>

namespace stint::text {

struct TokenizerConfig {
  /// Texts of tokens that a template may name: bos_token, eos_token, …
  std::map<std::string, std::string> tokens;
  std::optional<std::string> chatTemplate;
};

/// Hugging Face's tokenizer_config.json.
llvm::Expected<TokenizerConfig> readTokenizerConfig(llvm::StringRef json);
/// The metadata of a GGUF file.
llvm::Expected<TokenizerConfig> readGgufConfig(llvm::MemoryBufferRef file);

/// Sets the begin and the end of a text where the tokenizer's own file doesn't say them.
void apply(const TokenizerConfig &config, TokenizerModel &model);

} // namespace stint::text

#endif
