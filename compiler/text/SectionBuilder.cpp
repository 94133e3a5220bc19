// Writes a TokenizerModel as a tokenizer section: tokens' texts as bytes, hash
// tables for texts and pairs, DFAs, the Unicode tables that are needed.
#include "compiler/text/SplitRules.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace stint::text {
namespace {

constexpr uint32_t none = STINT_TOKENIZER_NONE;
constexpr const char *lowLine = "\xe2\x96\x81"; // U+2581

/// GPT-2's alphabet, which spells bytes as visible characters.
class ByteAlphabet {
public:
  ByteAlphabet() {
    std::fill(std::begin(bytes), std::end(bytes), -1);
    uint32_t others = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      bytes[visible ? byte : others++] = static_cast<int>(byte);
    }
  }

  /// The bytes that `text` spells; nothing if it holds another character.
  std::optional<std::string> decode(llvm::StringRef text) const {
    std::string result;
    const auto *p = reinterpret_cast<const llvm::UTF8 *>(text.begin());
    const auto *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
    while (p < end) {
      llvm::UTF32 character;
      if (llvm::convertUTF8Sequence(&p, end, &character, llvm::strictConversion) != llvm::conversionOK ||
          character >= std::size(bytes) || bytes[character] < 0)
        return std::nullopt;
      result += static_cast<char>(bytes[character]);
    }
    return result;
  }

private:
  int bytes[0x144];
};

/// The byte that a token of the form <0xNN> stands for, as Rust reads numbers.
std::optional<uint8_t> byteOf(llvm::StringRef text) {
  if (text.size() != 6 || !text.starts_with("<0x") || !text.ends_with(">"))
    return std::nullopt;
  llvm::StringRef digits = text.substr(3, 2);
  digits.consume_front("+");
  uint8_t value;
  if (digits.empty() || !llvm::all_of(digits, llvm::isHexDigit) || digits.getAsInteger(16, value))
    return std::nullopt;
  return value;
}

/// A hash table of `count` values: where each goes is hash(i), empty slots hold NONE.
std::vector<uint32_t> hashTable(const std::vector<uint32_t> &values, llvm::function_ref<uint32_t(uint32_t)> hash) {
  for (uint64_t size = llvm::PowerOf2Ceil(2 * values.size() + 1);; size *= 2) {
    std::vector<uint32_t> slots(size, none);
    bool fits = true;
    for (uint32_t value : values) {
      uint32_t at = hash(value), probe = 0;
      while (probe < STINT_TOKENIZER_MAX_PROBES && slots[(at + probe) & (size - 1)] != none)
        ++probe;
      fits = probe < STINT_TOKENIZER_MAX_PROBES;
      if (!fits)
        break;
      slots[(at + probe) & (size - 1)] = value;
    }
    // Texts chosen to have one hash are not worth more memory: what isn't found is not a token.
    if (fits || size > 64 * values.size() + 64)
      return slots;
  }
}

class SectionBuilder {
public:
  explicit SectionBuilder(const TokenizerModel &model) : model(model) {}

  llvm::Expected<std::vector<uint8_t>> run() {
    if (model.tokens.empty())
      return malformed("a tokenizer without tokens");
    bytes.resize(sizeof(header));
    header.magic = STINT_TOKENIZER_MAGIC;
    header.version = STINT_TOKENIZER_VERSION;
    header.flags = model.flags;
    header.token_count = model.tokens.size();
    header.unknown_id = model.unknownId;
    header.bos_id = model.bosId;
    header.eos_id = model.eosId;
    header.strip_start = model.stripStart;
    header.piece_prefix_size = model.piecePrefix.size();
    std::memcpy(header.piece_prefix, model.piecePrefix.data(), std::min<size_t>(model.piecePrefix.size(), 4));
    texts.resize(model.tokens.size());
    if (llvm::Error error = writeAdded())
      return std::move(error);
    writeTokens();
    writeMerges();
    if (llvm::Error error = writeStages())
      return std::move(error);
    write(STINT_TOKENIZER_PREFIX, model.prefix);
    write(STINT_TOKENIZER_SUFFIX, model.suffix);
    if (model.flags & STINT_TOKENIZER_NFC)
      writeComposition();
    if (bytes.size() > UINT32_MAX / 2)
      return unsupported("a tokenizer of more than 2 GB");
    header.size = bytes.size();
    std::memcpy(bytes.data(), &header, sizeof(header));
    return std::move(bytes);
  }

private:
  template <typename T> void write(stint_tokenizer_table table, const std::vector<T> &values) {
    bytes.resize(llvm::alignTo(bytes.size(), 4));
    header.tables[table] = {static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(values.size())};
    const auto *data = reinterpret_cast<const uint8_t *>(values.data());
    bytes.insert(bytes.end(), data, data + values.size() * sizeof(T));
    bytes.resize(llvm::alignTo(bytes.size(), 4));
  }

  /// What a normaliser makes of an added token that is looked for behind it.
  llvm::Expected<std::string> normalised(const AddedToken &token) {
    if ((model.flags & STINT_TOKENIZER_NFC) && !llvm::all_of(token.content, [](char c) { return llvm::isASCII(c); }))
      return unsupported("the added token '" + token.content +
                         "' is normalized and not ASCII, which isn't understood with the normalizer NFC");
    std::string text = model.flags & STINT_TOKENIZER_PREPEND ? lowLine + token.content : token.content;
    if (!(model.flags & STINT_TOKENIZER_SPACES))
      return text;
    std::string replaced;
    for (char c : text)
      c == ' ' ? replaced += lowLine : replaced += c;
    return replaced;
  }

  llvm::Error writeAdded() {
    std::vector<stint_tokenizer_added> entries;
    std::vector<uint8_t> text;
    std::vector<uint32_t> first;
    for (bool group : {false, true}) {
      std::vector<std::pair<std::string, const AddedToken *>> sorted;
      for (const AddedToken &token : model.added) {
        if (token.normalized != group)
          continue;
        std::string content = token.content;
        if (group) {
          llvm::Expected<std::string> changed = normalised(token);
          if (!changed)
            return changed.takeError();
          content = std::move(*changed);
          // A token that the normaliser changes is decoded in its new form.
          texts[token.id] = content;
        }
        if (content.size() > STINT_TOKENIZER_MAX_ADDED)
          return unsupported("an added token of more than " + llvm::Twine(STINT_TOKENIZER_MAX_ADDED) + " bytes");
        sorted.emplace_back(std::move(content), &token);
      }
      llvm::sort(sorted, [](const auto &a, const auto &b) { return a.first < b.first; });
      for (size_t i = 1; i < sorted.size(); ++i)
        if (sorted[i].first == sorted[i - 1].first)
          return unsupported("two added tokens that the normalizer makes the same: '" + sorted[i].first + "'");
      uint32_t begin = entries.size();
      for (const auto &[content, token] : sorted) {
        entries.push_back({token->id, static_cast<uint32_t>(text.size()), static_cast<uint32_t>(content.size()),
                           (token->special ? STINT_ADDED_SPECIAL : 0u) | (token->lstrip ? STINT_ADDED_LSTRIP : 0u) |
                               (token->rstrip ? STINT_ADDED_RSTRIP : 0u)});
        text.insert(text.end(), content.begin(), content.end());
      }
      uint32_t at = 0;
      for (uint32_t byte = 0; byte <= 256; ++byte) {
        while (at < sorted.size() && static_cast<uint8_t>(sorted[at].first[0]) < byte)
          ++at;
        first.push_back(begin + at);
      }
    }
    write(STINT_TOKENIZER_ADDED, entries);
    write(STINT_TOKENIZER_ADDED_TEXT, text);
    write(STINT_TOKENIZER_ADDED_FIRST, entries.empty() ? std::vector<uint32_t>() : first);
    return llvm::Error::success();
  }

  /// Whether a word or a character can be looked for among the tokens' texts.
  bool isLookedFor(const TokenizerModel::Token &token, bool spelt) const {
    if (!token.inVocabulary || token.text.empty() || !spelt)
      return false;
    return (model.flags & STINT_TOKENIZER_WHOLE_WORDS) ||
           (!model.byteLevel() && llvm::getNumBytesForUTF8(token.text[0]) == token.text.size());
  }

  void writeTokens() {
    llvm::StringSet<> special;
    for (const AddedToken &token : model.added)
      if (token.special)
        special.insert(token.content);
    ByteAlphabet alphabet;
    std::vector<uint8_t> text, flags, byteValues;
    std::vector<uint32_t> ends, lookedFor, byteIds(256, none);
    bool anyByte = false;
    for (auto [id, token] : llvm::enumerate(model.tokens)) {
      std::string own = texts[id].empty() ? token.text : texts[id];
      std::string decoded = own;
      uint8_t flag = token.present ? STINT_TOKEN_PRESENT : 0;
      byteValues.push_back(0);
      bool spelt = true;
      if (model.byteLevel()) {
        std::optional<std::string> spelling = alphabet.decode(own);
        spelt = spelling.has_value();
        decoded = spelling.value_or(own);
        if (spelling && token.inVocabulary && token.text == own && spelling->size() == 1)
          byteIds[static_cast<uint8_t>((*spelling)[0])] = id;
      } else if (std::optional<uint8_t> byte = byteOf(own); byte && token.present) {
        flag |= STINT_TOKEN_BYTE;
        byteValues.back() = *byte;
        anyByte = true;
        if (token.inVocabulary &&
            token.text == std::string{'<', '0', 'x', llvm::hexdigit(*byte >> 4), llvm::hexdigit(*byte & 15), '>'})
          byteIds[*byte] = id;
      }
      if (token.present && special.contains(own))
        flag |= STINT_TOKEN_SPECIAL;
      if (token.text == own && isLookedFor(token, spelt))
        lookedFor.push_back(id);
      text.insert(text.end(), decoded.begin(), decoded.end());
      ends.push_back(text.size());
      flags.push_back(flag);
    }
    write(STINT_TOKENIZER_TEXT, text);
    write(STINT_TOKENIZER_TEXT_ENDS, ends);
    write(STINT_TOKENIZER_TOKEN_FLAGS, flags);
    write(STINT_TOKENIZER_BYTE_VALUES, anyByte ? byteValues : std::vector<uint8_t>());
    write(STINT_TOKENIZER_BYTE_IDS, byteIds);
    write(STINT_TOKENIZER_LOOKUP, lookedFor.empty() ? lookedFor : hashTable(lookedFor, [&](uint32_t id) {
            uint32_t begin = id ? ends[id - 1] : 0;
            return stint_tokenizer_text_hash(text.data() + begin, ends[id] - begin);
          }));
  }

  void writeMerges() {
    std::vector<stint_tokenizer_merge> merges;
    std::vector<uint32_t> ranks;
    for (const TokenizerModel::Merge &merge : model.merges) {
      ranks.push_back(merges.size());
      merges.push_back({merge.left, merge.right, merge.id});
    }
    write(STINT_TOKENIZER_MERGES, merges);
    write(STINT_TOKENIZER_MERGE_SLOTS, ranks.empty() ? ranks : hashTable(ranks, [&](uint32_t rank) {
            return stint_tokenizer_pair_hash(merges[rank].left, merges[rank].right);
          }));
  }

  llvm::Error writeStages() {
    llvm::Expected<SplitTables> tables = compileSplitStages(model.stages);
    if (!tables)
      return tables.takeError();
    std::vector<stint_tokenizer_stage> stages;
    for (const SplitTables::Stage &stage : tables->stages)
      stages.push_back({stage.transitions, stage.states, stage.dropBetween ? 1u : 0u});
    header.class_count = tables->classCount;
    write(STINT_TOKENIZER_STAGES, stages);
    write(STINT_TOKENIZER_TRANSITIONS, tables->transitions);
    write(STINT_TOKENIZER_ASCII, tables->ascii);
    write(STINT_TOKENIZER_CLASSES, tables->classes);
    return llvm::Error::success();
  }

  void writeComposition() {
    Composition composition = canonicalComposition();
    std::vector<uint32_t> combining, decomposed;
    std::vector<stint_tokenizer_decomposition> decompositions;
    std::vector<stint_tokenizer_composition> compositions;
    for (const Composition::Run &run : composition.combining)
      combining.push_back(run.first << 8 | run.combiningClass);
    for (const Composition::Decomposition &d : composition.decompositions) {
      decompositions.push_back(
          {d.character, static_cast<uint32_t>(decomposed.size()), static_cast<uint32_t>(d.parts.size())});
      decomposed.insert(decomposed.end(), d.parts.begin(), d.parts.end());
    }
    for (const Composition::Pair &pair : composition.pairs)
      compositions.push_back({pair.first, pair.second, pair.composed});
    write(STINT_TOKENIZER_COMBINING, combining);
    write(STINT_TOKENIZER_DECOMPOSITIONS, decompositions);
    write(STINT_TOKENIZER_DECOMPOSED, decomposed);
    write(STINT_TOKENIZER_COMPOSITIONS, compositions);
  }

  const TokenizerModel &model;
  stint_tokenizer_header header = {};
  std::vector<uint8_t> bytes;
  std::vector<std::string> texts; // of added tokens in another form than the model's; empty: the model's
};

} // namespace

llvm::Expected<std::vector<uint8_t>> buildTokenizerSection(const TokenizerModel &model) {
  return SectionBuilder(model).run();
}

} // namespace stint::text
