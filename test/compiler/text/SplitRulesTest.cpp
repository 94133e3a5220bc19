// DFAs against the plain meaning of expressions: a matcher that tries alternatives
// in order and goes back, on random texts.
#include "compiler/text/SplitRules.h"
#include "gtest/gtest.h"

#include <functional>
#include <random>

using namespace stint::text;

namespace {

using Text = std::vector<uint32_t>;
using Continue = std::function<bool(size_t)>;

/// Whether `e` matches at `at` and what follows accepts the rest.
bool match(const Expression &e, const Text &text, size_t at, const Continue &next) {
  switch (e.kind) {
  case Expression::Empty:
    return next(at);
  case Expression::Set:
    return at < text.size() && e.set.contains(text[at]) && next(at + 1);
  case Expression::Look:
    return (at < text.size() ? e.set.contains(text[at]) : e.atEnd) && next(at);
  case Expression::Sequence: {
    std::function<bool(size_t, size_t)> from = [&](size_t child, size_t at) {
      if (child == e.children.size())
        return next(at);
      return match(e.children[child], text, at, [&, child](size_t at) { return from(child + 1, at); });
    };
    return from(0, at);
  }
  case Expression::Alternative:
    for (const Expression &child : e.children)
      if (match(child, text, at, next))
        return true;
    return false;
  case Expression::Repeat: {
    std::function<bool(size_t, size_t)> from = [&](size_t count, size_t at) {
      if (count < e.maximum && match(e.children[0], text, at, [&, count](size_t at) { return from(count + 1, at); }))
        return true;
      return count >= e.minimum && next(at);
    };
    return from(0, at);
  }
  }
  return false;
}

/// The end of the match at `at`, by stage 0 of the tables.
size_t matchEnd(const SplitTables &tables, const Text &text, size_t at) {
  size_t end = at;
  uint32_t state = 1;
  for (size_t p = at;; ++p) {
    uint32_t c = STINT_TOKENIZER_END_CLASS;
    if (p < text.size())
      for (uint32_t border : tables.classes)
        if (border >> 8 <= text[p])
          c = border & 0xff;
    uint32_t step = tables.transitions[tables.stages[0].transitions + state * tables.classCount + c];
    if (step & STINT_TOKENIZER_MATCH)
      end = p;
    state = step & ~STINT_TOKENIZER_MATCH;
    if (!state || p == text.size())
      return end;
  }
}

TEST(SplitRulesTest, MatchLikeBacktracking) {
  std::mt19937 random(5);
  const uint32_t alphabet[] = {'a', 'b',  'S',  's', 'l',  '\'',  '1',   '2',   ' ',
                               ' ', '\n', '\r', '!', 0xe9, 0x301, 0x17f, 0x4eba};
  const char *patterns[] = {gpt2Pattern,   llama3Pattern,       qwen2Pattern, "a|ab",          "ab|a",
                            "(a|ab)(b|!)", "(?:a|ab|b)+!",      "a{2,3}",     "(ab?){2}",      "a(?=b)|a(?!a)",
                            "[^a-b]+a?",   R"(\s*[\r\n]+|\s+)", "a+(?!b)",    "(?i:'s|'ll)|'", R"(\p{Ll}+\p{Lu}?)"};
  for (const char *pattern : patterns) {
    Expression expression = llvm::cantFail(parseExpression(pattern));
    SplitTables tables = llvm::cantFail(compileSplitStages({{SplitStage::Regex, pattern, false}}));
    for (int round = 0; round < 400; ++round) {
      Text text(random() % 12);
      for (uint32_t &c : text)
        c = alphabet[random() % std::size(alphabet)];
      for (size_t at = 0; at < text.size(); ++at) {
        size_t end = at;
        match(expression, text, at, [&](size_t to) {
          end = to;
          return true;
        });
        EXPECT_EQ(matchEnd(tables, text, at), end) << pattern;
      }
    }
  }
}

TEST(SplitRulesTest, KnowUnicode) {
  CharacterSet letters = *characterCategory("L"), upper = *characterCategory("Lu");
  EXPECT_TRUE(letters.contains(0x4eba) && letters.contains(0xe9) && letters.contains(0x1c89)); // the last since 16.0
  EXPECT_TRUE(upper.contains('A') && !upper.contains('a'));
  EXPECT_TRUE(numbers().contains(0x11de0)); // since 17.0
  EXPECT_FALSE(characterCategory("N")->contains(0x11de0));
  EXPECT_FALSE(characterCategory("Han").has_value());
  for (const CharacterSet &set : {letters, upper, numbers(), whiteSpace()}) {
    CharacterSet all = set;
    all.add(set.complement());
    ASSERT_EQ(all.ranges.size(), 1u);
    EXPECT_EQ(all.ranges[0].last, lastCharacter);
  }
  Composition composition = canonicalComposition();
  EXPECT_EQ(composition.pairs.size(), 940u);
  EXPECT_EQ(composition.decompositions.size(), 2060u);
}

TEST(SplitRulesTest, RefuseWhatIsNotUnderstood) {
  for (const char *pattern :
       {"a**", "a*?", "a++", "[[:alpha:]]", "a^",     "a$",    ".",      "\\w",       "\\b", "(?<n>a)", "(?!ab)", "(",
        ")",   "[",   "a{",  "a{2,1}",      "a{999}", "[b-a]", "(?i:é)", "(?i:[^a])", "\\",  "(a*)*",   "\xff"}) {
    llvm::Expected<SplitTables> tables = compileSplitStages({{SplitStage::Regex, pattern, false}});
    EXPECT_FALSE(bool(tables)) << pattern;
    llvm::consumeError(tables.takeError());
  }
}

} // namespace
