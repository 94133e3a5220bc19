// A compiled chat template (runtime/schema/chat_section.h): messages to token
// ids, as the template writes them.
//
// Nothing is allocated: ids and scratch are the caller's. A chat is a view of a
// section that must outlive it; any number of threads may use it.
#ifndef STINT_RUNTIME_GENERATION_CHAT_H
#define STINT_RUNTIME_GENERATION_CHAT_H

#include "runtime/generation/tokenizer.h"
#include "runtime/schema/chat_section.h"

namespace stint {

struct Chat {
  const stint_chat_header *header = nullptr;
  Span<const stint_chat_piece> pieces;
  const uint8_t *text = nullptr;
};

// Checks all of a section, `data` aligned to 4 bytes, and that its tokens are
// the tokenizer's.
Status openChat(const void *data, uint64_t size, const Tokenizer &tokenizer, Chat *chat);

// Writes the ids of a chat, with the prompt for the assistant's answer behind it if
// `prompt`. Failures: INVALID_ARGUMENT (a role that isn't there, or not
// behind the one before; a message without text), and those of `encode`.
Status encodeChat(const Chat &chat, const Tokenizer &tokenizer, const stint_message *messages, uint64_t count,
                  bool prompt, Span<uint8_t> scratch, uint32_t *ids, uint64_t capacity, EncodeResult *result);

} // namespace stint

#endif
