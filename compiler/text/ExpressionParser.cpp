// Parses the regular expressions of splitting rules.
#include "compiler/text/SplitRules.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

namespace stint::text {
namespace {

constexpr uint32_t maxRepeat = 64;
constexpr unsigned maxDepth = 32;

// Pairs of letters that one character folds to (ß, ﬀ, ﬁ, ﬂ, ﬆ): Oniguruma lets
// that character match them where case doesn't count.
constexpr const char *foldedPairs[] = {"ss", "ff", "fi", "fl", "st"};

class Parser {
public:
  explicit Parser(llvm::StringRef pattern) : pattern(pattern), rest(pattern) {}

  llvm::Expected<Expression> run() {
    llvm::Expected<Expression> result = alternatives(false, 0);
    if (result && !rest.empty())
      return refuse("an unmatched ')'");
    return result;
  }

private:
  llvm::Error refuse(const llvm::Twine &what) {
    return unsupported("the splitting rule '" + pattern + "' holds " + what + ", which isn't understood");
  }

  llvm::Expected<Expression> alternatives(bool anyCase, unsigned depth) {
    if (depth > maxDepth)
      return refuse("groups nested too deep");
    Expression result;
    result.kind = Expression::Alternative;
    do {
      llvm::Expected<Expression> branch = sequence(anyCase, depth);
      if (!branch)
        return branch.takeError();
      result.children.push_back(std::move(*branch));
    } while (rest.consume_front("|"));
    return result.children.size() == 1 ? std::move(result.children[0]) : std::move(result);
  }

  llvm::Expected<Expression> sequence(bool anyCase, unsigned depth) {
    Expression result;
    result.kind = Expression::Sequence;
    while (!rest.empty() && rest[0] != '|' && rest[0] != ')') {
      llvm::Expected<Expression> item = atom(anyCase, depth);
      if (!item)
        return item.takeError();
      if (anyCase && !result.children.empty())
        for (const char *pair : foldedPairs)
          if (holds(result.children.back(), pair[0]) && holds(*item, pair[1]))
            return refuse(llvm::Twine("'") + pair + "' where case doesn't count");
      if (llvm::Error error = repetition(*item))
        return std::move(error);
      result.children.push_back(std::move(*item));
    }
    return result.children.size() == 1 ? std::move(result.children[0]) : std::move(result);
  }

  static bool holds(const Expression &item, char letter) {
    return item.kind == Expression::Set && item.set.contains(letter);
  }

  static bool matchesNothing(const Expression &e) {
    switch (e.kind) {
    case Expression::Empty:
    case Expression::Look:
      return true;
    case Expression::Set:
      return false;
    case Expression::Sequence:
      return llvm::all_of(e.children, matchesNothing);
    case Expression::Alternative:
      return llvm::any_of(e.children, matchesNothing);
    case Expression::Repeat:
      return e.minimum == 0 || matchesNothing(e.children[0]);
    }
    return true;
  }

  llvm::Error repetition(Expression &item) {
    uint32_t minimum, maximum;
    if (rest.consume_front("?")) {
      minimum = 0, maximum = 1;
    } else if (rest.consume_front("*")) {
      minimum = 0, maximum = Expression::unbounded;
    } else if (rest.consume_front("+")) {
      minimum = 1, maximum = Expression::unbounded;
    } else if (rest.consume_front("{")) {
      if (rest.consumeInteger(10, minimum))
        return refuse("a '{' that isn't {m}, {m,} or {m,n}");
      maximum = minimum;
      if (rest.consume_front(",") && rest.consumeInteger(10, maximum))
        maximum = Expression::unbounded;
      if (!rest.consume_front("}"))
        return refuse("a '{' that isn't {m}, {m,} or {m,n}");
      if (minimum > maxRepeat || (maximum != Expression::unbounded && maximum > maxRepeat) || maximum < minimum)
        return refuse("a repetition of too many, or of more than at most");
    } else {
      return llvm::Error::success();
    }
    if (!rest.empty() && llvm::StringRef("?*+{").contains(rest[0]))
      return refuse("a lazy or possessive repetition");
    if (matchesNothing(item))
      return refuse("a repetition of what may match nothing");
    Expression repeat;
    repeat.kind = Expression::Repeat;
    repeat.minimum = minimum;
    repeat.maximum = maximum;
    repeat.children.push_back(std::move(item));
    item = std::move(repeat);
    return llvm::Error::success();
  }

  llvm::Expected<Expression> atom(bool anyCase, unsigned depth) {
    if (rest.consume_front("(")) {
      bool inner = anyCase;
      if (rest.consume_front("?!"))
        return look(true, anyCase, depth);
      if (rest.consume_front("?="))
        return look(false, anyCase, depth);
      if (rest.consume_front("?i:"))
        inner = true;
      else if (rest.starts_with("?") && !rest.consume_front("?:"))
        return refuse("'(" + rest.take_front(3) + "'");
      return group(inner, depth);
    }
    Expression item;
    item.kind = Expression::Set;
    if (rest.consume_front("[")) {
      if (llvm::Error error = bracket(item.set, anyCase))
        return std::move(error);
      return item;
    }
    if (llvm::StringRef("?*+{}.^$]").contains(rest[0]))
      return refuse(llvm::Twine("'") + rest.take_front(1) + "'");
    bool single;
    uint32_t character;
    if (llvm::Error error = element(item.set, character, single))
      return std::move(error);
    if (single && anyCase)
      if (llvm::Error error = addOtherCase(item.set, character))
        return std::move(error);
    return item;
  }

  llvm::Expected<Expression> group(bool anyCase, unsigned depth) {
    llvm::Expected<Expression> inner = alternatives(anyCase, depth + 1);
    if (inner && !rest.consume_front(")"))
      return refuse("a '(' without its ')'");
    return inner;
  }

  llvm::Expected<Expression> look(bool negated, bool anyCase, unsigned depth) {
    llvm::Expected<Expression> inner = group(anyCase, depth);
    if (!inner)
      return inner;
    if (inner->kind != Expression::Set)
      return refuse("a lookahead at more than one character");
    inner->kind = Expression::Look;
    inner->atEnd = negated;
    if (negated)
      inner->set = inner->set.complement();
    return inner;
  }

  // A character, or an escape for one or for a set.
  llvm::Error element(CharacterSet &set, uint32_t &character, bool &single) {
    single = true;
    if (!rest.consume_front("\\")) {
      if (llvm::Error error = takeCharacter(character))
        return error;
      set = CharacterSet::of(character, character);
      return llvm::Error::success();
    }
    if (rest.empty())
      return refuse("a '\\' at its end");
    char letter = rest[0];
    if (letter & 0x80)
      return refuse("an escape of what isn't ASCII");
    rest = rest.drop_front();
    character = letter;
    static const std::pair<char, char> controls[] = {{'r', '\r'}, {'n', '\n'}, {'t', '\t'}, {'f', '\f'}, {'v', '\v'}};
    for (auto [name, control] : controls)
      if (letter == name)
        character = control;
    if (llvm::isAlnum(letter) && character == static_cast<uint32_t>(letter)) {
      single = false;
      if (letter == 's' || letter == 'S')
        set = whiteSpace();
      else if (letter == 'd' || letter == 'D')
        set = *characterCategory("Nd");
      else if (letter == 'p' || letter == 'P') {
        size_t close = rest.find('}');
        if (!rest.consume_front("{") || close == llvm::StringRef::npos)
          return refuse("a \\p without its {name}");
        llvm::StringRef name = rest.take_front(close - 1);
        std::optional<CharacterSet> found = characterCategory(name);
        if (!found)
          return refuse("\\p{" + name + "}");
        set = std::move(*found);
        rest = rest.drop_front(close);
      } else {
        return refuse(llvm::Twine("'\\") + llvm::StringRef(&letter, 1) + "'");
      }
      if (letter == 'S' || letter == 'D' || letter == 'P')
        set = set.complement();
      return llvm::Error::success();
    }
    set = CharacterSet::of(character, character);
    return llvm::Error::success();
  }

  llvm::Error takeCharacter(uint32_t &character) {
    const auto *p = reinterpret_cast<const llvm::UTF8 *>(rest.begin());
    llvm::UTF32 out;
    const auto *begin = p;
    if (llvm::convertUTF8Sequence(&p, reinterpret_cast<const llvm::UTF8 *>(rest.end()), &out, llvm::strictConversion) !=
        llvm::conversionOK)
      return refuse("what isn't UTF-8");
    character = out;
    rest = rest.drop_front(p - begin);
    return llvm::Error::success();
  }

  // [...], behind its '['.
  llvm::Error bracket(CharacterSet &set, bool anyCase) {
    bool negated = rest.consume_front("^");
    if (negated && anyCase)
      return refuse("a negated set where case doesn't count");
    bool first = true;
    while (!rest.empty() && (rest[0] != ']' || first)) {
      first = false;
      if (rest[0] == '[' || rest[0] == ']' || rest.starts_with("&&"))
        return refuse("'" + rest.take_front(2) + "' in a set");
      CharacterSet part;
      uint32_t from, to;
      bool single;
      if (llvm::Error error = element(part, from, single))
        return error;
      if (rest.size() > 1 && rest[0] == '-' && rest[1] != ']') {
        rest = rest.drop_front();
        CharacterSet end;
        bool endSingle;
        if (llvm::Error error = element(end, to, endSingle))
          return error;
        if (!single || !endSingle || to < from || anyCase)
          return refuse("a range that isn't from a character up to another");
        part = CharacterSet::of(from, to);
      } else if (anyCase) {
        if (!single)
          return refuse("a class of characters where case doesn't count");
        if (llvm::Error error = addOtherCase(part, from))
          return error;
      }
      set.add(part);
    }
    if (!rest.consume_front("]"))
      return refuse("a '[' without its ']'");
    if (negated)
      set = set.complement();
    return llvm::Error::success();
  }

  llvm::Error addOtherCase(CharacterSet &set, uint32_t character) {
    if (character >= 0x80)
      return refuse("a character beyond ASCII where case doesn't count");
    if (!llvm::isAlpha(static_cast<char>(character)))
      return llvm::Error::success();
    set.add(CharacterSet::of(character ^ 0x20, character ^ 0x20));
    if ((character | 0x20) == 's')
      set.add(CharacterSet::of(0x17f, 0x17f)); // long s
    if ((character | 0x20) == 'k')
      set.add(CharacterSet::of(0x212a, 0x212a)); // kelvin
    return llvm::Error::success();
  }

  llvm::StringRef pattern, rest;
};

} // namespace

llvm::Expected<Expression> parseExpression(llvm::StringRef pattern) {
  if (pattern.size() > 4096)
    return unsupported("a splitting rule of more than 4096 bytes");
  return Parser(pattern).run();
}

} // namespace stint::text
