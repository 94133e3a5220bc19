// Vocabulary, merges and added tokens, as the readers give them.
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace stint::text {

char TextError::ID = 0;

void TextError::log(llvm::raw_ostream &os) const { os << message; }

llvm::Error malformed(const llvm::Twine &message) {
  return llvm::make_error<TextError>(TextError::Malformed, message.str());
}

llvm::Error unsupported(const llvm::Twine &message) {
  return llvm::make_error<TextError>(TextError::Unsupported, message.str());
}

struct VocabularyBuilder::Impl {
  llvm::StringMap<uint32_t> ids;                                     // of the vocabulary
  llvm::StringMap<size_t> added;                                     // indices in model.added
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> lastRanks; // of pairs
  uint32_t lastAdded = 0;                                            // the highest id of an added token + 1
};

VocabularyBuilder::VocabularyBuilder(TokenizerModel &model) : model(model), impl(new Impl) {}
VocabularyBuilder::~VocabularyBuilder() { delete impl; }

llvm::Error VocabularyBuilder::addToken(llvm::StringRef text, uint32_t id) {
  if (id >= STINT_TOKENIZER_MAX_IDS)
    return unsupported("token id " + llvm::Twine(id) + " is above " + llvm::Twine(STINT_TOKENIZER_MAX_IDS));
  if (text.size() > STINT_TOKENIZER_MAX_TOKEN)
    return unsupported("token " + llvm::Twine(id) + " has more than " + llvm::Twine(STINT_TOKENIZER_MAX_TOKEN) +
                       " bytes");
  if (id >= model.tokens.size())
    model.tokens.resize(id + 1);
  TokenizerModel::Token &token = model.tokens[id];
  if (token.present)
    return malformed("two tokens with the id " + llvm::Twine(id) + ": '" + token.text + "' and '" + text + "'");
  token = {text.str(), true, true};
  impl->ids[text] = id;
  return llvm::Error::success();
}

uint32_t VocabularyBuilder::find(llvm::StringRef text) const {
  auto found = impl->ids.find(text);
  return found == impl->ids.end() ? STINT_TOKENIZER_NONE : found->second;
}

llvm::Error VocabularyBuilder::addMerge(llvm::StringRef left, llvm::StringRef right) {
  llvm::SmallString<64> whole = left;
  whole += right;
  TokenizerModel::Merge merge{find(left), find(right), find(whole)};
  for (auto [id, text] :
       {std::pair<uint32_t, llvm::StringRef>{merge.left, left}, {merge.right, right}, {merge.id, whole}})
    if (id == STINT_TOKENIZER_NONE)
      return malformed("the merge of '" + left + "' and '" + right + "' names '" + text +
                       "', which isn't in the vocabulary");
  impl->lastRanks[{merge.left, merge.right}] = model.merges.size();
  model.merges.push_back(merge);
  return llvm::Error::success();
}

llvm::Error VocabularyBuilder::addAdded(AddedToken token) {
  if (token.content.empty())
    return llvm::Error::success();
  if (token.content.size() > STINT_TOKENIZER_MAX_ADDED)
    return unsupported("an added token of more than " + llvm::Twine(STINT_TOKENIZER_MAX_ADDED) + " bytes");
  // A token takes the id that its text has already, or else the next.
  auto [known, isNew] = impl->added.try_emplace(token.content, model.added.size());
  uint32_t id = isNew ? find(token.content) : model.added[known->second].id;
  if (id == STINT_TOKENIZER_NONE) {
    id = std::max<uint32_t>(impl->ids.size(), impl->lastAdded);
    if (id >= STINT_TOKENIZER_MAX_IDS)
      return unsupported("token id " + llvm::Twine(id) + " is above " + llvm::Twine(STINT_TOKENIZER_MAX_IDS));
    if (id >= model.tokens.size())
      model.tokens.resize(id + 1);
    if (model.tokens[id].present)
      return malformed("the added token '" + token.content + "' comes to id " + llvm::Twine(id) +
                       ", which another token has");
    model.tokens[id].text = token.content;
    model.tokens[id].present = true;
  }
  if (token.id != STINT_TOKENIZER_NONE && token.id != id)
    return malformed("the added token '" + token.content + "' says that its id is " + llvm::Twine(token.id) +
                     ", but it comes to " + llvm::Twine(id));
  token.id = id;
  impl->lastAdded = std::max(impl->lastAdded, id + 1);
  if (isNew) {
    model.added.push_back(std::move(token));
  } else {
    token.special |= model.added[known->second].special;
    model.added[known->second] = std::move(token);
  }
  return llvm::Error::success();
}

void VocabularyBuilder::finish() {
  std::vector<TokenizerModel::Merge> kept;
  kept.reserve(model.merges.size());
  for (size_t rank = 0; rank < model.merges.size(); ++rank)
    if (impl->lastRanks[{model.merges[rank].left, model.merges[rank].right}] == rank)
      kept.push_back(model.merges[rank]);
  model.merges = std::move(kept);
}

llvm::Expected<TokenizerModel> readTokenizer(llvm::MemoryBufferRef file) {
  llvm::StringRef bytes = file.getBuffer();
  if (bytes.starts_with("GGUF"))
    return readGgufTokenizer(file);
  if (bytes.ltrim().starts_with("{"))
    return readTokenizerJson(file);
  return malformed("neither a tokenizer.json nor a GGUF file");
}

} // namespace stint::text
