// The tokenizer inside a GGUF file. The file names a splitting rule
// (tokenizer.ggml.pre) where tokenizer.json spells it; what else that model's tokenizer
// does is known by that name.
//
// SentencePiece's vocabularies carry scores instead of merges: every way to put
// a token together from two others is a merge, ordered by its score, the highest
// first, then as Hugging Face's converter orders them.
#include "compiler/text/Gguf.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <tuple>

namespace stint::text {
namespace {

enum TokenType { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
/// Longer tokens could be put together in too many ways.
constexpr size_t maxScored = 512;

class GgufTokenizerReader {
public:
  explicit GgufTokenizerReader(const GgufMetadata &file) : file(file) {}

  llvm::Expected<TokenizerModel> run() {
    const GgufValue *kind = file.find("tokenizer.ggml.model");
    if (!kind || !kind->string())
      return malformed("the GGUF file has no tokenizer (no key tokenizer.ggml.model)");
    llvm::StringRef name = *kind->string();
    bool pieces = name == "llama";
    if (!pieces && name != "gpt2")
      return unsupported("the tokenizer '" + name + "' of a GGUF file isn't understood: only gpt2 and llama are");
    if (llvm::Error error = readTokens())
      return std::move(error);
    if (llvm::Error error = pieces ? settingsOfPieces() : settingsOfBytes())
      return std::move(error);
    if (llvm::Error error = pieces ? scoredMerges() : listedMerges())
      return std::move(error);
    builder.finish();
    if (llvm::Error error = readAdded())
      return std::move(error);
    result.bosId = idOf("bos_token_id");
    result.eosId = idOf("eos_token_id");
    if (boolean("add_bos_token", beginByDefault))
      if (llvm::Error error = put("bos_token_id", result.bosId, result.prefix))
        return std::move(error);
    if (boolean("add_eos_token", false))
      if (llvm::Error error = put("eos_token_id", result.eosId, result.suffix))
        return std::move(error);
    return std::move(result);
  }

private:
  const GgufValue *find(llvm::StringRef key) const { return file.find(("tokenizer.ggml." + key).str()); }

  bool boolean(llvm::StringRef key, bool otherwise) const {
    const GgufValue *value = find(key);
    return value ? value->boolean().value_or(otherwise) : otherwise;
  }

  /// The token that a key names, or NONE.
  uint32_t idOf(llvm::StringRef key) const {
    const GgufValue *value = find(key);
    std::optional<int64_t> id = value ? value->integer() : std::nullopt;
    if (!id || *id < 0 || *id >= int64_t(result.tokens.size()) || !result.tokens[*id].present)
      return STINT_TOKENIZER_NONE;
    return *id;
  }

  static llvm::Error put(llvm::StringRef key, uint32_t id, std::vector<uint32_t> &side) {
    if (id == STINT_TOKENIZER_NONE)
      return malformed("the GGUF file puts a token around texts, but has no valid tokenizer.ggml." + key);
    side.push_back(id);
    return llvm::Error::success();
  }

  llvm::Error readTokens() {
    const GgufValue *list = find("tokens"), *kinds = find("token_type");
    std::optional<std::vector<llvm::StringRef>> texts = list ? list->strings() : std::nullopt;
    std::optional<std::vector<int64_t>> numbers = kinds ? kinds->integers() : std::nullopt;
    if (!texts || texts->empty())
      return malformed("the GGUF file has no tokens (tokenizer.ggml.tokens)");
    if (numbers && numbers->size() != texts->size())
      return malformed("tokenizer.ggml.token_type has " + llvm::Twine(numbers->size()) + " entries for " +
                       llvm::Twine(texts->size()) + " tokens");
    for (auto [id, text] : llvm::enumerate(*texts))
      if (llvm::Error error = builder.addToken(text, id))
        return error;
    types = numbers.value_or(std::vector<int64_t>(texts->size(), Normal));
    return llvm::Error::success();
  }

  llvm::Error settingsOfBytes() {
    const GgufValue *value = find("pre");
    llvm::StringRef rule = value ? value->string().value_or("") : "";
    const char *pattern = gpt2Pattern;
    if (rule == "smollm") {
      result.stages.push_back({SplitStage::Digits, "", false});
    } else if (rule == "llama-bpe" || rule == "llama3" || rule == "llama-v3") {
      pattern = llama3Pattern;
      result.flags |= STINT_TOKENIZER_WHOLE_WORDS;
      beginByDefault = true;
    } else if (rule == "qwen2") {
      pattern = qwen2Pattern;
      result.flags |= STINT_TOKENIZER_NFC;
    } else if (rule != "gpt-2") {
      return unsupported(
          "the splitting rule '" + rule +
          "' of a GGUF file (tokenizer.ggml.pre) isn't understood: gpt-2, smollm, llama-bpe and qwen2 are");
    }
    result.stages.push_back({SplitStage::Regex, pattern, false});
    result.flags |= STINT_TOKENIZER_BYTE_LEVEL | STINT_TOKENIZER_DECODE_LOSSY;
    if (boolean("add_space_prefix", false)) {
      result.flags |= STINT_TOKENIZER_PREFIX_ALL;
      result.piecePrefix = " ";
    }
    return llvm::Error::success();
  }

  llvm::Error settingsOfPieces() {
    result.flags |= STINT_TOKENIZER_SPACES | STINT_TOKENIZER_BYTE_FALLBACK | STINT_TOKENIZER_FUSE_UNKNOWN |
                    STINT_TOKENIZER_DECODE_SPACES | STINT_TOKENIZER_DECODE_BYTES;
    if (boolean("add_space_prefix", true)) {
      result.flags |= STINT_TOKENIZER_PREPEND;
      result.stripStart = 1;
    }
    if (boolean("remove_extra_whitespaces", false))
      return unsupported("a tokenizer that removes extra whitespace isn't understood");
    beginByDefault = true;
    result.unknownId = idOf("unknown_token_id");
    return llvm::Error::success();
  }

  llvm::Error listedMerges() {
    const GgufValue *value = find("merges");
    std::optional<std::vector<llvm::StringRef>> merges = value ? value->strings() : std::nullopt;
    if (!merges)
      return malformed("the GGUF file has no merges (tokenizer.ggml.merges)");
    for (llvm::StringRef merge : *merges) {
      auto [left, right] = merge.split(' ');
      if (left.empty() || right.empty() || right.contains(' '))
        return malformed("the merge '" + merge + "' isn't a pair of tokens");
      if (llvm::Error error = builder.addMerge(left, right))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error scoredMerges() {
    const GgufValue *value = find("scores");
    std::optional<std::vector<float>> scores = value ? value->floats() : std::nullopt;
    if (!scores || scores->size() != result.tokens.size())
      return malformed("the GGUF file has no score for each token (tokenizer.ggml.scores)");
    struct Way {
      float score;
      uint32_t leftCharacters, rightCharacters, leftId, rightId;
      llvm::StringRef left, right;
      size_t order = 0;
    };
    std::vector<Way> ways;
    auto continues = [](char c) { return (c & 0xc0) == 0x80; };
    for (auto [id, token] : llvm::enumerate(result.tokens)) {
      llvm::StringRef text = token.text;
      if (std::isnan((*scores)[id]))
        return malformed("the score of token " + llvm::Twine(id) + " isn't a number");
      if (text.size() > maxScored)
        return unsupported("token " + llvm::Twine(id) + " has more than " + llvm::Twine(maxScored) + " bytes");
      if (builder.find(text) != id)
        continue; // another token of the same text counts
      uint32_t characters = llvm::count_if(text, [&](char c) { return !continues(c); }), before = 0;
      std::vector<Way> ofToken;
      for (size_t at = 1; at < text.size(); ++at) {
        if (continues(text[at]))
          continue;
        ++before;
        llvm::StringRef left = text.take_front(at), right = text.drop_front(at);
        uint32_t leftId = builder.find(left), rightId = builder.find(right);
        if (leftId != STINT_TOKENIZER_NONE && rightId != STINT_TOKENIZER_NONE)
          ofToken.push_back({(*scores)[id], before, characters - before, leftId, rightId, left, right, 0});
      }
      llvm::sort(ofToken, [](const Way &a, const Way &b) {
        return std::make_pair(a.leftId, a.rightId) < std::make_pair(b.leftId, b.rightId);
      });
      ways.insert(ways.end(), ofToken.begin(), ofToken.end());
    }
    for (auto [order, way] : llvm::enumerate(ways))
      way.order = order;
    llvm::sort(ways, [](const Way &a, const Way &b) {
      return std::make_tuple(a.score, a.leftCharacters, a.rightCharacters, b.order) >
             std::make_tuple(b.score, b.leftCharacters, b.rightCharacters, a.order);
    });
    for (const Way &way : ways)
      if (llvm::Error error = builder.addMerge(way.left, way.right))
        return error;
    return llvm::Error::success();
  }

  llvm::Error readAdded() {
    for (auto [id, type] : llvm::enumerate(types)) {
      if (type != Control && type != UserDefined && type != Unknown)
        continue;
      if (builder.find(result.tokens[id].text) != id)
        continue;
      AddedToken token;
      token.content = result.tokens[id].text;
      token.id = id;
      token.special = type != UserDefined;
      if (llvm::Error error = builder.addAdded(std::move(token)))
        return error;
    }
    return llvm::Error::success();
  }

  const GgufMetadata &file;
  TokenizerModel result;
  VocabularyBuilder builder{result};
  std::vector<int64_t> types;
  bool beginByDefault = false;
};

} // namespace

llvm::Expected<TokenizerModel> readGgufTokenizer(llvm::MemoryBufferRef file) {
  llvm::Expected<GgufMetadata> metadata = GgufMetadata::read(file);
  if (!metadata)
    return metadata.takeError();
  return GgufTokenizerReader(*metadata).run();
}

} // namespace stint::text
