// Lookups in a tokenizer's tables, for the files that make up its encoder.
#ifndef STINT_RUNTIME_GENERATION_TOKENIZER_TABLES_H
#define STINT_RUNTIME_GENERATION_TOKENIZER_TABLES_H

#include "runtime/generation/tokenizer.h"

#include <string.h>

namespace stint {

// Memory of the caller's, handed out piece by piece, given back in reverse
// order. Remembers how much would have been needed when it runs out.
struct Scratch {
  uint8_t *memory;
  uint64_t size, used, needed;

  template <typename T> T *take(uint64_t count) {
    uint64_t bytes = (count * sizeof(T) + 7) & ~uint64_t(7);
    if (bytes > size - used) {
      needed = used + bytes;
      return nullptr;
    }
    T *result = reinterpret_cast<T *>(memory + used);
    used += bytes;
    return result;
  }
};

struct Text {
  const uint8_t *begin, *end;
  uint64_t size() const { return static_cast<uint64_t>(end - begin); }
  bool empty() const { return begin == end; }
};

// The value of a character in a table of ranges (first << 8 | value).
inline uint32_t rangeValue(Span<const uint32_t> ranges, uint32_t character) {
  uint32_t low = 0, high = ranges.size;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    (ranges[middle] >> 8 <= character ? low : high) = middle;
  }
  return ranges[low] & 0xff;
}

// The rank of the pair's merge, or NONE.
inline uint32_t findMerge(const Tokenizer &t, uint32_t left, uint32_t right) {
  if (t.mergeSlots.empty())
    return STINT_TOKENIZER_NONE;
  uint32_t mask = t.mergeSlots.size - 1, slot = stint_tokenizer_pair_hash(left, right);
  for (uint32_t probe = 0; probe < STINT_TOKENIZER_MAX_PROBES; ++probe) {
    uint32_t rank = t.mergeSlots[(slot + probe) & mask];
    if (rank == STINT_TOKENIZER_NONE || (t.merges[rank].left == left && t.merges[rank].right == right))
      return rank;
  }
  return STINT_TOKENIZER_NONE;
}

// The token with exactly this text, or NONE.
inline uint32_t findToken(const Tokenizer &t, Text text) {
  if (t.lookup.empty() || text.size() > STINT_TOKENIZER_MAX_TOKEN)
    return STINT_TOKENIZER_NONE;
  uint32_t mask = t.lookup.size - 1, slot = stint_tokenizer_text_hash(text.begin, text.size());
  for (uint32_t probe = 0; probe < STINT_TOKENIZER_MAX_PROBES; ++probe) {
    uint32_t id = t.lookup[(slot + probe) & mask];
    if (id == STINT_TOKENIZER_NONE)
      return id;
    Span<const uint8_t> found = t.tokenText(id);
    if (found.size == text.size() && memcmp(found.data, text.begin, found.size) == 0)
      return id;
  }
  return STINT_TOKENIZER_NONE;
}

// Bytes that a token may come to when it is decoded, together with what was held back.
inline uint64_t decodeRoomOf(const Tokenizer &t, uint32_t id) {
  // A byte that is no character becomes three.
  return 12 + uint64_t(t.has(STINT_TOKENIZER_DECODE_LOSSY) ? 3 : 1) * t.tokenText(id).size;
}

// tokenizer_normalise.cpp. Texts are valid UTF-8 and so are the results, which
// lie in `scratch`, or are the text itself where nothing changes. False: scratch is too small.
bool toValidUtf8(Text *text, Scratch *scratch);
bool normalise(const Tokenizer &t, Text *text, Scratch *scratch);
// What is done to a piece before it is split; `first`: it begins the text.
bool preparePiece(const Tokenizer &t, Text *text, bool first, Scratch *scratch);

// tokenizer_merge.cpp: the ids of one word, at most as many as it has bytes,
// in *ids, in scratch. False: scratch is too small.
bool mergeWord(const Tokenizer &t, Text word, Scratch *scratch, uint32_t **ids, uint32_t *count);
// Scratch that a word of so many bytes takes.
constexpr uint64_t mergeBytesPerByte = 24;

} // namespace stint

#endif
