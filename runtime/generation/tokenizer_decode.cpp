// Ids to text, one at a time, with the bytes of an incomplete character kept
// in the state until it is complete or can't be.
#include "runtime/generation/tokenizer_tables.h"
#include "runtime/generation/utf8.h"

namespace stint {
namespace {

class Decoder {
public:
  Decoder(const Tokenizer &t, DecodeState *state, char *out)
      : t(t), state(*state), begin(reinterpret_cast<uint8_t *>(out)), out(begin) {}

  void token(uint32_t id, bool whole, const uint32_t *ids, uint64_t left, uint32_t flags) {
    Span<const uint8_t> text = t.tokenText(id);
    if (t.has(STINT_TOKENIZER_DECODE_LOSSY)) {
      for (uint8_t byte : text)
        lossy(byte, true);
    } else if (t.has(STINT_TOKENIZER_DECODE_BYTES) && (t.tokenFlags[id] & STINT_TOKEN_BYTE)) {
      if (whole && !state.inRun)
        state.inRun = runIsUtf8(ids, left, flags) ? 1 : 2;
      if (state.inRun == 2)
        replace();
      else
        lossy(t.byteValues[id], false);
    } else {
      flush();
      state.inRun = 0;
      characters(text);
    }
    state.started = 1;
  }

  // The end of a run of byte tokens, or of the text.
  void flush() {
    if (!state.heldCount)
      return;
    // One replacement for a cut character of a text, but one for each byte token.
    uint32_t count = t.has(STINT_TOKENIZER_DECODE_LOSSY) ? 1 : state.heldCount;
    for (uint32_t i = 0; i < count; ++i)
      replace();
    state.heldCount = 0;
  }

  uint64_t written() const { return static_cast<uint64_t>(out - begin); }

private:
  void put(const uint8_t *text, uint32_t size) {
    if (!state.textSeen && state.stripped < t.header->strip_start) {
      if (size == 1 && *text == ' ') {
        ++state.stripped;
        return;
      }
      state.textSeen = 1;
    }
    memcpy(out, text, size);
    out += size;
  }

  void replace() {
    uint8_t text[3];
    put(text, utf8Write(replacementCharacter, text));
  }

  // One more byte of a text that may be cut anywhere. `together`: what can't be
  // completed is replaced as one, otherwise byte by byte.
  void lossy(uint8_t byte, bool together) {
    if (state.heldCount && !utf8Continues(state.held[0], state.heldCount, byte)) {
      uint32_t count = together ? 1 : state.heldCount;
      for (uint32_t i = 0; i < count; ++i)
        replace();
      state.heldCount = 0;
    }
    if (!state.heldCount && !utf8Length(byte))
      return replace();
    state.held[state.heldCount++] = byte;
    if (state.heldCount == utf8Length(state.held[0])) {
      put(state.held, state.heldCount);
      state.heldCount = 0;
    }
  }

  // The text of a token that is valid UTF-8.
  void characters(Span<const uint8_t> text) {
    const uint8_t *end = text.data + text.size;
    uint32_t length;
    for (const uint8_t *p = text.data; p < end; p += length) {
      if (utf8Read(p, &length) != 0x2581) {
        put(p, length);
      } else if (t.has(STINT_TOKENIZER_DECODE_DROP) && !state.started) {
        continue;
      } else if (t.has(STINT_TOKENIZER_DECODE_SPACES)) {
        put(reinterpret_cast<const uint8_t *>(" "), 1);
      } else {
        put(p, length);
      }
    }
  }

  // Whether the run of byte tokens that begins here is UTF-8 as a whole.
  bool runIsUtf8(const uint32_t *ids, uint64_t left, uint32_t flags) const {
    uint8_t lead = 0;
    uint32_t have = 0;
    for (uint64_t i = 0; i < left; ++i) {
      uint32_t id = ids[i];
      if (!t.tokenIsThere(id) || ((flags & DecodeSkipSpecial) && (t.tokenFlags[id] & STINT_TOKEN_SPECIAL)))
        continue;
      if (!(t.tokenFlags[id] & STINT_TOKEN_BYTE))
        break;
      uint8_t byte = t.byteValues[id];
      if (have ? !utf8Continues(lead, have, byte) : !utf8Length(byte))
        return false;
      if (!have)
        lead = byte;
      have = have + 1 == utf8Length(lead) ? 0 : have + 1;
    }
    return have == 0;
  }

  const Tokenizer &t;
  DecodeState &state;
  uint8_t *begin, *out;
};

} // namespace

Status decode(const Tokenizer &tokenizer, DecodeState *state, const uint32_t *ids, uint64_t count, uint32_t flags,
              char *out, uint64_t capacity, uint64_t *done, uint64_t *written) {
  uint64_t first = *done;
  for (; *done < count; ++*done) {
    uint32_t id = ids[*done];
    if (!tokenizer.tokenIsThere(id))
      continue;
    if ((flags & DecodeSkipSpecial) && (tokenizer.tokenFlags[id] & STINT_TOKEN_SPECIAL))
      continue;
    uint64_t room = decodeRoomOf(tokenizer, id);
    if (*written > capacity || room > capacity - *written)
      return *done > first ? success()
                           : failure(STINT_STATUS_OUT_OF_RANGE, "a token needs %a bytes of text, there are %b",
                                     int64_t(room), int64_t(capacity));
    Decoder decoder(tokenizer, state, out + *written);
    decoder.token(id, (flags & DecodeWhole) != 0, ids + *done, count - *done, flags);
    *written += decoder.written();
  }
  return success();
}

uint64_t decodeEnd(const Tokenizer &tokenizer, DecodeState *state, char *out) {
  Decoder decoder(tokenizer, state, out);
  decoder.flush();
  uint64_t written = decoder.written();
  *state = DecodeState();
  return written;
}

} // namespace stint
