// Small tokenizers for tests and fuzzers: a few merges each, but every kind of
// splitting rule, normaliser, added token and decoder.
#ifndef STINT_TEST_COMPILER_TEXT_SMALLTOKENIZERS_H
#define STINT_TEST_COMPILER_TEXT_SMALLTOKENIZERS_H

#include <cstdint>
#include <string>
#include <vector>

namespace stint::text {

/// tokenizer.json of each kind, by name.
struct SmallTokenizer {
  const char *name;
  std::string json;
};
std::vector<SmallTokenizer> smallTokenizers();
/// One of them; by name.
std::string smallTokenizer(const std::string &name);

/// GGUF files: one with merges, one with scores.
std::vector<std::string> smallGgufFiles();

/// A section, aligned. Ends the program if `file` gives none.
std::vector<uint8_t> sectionOf(const std::string &file);

} // namespace stint::text

#endif
