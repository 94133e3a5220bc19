// Fuzzes tokenizers, in three ways that the first byte of an input chooses:
//
//   's'  a text for one of the small tokenizers: its ids come back as valid UTF-8, a
//        stream gives the same as all at once, and however little scratch there is at
//        first, the ids are the same
//   'd'  a section with damage, and a text for it: refused, or used without harm
//   'c'  a chat template: compiled, or refused with a message; the program writes chats as
//        it says, and none but its own tokens is special
//   else a tokenizer.json or GGUF file: compiled, or refused with a message; what the
//        compiler writes, the runtime takes
#include "SmallTokenizers.h"
#include "compiler/text/ChatProgram.h"
#include "compiler/text/TokenizerModel.h"
#include "runtime/generation/chat.h"
#include "runtime/generation/tokenizer.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace stint;

namespace {

void check(bool good, const char *what) {
  if (good)
    return;
  std::fprintf(stderr, "fuzz-tokenizer: %s\n", what);
  std::abort();
}

using Ids = std::vector<uint32_t>;

bool isUtf8(const char *text, uint64_t size) {
  const auto *p = reinterpret_cast<const uint8_t *>(text), *end = p + size;
  while (p < end) {
    int more = *p < 0x80                 ? 0
               : *p >= 0xc2 && *p < 0xe0 ? 1
               : *p >= 0xe0 && *p < 0xf0 ? 2
               : *p >= 0xf0 && *p < 0xf5 ? 3
                                         : -1;
    if (more < 0 || end - p <= more)
      return false;
    for (int i = 1; i <= more; ++i)
      if ((p[i] & 0xc0) != 0x80)
        return false;
    p += 1 + more;
  }
  return true;
}

// Encodes with `first` bytes of scratch, and with what is asked for from then on.
bool encodeWith(const Tokenizer &t, const std::string &text, uint32_t flags, size_t first, Ids *ids) {
  std::vector<uint8_t> scratch(first);
  EncodeResult result;
  ids->resize(4 * text.size() + 200);
  for (int tries = 0;; ++tries) {
    Status status = encode(t, text.data(), text.size(), flags, {scratch.data(), static_cast<uint32_t>(scratch.size())},
                           ids->data(), ids->size(), &result);
    if (status.value.code == STINT_STATUS_OUT_OF_MEMORY) {
      check(result.scratch > scratch.size() && tries < 50, "asks for no more scratch than there was");
      scratch.assign(result.scratch, 0x55);
      continue;
    }
    bool overflow = status.value.code == STINT_STATUS_OUT_OF_RANGE;
    check(status.ok() || overflow || status.value.code == STINT_STATUS_UNSUPPORTED, "fails without a reason");
    check(status.ok() == (result.count <= ids->size()) || !status.ok(), "more ids than room");
    if (!status.ok())
      return false;
    ids->resize(result.count);
    return true;
  }
}

std::string decodeAll(const Tokenizer &t, const Ids &ids, uint32_t flags, bool oneByOne) {
  std::vector<char> out(t.decodeRoom);
  DecodeState state = {};
  std::string text;
  for (uint64_t done = 0; done < ids.size();) {
    uint64_t written = 0, before = done;
    check(
        decode(t, &state, ids.data(), oneByOne ? done + 1 : ids.size(), flags, out.data(), out.size(), &done, &written)
            .ok(),
        "a token doesn't fit in the room for any");
    check(done > before && written <= out.size() && isUtf8(out.data(), written), "what was decoded isn't UTF-8");
    text.append(out.data(), written);
  }
  uint64_t written = decodeEnd(t, &state, out.data());
  check(isUtf8(out.data(), written), "the end isn't UTF-8");
  return text.append(out.data(), written);
}

void use(const Tokenizer &t, const std::string &text, bool sound) {
  for (uint32_t flags :
       {0u, static_cast<uint32_t>(EncodeSpecial), static_cast<uint32_t>(EncodeSpecial | EncodeAround)}) {
    Ids ids, again;
    bool good = encodeWith(t, text, flags, encodeScratch(t, text.size()), &ids);
    check(encodeWith(t, text, flags, 16, &again) == good, "scratch decides whether a text is encoded");
    if (!good)
      continue;
    check(ids == again, "scratch changes ids");
    std::string stream = decodeAll(t, ids, 0, true), whole = decodeAll(t, ids, DecodeWhole, false);
    decodeAll(t, ids, DecodeSkipSpecial, false);
    if (sound && isUtf8(text.data(), text.size()))
      check(stream == whole, "a stream differs from the whole");
    // Ids out of the text, and ids that aren't there.
    Ids odd;
    for (char c : text)
      odd.push_back(static_cast<uint8_t>(c) * t.tokenCount() / 250);
    decodeAll(t, odd, 0, true);
    decodeAll(t, odd, DecodeWhole, false);
  }
}

const std::vector<std::vector<uint8_t>> &sections() {
  static const std::vector<std::vector<uint8_t>> all = [] {
    std::vector<std::vector<uint8_t>> result;
    for (const text::SmallTokenizer &each : text::smallTokenizers())
      result.push_back(text::sectionOf(each.json));
    return result;
  }();
  return all;
}

void compile(const std::string &file) {
  llvm::Expected<text::TokenizerModel> model = text::readTokenizer(llvm::MemoryBufferRef(file, "fuzz"));
  if (!model)
    return check(!llvm::toString(model.takeError()).empty(), "refused without a message");
  llvm::Expected<std::vector<uint8_t>> section = text::buildTokenizerSection(*model);
  if (!section)
    return check(!llvm::toString(section.takeError()).empty(), "refused without a message");
  Tokenizer t;
  check(openTokenizer(section->data(), section->size(), &t).ok(), "what the compiler wrote is refused");
  use(t, "a b<s> [x]\xe2\x96\x81\xff 12 it's\n\n", false);
}

void compileChat(const std::string &source) {
  text::TokenizerConfig config;
  config.tokens = {{"bos_token", "<|a|>"}, {"eos_token", "[r]"}};
  llvm::Expected<text::ChatProgram> program = text::learnChatProgram(source, config);
  if (!program)
    return check(!llvm::toString(program.takeError()).empty(), "refused without a message");
  std::string json = text::smallTokenizer("llama3");
  text::TokenizerModel model = llvm::cantFail(text::readTokenizer(llvm::MemoryBufferRef(json, "fuzz")));
  llvm::Expected<std::vector<uint8_t>> section = text::buildChatSection(*program, model);
  if (!section)
    return check(!llvm::toString(section.takeError()).empty(), "refused without a message");
  std::vector<uint8_t> tokens = llvm::cantFail(text::buildTokenizerSection(model));
  Tokenizer t;
  Chat chat;
  check(openTokenizer(tokens.data(), tokens.size(), &t).ok(), "a sound section is refused");
  check(openChat(section->data(), section->size(), t, &chat).ok(), "what the compiler wrote is refused");
  std::string user = " <|a|>12 ";
  stint_message message = {"user", user.data(), user.size()};
  std::string whole = *text::writeChat(*program, {{STINT_CHAT_USER, user}}, true);
  std::vector<uint8_t> scratch(encodeScratch(t, whole.size()) + whole.size() + 64);
  Ids ids(4 * whole.size() + 200);
  EncodeResult result;
  Status status = encodeChat(chat, t, &message, 1, true, {scratch.data(), static_cast<uint32_t>(scratch.size())},
                             ids.data(), ids.size(), &result);
  check(status.ok(), "a chat that the template takes is refused");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3)
    return 0;
  const std::vector<uint8_t> &section = sections()[data[1] % sections().size()];
  Tokenizer t;
  if (data[0] == 's') {
    check(openTokenizer(section.data(), section.size(), &t).ok(), "a sound section is refused");
    use(t, std::string(reinterpret_cast<const char *>(data) + 2, size - 2), true);
  } else if (data[0] == 'd') {
    // Damage: how many, then for each where (three bytes) and what.
    std::vector<uint8_t> damaged = section;
    size_t count = data[2] % 8, at = 3;
    for (; count && at + 4 <= size; --count, at += 4) {
      size_t where = data[at] | data[at + 1] << 8 | data[at + 2] << 16;
      damaged[where % damaged.size()] = data[at + 3];
    }
    if (openTokenizer(damaged.data(), damaged.size(), &t).ok())
      use(t, std::string(reinterpret_cast<const char *>(data) + at, size - at), false);
  } else if (data[0] == 'c') {
    compileChat(std::string(reinterpret_cast<const char *>(data) + 1, size - 1));
  } else {
    compile(std::string(reinterpret_cast<const char *>(data), size));
  }
  return 0;
}
