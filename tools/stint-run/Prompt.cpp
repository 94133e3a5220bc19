// What `stint-run generate` goes on with: text, a file, ids, or a chat.
#include "Generate.h"
#include "Report.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stint_run {

namespace {

// "1,2,3" to ids.
int parseIds(const char *text, Ids *ids) {
  if (!ids->memory.allocate((strlen(text) + 1) * sizeof(uint32_t)))
    return fail(ExitFailed, "out of memory");
  for (const char *at = text;; ++at) {
    uint64_t value = 0;
    const char *begin = at;
    for (; *at >= '0' && *at <= '9' && value < UINT32_MAX; ++at)
      value = value * 10 + static_cast<uint64_t>(*at - '0');
    if (at == begin || value >= UINT32_MAX || (*at && *at != ','))
      return fail(ExitUsage, "--tokens '%.100s': expected ids such as 1,2,3", text);
    ids->data()[ids->count++] = static_cast<uint32_t>(value);
    if (!*at)
      return ExitDone;
  }
}

// Calls encode(options, ids, capacity, &count) until the ids fit.
template <typename Encode> int encodeInto(const Generation &generation, uint64_t guess, Ids *ids, Encode encode) {
  for (int tries = 0; tries < 3; ++tries) {
    if (!ids->memory.allocate((guess + 1) * sizeof(uint32_t)))
      return fail(ExitFailed, "out of memory");
    stint_status status = encode(ids->data(), guess, &ids->count);
    if (status.code != STINT_STATUS_OUT_OF_RANGE || ids->count <= guess)
      return status.code ? failStatus(status, generation.job.model, "the prompt can't be made tokens") : int(ExitDone);
    guess = ids->count;
  }
  return fail(ExitFailed, "the prompt can't be made tokens");
}

int encodeText(const Generation &generation, const char *text, size_t size, Ids *ids) {
  stint_encode_options how = {};
  how.size = sizeof how;
  // What goes on with another text doesn't begin anew.
  how.flags = generation.sequence ? 0 : STINT_ENCODE_AROUND;
  return encodeInto(generation, size + 16, ids, [&](uint32_t *to, size_t capacity, size_t *count) {
    return stint_model_encode(generation.job.model, text, size, &how, to, capacity, count);
  });
}

int encodeChat(const Generation &generation, const stint_message *messages, size_t messageCount, Ids *ids) {
  uint64_t guess = 256;
  for (size_t i = 0; i < messageCount; ++i)
    guess += messages[i].text_size;
  return encodeInto(generation, guess, ids, [&](uint32_t *to, size_t capacity, size_t *count) {
    return stint_model_encode_chat(generation.job.model, messages, messageCount, nullptr, to, capacity, count);
  });
}

// Messages of a chat; their texts are owned.
class Messages {
public:
  Messages() = default;
  ~Messages() {
    for (size_t i = 0; i < used; ++i)
      free(const_cast<char *>(list[i].text));
    free(list);
  }
  Messages(const Messages &) = delete;
  Messages &operator=(const Messages &) = delete;

  bool add(const char *role, const char *text, size_t size) {
    if (used == room) {
      auto *grown = static_cast<stint_message *>(realloc(list, (2 * room + 8) * sizeof(stint_message)));
      if (!grown)
        return false;
      list = grown;
      room = 2 * room + 8;
    }
    char *copy = static_cast<char *>(malloc(size + 1));
    if (!copy)
      return false;
    memcpy(copy, text, size);
    copy[size] = 0;
    list[used++] = {role, copy, size};
    return true;
  }
  const stint_message *data() const { return list; }
  size_t size() const { return used; }

private:
  stint_message *list = nullptr;
  size_t used = 0, room = 0;
};

// Goes on with the chat: what its tokens have in common with the sequence stays.
int answerChat(Generation *generation, const Messages &messages) {
  Ids ids;
  if (int code = encodeChat(*generation, messages.data(), messages.size(), &ids))
    return code;
  size_t common = 0;
  if (generation->sequence) {
    const uint32_t *tokens = nullptr;
    size_t count = 0;
    stint_status status = stint_sequence_tokens(generation->generator, generation->sequence, &tokens, &count);
    while (!status.code && common < count && common + 1 < ids.count && tokens[common] == ids.data()[common])
      ++common;
    if (!status.code && common)
      status = stint_sequence_rewind(generation->generator, generation->sequence, common);
    else if (!status.code)
      status = stint_sequence_remove(generation->generator, generation->sequence);
    if (status.code)
      return failStatus(status, generation->job.model, "can't go on with the chat");
    if (!common)
      generation->sequence = 0;
  }
  return answerTo(generation, ids.data() + common, ids.count - common);
}

} // namespace

int readPrompt(Generation *generation, Ids *ids) {
  const GenerateOptions &options = *generation->options;
  if (options.tokens)
    return parseIds(options.tokens, ids);
  const char *text = options.prompt;
  size_t size = text ? strlen(text) : 0;
  Buffer bytes;
  if (options.promptFile) {
    InputFile file;
    if (int code = file.open(options.promptFile))
      return code;
    if (file.size() > (1u << 28))
      return fail(ExitFailed, "'%s' is too long for a prompt", options.promptFile);
    if (!bytes.allocate(file.size()))
      return fail(ExitFailed, "can't read '%s': out of memory", options.promptFile);
    if (int code = file.read(bytes.data(), file.size()))
      return code;
    text = reinterpret_cast<const char *>(bytes.data());
    size = bytes.size();
  }
  if (!text)
    return ExitDone; // goes on with a sequence that was kept
  if (!options.chat)
    return encodeText(*generation, text, size, ids);
  stint_message messages[2];
  size_t count = 0;
  if (options.system)
    messages[count++] = {"system", options.system, strlen(options.system)};
  messages[count++] = {"user", text, size};
  return encodeChat(*generation, messages, count, ids);
}

int chatWithInput(Generation *generation) {
  const char *system = generation->options->system;
  Messages messages;
  if (system && !messages.add("system", system, strlen(system)))
    return fail(ExitFailed, "out of memory");
  char *line = nullptr;
  size_t room = 0;
  int code = ExitDone;
  for (ssize_t size; !code && !*generation->interrupted && (size = getline(&line, &room, stdin)) >= 0;) {
    while (size && (line[size - 1] == '\n' || line[size - 1] == '\r'))
      --size;
    if (!size)
      continue;
    code = messages.add("user", line, static_cast<size_t>(size)) ? answerChat(generation, messages)
                                                                 : fail(ExitFailed, "out of memory");
    if (!code && !messages.add("assistant", generation->answer ? generation->answer : "", generation->answerSize))
      code = fail(ExitFailed, "out of memory");
  }
  free(line);
  return code;
}

} // namespace stint_run
