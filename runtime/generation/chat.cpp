// Writes a chat joint by joint. Text is gathered up to the next token and then
// encoded in one go, since a tokenizer may make one token of where two texts meet.
#include "runtime/generation/chat.h"
#include "runtime/base/arithmetic.h"
#include "runtime/generation/utf8.h"

#include <string.h>

namespace stint {
namespace {

Status checkJoint(const Chat &chat, uint32_t before, uint32_t behind) {
  const stint_chat_joint &joint = chat.header->joints[before][behind];
  if (joint.first == STINT_CHAT_NONE && joint.count == 0)
    return success();
  if (behind == STINT_CHAT_START || !rangeFits(joint.first, joint.count, chat.pieces.size))
    return malformed("the joint from %a to %b of the chat template lies outside it", before, behind);
  return success();
}

Status checkPiece(const Chat &chat, const Tokenizer &tokenizer, uint32_t index) {
  const stint_chat_piece &piece = chat.pieces[index];
  if (piece.id != STINT_CHAT_NONE)
    return tokenizer.tokenIsThere(piece.id)
               ? success()
               : malformed("the chat template writes token %a, which isn't there", piece.id);
  if (!rangeFits(piece.text, piece.size, chat.header->text_size) ||
      !utf8Valid(chat.text + piece.text, chat.text + piece.text + piece.size))
    return malformed("piece %a of the chat template is malformed", index);
  return success();
}

// Bytes of the white space that `text` begins with (or ends with, at `size`), 0:
// none. `python`: what Python's str.strip takes, else what Unicode calls White_Space.
uint32_t spaceLength(const uint8_t *text, uint64_t size, bool atEnd, bool python) {
  for (uint32_t length = 1; length <= 3 && length <= size; ++length) {
    const uint8_t *p = atEnd ? text + size - length : text;
    if (length != utf8Length(*p) || (length > 1 && !utf8Valid(p, p + length)))
      continue;
    uint32_t read, character = utf8Read(p, &read);
    if (isWhiteSpace(character) || (python && character >= 0x1c && character <= 0x1f))
      return length;
  }
  return 0;
}

void strip(const uint8_t **text, uint64_t *size, bool start, bool end, bool python) {
  for (uint32_t length; start && (length = spaceLength(*text, *size, false, python)); *size -= length)
    *text += length;
  for (uint32_t length; end && (length = spaceLength(*text, *size, true, python));)
    *size -= length;
}

uint32_t placeOf(const char *role) {
  static const char *const names[] = {"", "system", "user", "assistant"};
  for (uint32_t place = STINT_CHAT_SYSTEM; role && place < STINT_CHAT_BEFORE; ++place)
    if (strcmp(role, names[place]) == 0)
      return place;
  return STINT_CHAT_START;
}

// Walks over the text and the tokens of a chat, in order.
class Writer {
public:
  Writer(const Chat &chat, const stint_message *messages, uint64_t count, bool prompt)
      : chat(chat), messages(messages), count(count), prompt(prompt) {}

  // text(bytes, size) and token(piece) return a Status.
  template <typename OnText, typename OnToken> Status run(OnText text, OnToken token) const {
    uint32_t before = STINT_CHAT_START;
    for (uint64_t i = 0; i <= count; ++i) {
      uint32_t behind = prompt ? STINT_CHAT_PROMPT : STINT_CHAT_END;
      if (i < count)
        behind = placeOf(messages[i].role);
      const stint_chat_joint &joint = chat.header->joints[before][behind];
      if (behind == STINT_CHAT_START)
        return failure(STINT_STATUS_INVALID_ARGUMENT, "message %a has a role that isn't system, user or assistant",
                       static_cast<int64_t>(i));
      if (joint.first == STINT_CHAT_NONE)
        return i < count ? failure(STINT_STATUS_INVALID_ARGUMENT,
                                   "the model's chat template allows no message of this role as message %a",
                                   static_cast<int64_t>(i))
                         : failure(STINT_STATUS_INVALID_ARGUMENT,
                                   "the model's chat template allows no end or answer behind its %a messages",
                                   static_cast<int64_t>(i));
      for (uint32_t k = joint.first; k < joint.first + joint.count; ++k) {
        const stint_chat_piece &piece = chat.pieces[k];
        if (piece.id != STINT_CHAT_NONE)
          STINT_TRY(token(piece));
        else
          STINT_TRY(text(chat.text + piece.text, uint64_t(piece.size)));
      }
      if (i == count)
        break;
      const auto *bytes = reinterpret_cast<const uint8_t *>(messages[i].text);
      uint64_t size = messages[i].text_size;
      if (!bytes && size)
        return failure(STINT_STATUS_INVALID_ARGUMENT, "message %a has no text", static_cast<int64_t>(i));
      if (chat.header->role_flags[behind] & STINT_CHAT_TRIM)
        strip(&bytes, &size, true, true, /*python=*/true);
      STINT_TRY(text(bytes, size));
      before = behind;
    }
    return success();
  }

private:
  const Chat &chat;
  const stint_message *messages;
  uint64_t count;
  bool prompt;
};

} // namespace

Status openChat(const void *data, uint64_t size, const Tokenizer &tokenizer, Chat *chat) {
  *chat = Chat();
  if (reinterpret_cast<uintptr_t>(data) % 4)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "a chat template must be aligned to 4 bytes");
  const auto *header = static_cast<const stint_chat_header *>(data);
  if (size < sizeof(*header) || header->magic != STINT_CHAT_MAGIC || header->size != size)
    return malformed("not a chat template, or cut off");
  if (header->version != STINT_CHAT_VERSION)
    return failure(STINT_STATUS_UNSUPPORTED, "a chat template of version %a", header->version);
  uint64_t pieces = uint64_t(header->piece_count) * sizeof(stint_chat_piece);
  if (header->piece_count > STINT_CHAT_MAX_PIECES || header->text_size > STINT_CHAT_MAX_TEXT ||
      size != sizeof(*header) + pieces + (uint64_t(header->text_size) + 3) / 4 * 4)
    return malformed("the chat template's tables don't fit its %a bytes", static_cast<int64_t>(size));
  chat->header = header;
  chat->pieces = {reinterpret_cast<const stint_chat_piece *>(header + 1), header->piece_count};
  chat->text = static_cast<const uint8_t *>(data) + sizeof(*header) + pieces;
  for (uint32_t before = 0; before < STINT_CHAT_BEFORE; ++before)
    for (uint32_t behind = 0; behind < STINT_CHAT_BEHIND; ++behind)
      STINT_TRY(checkJoint(*chat, before, behind));
  for (uint32_t i = 0; i < chat->pieces.size; ++i)
    STINT_TRY(checkPiece(*chat, tokenizer, i));
  if (header->turn_end_id != STINT_CHAT_NONE && !tokenizer.tokenIsThere(header->turn_end_id))
    return malformed("the chat template ends turns with token %a, which isn't there", header->turn_end_id);
  return success();
}

Status encodeChat(const Chat &chat, const Tokenizer &tokenizer, const stint_message *messages, uint64_t count,
                  bool prompt, Span<uint8_t> scratch, uint32_t *ids, uint64_t capacity, EncodeResult *result) {
  *result = {0, 0};
  if (!count || !messages)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "a chat without any message");
  Writer writer(chat, messages, count, prompt);
  // The longest text between two tokens is gathered at the start of scratch.
  uint64_t longest = 0, size = 0;
  STINT_TRY(writer.run(
      [&](const uint8_t *, uint64_t more) {
        if (size > maxEncodeText || more > maxEncodeText)
          return failure(STINT_STATUS_INVALID_ARGUMENT, "a chat of %a bytes is too long to encode", int64_t(more));
        size += more;
        longest = size > longest ? size : longest;
        return success();
      },
      [&](const stint_chat_piece &) {
        size = 0;
        return success();
      }));
  if (longest > scratch.size) {
    result->scratch = longest + 64;
    return outOfMemory(result->scratch);
  }
  Span<uint8_t> rest = {scratch.data + longest, scratch.size - static_cast<uint32_t>(longest)};

  size = 0;
  bool stripStart = false, begun = false;
  auto flush = [&](bool stripEnd) {
    const uint8_t *text = scratch.data;
    strip(&text, &size, stripStart, stripEnd, /*python=*/false);
    if (!size)
      return success();
    uint64_t done = result->count < capacity ? result->count : capacity;
    EncodeResult part;
    Status status = encode(tokenizer, text, size, begun ? EncodeInside : 0, rest, ids + done, capacity - done, &part);
    size = 0;
    begun = true;
    result->count += part.count;
    if (status.value.code == STINT_STATUS_OUT_OF_MEMORY) {
      result->scratch = longest + part.scratch;
      return outOfMemory(result->scratch);
    }
    return status.value.code == STINT_STATUS_OUT_OF_RANGE ? success() : status;
  };
  STINT_TRY(writer.run(
      [&](const uint8_t *text, uint64_t more) {
        if (more)
          memcpy(scratch.data + size, text, more);
        size += more;
        return success();
      },
      [&](const stint_chat_piece &piece) {
        STINT_TRY(flush((piece.flags & STINT_ADDED_LSTRIP) != 0));
        if (result->count < capacity)
          ids[result->count] = piece.id;
        ++result->count;
        begun = true;
        size = 0;
        stripStart = (piece.flags & STINT_ADDED_RSTRIP) != 0;
        return success();
      }));
  STINT_TRY(flush(false));
  if (result->count > capacity)
    return failure(STINT_STATUS_OUT_OF_RANGE, "a chat comes to %a tokens, %b fit", int64_t(result->count),
                   int64_t(capacity));
  return success();
}

} // namespace stint
