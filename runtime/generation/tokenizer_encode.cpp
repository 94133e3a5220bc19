// Text to ids: cuts out added tokens, normalises what lies between, runs the
// splitting stages on it, and merges each word's symbols.
#include "runtime/generation/tokenizer_tables.h"
#include "runtime/generation/utf8.h"

namespace stint {
namespace {

constexpr uint32_t none = STINT_TOKENIZER_NONE;

// Where an added token lies in a text.
struct Found {
  const uint8_t *begin, *end;
  const stint_tokenizer_added *token; // nullptr: none
};

// The leftmost and there longest added token at or after `from`. `group`: 0
// raw, 1 normalised. Entries are sorted, so those that share their first bytes
// lie side by side, the shortest first.
Found findAdded(const Tokenizer &t, uint32_t group, const uint8_t *from, const uint8_t *end) {
  const uint32_t *first = t.addedFirst.data + group * 257;
  for (const uint8_t *p = from; p < end; ++p) {
    uint32_t low = first[*p], high = first[*p + 1];
    const stint_tokenizer_added *longest = nullptr;
    auto byteAt = [&](uint32_t entry, uint32_t depth) {
      const stint_tokenizer_added &token = t.added[entry];
      return depth < token.size ? static_cast<int>(t.addedText[token.text + depth]) : -1;
    };
    for (uint32_t depth = 1; low < high; ++depth) {
      if (t.added[low].size == depth) {
        longest = &t.added[low];
        if (++low == high)
          break;
      }
      if (p + depth == end)
        break;
      // The part of [low, high) whose byte at `depth` is the text's.
      auto bound = [&](int value) {
        uint32_t begin = low, stop = high;
        while (begin < stop) {
          uint32_t middle = begin + (stop - begin) / 2;
          if (byteAt(middle, depth) < value)
            begin = middle + 1;
          else
            stop = middle;
        }
        return begin;
      };
      uint32_t newLow = bound(p[depth]);
      high = bound(p[depth] + 1);
      low = newLow;
    }
    if (longest)
      return {p, p + longest->size, longest};
  }
  return {end, end, nullptr};
}

const uint8_t *skipSpaceBack(const uint8_t *p, const uint8_t *begin) {
  while (p > begin) {
    const uint8_t *before = p - 1;
    while (before > begin && (*before & 0xc0) == 0x80)
      --before;
    uint32_t length;
    if (!isWhiteSpace(utf8Read(before, &length)))
      break;
    p = before;
  }
  return p;
}

const uint8_t *skipSpace(const uint8_t *p, const uint8_t *end) {
  uint32_t length;
  while (p < end && isWhiteSpace(utf8Read(p, &length)))
    p += length;
  return p;
}

class Encoder {
public:
  Encoder(const Tokenizer &t, uint32_t flags, Scratch scratch, uint32_t *ids, uint64_t capacity)
      : t(t), flags(flags), scratch(scratch), ids(ids), capacity(capacity) {}

  Status run(Text text) {
    if (!toValidUtf8(&text, &scratch))
      return outOfScratch();
    if (flags & EncodeAround)
      for (uint32_t id : t.prefix)
        add(id);
    STINT_TRY(cutAdded(0, text, [&](Text segment) {
      uint64_t mark = scratch.used;
      const uint8_t *raw = segment.begin;
      if (!normalise(t, &segment, &scratch))
        return outOfScratch();
      STINT_TRY(cutAdded(1, segment, [&](Text piece) {
        uint64_t mark = scratch.used;
        bool first = !(flags & EncodeInside) && raw == text.begin && piece.begin == segment.begin;
        if (!preparePiece(t, &piece, first, &scratch))
          return outOfScratch();
        STINT_TRY(split(0, piece));
        scratch.used = mark;
        return success();
      }));
      scratch.used = mark;
      return success();
    }));
    if (flags & EncodeAround)
      for (uint32_t id : t.suffix)
        add(id);
    return success();
  }

  uint64_t count = 0;
  uint64_t needed() const { return scratch.needed; }

private:
  Status outOfScratch() { return outOfMemory(scratch.needed); }

  void add(uint32_t id) {
    if (count < capacity)
      ids[count] = id;
    ++count;
  }

  // Adds the added tokens in `text`, and calls between(part) for each part
  // between them that isn't empty. A token that takes white space along may
  // reach over the one that comes next; both count, as they do in Hugging Face's
  // tokenizers.
  template <typename Between> Status cutAdded(uint32_t group, Text text, Between between) {
    const uint8_t *done = text.begin, *from = text.begin;
    while (!t.added.empty() && from < text.end) {
      Found found = findAdded(t, group, from, text.end);
      if (!found.token)
        break;
      from = found.end;
      uint32_t how = found.token->flags;
      if ((how & STINT_ADDED_SPECIAL) && !(flags & EncodeSpecial))
        continue;
      if (how & STINT_ADDED_LSTRIP) {
        const uint8_t *begin = skipSpaceBack(found.begin, text.begin);
        found.begin = begin > done ? begin : done;
      }
      if (how & STINT_ADDED_RSTRIP)
        found.end = skipSpace(found.end, text.end);
      if (done < found.begin)
        STINT_TRY(between({done, found.begin}));
      add(found.token->id);
      done = found.end;
    }
    return done < text.end ? between({done, text.end}) : success();
  }

  uint32_t classAt(const uint8_t *p, uint32_t *length) const {
    uint32_t character = utf8Read(p, length);
    return character < 128 ? t.ascii[character] : rangeValue(t.classes, character);
  }

  // Runs stage number `index` on a text, and those behind it on its words.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as there are stages
  Status split(uint32_t index, Text text) {
    if (index == t.stages.size)
      return word(text);
    const stint_tokenizer_stage &stage = t.stages[index];
    const uint16_t *transitions = t.transitions.data + stage.transitions;
    uint32_t classes = t.header->class_count;
    // Rules look a little beyond their matches. One that reads a text over and
    // over again is stopped.
    uint64_t steps = 8 * text.size() + 64;
    const uint8_t *between = text.begin;
    for (const uint8_t *start = text.begin; start < text.end;) {
      const uint8_t *p = start, *match = start;
      uint32_t state = 1;
      while (true) {
        uint32_t length = 0;
        uint32_t step = transitions[state * classes + (p < text.end ? classAt(p, &length) : STINT_TOKENIZER_END_CLASS)];
        if (step & STINT_TOKENIZER_MATCH)
          match = p;
        state = step & ~STINT_TOKENIZER_MATCH;
        if (!state || p == text.end)
          break;
        p += length;
        if (!steps--)
          return failure(STINT_STATUS_UNSUPPORTED, "splitting stage %a reads a text too often", index);
      }
      if (match == start) {
        start += utf8Length(*start);
        continue;
      }
      STINT_TRY(rest(index, {between, start}));
      STINT_TRY(split(index + 1, {start, match}));
      start = between = match;
    }
    return rest(index, {between, text.end});
  }

  // What lies between two matches.
  // NOLINTNEXTLINE(misc-no-recursion)
  Status rest(uint32_t index, Text text) {
    return text.empty() || (t.stages[index].flags & 1) ? success() : split(index + 1, text);
  }

  Status word(Text text) {
    if (t.has(STINT_TOKENIZER_WHOLE_WORDS)) {
      uint32_t id = findToken(t, text);
      if (id != none) {
        add(id);
        return success();
      }
    }
    uint64_t mark = scratch.used;
    uint32_t *found, foundCount;
    if (!mergeWord(t, text, &scratch, &found, &foundCount))
      return outOfScratch();
    for (uint32_t i = 0; i < foundCount; ++i)
      add(found[i]);
    scratch.used = mark;
    return success();
  }

  const Tokenizer &t;
  uint32_t flags;
  Scratch scratch;
  uint32_t *ids;
  uint64_t capacity;
};

} // namespace

uint64_t encodeScratch(const Tokenizer &tokenizer, uint64_t textSize) {
  if (textSize > maxEncodeText)
    return 0;
  uint64_t size = 3 * textSize, total = size, composing = 0; // what isn't UTF-8 replaced
  if (tokenizer.has(STINT_TOKENIZER_NFC)) {
    composing = 12 * size; // 1.5 characters a byte, and as many to order them
    total += size *= 3;
  }
  if (tokenizer.has(STINT_TOKENIZER_PREPEND | STINT_TOKENIZER_SPACES))
    total += size = 3 * size + 4;
  if (tokenizer.has(STINT_TOKENIZER_PIECE_SPACES | STINT_TOKENIZER_PREFIX_ALL | STINT_TOKENIZER_PREFIX_FIRST))
    total += size = 3 * size + 4;
  return total + composing + size * mergeBytesPerByte + 64;
}

Status encode(const Tokenizer &tokenizer, const void *text, uint64_t size, uint32_t flags, Span<uint8_t> scratch,
              uint32_t *ids, uint64_t capacity, EncodeResult *result) {
  *result = {0, 0};
  if (size > maxEncodeText)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "a text of %a bytes is too long to encode", int64_t(size));
  // Where the caller's memory begins need not be aligned.
  uint64_t skip = -reinterpret_cast<uintptr_t>(scratch.data) & 7;
  Scratch memory{scratch.data + skip, scratch.size > skip ? scratch.size - skip : 0, 0, 0};
  const auto *begin = static_cast<const uint8_t *>(text);
  Encoder encoder(tokenizer, flags, memory, ids, capacity);
  Status status = encoder.run({begin, begin + size});
  result->count = encoder.count;
  if (status.value.code == STINT_STATUS_OUT_OF_MEMORY) {
    // Longer words may follow than the one that didn't fit.
    uint64_t wanted = encoder.needed() + encoder.needed() / 2 + 64, most = encodeScratch(tokenizer, size);
    result->scratch = wanted < most ? wanted : most;
  }
  if (status.ok() && encoder.count > capacity)
    return failure(STINT_STATUS_OUT_OF_RANGE, "a text comes to %a tokens, %b fit", int64_t(encoder.count),
                   int64_t(capacity));
  return status;
}

} // namespace stint
