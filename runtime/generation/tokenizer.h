// A compiled tokenizer (runtime/schema/tokenizer_section.h): text to token ids
// and back, exactly as the tokenizer it was compiled from.
//
// Nothing is allocated: ids, texts and scratch are the caller's. A tokenizer
// is a view of a section that must outlive it; any number of threads may use it.
// Encoding takes O(n log n) of the text's length, whatever the text.
#ifndef STINT_RUNTIME_GENERATION_TOKENIZER_H
#define STINT_RUNTIME_GENERATION_TOKENIZER_H

#include "runtime/base/span.h"
#include "runtime/base/status.h"
#include "runtime/schema/tokenizer_section.h"

namespace stint {

struct Tokenizer {
  const stint_tokenizer_header *header = nullptr;
  Span<const uint8_t> text;
  Span<const uint32_t> textEnds;
  Span<const uint8_t> tokenFlags;
  Span<const uint8_t> byteValues;
  Span<const uint32_t> lookup;
  Span<const uint32_t> byteIds;
  Span<const stint_tokenizer_merge> merges;
  Span<const uint32_t> mergeSlots;
  Span<const stint_tokenizer_stage> stages;
  Span<const uint16_t> transitions;
  Span<const uint8_t> ascii;
  Span<const uint32_t> classes;
  Span<const stint_tokenizer_added> added;
  Span<const uint8_t> addedText;
  Span<const uint32_t> addedFirst;
  Span<const uint32_t> prefix, suffix;
  Span<const uint32_t> combining;
  Span<const stint_tokenizer_decomposition> decompositions;
  Span<const uint32_t> decomposed;
  Span<const stint_tokenizer_composition> compositions;
  uint64_t decodeRoom = 0; // bytes that one id may come to when it is decoded

  bool has(uint32_t flag) const { return (header->flags & flag) != 0; }
  uint32_t tokenCount() const { return header->token_count; }
  bool tokenIsThere(uint32_t id) const { return id < tokenCount() && (tokenFlags[id] & STINT_TOKEN_PRESENT); }
  // The text of a token, as the vocabulary has it.
  Span<const uint8_t> tokenText(uint32_t id) const {
    uint32_t begin = id ? textEnds[id - 1] : 0;
    return {text.data + begin, textEnds[id] - begin};
  }
};

// Checks all of a section, `data` aligned to 4 bytes; then `tokenizer` may be
// used whatever the section says.
Status openTokenizer(const void *data, uint64_t size, Tokenizer *tokenizer);

// ---------------------------------------------------------------------------
// Encoding

enum EncodeFlags : uint32_t {
  // Special tokens written in the text are those tokens. Without it they are
  // text like any other: what users write never has a token's power.
  EncodeSpecial = 1,
  // The ids that the tokenizer puts around a text (begin of sequence, …).
  EncodeAround = 2,
  // The text goes on where another ended: what belongs at the start of a text isn't
  // put before it.
  EncodeInside = 4,
};

struct EncodeResult {
  uint64_t count;   // ids of the whole text, even where fewer were written
  uint64_t scratch; // bytes of scratch that the next try should bring, if it wasn't enough
};

constexpr uint64_t maxEncodeText = uint64_t(1) << 29;

// Scratch that is enough for any text of so many bytes. Most texts need a small
// part of it: give less, and take what EncodeResult asks for.
uint64_t encodeScratch(const Tokenizer &tokenizer, uint64_t textSize);

// Writes up to `capacity` ids. What isn't UTF-8 counts as U+FFFD. Failures:
// OUT_OF_MEMORY (scratch is too small, see EncodeResult), OUT_OF_RANGE (more ids than
// capacity: result->count says how many), INVALID_ARGUMENT (a text above
// maxEncodeText), UNSUPPORTED (a splitting rule of more than linear time).
Status encode(const Tokenizer &tokenizer, const void *text, uint64_t size, uint32_t flags, Span<uint8_t> scratch,
              uint32_t *ids, uint64_t capacity, EncodeResult *result);

// ---------------------------------------------------------------------------
// Decoding

enum DecodeFlags : uint32_t {
  DecodeSkipSpecial = 1, // special tokens give no text
  // These are all ids of the text: a run of byte tokens that isn't UTF-8
  // as a whole becomes U+FFFD for each byte. In a stream a character is given
  // out as soon as it is complete, and only bytes that are none are replaced.
  DecodeWhole = 2,
};

// A text that is being decoded, between two calls. Zero at first.
struct DecodeState {
  uint8_t held[4];   // bytes of a character that isn't complete
  uint8_t heldCount; // below 4
  uint8_t started;   // a token was seen
  uint8_t inRun;     // DecodeWhole: the current run of byte tokens is 1: UTF-8, 2: not
  uint8_t textSeen;  // something was given out: nothing more is stripped
  uint32_t stripped; // spaces taken from the start
};

// Appends the text of ids[*done …] to `out` as long as it fits, `*done` and
// `*written` count on. Always valid UTF-8: bytes of a character that isn't
// complete are held back. A `capacity` of decodeRoom is enough for one token.
// An id that isn't there gives no text. OUT_OF_RANGE: the first token doesn't fit.
Status decode(const Tokenizer &tokenizer, DecodeState *state, const uint32_t *ids, uint64_t count, uint32_t flags,
              char *out, uint64_t capacity, uint64_t *done, uint64_t *written);
// The end of the text: what was held back is given out as U+FFFD (at most 12 bytes).
uint64_t decodeEnd(const Tokenizer &tokenizer, DecodeState *state, char *out);

} // namespace stint

#endif
