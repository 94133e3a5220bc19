// Sets of characters, and what Unicode says of them in the versions that Hugging
// Face's tokenizers use (unicode/generate).
#ifndef STINT_COMPILER_TEXT_UNICODE_H
#define STINT_COMPILER_TEXT_UNICODE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace stint::text {

constexpr uint32_t lastCharacter = 0x10ffff;

/// Sorted, disjoint ranges of characters, both ends included.
struct CharacterSet {
  struct Range {
    uint32_t first, last;
  };
  std::vector<Range> ranges;

  static CharacterSet of(uint32_t first, uint32_t last) { return {{{first, last}}}; }
  bool contains(uint32_t character) const;
  CharacterSet complement() const;
  void add(const CharacterSet &other);
  bool operator==(const CharacterSet &other) const;
};

/// \p{name}: a general category (Lu) or a group of them (L).
std::optional<CharacterSet> characterCategory(llvm::StringRef name);
/// \s
CharacterSet whiteSpace();
/// What the pre-tokenizer Digits calls a number.
CharacterSet numbers();

/// Canonical composition.
struct Composition {
  struct Run {
    uint32_t first, combiningClass;
  };
  struct Decomposition {
    uint32_t character;
    std::vector<uint32_t> parts; // decomposed to the end
  };
  struct Pair {
    uint32_t first, second, composed;
  };
  std::vector<Run> combining;
  std::vector<Decomposition> decompositions; // by character
  std::vector<Pair> pairs;                   // by first, second
};
Composition canonicalComposition();

} // namespace stint::text

#endif
