// A tokenizer as this compiler understands it, between the file it comes from and
// the section it becomes (runtime/schema/tokenizer_section.h).
//
//   tokenizer.json, GGUF  --readTokenizer*-->  TokenizerModel  --buildTokenizerSection-->  bytes
//
// What a file says that isn't understood is refused by name, never ignored.
#ifndef STINT_COMPILER_TEXT_TOKENIZERMODEL_H
#define STINT_COMPILER_TEXT_TOKENIZERMODEL_H

#include "runtime/schema/tokenizer_section.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stint::text {

/// Why a file gives no tokenizer.
class TextError : public llvm::ErrorInfo<TextError> {
public:
  enum Kind {
    Malformed,   // exit code 4
    Unsupported, // exit code 3
  };
  TextError(Kind kind, std::string message) : kind(kind), message(std::move(message)) {}

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  const Kind kind;
  const std::string message;
  static char ID;
};

llvm::Error malformed(const llvm::Twine &message);
llvm::Error unsupported(const llvm::Twine &message);

/// A token that is looked for in texts before anything else.
struct AddedToken {
  std::string content;
  uint32_t id = 0;
  bool lstrip = false, rstrip = false, special = false;
  bool normalized = false; // looked for after the normaliser, in its words
};

/// How a text is cut into words; stages one after another, each on the words of
/// the one before.
struct SplitStage {
  enum Kind {
    Regex,
    Digits,    // each number by itself
    DigitRuns, // runs of numbers
  };
  Kind kind = Regex;
  std::string pattern;
  bool dropBetween = false; // what doesn't match is dropped
};

struct TokenizerModel {
  /// Texts of the tokens by id, as the file spells them (of byte-level ones: in
  /// GPT-2's alphabet). `present`: there is such a token; `inVocabulary`: the
  /// model itself has it, not only the added tokens.
  struct Token {
    std::string text;
    bool present = false, inVocabulary = false;
  };
  struct Merge {
    uint32_t left, right, id;
  };

  std::vector<Token> tokens;
  std::vector<Merge> merges; // the lowest rank first, no pair twice
  std::vector<AddedToken> added;
  std::vector<SplitStage> stages;
  uint32_t flags = 0; // stint_tokenizer_flags
  uint32_t unknownId = STINT_TOKENIZER_NONE, bosId = STINT_TOKENIZER_NONE, eosId = STINT_TOKENIZER_NONE;
  std::vector<uint32_t> prefix, suffix;
  std::string piecePrefix;
  uint32_t stripStart = 0;

  bool byteLevel() const { return flags & STINT_TOKENIZER_BYTE_LEVEL; }
};

/// Collects what makes up a TokenizerModel's tokens and merges; the readers' shared part.
class VocabularyBuilder {
public:
  explicit VocabularyBuilder(TokenizerModel &model);
  ~VocabularyBuilder();

  llvm::Error addToken(llvm::StringRef text, uint32_t id);
  /// The id of a token of the vocabulary, or NONE.
  uint32_t find(llvm::StringRef text) const;
  /// The next merge; both tokens and what they make must be there.
  llvm::Error addMerge(llvm::StringRef left, llvm::StringRef right);
  /// A token that is matched in texts. `id` NONE: whichever comes next. Its text joins the tokens.
  llvm::Error addAdded(AddedToken token);
  /// Makes pairs that came twice one, with the last rank.
  void finish();

private:
  struct Impl;
  TokenizerModel &model;
  Impl *impl;
};

/// Hugging Face's tokenizer.json.
llvm::Expected<TokenizerModel> readTokenizerJson(llvm::MemoryBufferRef file);
/// The metadata of a GGUF file (tokenizer.ggml.*).
llvm::Expected<TokenizerModel> readGgufTokenizer(llvm::MemoryBufferRef file);
/// Either, told apart by how the file begins.
llvm::Expected<TokenizerModel> readTokenizer(llvm::MemoryBufferRef file);

llvm::Expected<std::vector<uint8_t>> buildTokenizerSection(const TokenizerModel &model);

// The splitting rules of well-known tokenizers.
extern const char *const gpt2Pattern;
extern const char *const llama3Pattern;
extern const char *const qwen2Pattern;

} // namespace stint::text

#endif
