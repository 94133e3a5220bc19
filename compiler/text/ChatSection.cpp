// Writes a program as a section (runtime/schema/chat_section.h): special tokens
// are cut out of its texts as the tokenizer would cut them out, leftmost and
// there longest first.
#include "compiler/text/ChatProgram.h"

#include <cstring>

namespace stint::text {
namespace {

class SectionWriter {
public:
  explicit SectionWriter(const TokenizerModel &model) : model(model) {}

  llvm::Expected<std::vector<uint8_t>> run(const ChatProgram &program) {
    stint_chat_header header = {};
    header.magic = STINT_CHAT_MAGIC;
    header.version = STINT_CHAT_VERSION;
    for (unsigned before = 0; before < STINT_CHAT_BEFORE; ++before) {
      header.role_flags[before] = program.trims[before] ? STINT_CHAT_TRIM : 0;
      for (unsigned behind = 0; behind < STINT_CHAT_BEHIND; ++behind) {
        stint_chat_joint &joint = header.joints[before][behind];
        joint = {STINT_CHAT_NONE, 0};
        if (!program.joints[before][behind])
          continue;
        joint.first = pieces.size();
        cut(*program.joints[before][behind]);
        joint.count = pieces.size() - joint.first;
      }
    }
    if (pieces.size() > STINT_CHAT_MAX_PIECES || texts.size() > STINT_CHAT_MAX_TEXT)
      return unsupported("the chat template writes too much around messages: " + llvm::Twine(texts.size()) + " bytes");
    header.turn_end_id = STINT_CHAT_NONE;
    for (unsigned behind : {unsigned(STINT_CHAT_USER), unsigned(STINT_CHAT_END)}) {
      const stint_chat_joint &joint = header.joints[STINT_CHAT_ASSISTANT][behind];
      for (uint32_t i = 0; i < joint.count && header.turn_end_id == STINT_CHAT_NONE; ++i)
        header.turn_end_id = pieces[joint.first + i].id;
    }
    header.piece_count = pieces.size();
    header.text_size = texts.size();
    texts.resize((texts.size() + 3) / 4 * 4);
    size_t pieceBytes = pieces.size() * sizeof(stint_chat_piece);
    header.size = sizeof(header) + pieceBytes + texts.size();
    std::vector<uint8_t> result(header.size);
    std::memcpy(result.data(), &header, sizeof(header));
    if (pieceBytes)
      std::memcpy(result.data() + sizeof(header), pieces.data(), pieceBytes);
    if (!texts.empty())
      std::memcpy(result.data() + sizeof(header) + pieceBytes, texts.data(), texts.size());
    return result;
  }

private:
  /// The longest added token that the text begins with.
  const AddedToken *tokenAt(llvm::StringRef text) const {
    const AddedToken *longest = nullptr;
    for (const AddedToken &token : model.added)
      if (text.starts_with(token.content) && (!longest || token.content.size() > longest->content.size()))
        longest = &token;
    return longest;
  }

  void cut(llvm::StringRef text) {
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const AddedToken *token = tokenAt(text.drop_front(at));
      if (!token) {
        ++at;
      } else if (!token->special) {
        at += token->content.size(); // found wherever it stands, by encoding
      } else {
        addText(text.slice(begin, at));
        uint32_t flags =
            STINT_ADDED_SPECIAL | (token->lstrip ? STINT_ADDED_LSTRIP : 0) | (token->rstrip ? STINT_ADDED_RSTRIP : 0);
        pieces.push_back({token->id, flags, 0, 0});
        begin = at += token->content.size();
      }
    }
    addText(text.drop_front(begin));
  }

  void addText(llvm::StringRef text) {
    if (text.empty())
      return;
    pieces.push_back({STINT_CHAT_NONE, 0, static_cast<uint32_t>(texts.size()), static_cast<uint32_t>(text.size())});
    texts.append(text.begin(), text.end());
  }

  const TokenizerModel &model;
  std::vector<stint_chat_piece> pieces;
  std::string texts;
};

} // namespace

llvm::Expected<std::vector<uint8_t>> buildChatSection(const ChatProgram &program, const TokenizerModel &model) {
  return SectionWriter(model).run(program);
}

} // namespace stint::text
