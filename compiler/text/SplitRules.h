// Splitting rules: regular expressions, compiled to DFAs over classes of characters.
//
// The expressions understood are what tokenizers use: characters, sets, \s \d
// \p{category}, groups, alternatives, greedy repetition, (?i:...) around ASCII
// letters, and a lookahead at one character, (?=x) (?!x). Alternatives are tried
// in order and the first that matches counts, as in the backtracking engine
// that Hugging Face uses (Oniguruma). Anything else is refused by name.
#ifndef STINT_COMPILER_TEXT_SPLITRULES_H
#define STINT_COMPILER_TEXT_SPLITRULES_H

#include "compiler/text/TokenizerModel.h"
#include "compiler/text/Unicode.h"

#include <memory>

namespace stint::text {

/// A parsed expression.
struct Expression {
  enum Kind {
    Empty,
    Set,         // one character
    Sequence,    // children one after another
    Alternative, // the first child that leads to a match
    Repeat,      // child 0, at least `minimum`, at most `maximum` times
    Look,        // the next character is in `set`, or (unless `atEnd`) there is one
  };
  Kind kind = Empty;
  CharacterSet set;
  std::vector<Expression> children;
  uint32_t minimum = 0, maximum = 0;
  bool atEnd = false; // Look: holds at the end of the text too

  static constexpr uint32_t unbounded = ~0u;
};

llvm::Expected<Expression> parseExpression(llvm::StringRef pattern);

/// All stages of a tokenizer, over one partition of the characters into classes.
struct SplitTables {
  struct Stage {
    uint32_t transitions; // index of state 0's first
    uint32_t states;
    bool dropBetween;
  };
  uint32_t classCount = 0;
  std::vector<uint32_t> classes; // first character << 8 | class
  std::vector<uint8_t> ascii;
  std::vector<Stage> stages;
  std::vector<uint16_t> transitions;
};

llvm::Expected<SplitTables> compileSplitStages(const std::vector<SplitStage> &stages);

} // namespace stint::text

#endif
