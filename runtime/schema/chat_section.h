// Byte layout of a compiled chat template: one flat, position-independent blob,
// little-endian, that a runtime uses where it lies (aligned to 4 bytes).
//
//   [stint_chat_header]
//   [stint_chat_piece, header.piece_count of them]
//   [text, header.text_size bytes, zero-padded to a multiple of 4]
//
// Written by compiler/text, read by runtime/generation/chat.h, which checks all
// of it before use. Depends on <stdint.h> alone.
//
// A chat is written joint, text, joint, text, …, joint: what the template puts
// between two messages depends on their roles alone. The first joint comes from
// START; the last leads to END, or to PROMPT if the assistant is to answer. So
// joint [START][USER] holds, say, the begin-of-text token, a default system
// message and the marker of a user's turn. A joint that is absent is a
// sequence of roles that the template refuses.
//
// A joint is a run of pieces: text, or a token. Text between two tokens is
// encoded in one go, what it says and what messages say together, and never
// becomes a special token.
#ifndef STINT_SCHEMA_CHAT_SECTION_H
#define STINT_SCHEMA_CHAT_SECTION_H

#include <stdint.h>

#define STINT_CHAT_MAGIC 0x54484353u // "SCHT"
#define STINT_CHAT_VERSION 1u
#define STINT_CHAT_NONE 0xffffffffu
#define STINT_CHAT_MAX_PIECES 4096u
#define STINT_CHAT_MAX_TEXT 1048576u

// What comes before and behind a joint. START comes before only.
enum stint_chat_place {
  STINT_CHAT_START = 0,
  STINT_CHAT_SYSTEM = 1,
  STINT_CHAT_USER = 2,
  STINT_CHAT_ASSISTANT = 3,
  STINT_CHAT_BEFORE = 4, // number of places before a joint
  STINT_CHAT_END = 4,
  STINT_CHAT_PROMPT = 5,
  STINT_CHAT_BEHIND = 6 // number of places behind one; [.][START] is absent
};

// Of a role, in header.role_flags.
enum stint_chat_role_flags {
  STINT_CHAT_TRIM = 1, // white space around the message's text is dropped, as Python's strip does
};

typedef struct stint_chat_joint {
  uint32_t first; // piece, or STINT_CHAT_NONE: the joint is absent
  uint32_t count;
} stint_chat_joint;

// A token, if id isn't STINT_CHAT_NONE; else `size` bytes of text at `text`.
typedef struct stint_chat_piece {
  uint32_t id;
  uint32_t flags; // of a token: stint_tokenizer_added_flags
  uint32_t text;
  uint32_t size;
} stint_chat_piece;

typedef struct stint_chat_header {
  uint32_t magic;
  uint32_t version;
  uint32_t size;        // of the section, bytes
  uint32_t turn_end_id; // the token that ends an assistant's turn, or STINT_CHAT_NONE
  uint32_t piece_count;
  uint32_t text_size;
  uint32_t role_flags[STINT_CHAT_BEFORE];
  uint32_t reserved[2]; // zero
  stint_chat_joint joints[STINT_CHAT_BEFORE][STINT_CHAT_BEHIND];
} stint_chat_header;

#ifdef __cplusplus
static_assert(sizeof(stint_chat_header) == 48 + 8 * 4 * 6 && sizeof(stint_chat_piece) == 16, "frozen");
#endif

#endif
