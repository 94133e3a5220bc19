// The C API's text: opens a model's sections, and brings the scratch that
// callers don't.
#include "runtime/generation/model_text.h"
#include "runtime/base/options.h"
#include "runtime/core/model.h"
#include "runtime/generation/utf8.h"

#include <string.h>

using namespace stint;

namespace {

// The size of a decoder's vocabulary; 0: the model is none.
int64_t vocabularyOf(const stint_model *model) {
  for (const Decoder &decoder : model->plan.decoder) {
    const Dim &dim = model->plan.entries[decoder.entry].outputs[decoder.logits].dims[1];
    const EntryFacts &facts = model->facts[decoder.entry];
    return dim.symbol >= 0 ? model->plan.symbols[dim.symbol].upper : facts.upper.empty() ? 0 : facts.upper[dim.reg];
  }
  return 0;
}

} // namespace

Status stint::openText(stint_model *model) {
  if (model->tokenizerSection == noSection)
    return model->chatSection == noSection ? success() : malformed("a chat template without a tokenizer");
  Span<ModelText> text;
  if (!model->pool.array(1, &text))
    return outOfMemory(sizeof(ModelText));
  auto open = [&](uint32_t section, auto opener) {
    Status status = opener(model->sections[section], model->planFile.sections[section].size);
    return status.ok() ? status : status.about(STINT_OBJECT_SECTION, section);
  };
  STINT_TRY(open(model->tokenizerSection,
                 [&](const uint8_t *data, uint64_t size) { return openTokenizer(data, size, &text[0].tokenizer); }));
  const Tokenizer &tokenizer = text[0].tokenizer;
  int64_t vocabulary = vocabularyOf(model);
  if (vocabulary && tokenizer.tokenCount() > vocabulary)
    return malformed("the tokenizer has %a tokens, the model's vocabulary %b", tokenizer.tokenCount(), vocabulary);
  if (model->chatSection != noSection)
    STINT_TRY(open(model->chatSection,
                   [&](const uint8_t *data, uint64_t size) { return openChat(data, size, tokenizer, &text[0].chat); }));
  for (uint8_t flags : tokenizer.tokenFlags)
    text[0].specialCount += (flags & STINT_TOKEN_PRESENT) && (flags & STINT_TOKEN_SPECIAL);
  model->text = text.data;
  return success();
}

namespace {

static_assert(int(STINT_ENCODE_SPECIAL) == int(EncodeSpecial) && int(STINT_ENCODE_AROUND) == int(EncodeAround) &&
                  int(STINT_DECODE_SKIP_SPECIAL) == int(DecodeSkipSpecial) &&
                  int(STINT_DECODE_WHOLE) == int(DecodeWhole),
              "the same flags on both sides");
static_assert(sizeof(DecodeState) <= sizeof(stint_text_stream) && alignof(DecodeState) <= alignof(stint_text_stream),
              "a stream holds a state");
constexpr uint64_t endRoom = 12; // of decodeEnd

const ModelText *textOf(const stint_model *model) { return model ? model->text : nullptr; }

Status noTokenizer() {
  return failure(STINT_STATUS_NOT_FOUND, "the plan holds no tokenizer: compile the model with --tokenizer");
}

// Runs encodeIn(scratch, &result) in the caller's scratch, or in as much as it wants.
template <typename EncodeIn>
stint_status inScratch(const stint_encode_options &options, uint64_t textSize, size_t *count, EncodeIn encodeIn) {
  EncodeResult result = {0, 0};
  Status status = success();
  if (options.scratch || options.scratch_size) {
    uint64_t size = options.scratch_size < UINT32_MAX ? options.scratch_size : UINT32_MAX;
    if (!options.scratch)
      size = 0;
    status = encodeIn({static_cast<uint8_t *>(options.scratch), static_cast<uint32_t>(size)}, &result);
  } else {
    uint64_t wanted = textSize < UINT32_MAX / 64 ? 40 * textSize + 1024 : UINT32_MAX / 2;
    for (uint64_t size = 0; wanted > size && wanted <= UINT32_MAX; wanted = result.scratch) {
      size = wanted;
      void *memory = platform::allocate(size);
      if (!memory)
        return outOfMemory(size).value;
      status = encodeIn({static_cast<uint8_t *>(memory), static_cast<uint32_t>(size)}, &result);
      platform::free(memory, size);
      if (status.value.code != STINT_STATUS_OUT_OF_MEMORY)
        break;
    }
  }
  *count = result.count;
  if (status.value.code == STINT_STATUS_OUT_OF_MEMORY)
    status.value.a = static_cast<int64_t>(result.scratch);
  return status.value;
}

// A stream is the caller's memory: whatever is in it, nothing is written behind its end.
bool isSound(const DecodeState &state) {
  return state.heldCount == 0 || (state.heldCount < 4 && state.heldCount < utf8Length(state.held[0]));
}

Status readCall(const ModelText *text, const void *pointers[], uint32_t count) {
  if (!text)
    return noTokenizer();
  for (uint32_t i = 0; i < count; ++i)
    if (!pointers[i])
      return failure(STINT_STATUS_INVALID_ARGUMENT, "a pointer that must not be null is null");
  return success();
}

} // namespace

extern "C" {

int32_t stint_model_has_tokenizer(const stint_model *model) { return textOf(model) ? 1 : 0; }

stint_status stint_model_tokenizer(const stint_model *model, stint_tokenizer_info *info) {
  const ModelText *text = textOf(model);
  if (!text)
    return noTokenizer().value;
  const Tokenizer &t = text->tokenizer;
  stint_tokenizer_info result = {};
  result.kind = t.has(STINT_TOKENIZER_BYTE_LEVEL)      ? "byte-level BPE"
                : t.has(STINT_TOKENIZER_BYTE_FALLBACK) ? "BPE with byte fallback"
                                                       : "BPE";
  result.token_count = t.tokenCount();
  result.special_count = text->specialCount;
  result.bos_id = t.header->bos_id;
  result.eos_id = t.header->eos_id;
  result.has_chat = text->chat.header != nullptr;
  result.turn_end_id = text->chat.header ? text->chat.header->turn_end_id : STINT_NO_TOKEN;
  result.decode_capacity = t.decodeRoom < endRoom ? endRoom : t.decodeRoom;
  return writeInfo(result, info).value;
}

stint_status stint_model_token(const stint_model *model, uint32_t id, stint_token_info *info) {
  const ModelText *text = textOf(model);
  if (!text)
    return noTokenizer().value;
  if (!text->tokenizer.tokenIsThere(id))
    return failure(STINT_STATUS_NOT_FOUND, "there is no token %a", id).value;
  Span<const uint8_t> bytes = text->tokenizer.tokenText(id);
  stint_token_info result = {0, reinterpret_cast<const char *>(bytes.data), bytes.size,
                             (text->tokenizer.tokenFlags[id] & STINT_TOKEN_SPECIAL) != 0};
  return writeInfo(result, info).value;
}

stint_status stint_model_encode(const stint_model *model, const char *text, size_t textSize,
                                const stint_encode_options *given, uint32_t *ids, size_t capacity, size_t *count) {
  const ModelText *own = textOf(model);
  const void *needed[] = {count, textSize ? text : "", capacity ? static_cast<const void *>(ids) : ""};
  Status status = readCall(own, needed, 3);
  stint_encode_options options;
  if (status.ok())
    status = readOptions(given, &options);
  if (status.ok() && (options.flags & ~uint32_t(STINT_ENCODE_SPECIAL | STINT_ENCODE_AROUND)))
    status = failure(STINT_STATUS_INVALID_ARGUMENT, "no such flags for encoding a text: %a", options.flags);
  if (!status.ok())
    return status.value;
  return inScratch(options, textSize, count, [&](Span<uint8_t> scratch, EncodeResult *result) {
    return encode(own->tokenizer, text, textSize, options.flags, scratch, ids, capacity, result);
  });
}

stint_status stint_model_encode_chat(const stint_model *model, const stint_message *messages, size_t messageCount,
                                     const stint_encode_options *given, uint32_t *ids, size_t capacity, size_t *count) {
  const ModelText *own = textOf(model);
  const void *needed[] = {count, messages, capacity ? static_cast<const void *>(ids) : ""};
  Status status = readCall(own, needed, 3);
  stint_encode_options options;
  if (status.ok())
    status = readOptions(given, &options);
  if (status.ok() && !own->chat.header)
    status = failure(STINT_STATUS_NOT_FOUND, "the plan holds no chat template: compile the model with --chat-template");
  if (status.ok() && (options.flags & ~uint32_t(STINT_ENCODE_NO_PROMPT)))
    status = failure(STINT_STATUS_INVALID_ARGUMENT, "no such flags for encoding a chat: %a", options.flags);
  if (!status.ok())
    return status.value;
  uint64_t size = 0;
  for (size_t i = 0; i < messageCount; ++i)
    size = messages[i].text_size > maxEncodeText ? size : size + messages[i].text_size;
  return inScratch(options, size, count, [&](Span<uint8_t> scratch, EncodeResult *result) {
    return encodeChat(own->chat, own->tokenizer, messages, messageCount, !(options.flags & STINT_ENCODE_NO_PROMPT),
                      scratch, ids, capacity, result);
  });
}

stint_status stint_model_decode(const stint_model *model, stint_text_stream *stream, const uint32_t *ids, size_t count,
                                uint32_t flags, char *text, size_t capacity, size_t *done, size_t *written) {
  const ModelText *own = textOf(model);
  const void *needed[] = {stream, done, written, count ? static_cast<const void *>(ids) : "", text};
  Status status = readCall(own, needed, 5);
  if (status.ok() && (flags & ~uint32_t(STINT_DECODE_SKIP_SPECIAL | STINT_DECODE_WHOLE)))
    status = failure(STINT_STATUS_INVALID_ARGUMENT, "no such flags for decoding: %a", flags);
  if (!status.ok())
    return status.value;
  DecodeState state;
  memcpy(&state, stream, sizeof(state));
  if (!isSound(state) || *written > capacity || *done > count)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "the stream isn't one, or there is more done than there was to do")
        .value;
  uint64_t doneSoFar = *done, writtenSoFar = *written;
  status = decode(own->tokenizer, &state, ids, count, flags, text, capacity, &doneSoFar, &writtenSoFar);
  *done = doneSoFar;
  *written = writtenSoFar;
  memcpy(stream, &state, sizeof(state));
  return status.value;
}

stint_status stint_model_decode_end(const stint_model *model, stint_text_stream *stream, char *text, size_t capacity,
                                    size_t *written) {
  const ModelText *own = textOf(model);
  const void *needed[] = {stream, written, text};
  Status status = readCall(own, needed, 3);
  if (!status.ok())
    return status.value;
  DecodeState state;
  memcpy(&state, stream, sizeof(state));
  if (!isSound(state) || *written > capacity)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "the stream isn't one, or more is written than there is room").value;
  if (state.heldCount && capacity - *written < endRoom)
    return failure(STINT_STATUS_OUT_OF_RANGE, "the end of a text needs %a bytes, there are %b", endRoom,
                   static_cast<int64_t>(capacity - *written))
        .value;
  *written += decodeEnd(own->tokenizer, &state, text + *written);
  memset(stream, 0, sizeof(*stream));
  return success().value;
}

} // extern "C"
