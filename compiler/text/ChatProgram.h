// A chat template as a program: what stands between two messages, by their roles.
//
//   template, variables  --learnChatProgram-->  ChatProgram  --buildChatSection-->  bytes
//
// A program is learnt by rendering chats, and then checked on others. A template
// that does more than a program can say, such as change what messages say, is refused.
#ifndef STINT_COMPILER_TEXT_CHATPROGRAM_H
#define STINT_COMPILER_TEXT_CHATPROGRAM_H

#include "compiler/text/TokenizerConfig.h"
#include "runtime/schema/chat_section.h"

#include <array>
#include <optional>

namespace stint::text {

struct ChatProgram {
  /// Text by the places before and behind it (stint_chat_place); nothing: the
  /// template refuses it.
  std::optional<std::string> joints[STINT_CHAT_BEFORE][STINT_CHAT_BEHIND];
  bool trims[STINT_CHAT_BEFORE] = {}; // by role: white space around a message is dropped
};

/// One message; `role` is STINT_CHAT_SYSTEM, _USER or _ASSISTANT.
struct ChatMessage {
  unsigned role;
  std::string text;
};

/// What a program writes; nothing: it refuses the chat.
std::optional<std::string> writeChat(const ChatProgram &program, llvm::ArrayRef<ChatMessage> chat, bool prompt);

/// `config.tokens` are variables of the template. Errors say where and why.
llvm::Expected<ChatProgram> learnChatProgram(llvm::StringRef source, const TokenizerConfig &config);

/// The section, with the special tokens of `model` cut out of the program's texts.
llvm::Expected<std::vector<uint8_t>> buildChatSection(const ChatProgram &program, const TokenizerModel &model);

} // namespace stint::text

#endif
