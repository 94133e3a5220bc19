// stint-test-tokenize: runs a tokenizer over a file of texts, for scripts that
// compare it with another implementation.
//
// usage: stint-test-tokenize encode|encode-special|decode|decode-skip|compile TOKENIZER INPUT OUTPUT
//
// TOKENIZER is a tokenizer.json or a GGUF file. encode: INPUT holds texts, each
// its length and its bytes; OUTPUT gets their ids, each text's count and ids.
// decode: the other way, and OUTPUT gets two texts for each: decoded at once, and
// as a stream, id by id. compile: OUTPUT gets the section. Numbers are uint32.
// Exit codes: 1 failed, 2 usage, 3 unsupported, 4 malformed.
#include "compiler/text/TokenizerModel.h"
#include "runtime/generation/tokenizer.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using namespace stint;

namespace {

int fail(const char *what) {
  std::fprintf(stderr, "stint-test-tokenize: %s\n", what);
  return 1;
}

void putNumber(std::string &out, uint32_t number) {
  out.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

void putText(std::string &out, const std::string &text) {
  putNumber(out, text.size());
  out += text;
}

/// Reads length-prefixed records of elements of `size` bytes.
class Records {
public:
  Records(llvm::StringRef data, size_t size) : data(data), size(size) {}
  bool next(std::vector<char> *record) {
    uint32_t count;
    if (data.size() < sizeof(count))
      return false;
    std::memcpy(&count, data.data(), sizeof(count));
    data = data.drop_front(sizeof(count));
    if (count > data.size() / size)
      return false;
    record->assign(data.begin(), data.begin() + count * size);
    data = data.drop_front(count * size);
    return true;
  }

private:
  llvm::StringRef data;
  size_t size;
};

bool encodeText(const Tokenizer &tokenizer, const std::vector<char> &text, uint32_t flags,
                std::vector<uint8_t> *scratch, std::vector<uint32_t> *ids) {
  ids->resize(4 * text.size() + 16);
  EncodeResult result;
  while (true) {
    Status status =
        encode(tokenizer, text.data(), text.size(), flags, {scratch->data(), static_cast<uint32_t>(scratch->size())},
               ids->data(), ids->size(), &result);
    if (status.value.code == STINT_STATUS_OUT_OF_MEMORY && result.scratch > scratch->size()) {
      scratch->resize(result.scratch);
      continue;
    }
    ids->resize(status.ok() ? result.count : 0);
    if (!status.ok())
      fail(status.value.text);
    return status.ok();
  }
}

bool decodeText(const Tokenizer &tokenizer, const std::vector<uint32_t> &ids, uint32_t flags, bool stream,
                std::string *text) {
  std::vector<char> buffer(tokenizer.decodeRoom + 64);
  DecodeState state = {};
  text->clear();
  for (uint64_t done = 0; done < ids.size();) {
    uint64_t written = 0;
    uint64_t count = stream ? done + 1 : ids.size();
    if (!decode(tokenizer, &state, ids.data(), count, flags | (stream ? 0 : DecodeWhole), buffer.data(), buffer.size(),
                &done, &written)
             .ok())
      return false;
    text->append(buffer.data(), written);
  }
  text->append(buffer.data(), decodeEnd(tokenizer, &state, buffer.data()));
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5)
    return fail("usage: encode|encode-special|decode|decode-skip|compile TOKENIZER INPUT OUTPUT"), 2;
  std::string mode = argv[1];
  auto file = llvm::MemoryBuffer::getFile(argv[2]);
  auto input = llvm::MemoryBuffer::getFile(argv[3]);
  if (!file || !input)
    return fail("cannot read an input");
  auto model = text::readTokenizer((*file)->getMemBufferRef());
  llvm::Expected<std::vector<uint8_t>> section =
      model ? text::buildTokenizerSection(*model) : llvm::Expected<std::vector<uint8_t>>(model.takeError());
  if (!section) {
    int code = 1;
    llvm::handleAllErrors(section.takeError(), [&](const text::TextError &error) {
      fail(error.message.c_str());
      code = error.kind == text::TextError::Unsupported ? 3 : 4;
    });
    return code;
  }
  Tokenizer tokenizer;
  Status status = openTokenizer(section->data(), section->size(), &tokenizer);
  if (!status.ok())
    return fail(status.value.text);

  std::string out;
  std::vector<char> record;
  if (mode == "compile") {
    out.assign(section->begin(), section->end());
  } else if (mode == "encode" || mode == "encode-special") {
    uint32_t flags = mode == "encode" ? 0 : uint32_t(EncodeSpecial) | EncodeAround;
    std::vector<uint8_t> scratch(64);
    std::vector<uint32_t> ids;
    for (Records texts((*input)->getBuffer(), 1); texts.next(&record);) {
      if (!encodeText(tokenizer, record, flags, &scratch, &ids))
        return 1;
      putNumber(out, ids.size());
      for (uint32_t id : ids)
        putNumber(out, id);
    }
  } else if (mode == "decode" || mode == "decode-skip") {
    for (Records lists((*input)->getBuffer(), sizeof(uint32_t)); lists.next(&record);) {
      std::vector<uint32_t> ids(record.size() / sizeof(uint32_t));
      std::memcpy(ids.data(), record.data(), record.size());
      for (bool stream : {false, true}) {
        std::string text;
        if (!decodeText(tokenizer, ids, mode == "decode" ? 0 : uint32_t(DecodeSkipSpecial), stream, &text))
          return fail("cannot decode");
        putText(out, text);
      }
    }
  } else {
    return fail("unknown mode"), 2;
  }
  FILE *stream = std::fopen(argv[4], "wb");
  if (!stream || std::fwrite(out.data(), 1, out.size(), stream) != out.size() || std::fclose(stream))
    return fail("cannot write the output");
  return 0;
}
