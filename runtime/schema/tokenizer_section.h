// Byte layout of a compiled tokenizer: one flat, position-independent blob,
// little-endian, that a runtime uses where it lies (aligned to 4 bytes).
//
//   [stint_tokenizer_header]
//   [tables, each at a multiple of 4, as header.tables says]
//
// Written by compiler/text, read by runtime/generation/tokenizer.h, which
// checks all of it before use. Depends on <stdint.h> alone.
//
// What is done with a text: added tokens are cut out; what lies between is
// normalised, cut into words by the splitting stages, and each word's symbols
// are merged pair by pair, lowest rank first (BPE).
//
// A splitting stage is a DFA over classes of characters that finds leftmost-
// first matches, as a backtracking regular expression does. One step of it sees
// the class of the next character (STINT_TOKENIZER_END_CLASS behind the last):
// the entry of `transitions` at state * class_count + class says whether a match
// ends *before* that character (bit 15) and which state follows (bits 0 to 14;
// 0: none). So one character of lookahead costs nothing. A word is a match, or
// what lies between two of them.
#ifndef STINT_SCHEMA_TOKENIZER_SECTION_H
#define STINT_SCHEMA_TOKENIZER_SECTION_H

#include <stdint.h>

#define STINT_TOKENIZER_MAGIC 0x4b4f5453u // "STOK"
#define STINT_TOKENIZER_VERSION 1u
#define STINT_TOKENIZER_NONE 0xffffffffu  // no id, an empty slot
#define STINT_TOKENIZER_MAX_PROBES 128u   // slots looked at for one key
#define STINT_TOKENIZER_MAX_STAGES 4u     // splitting stages
#define STINT_TOKENIZER_MAX_ADDED 256u    // bytes of an added token
#define STINT_TOKENIZER_MAX_TOKEN 65536u  // bytes of any token
#define STINT_TOKENIZER_MAX_IDS 0x400000u // ids are below
#define STINT_TOKENIZER_END_CLASS 0u      // the class of the end of a text
#define STINT_TOKENIZER_MATCH 0x8000u

// header.flags
enum stint_tokenizer_flags {
  // Symbols begin as bytes; otherwise as characters.
  STINT_TOKENIZER_BYTE_LEVEL = 1 << 0,
  // A word that is a token as a whole is that token, whatever the merges say.
  STINT_TOKENIZER_WHOLE_WORDS = 1 << 1,
  // Characters that are no token become their bytes' tokens, if all are there.
  STINT_TOKENIZER_BYTE_FALLBACK = 1 << 2,
  // Neighbouring unknown characters become one unknown token.
  STINT_TOKENIZER_FUSE_UNKNOWN = 1 << 3,
  // Normaliser, in this order.
  STINT_TOKENIZER_NFC = 1 << 4,
  STINT_TOKENIZER_PREPEND = 1 << 5, // U+2581, before any text that isn't empty
  STINT_TOKENIZER_SPACES = 1 << 6,  // U+0020 -> U+2581
  // What happens to each piece after normalised added tokens are cut out:
  // spaces become U+2581; then header.piece_prefix goes before every piece, or
  // the one that begins the text, unless it begins with that already.
  STINT_TOKENIZER_PIECE_SPACES = 1 << 7,
  STINT_TOKENIZER_PREFIX_ALL = 1 << 8,
  STINT_TOKENIZER_PREFIX_FIRST = 1 << 9,
  // Decoder.
  STINT_TOKENIZER_DECODE_SPACES = 1 << 10, // U+2581 -> U+0020
  STINT_TOKENIZER_DECODE_DROP = 1 << 11,   // U+2581 in the first token -> nothing
  STINT_TOKENIZER_DECODE_BYTES = 1 << 12,  // tokens with the flag BYTE are bytes
  STINT_TOKENIZER_DECODE_LOSSY = 1 << 13,  // the text of tokens may be cut anywhere in a character
};

// Of one token, in the table TOKEN_FLAGS.
enum stint_tokenizer_token_flags {
  STINT_TOKEN_PRESENT = 1 << 0, // there is a token of this id
  STINT_TOKEN_SPECIAL = 1 << 1, // left out when decoding without special tokens
  STINT_TOKEN_BYTE = 1 << 2,    // stands for the byte in table BYTE_VALUES
};

// Of an added token.
enum stint_tokenizer_added_flags {
  STINT_ADDED_SPECIAL = 1 << 0,
  STINT_ADDED_LSTRIP = 1 << 1, // takes the white space before it along
  STINT_ADDED_RSTRIP = 1 << 2, // and after it
};

// Tables; counts are of elements.
enum stint_tokenizer_table {
  STINT_TOKENIZER_TEXT,        // uint8: the tokens' text, one after another
  STINT_TOKENIZER_TEXT_ENDS,   // uint32[token_count]: where each ends; begins where the one before ends
  STINT_TOKENIZER_TOKEN_FLAGS, // uint8[token_count]
  STINT_TOKENIZER_BYTE_VALUES, // uint8[token_count], or empty without BYTE tokens
  STINT_TOKENIZER_LOOKUP,      // uint32 slots, a power of two: id by text, for words and characters
  STINT_TOKENIZER_BYTE_IDS,    // uint32[256]: token of a byte, or NONE
  STINT_TOKENIZER_MERGES,      // stint_tokenizer_merge, the lowest rank first
  STINT_TOKENIZER_MERGE_SLOTS, // uint32 slots, a power of two: rank by pair
  STINT_TOKENIZER_STAGES,      // stint_tokenizer_stage
  STINT_TOKENIZER_TRANSITIONS, // uint16
  STINT_TOKENIZER_ASCII,       // uint8[128]: classes of characters
  STINT_TOKENIZER_CLASSES,     // uint32: first character << 8 | class, ascending, the first at 0
  STINT_TOKENIZER_ADDED,       // stint_tokenizer_added: raw ones, then normalised ones, each sorted by text
  STINT_TOKENIZER_ADDED_TEXT,  // uint8
  STINT_TOKENIZER_ADDED_FIRST, // uint32[2 * 257]: raw, normalised: index of the first entry by first byte
  STINT_TOKENIZER_PREFIX,      // uint32: ids before a text
  STINT_TOKENIZER_SUFFIX,      // uint32: and behind it
  // Canonical composition: combining classes as first character << 8 | class,
  // decompositions (full, of all but Hangul), pairs sorted.
  STINT_TOKENIZER_COMBINING,      // uint32, ascending, the first at 0
  STINT_TOKENIZER_DECOMPOSITIONS, // stint_tokenizer_decomposition, by character
  STINT_TOKENIZER_DECOMPOSED,     // uint32 characters
  STINT_TOKENIZER_COMPOSITIONS,   // stint_tokenizer_composition, by first, second
  STINT_TOKENIZER_TABLES
};

typedef struct stint_tokenizer_range {
  uint32_t offset; // from the start of the section
  uint32_t count;
} stint_tokenizer_range;

typedef struct stint_tokenizer_header {
  uint32_t magic;
  uint32_t version;
  uint32_t size; // of the section, bytes
  uint32_t flags;
  uint32_t token_count; // ids are below; some may be absent
  uint32_t unknown_id;  // or NONE
  uint32_t bos_id;      // or NONE: for whoever generates; encoding uses table PREFIX
  uint32_t eos_id;
  uint32_t class_count; // classes are below
  uint32_t strip_start; // U+0020 that decoding takes from the start of a text
  uint32_t piece_prefix_size;
  uint8_t piece_prefix[4];
  uint32_t reserved[4]; // zero
  stint_tokenizer_range tables[STINT_TOKENIZER_TABLES];
} stint_tokenizer_header;

typedef struct stint_tokenizer_merge {
  uint32_t left, right, id;
} stint_tokenizer_merge;

typedef struct stint_tokenizer_stage {
  uint32_t transitions; // index of state 0's in the table
  uint32_t states;      // state 0 is none, 1 the start
  uint32_t flags;       // 1: what lies between matches is dropped
} stint_tokenizer_stage;

typedef struct stint_tokenizer_added {
  uint32_t id;
  uint32_t text; // offset in ADDED_TEXT
  uint32_t size;
  uint32_t flags;
} stint_tokenizer_added;

typedef struct stint_tokenizer_decomposition {
  uint32_t character;
  uint32_t first; // index in DECOMPOSED
  uint32_t count; // 1 to 4
} stint_tokenizer_decomposition;

typedef struct stint_tokenizer_composition {
  uint32_t first, second, composed;
} stint_tokenizer_composition;

// Where the search for a key begins in its table of slots; it goes on with the
// next slot, cyclically, up to an empty one or MAX_PROBES.
static inline uint32_t stint_tokenizer_pair_hash(uint32_t left, uint32_t right) {
  uint64_t key = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15ull;
  return (uint32_t)(key >> 32) ^ (uint32_t)(key >> 15);
}
static inline uint32_t stint_tokenizer_text_hash(const uint8_t *text, uint64_t size) {
  uint64_t hash = 0xcbf29ce484222325ull; // FNV-1a
  for (uint64_t i = 0; i < size; ++i)
    hash = (hash ^ text[i]) * 0x100000001b3ull;
  return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

#ifdef __cplusplus
static_assert(sizeof(stint_tokenizer_header) == 64 + 8 * STINT_TOKENIZER_TABLES, "frozen");
static_assert(sizeof(stint_tokenizer_merge) == 12 && sizeof(stint_tokenizer_stage) == 12, "frozen");
static_assert(sizeof(stint_tokenizer_added) == 16 && sizeof(stint_tokenizer_decomposition) == 12, "frozen");
#endif

#endif
