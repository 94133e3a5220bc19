// Opens a tokenizer section: finds its tables and checks every offset, index
// and id in them once, so that nothing after this needs to.
#include "runtime/generation/tokenizer.h"
#include "runtime/base/arithmetic.h"
#include "runtime/generation/tokenizer_tables.h"
#include "runtime/generation/utf8.h"

namespace stint {
namespace {

class Opener {
public:
  Opener(const uint8_t *data, Tokenizer *tokenizer) : data(data), t(*tokenizer) {}

  Status run() {
    STINT_TRY(findTables());
    STINT_TRY(checkTokens());
    STINT_TRY(checkMerges());
    STINT_TRY(checkStages());
    STINT_TRY(checkAdded());
    return checkComposition();
  }

private:
  template <typename T> Status find(stint_tokenizer_table table, Span<const T> *span) {
    const stint_tokenizer_range &range = t.header->tables[table];
    if (range.offset % 4 || !rangeFits(range.offset, uint64_t(range.count) * sizeof(T), t.header->size))
      return malformed("table %a of the tokenizer lies outside it", table);
    *span = {reinterpret_cast<const T *>(data + range.offset), range.count};
    return success();
  }

  Status findTables() {
    STINT_TRY(find(STINT_TOKENIZER_TEXT, &t.text));
    STINT_TRY(find(STINT_TOKENIZER_TEXT_ENDS, &t.textEnds));
    STINT_TRY(find(STINT_TOKENIZER_TOKEN_FLAGS, &t.tokenFlags));
    STINT_TRY(find(STINT_TOKENIZER_BYTE_VALUES, &t.byteValues));
    STINT_TRY(find(STINT_TOKENIZER_LOOKUP, &t.lookup));
    STINT_TRY(find(STINT_TOKENIZER_BYTE_IDS, &t.byteIds));
    STINT_TRY(find(STINT_TOKENIZER_MERGES, &t.merges));
    STINT_TRY(find(STINT_TOKENIZER_MERGE_SLOTS, &t.mergeSlots));
    STINT_TRY(find(STINT_TOKENIZER_STAGES, &t.stages));
    STINT_TRY(find(STINT_TOKENIZER_TRANSITIONS, &t.transitions));
    STINT_TRY(find(STINT_TOKENIZER_ASCII, &t.ascii));
    STINT_TRY(find(STINT_TOKENIZER_CLASSES, &t.classes));
    STINT_TRY(find(STINT_TOKENIZER_ADDED, &t.added));
    STINT_TRY(find(STINT_TOKENIZER_ADDED_TEXT, &t.addedText));
    STINT_TRY(find(STINT_TOKENIZER_ADDED_FIRST, &t.addedFirst));
    STINT_TRY(find(STINT_TOKENIZER_PREFIX, &t.prefix));
    STINT_TRY(find(STINT_TOKENIZER_SUFFIX, &t.suffix));
    STINT_TRY(find(STINT_TOKENIZER_COMBINING, &t.combining));
    STINT_TRY(find(STINT_TOKENIZER_DECOMPOSITIONS, &t.decompositions));
    STINT_TRY(find(STINT_TOKENIZER_DECOMPOSED, &t.decomposed));
    return find(STINT_TOKENIZER_COMPOSITIONS, &t.compositions);
  }

  bool isId(uint32_t id) const { return t.tokenIsThere(id); }
  bool isIdOrNone(uint32_t id) const { return id == STINT_TOKENIZER_NONE || isId(id); }

  Status checkTokens() {
    uint32_t count = t.tokenCount();
    if (!count || count > STINT_TOKENIZER_MAX_IDS || t.textEnds.size != count || t.tokenFlags.size != count)
      return malformed("the tokenizer's tables of tokens don't fit its %a tokens", count);
    uint32_t begin = 0;
    for (uint32_t id = 0; id < count; ++id) {
      uint32_t end = t.textEnds[id];
      if (end < begin || end > t.text.size || end - begin > STINT_TOKENIZER_MAX_TOKEN)
        return malformed("the text of token %a lies outside the tokenizer", id);
      if (!t.has(STINT_TOKENIZER_DECODE_LOSSY) && !utf8Valid(t.text.data + begin, t.text.data + end))
        return malformed("the text of token %a isn't UTF-8", id);
      if ((t.tokenFlags[id] & STINT_TOKEN_BYTE) && t.byteValues.size != count)
        return malformed("token %a stands for a byte that isn't there", id);
      begin = end;
      uint64_t room = decodeRoomOf(t, id);
      t.decodeRoom = room > t.decodeRoom ? room : t.decodeRoom;
    }
    if (t.byteIds.size != 256 || !isIdOrNone(t.header->unknown_id) || !isIdOrNone(t.header->bos_id) ||
        !isIdOrNone(t.header->eos_id))
      return malformed("the tokenizer names a token that isn't there");
    for (uint32_t id : t.byteIds)
      if (!isIdOrNone(id))
        return malformed("a byte has token %a, which isn't there", id);
    for (uint32_t id : t.lookup)
      if (!isIdOrNone(id))
        return malformed("the lookup names token %a, which isn't there", id);
    STINT_TRY(checkAround(t.prefix));
    STINT_TRY(checkAround(t.suffix));
    const stint_tokenizer_header &h = *t.header;
    if (h.piece_prefix_size > 4 || !utf8Valid(h.piece_prefix, h.piece_prefix + h.piece_prefix_size) ||
        h.strip_start > 64)
      return malformed("what the tokenizer puts before a text is malformed");
    return isPowerOrNone(t.lookup.size) && isPowerOrNone(t.mergeSlots.size)
               ? success()
               : malformed("a hash table of the tokenizer has a size that isn't a power of two");
  }

  Status checkAround(Span<const uint32_t> ids) const {
    for (uint32_t id : ids)
      if (!isId(id) || ids.size > 64)
        return malformed("token %a is to be put around a text, but isn't there", id);
    return success();
  }

  static bool isPowerOrNone(uint32_t size) { return (size & (size - 1)) == 0; }

  Status checkMerges() {
    for (uint32_t rank = 0; rank < t.merges.size; ++rank) {
      const stint_tokenizer_merge &merge = t.merges[rank];
      if (!isId(merge.left) || !isId(merge.right) || !isId(merge.id))
        return malformed("merge %a names a token that isn't there", rank);
    }
    for (uint32_t rank : t.mergeSlots)
      if (rank != STINT_TOKENIZER_NONE && rank >= t.merges.size)
        return malformed("there is no merge %a", rank);
    return success();
  }

  // Ranges of characters: first << 8 | class.
  Status checkRanges(Span<const uint32_t> ranges, uint32_t classes) {
    if (ranges.empty() || ranges[0] >> 8)
      return malformed("a table of characters doesn't begin at 0");
    for (uint32_t i = 0; i < ranges.size; ++i)
      if ((i && ranges[i] >> 8 <= ranges[i - 1] >> 8) || ranges[i] >> 8 > 0x10ffff || (ranges[i] & 0xff) >= classes)
        return malformed("entry %a of a table of characters is malformed", i);
    return success();
  }

  Status checkStages() {
    if (t.stages.empty())
      return success();
    uint32_t classes = t.header->class_count;
    if (t.stages.size > STINT_TOKENIZER_MAX_STAGES || !classes || classes > 256 || t.ascii.size != 128)
      return malformed("the tokenizer's splitting rules are malformed");
    for (uint8_t value : t.ascii)
      if (value >= classes)
        return malformed("a character has class %a, which isn't there", value);
    STINT_TRY(checkRanges(t.classes, classes));
    for (uint32_t i = 0; i < t.stages.size; ++i) {
      const stint_tokenizer_stage &stage = t.stages[i];
      if (stage.states < 2 || stage.states > STINT_TOKENIZER_MATCH ||
          !rangeFits(stage.transitions, uint64_t(stage.states) * classes, t.transitions.size))
        return malformed("splitting stage %a lies outside the tokenizer", i);
      for (uint32_t j = 0; j < stage.states * classes; ++j)
        if ((t.transitions[stage.transitions + j] & ~STINT_TOKENIZER_MATCH) >= stage.states)
          return malformed("splitting stage %a goes to a state that isn't there", i);
    }
    return success();
  }

  Status checkAdded() {
    for (uint32_t i = 0; i < t.added.size; ++i) {
      const stint_tokenizer_added &token = t.added[i];
      if (!isId(token.id) || !token.size || token.size > STINT_TOKENIZER_MAX_ADDED ||
          !rangeFits(token.text, token.size, t.addedText.size))
        return malformed("added token %a is malformed", i);
    }
    if (t.added.empty() && t.addedFirst.empty())
      return success();
    if (t.addedFirst.size != 514)
      return malformed("the index of added tokens is malformed");
    for (uint32_t i = 0; i < 514; ++i)
      if (t.addedFirst[i] > t.added.size || (i && t.addedFirst[i] < t.addedFirst[i - 1]))
        return malformed("the index of added tokens is malformed");
    return success();
  }

  static bool isCharacter(uint32_t c) { return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff); }

  Status checkComposition() {
    if (!t.has(STINT_TOKENIZER_NFC))
      return success();
    STINT_TRY(checkRanges(t.combining, 256));
    for (uint32_t c : t.decomposed)
      if (!isCharacter(c))
        return malformed("a decomposition holds %a, which is no character", c);
    for (const stint_tokenizer_decomposition &d : t.decompositions)
      if (!d.count || d.count > 4 || !rangeFits(d.first, d.count, t.decomposed.size))
        return malformed("the decomposition of character %a is malformed", d.character);
    for (const stint_tokenizer_composition &c : t.compositions)
      if (!isCharacter(c.composed))
        return malformed("a composition gives %a, which is no character", c.composed);
    return success();
  }

  const uint8_t *data;
  Tokenizer &t;
};

} // namespace

Status openTokenizer(const void *data, uint64_t size, Tokenizer *tokenizer) {
  *tokenizer = Tokenizer();
  if (reinterpret_cast<uintptr_t>(data) % 4)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "a tokenizer must be aligned to 4 bytes");
  if (size < sizeof(stint_tokenizer_header))
    return malformed("a tokenizer of %a bytes is cut off", static_cast<int64_t>(size));
  const auto *header = static_cast<const stint_tokenizer_header *>(data);
  if (header->magic != STINT_TOKENIZER_MAGIC || header->size != size)
    return malformed("not a tokenizer, or cut off");
  if (header->version != STINT_TOKENIZER_VERSION)
    return failure(STINT_STATUS_UNSUPPORTED, "a tokenizer of version %a", header->version);
  tokenizer->header = header;
  return Opener(static_cast<const uint8_t *>(data), tokenizer).run();
}

} // namespace stint
