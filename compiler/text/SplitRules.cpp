// Expressions to DFAs: Thompson's construction, then subsets, each an ordered
// list of positions, the preferred first, cut off behind the first that matches
// (so that the first alternative counts, not the longest). A subset is closed
// over empty moves only when the class of the next character is known; that
// decides lookaheads, and lets a match be told with the step that leaves it.
#include "compiler/text/SplitRules.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace stint::text {

const char *const gpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char *const llama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char *const qwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

constexpr uint32_t maxPositions = 4096, maxStates = 4096, maxClasses = 256;

/// A position of the nondeterministic automaton.
struct Position {
  enum Kind { Character, Split, Look, Match } kind;
  uint32_t set = 0;           // Character, Look: index of a set
  bool atEnd = false;         // Look
  std::vector<uint32_t> next; // in order of preference
};

/// The sets of characters that occur, each once.
struct Sets {
  std::vector<CharacterSet> all;
  uint32_t indexOf(const CharacterSet &set) {
    auto found = llvm::find(all, set);
    if (found != all.end())
      return found - all.begin();
    all.push_back(set);
    return all.size() - 1;
  }
};

class Automaton {
public:
  Automaton(Sets &sets) : sets(sets) {}

  /// Positions for `e` that go on to `next`; the index of the first.
  uint32_t add(const Expression &e, uint32_t next) {
    if (positions.size() > maxPositions)
      return 0;
    switch (e.kind) {
    case Expression::Empty:
      return next;
    case Expression::Set:
      return position({Position::Character, sets.indexOf(e.set), false, {next}});
    case Expression::Look:
      return position({Position::Look, sets.indexOf(e.set), e.atEnd, {next}});
    case Expression::Sequence:
      for (const Expression &child : llvm::reverse(e.children))
        next = add(child, next);
      return next;
    case Expression::Alternative: {
      Position split{Position::Split, 0, false, {}};
      for (const Expression &child : e.children)
        split.next.push_back(add(child, next));
      return position(std::move(split));
    }
    case Expression::Repeat: {
      uint32_t optional = 0;
      if (e.maximum == Expression::unbounded) {
        uint32_t loop = position({Position::Split, 0, false, {}});
        uint32_t body = add(e.children[0], loop);
        positions[loop].next = {body, next};
        next = loop;
      } else {
        uint32_t out = next;
        for (optional = e.minimum; optional < e.maximum; ++optional) {
          uint32_t body = add(e.children[0], next);
          next = position({Position::Split, 0, false, {body, out}});
        }
      }
      for (uint32_t i = 0; i < e.minimum; ++i)
        next = add(e.children[0], next);
      return next;
    }
    }
    return next;
  }

  uint32_t position(Position position) {
    positions.push_back(std::move(position));
    return positions.size() - 1;
  }

  std::vector<Position> positions;

private:
  Sets &sets;
};

/// Classes: characters that all sets treat alike. Class 0 is the end of a text.
struct Classes {
  std::vector<uint32_t> borders;          // first character << 8 | class
  std::vector<std::vector<bool>> members; // of a class: in which sets it is

  llvm::Error compute(const Sets &sets) {
    std::vector<uint32_t> firsts = {0};
    for (const CharacterSet &set : sets.all)
      for (const CharacterSet::Range &range : set.ranges) {
        firsts.push_back(range.first);
        firsts.push_back(range.last + 1);
      }
    llvm::sort(firsts);
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
    std::map<std::vector<bool>, uint32_t> numbers;
    members.push_back(std::vector<bool>(sets.all.size()));
    for (uint32_t first : firsts) {
      if (first > lastCharacter)
        break;
      std::vector<bool> in;
      for (const CharacterSet &set : sets.all)
        in.push_back(set.contains(first));
      auto [found, isNew] = numbers.try_emplace(in, members.size());
      if (isNew)
        members.push_back(in);
      if (members.size() > maxClasses)
        return unsupported("the splitting rules tell more than 255 classes of characters apart");
      if (borders.empty() || (borders.back() & 0xff) != found->second)
        borders.push_back(first << 8 | found->second);
    }
    return llvm::Error::success();
  }
};

class Determiniser {
public:
  Determiniser(const Automaton &automaton, const Classes &classes) : automaton(automaton), classes(classes) {}

  llvm::Error run(uint32_t start, std::vector<uint16_t> &transitions, uint32_t &states) {
    number({}); // state 0: none
    number({start});
    uint32_t classCount = classes.members.size();
    size_t begin = transitions.size();
    for (uint32_t state = 0; state < kernels.size(); ++state) {
      if (kernels.size() > maxStates)
        return unsupported("a splitting rule needs more than 4096 states");
      transitions.resize(begin + (state + 1) * classCount);
      for (uint32_t c = 0; c < classCount; ++c) {
        std::vector<uint32_t> kernel = kernels[state];
        bool matched = step(kernel, c);
        if (matched && state == 1)
          return unsupported("a splitting rule that may match nothing");
        transitions[begin + state * classCount + c] =
            static_cast<uint16_t>(number(kernel) | (matched ? STINT_TOKENIZER_MATCH : 0));
      }
    }
    states = kernels.size();
    return llvm::Error::success();
  }

private:
  uint32_t number(const std::vector<uint32_t> &kernel) {
    auto [found, isNew] = numbers.try_emplace(kernel, kernels.size());
    if (isNew)
      kernels.push_back(kernel);
    return found->second;
  }

  /// Replaces a kernel by what follows it when a character of class `c` comes;
  /// true if it matches before that.
  bool step(std::vector<uint32_t> &kernel, uint32_t c) {
    std::vector<uint32_t> result, stack(kernel.rbegin(), kernel.rend());
    std::vector<bool> seen(automaton.positions.size()), kept(automaton.positions.size());
    bool matched = false;
    while (!stack.empty() && !matched) {
      uint32_t at = stack.back();
      stack.pop_back();
      if (seen[at])
        continue;
      seen[at] = true;
      const Position &position = automaton.positions[at];
      switch (position.kind) {
      case Position::Match:
        matched = true;
        break;
      case Position::Split:
        stack.insert(stack.end(), position.next.rbegin(), position.next.rend());
        break;
      case Position::Look:
        if (c == STINT_TOKENIZER_END_CLASS ? position.atEnd : classes.members[c][position.set])
          stack.push_back(position.next[0]);
        break;
      case Position::Character:
        if (c != STINT_TOKENIZER_END_CLASS && classes.members[c][position.set] && !kept[position.next[0]]) {
          kept[position.next[0]] = true;
          result.push_back(position.next[0]);
        }
        break;
      }
    }
    kernel = std::move(result);
    return matched;
  }

  const Automaton &automaton;
  const Classes &classes;
  std::vector<std::vector<uint32_t>> kernels;
  std::map<std::vector<uint32_t>, uint32_t> numbers;
};

Expression digits(bool runs) {
  Expression one;
  one.kind = Expression::Set;
  one.set = numbers();
  if (!runs)
    return one;
  Expression repeat;
  repeat.kind = Expression::Repeat;
  repeat.minimum = 1;
  repeat.maximum = Expression::unbounded;
  repeat.children.push_back(std::move(one));
  return repeat;
}

} // namespace

llvm::Expected<SplitTables> compileSplitStages(const std::vector<SplitStage> &stages) {
  SplitTables tables;
  if (stages.empty())
    return tables;
  if (stages.size() > STINT_TOKENIZER_MAX_STAGES)
    return unsupported("more than four pre-tokenizers that split a text");
  Sets sets;
  std::vector<Automaton> automata;
  std::vector<uint32_t> starts;
  for (const SplitStage &stage : stages) {
    Expression expression;
    if (stage.kind == SplitStage::Regex) {
      llvm::Expected<Expression> parsed = parseExpression(stage.pattern);
      if (!parsed)
        return parsed.takeError();
      expression = std::move(*parsed);
    } else {
      expression = digits(stage.kind == SplitStage::DigitRuns);
    }
    automata.emplace_back(sets);
    uint32_t match = automata.back().position({Position::Match, 0, false, {}});
    starts.push_back(automata.back().add(expression, match));
    if (automata.back().positions.size() > maxPositions)
      return unsupported("the splitting rule '" + stage.pattern + "' is too large");
  }

  Classes classes;
  if (llvm::Error error = classes.compute(sets))
    return std::move(error);
  tables.classCount = classes.members.size();
  tables.classes = classes.borders;
  for (uint32_t c = 0, at = 0; c < 128; ++c) {
    while (at + 1 < classes.borders.size() && classes.borders[at + 1] >> 8 <= c)
      ++at;
    tables.ascii.push_back(classes.borders[at] & 0xff);
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    SplitTables::Stage stage{static_cast<uint32_t>(tables.transitions.size()), 0, stages[i].dropBetween};
    if (llvm::Error error = Determiniser(automata[i], classes).run(starts[i], tables.transitions, stage.states))
      return std::move(error);
    tables.stages.push_back(stage);
  }
  return tables;
}

} // namespace stint::text
