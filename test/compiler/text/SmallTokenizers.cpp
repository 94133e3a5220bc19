// Writes the small tokenizers' files.
#include "SmallTokenizers.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

namespace stint::text {
namespace {

/// A token's text in JSON, each character escaped: byte-level ones are bytes in GPT-2's alphabet.
std::string spelt(llvm::StringRef bytes, bool byteLevel) {
  if (!byteLevel)
    return bytes.str();
  std::string text;
  for (uint8_t byte : bytes) {
    bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    uint32_t character = byte;
    if (!visible)
      character = byte <= ' ' ? 0x100 + byte : byte < 0xa1 ? 0x100 + 33 + (byte - 0x7f) : 0x100 + 67;
    text += llvm::formatv("\\u{0:x-4}", character).str();
  }
  return text;
}

struct Vocabulary {
  bool byteLevel;
  std::vector<std::string> tokens, merges;

  std::string add(const std::string &json) {
    tokens.push_back(json);
    return json;
  }
  void merge(llvm::StringRef left, llvm::StringRef right) {
    std::string a = spelt(left, byteLevel), b = spelt(right, byteLevel);
    merges.push_back("[\"" + a + "\",\"" + b + "\"]");
    add(a + b);
  }
  std::string json() const {
    std::string text = "\"vocab\":{";
    for (size_t id = 0; id < tokens.size(); ++id)
      text += (id ? ",\"" : "\"") + tokens[id] + "\":" + std::to_string(id);
    return text + "},\"merges\":[" + llvm::join(merges, ",") + "]";
  }
};

Vocabulary vocabulary(bool byteLevel) {
  Vocabulary result{byteLevel, {}, {}};
  if (byteLevel) {
    for (int byte = 0; byte < 256; ++byte)
      result.add(spelt(std::string(1, static_cast<char>(byte)), true));
  } else {
    for (const char *token : {"<unk>", "<s>", "</s>"})
      result.add(token);
    for (int byte = 0; byte < 256; ++byte)
      result.add(llvm::formatv("<0x{0:X-2}>", byte).str());
    for (const char *token : {"\u2581", "a", "b", "é", "人"})
      result.add(token);
  }
  std::string space = byteLevel ? " " : "\u2581";
  result.merge("a", "a");
  result.merge(space, "a");
  result.merge("aa", "aa");
  result.merge("a", "b");
  result.merge(space, space);
  result.merge(space + "a", "b");
  if (byteLevel) {
    result.merge("\xc3", "\xa9");
    result.merge("\xe4", "\xba");
    result.merge("\xe4\xba", "\xba");
    result.merge("1", "2");
    result.merge("'", "s");
  }
  return result;
}

std::string added(unsigned first, bool normalized) {
  auto one = [&](unsigned id, const char *content, const char *settings) {
    return llvm::formatv("{{\"id\":{0},\"content\":\"{1}\",\"single_word\":false,{2}}", id, content, settings).str();
  };
  std::string raw = "\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":";
  std::string result = "\"added_tokens\":[" + one(first, "<|a|>", (raw + "true").c_str()) + "," +
                       one(first + 1, "<|a|>b", (raw + "false").c_str()) + "," +
                       one(first + 2, "[l]", "\"lstrip\":true,\"rstrip\":false,\"normalized\":false,\"special\":true") +
                       "," +
                       one(first + 3, "[r]", "\"lstrip\":false,\"rstrip\":true,\"normalized\":false,\"special\":false");
  if (normalized)
    result += "," + one(first + 4, "[n]", "\"lstrip\":true,\"rstrip\":true,\"normalized\":true,\"special\":false");
  return result + "]";
}

std::string byteLevel(const std::string &splitter, const char *more, const char *normalizer = "null") {
  Vocabulary tokens = vocabulary(true);
  std::string json = "{" + added(tokens.tokens.size(), true) + ",\"normalizer\":" + normalizer;
  json +=
      ",\"pre_tokenizer\":" + splitter + ",\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\"," + more;
  return json + tokens.json() + "}}";
}

std::string pieces(const char *parts) {
  Vocabulary tokens = vocabulary(false);
  return "{" + added(tokens.tokens.size(), true) + "," + parts +
         ",\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"byte_fallback\":true," +
         tokens.json() + "}}";
}

std::string regex(llvm::StringRef pattern) {
  std::string escaped;
  for (char c : pattern)
    (c == '\\' || c == '"') ? (escaped += '\\') += c : escaped += c;
  return "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" + escaped +
         "\"},\"behavior\":\"Isolated\",\"invert\":false},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
         "\"use_regex\":false}]}";
}

constexpr const char *plainByteLevel = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}";

void put64(std::string &out, uint64_t value) {
  for (int i = 0; i < 8; ++i)
    out += static_cast<char>(value >> 8 * i);
}
void put32(std::string &out, uint32_t value) {
  for (int i = 0; i < 4; ++i)
    out += static_cast<char>(value >> 8 * i);
}
void putString(std::string &out, llvm::StringRef text) {
  put64(out, text.size());
  out += text;
}

std::string ggufFile(bool withScores) {
  std::vector<std::string> tokens = {"<s>", "<0x41>", "a", "b", "ab", "abb"};
  std::string out = "GGUF";
  put32(out, 3);
  put64(out, 0);
  put64(out, withScores ? 5 : 5);
  putString(out, "tokenizer.ggml.model");
  put32(out, 8);
  putString(out, withScores ? "llama" : "gpt2");
  putString(out, "tokenizer.ggml.tokens");
  put32(out, 9);
  put32(out, 8);
  put64(out, tokens.size());
  for (const std::string &token : tokens)
    putString(out, token);
  if (withScores) {
    putString(out, "tokenizer.ggml.scores");
    put32(out, 9);
    put32(out, 6);
    put64(out, tokens.size());
    for (uint32_t bits : {0u, 0u, 0u, 0u, 0xbf800000u, 0xc0000000u}) // 0, …, -1, -2
      put32(out, bits);
  } else {
    putString(out, "tokenizer.ggml.merges");
    put32(out, 9);
    put32(out, 8);
    put64(out, 2);
    putString(out, "a b");
    putString(out, "ab b");
  }
  putString(out, "tokenizer.ggml.token_type");
  put32(out, 9);
  put32(out, 5);
  put64(out, tokens.size());
  for (uint32_t type : {3, 6, 1, 1, 1, 1})
    put32(out, type);
  if (withScores) {
    putString(out, "tokenizer.ggml.bos_token_id");
    put32(out, 4);
    put32(out, 0);
  } else {
    putString(out, "tokenizer.ggml.pre");
    put32(out, 8);
    putString(out, "smollm");
  }
  return out;
}

} // namespace

std::vector<SmallTokenizer> smallTokenizers() {
  return {
      {"gpt2", byteLevel(plainByteLevel, "")},
      {"smollm", byteLevel(std::string("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\","
                                       "\"individual_digits\":true},") +
                               plainByteLevel + "]}",
                           "")},
      {"llama3", byteLevel(regex(llama3Pattern), "\"ignore_merges\":true,")},
      {"qwen2", byteLevel(regex(qwen2Pattern), "", "{\"type\":\"NFC\"}")},
      {"quadratic", byteLevel(regex("a*b|a"), "")},
      {"llama2",
       pieces("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":"
              "\"\u2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}]},"
              "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"
              "\"\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":"
              "\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},\"post_processor\":{\"type\":"
              "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},"
              "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"</s>\",\"type_id\":0}}],"
              "\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[1]},\"</s>\":{\"id\":\"</s>\",\"ids\":[2]}}}")},
      {"metaspace", pieces("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":"
                           "\"first\",\"split\":true},\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\","
                           "\"prepend_scheme\":\"first\",\"split\":true}")},
  };
}

std::string smallTokenizer(const std::string &name) {
  for (const SmallTokenizer &tokenizer : smallTokenizers())
    if (tokenizer.name == name)
      return tokenizer.json;
  llvm::report_fatal_error("no such tokenizer");
}

std::vector<std::string> smallGgufFiles() { return {ggufFile(false), ggufFile(true)}; }

std::vector<uint8_t> sectionOf(const std::string &file) {
  TokenizerModel model = llvm::cantFail(readTokenizer(llvm::MemoryBufferRef(file, "test")));
  return llvm::cantFail(buildTokenizerSection(model));
}

} // namespace stint::text
