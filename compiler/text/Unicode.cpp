// Unpacks the tables of unicode/Tables.inc.
#include "compiler/text/Unicode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Error.h"

#include <map>
#include <set>

namespace stint::text {
namespace {

#include "compiler/text/unicode/Tables.inc"

/// The numbers of a table.
std::vector<uint32_t> unpack(const char *base64) {
  std::vector<char> bytes;
  llvm::cantFail(llvm::decodeBase64(base64, bytes));
  std::vector<uint32_t> numbers;
  uint32_t number = 0, shift = 0;
  for (char byte : bytes) {
    number |= static_cast<uint32_t>(byte & 127) << shift;
    shift += 7;
    if (byte & 128)
      continue;
    numbers.push_back(number);
    number = shift = 0;
  }
  return numbers;
}

constexpr const char *categoryNames[30] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                           "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                           "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

void append(CharacterSet &set, uint32_t first, uint32_t last) {
  if (!set.ranges.empty() && set.ranges.back().last + 1 == first)
    set.ranges.back().last = last;
  else
    set.ranges.push_back({first, last});
}

} // namespace

bool CharacterSet::contains(uint32_t character) const {
  auto found = llvm::partition_point(ranges, [&](const Range &range) { return range.last < character; });
  return found != ranges.end() && found->first <= character;
}

CharacterSet CharacterSet::complement() const {
  CharacterSet result;
  uint32_t next = 0;
  for (const Range &range : ranges) {
    if (range.first > next)
      result.ranges.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= lastCharacter)
    result.ranges.push_back({next, lastCharacter});
  return result;
}

void CharacterSet::add(const CharacterSet &other) {
  std::vector<Range> all = ranges;
  all.insert(all.end(), other.ranges.begin(), other.ranges.end());
  llvm::sort(all, [](const Range &a, const Range &b) { return a.first < b.first; });
  ranges.clear();
  for (const Range &range : all) {
    if (ranges.empty() || range.first > ranges.back().last + 1)
      ranges.push_back(range);
    else
      ranges.back().last = std::max(ranges.back().last, range.last);
  }
}

bool CharacterSet::operator==(const CharacterSet &other) const {
  return ranges.size() == other.ranges.size() &&
         std::equal(ranges.begin(), ranges.end(), other.ranges.begin(),
                    [](const Range &a, const Range &b) { return a.first == b.first && a.last == b.last; });
}

std::optional<CharacterSet> characterCategory(llvm::StringRef name) {
  static const std::vector<uint32_t> runs = unpack(categories);
  auto wanted = [&](uint32_t category) {
    llvm::StringRef full = categoryNames[category];
    return full == name || (name.size() == 1 && full.starts_with(name));
  };
  bool known = false;
  for (uint32_t category = 0; category < 30; ++category)
    known |= wanted(category);
  if (!known)
    return std::nullopt;
  CharacterSet set;
  uint32_t first = 0;
  for (uint32_t run : runs) {
    uint32_t length = run / 30 + 1;
    if (wanted(run % 30))
      append(set, first, first + length - 1);
    first += length;
  }
  return set;
}

CharacterSet whiteSpace() {
  return {{{0x09, 0x0d},
           {0x20, 0x20},
           {0x85, 0x85},
           {0xa0, 0xa0},
           {0x1680, 0x1680},
           {0x2000, 0x200a},
           {0x2028, 0x2029},
           {0x202f, 0x202f},
           {0x205f, 0x205f},
           {0x3000, 0x3000}}};
}

CharacterSet numbers() {
  CharacterSet set;
  uint32_t first = 0;
  bool inside = false;
  for (uint32_t length : unpack(numeric)) {
    if (inside)
      append(set, first, first + length - 1);
    first += length;
    inside = !inside;
  }
  return set;
}

Composition canonicalComposition() {
  Composition result;
  uint32_t first = 0;
  std::vector<uint32_t> runs = unpack(combining);
  for (size_t i = 0; i + 1 < runs.size(); i += 2) {
    result.combining.push_back({first, runs[i + 1]});
    first += runs[i] + 1;
  }

  std::set<uint32_t> excluded;
  uint32_t character = 0;
  for (uint32_t distance : unpack(exclusions))
    excluded.insert(character += distance);

  std::map<uint32_t, llvm::SmallVector<uint32_t, 2>> steps;
  std::vector<uint32_t> packed = unpack(decompositions);
  character = 0;
  for (size_t i = 0; i + 1 < packed.size();) {
    character += packed[i];
    uint32_t parts = packed[i + 1];
    auto &step = steps[character];
    step.assign(packed.begin() + i + 2, packed.begin() + i + 2 + parts);
    i += 2 + parts;
    if (parts == 2 && !excluded.count(character))
      result.pairs.push_back({step[0], step[1], character});
  }
  for (auto &[whole, step] : steps) {
    std::vector<uint32_t> parts(step.begin(), step.end());
    for (size_t i = 0; i < parts.size();) {
      auto found = steps.find(parts[i]);
      if (found == steps.end()) {
        ++i;
        continue;
      }
      parts.erase(parts.begin() + i);
      parts.insert(parts.begin() + i, found->second.begin(), found->second.end());
    }
    result.decompositions.push_back({whole, std::move(parts)});
  }
  llvm::sort(result.pairs, [](const Composition::Pair &a, const Composition::Pair &b) {
    return std::make_pair(a.first, a.second) < std::make_pair(b.first, b.second);
  });
  return result;
}

} // namespace stint::text
