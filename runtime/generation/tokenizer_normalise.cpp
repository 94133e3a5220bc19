// What is done to a text before it is split: made valid UTF-8; canonical
// composition (UAX #15: decompose, order the marks, compose) from the
// tables of the section, Hangul by arithmetic; spaces to U+2581.
#include "runtime/generation/tokenizer_tables.h"
#include "runtime/generation/utf8.h"

namespace stint {
namespace {

constexpr uint32_t hangulFirst = 0xac00, hangulL = 0x1100, hangulV = 0x1161, hangulT = 0x11a7;
constexpr uint32_t hangulVs = 21, hangulTs = 28, hangulCount = 19 * hangulVs * hangulTs;
// Nothing below composes with what comes before it, decomposes, or has a class
// that isn't 0: true of Unicode from U+0000 to U+00BF, and composed characters stay.
constexpr uint32_t firstMark = 0x300;

// Characters with their combining class: character << 8 | class.
uint32_t characterOf(uint32_t item) { return item >> 8; }
uint32_t classOf(uint32_t item) { return item & 0xff; }

const stint_tokenizer_decomposition *findDecomposition(const Tokenizer &t, uint32_t character) {
  uint32_t low = 0, high = t.decompositions.size;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (t.decompositions[middle].character < character)
      low = middle + 1;
    else
      high = middle;
  }
  return low < t.decompositions.size && t.decompositions[low].character == character ? &t.decompositions[low] : nullptr;
}

// Calls add(character) for what `character` decomposes into.
template <typename Add> void decompose(const Tokenizer &t, uint32_t character, Add add) {
  uint32_t index = character - hangulFirst;
  if (index < hangulCount) {
    add(hangulL + index / (hangulVs * hangulTs));
    add(hangulV + index % (hangulVs * hangulTs) / hangulTs);
    if (index % hangulTs)
      add(hangulT + index % hangulTs);
    return;
  }
  const stint_tokenizer_decomposition *found = character < 0xc0 ? nullptr : findDecomposition(t, character);
  if (!found)
    return add(character);
  for (uint32_t i = 0; i < found->count; ++i)
    add(t.decomposed[found->first + i]);
}

// What the two compose to, or 0.
uint32_t compose(const Tokenizer &t, uint32_t first, uint32_t second) {
  if (first - hangulL < 19 && second - hangulV < hangulVs)
    return hangulFirst + ((first - hangulL) * hangulVs + (second - hangulV)) * hangulTs;
  if (first - hangulFirst < hangulCount && (first - hangulFirst) % hangulTs == 0 && second - hangulT - 1 < hangulTs - 1)
    return first + (second - hangulT);
  if (second < firstMark)
    return 0;
  uint64_t key = uint64_t(first) << 32 | second;
  uint32_t low = 0, high = t.compositions.size;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const stint_tokenizer_composition &c = t.compositions[middle];
    if ((uint64_t(c.first) << 32 | c.second) < key)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == t.compositions.size || t.compositions[low].first != first || t.compositions[low].second != second)
    return 0;
  return t.compositions[low].composed;
}

// Sorts marks by class, equal ones in their order. `spare` has room for as many.
void orderMarks(uint32_t *items, uint64_t count, uint32_t *spare) {
  if (count <= 32) {
    for (uint64_t i = 1; i < count; ++i) {
      uint32_t item = items[i];
      uint64_t j = i;
      for (; j && classOf(items[j - 1]) > classOf(item); --j)
        items[j] = items[j - 1];
      items[j] = item;
    }
    return;
  }
  uint64_t starts[257] = {};
  for (uint64_t i = 0; i < count; ++i)
    ++starts[classOf(items[i]) + 1];
  for (uint32_t c = 0; c < 256; ++c)
    starts[c + 1] += starts[c];
  for (uint64_t i = 0; i < count; ++i)
    spare[starts[classOf(items[i])]++] = items[i];
  memcpy(items, spare, count * sizeof(uint32_t));
}

bool composeText(const Tokenizer &t, Text *text, Scratch *scratch) {
  uint64_t count = 0, bytes = 0;
  bool plain = true;
  uint32_t length;
  for (const uint8_t *p = text->begin; p < text->end; p += length) {
    uint32_t character = utf8Read(p, &length);
    plain = plain && character < firstMark;
    decompose(t, character, [&](uint32_t c) {
      ++count;
      bytes += utf8Size(c);
    });
  }
  if (plain)
    return true;

  // The result before the characters that are only needed until it is there.
  uint64_t most = bytes; // composing makes a text shorter
  auto *result = scratch->take<uint8_t>(most);
  uint64_t mark = scratch->used;
  auto *items = result ? scratch->take<uint32_t>(2 * count) : nullptr;
  if (!items)
    return false;
  count = bytes = 0;
  for (const uint8_t *p = text->begin; p < text->end; p += length)
    decompose(t, utf8Read(p, &length),
              [&](uint32_t c) { items[count++] = c << 8 | (c < firstMark ? 0 : rangeValue(t.combining, c)); });
  for (uint64_t i = 0, begin; i < count;) {
    for (begin = i; i < count && classOf(items[i]);)
      ++i;
    orderMarks(items + begin, i - begin, items + count);
    while (i < count && !classOf(items[i]))
      ++i;
  }

  uint64_t kept = 0, starter = 0;
  bool haveStarter = false;
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t item = items[i];
    // Blocked: something of the same or a higher class lies between.
    uint32_t last = haveStarter && kept > starter + 1 ? classOf(items[kept - 1]) : 0;
    bool adjacent = haveStarter && kept == starter + 1;
    if (haveStarter && (adjacent || last < classOf(item))) {
      if (uint32_t composed = compose(t, characterOf(items[starter]), characterOf(item))) {
        items[starter] = composed << 8;
        continue;
      }
    }
    if (!classOf(item)) {
      starter = kept;
      haveStarter = true;
    }
    items[kept++] = item;
  }
  for (uint64_t i = 0; i < kept; ++i) {
    if (bytes + utf8Size(characterOf(items[i])) > most)
      break; // only with tables that aren't Unicode's
    bytes += utf8Write(characterOf(items[i]), result + bytes);
  }
  scratch->used = mark;
  *text = {result, result + bytes};
  return true;
}

constexpr uint8_t lowLine[3] = {0xe2, 0x96, 0x81}; // U+2581

// Puts `prefix` before the text and, if wanted, replaces its spaces.
bool prefixAndReplace(Text *text, const uint8_t *prefix, uint32_t prefixSize, bool spaces, Scratch *scratch) {
  uint64_t count = 0;
  if (spaces)
    for (const uint8_t *p = text->begin; p < text->end; ++p)
      count += *p == ' ';
  if (!prefixSize && !count)
    return true;
  auto *result = scratch->take<uint8_t>(text->size() + prefixSize + 2 * count);
  if (!result)
    return false;
  uint8_t *out = result;
  memcpy(out, prefix, prefixSize);
  out += prefixSize;
  for (const uint8_t *p = text->begin; p < text->end; ++p) {
    if (*p == ' ' && spaces) {
      memcpy(out, lowLine, sizeof(lowLine));
      out += sizeof(lowLine);
    } else {
      *out++ = *p;
    }
  }
  *text = {result, out};
  return true;
}

} // namespace

bool toValidUtf8(Text *text, Scratch *scratch) {
  uint64_t size = 0;
  bool valid, all = true;
  for (const uint8_t *p = text->begin; p < text->end;) {
    uint32_t length = utf8Step(p, text->end, &valid);
    all = all && valid;
    size += valid ? length : 3;
    p += length;
  }
  if (all)
    return true;
  auto *result = scratch->take<uint8_t>(size);
  if (!result)
    return false;
  uint8_t *out = result;
  for (const uint8_t *p = text->begin; p < text->end;) {
    uint32_t length = utf8Step(p, text->end, &valid);
    if (valid)
      memcpy(out, p, length);
    else
      utf8Write(replacementCharacter, out);
    out += valid ? length : 3;
    p += length;
  }
  *text = {result, out};
  return true;
}

bool normalise(const Tokenizer &t, Text *text, Scratch *scratch) {
  if (t.has(STINT_TOKENIZER_NFC) && !composeText(t, text, scratch))
    return false;
  bool prepend = t.has(STINT_TOKENIZER_PREPEND) && !text->empty();
  return prefixAndReplace(text, lowLine, prepend ? sizeof(lowLine) : 0, t.has(STINT_TOKENIZER_SPACES), scratch);
}

bool preparePiece(const Tokenizer &t, Text *text, bool first, Scratch *scratch) {
  bool spaces = t.has(STINT_TOKENIZER_PIECE_SPACES);
  if (!spaces && !t.has(STINT_TOKENIZER_PREFIX_ALL | STINT_TOKENIZER_PREFIX_FIRST))
    return true;
  const stint_tokenizer_header &h = *t.header;
  bool prefix = t.has(STINT_TOKENIZER_PREFIX_ALL) || (first && t.has(STINT_TOKENIZER_PREFIX_FIRST));
  // A space that becomes U+2581 counts as one.
  bool begins = text->size() >= h.piece_prefix_size && memcmp(text->begin, h.piece_prefix, h.piece_prefix_size) == 0;
  if (spaces && !text->empty() && *text->begin == ' ')
    begins = true;
  return prefixAndReplace(text, h.piece_prefix, prefix && !begins ? h.piece_prefix_size : 0, spaces, scratch);
}

} // namespace stint
