// Learns what a chat template does by looking at what it writes.
//
// First all chats of up to four messages are rendered, each message a text that
// occurs nowhere else: what stands between them is the joint of their two
// roles. Then all of them again, and chats by chance with texts that mean no
// well, must come out as the program says: texts with blanks around them, texts
// that look like markers, and what the template itself compares with.
#include "compiler/text/ChatProgram.h"
#include "compiler/text/Jinja.h"
#include "compiler/text/JinjaTree.h"
#include "llvm/ADT/StringExtras.h"

namespace stint::text {
namespace {

using jinja::Rendering;
using jinja::Value;

constexpr unsigned learntLength = 4; // messages
constexpr unsigned checkedLength = 12;
constexpr unsigned checkedCount = 400;
const char *const roleNames[] = {"", "system", "user", "assistant"};

std::string quoted(llvm::StringRef text) {
  constexpr size_t most = 160;
  std::string result = "\"";
  llvm::raw_string_ostream os(result);
  llvm::printEscapedString(text.take_front(most), os);
  return result + (text.size() > most ? "…\"" : "\"");
}

class Learner {
public:
  Learner(const jinja::Template &source, const TokenizerConfig &config) : source(source), config(config) {}

  llvm::Expected<ChatProgram> run() {
    std::vector<std::vector<unsigned>> all = roles();
    for (const std::vector<unsigned> &each : all)
      for (bool prompt : {false, true})
        if (llvm::Error error = learn(each, prompt))
          return std::move(error);
    if (!program.joints[STINT_CHAT_START][STINT_CHAT_USER] || !program.joints[STINT_CHAT_USER][STINT_CHAT_PROMPT])
      return unsupported("the chat template can't be compiled: it writes no prompt for an answer to a user's message" +
                         lastReason);
    for (unsigned role = STINT_CHAT_SYSTEM; role < STINT_CHAT_BEFORE; ++role)
      if (llvm::Error error = learnTrim(role, all))
        return std::move(error);
    for (const std::vector<unsigned> &each : all)
      for (bool prompt : {false, true})
        if (llvm::Error error = check(chatOf(each), prompt))
          return std::move(error);
    std::vector<std::vector<unsigned>> shortest;
    for (unsigned role = STINT_CHAT_SYSTEM; role < STINT_CHAT_BEFORE; ++role)
      for (const std::vector<unsigned> &each : all)
        if (each.back() == role &&
            (writeChat(program, chatOf(each), false) || writeChat(program, chatOf(each), true))) {
          shortest.push_back(each);
          break;
        }
    if (llvm::Error error = checkTexts(shortest))
      return std::move(error);
    return std::move(program);
  }

private:
  /// All sequences of roles that chats are learnt from, short ones first.
  static std::vector<std::vector<unsigned>> roles() {
    std::vector<std::vector<unsigned>> all = {{}};
    for (size_t at = 0; at < all.size() && all[at].size() < learntLength; ++at)
      for (unsigned role = STINT_CHAT_SYSTEM; role < STINT_CHAT_BEFORE; ++role) {
        all.push_back(all[at]);
        all.back().push_back(role);
      }
    all.erase(all.begin());
    return all;
  }

  static std::vector<ChatMessage> chatOf(const std::vector<unsigned> &roles) {
    std::vector<ChatMessage> chat;
    for (unsigned role : roles)
      chat.push_back({role, "Message" + std::to_string(chat.size()) + "of7919"});
    return chat;
  }

  Rendering render(llvm::ArrayRef<ChatMessage> chat, bool prompt) const {
    jinja::ValueList messages;
    for (const ChatMessage &message : chat)
      messages.push_back(
          Value::dict({{"role", Value::string(roleNames[message.role])}, {"content", Value::string(message.text)}}));
    std::map<std::string, Value> variables = {{"messages", Value::list(std::move(messages))},
                                              {"add_generation_prompt", Value::boolean(prompt)},
                                              {"tools", Value::none()},
                                              {"documents", Value::none()}};
    for (const auto &[name, text] : config.tokens)
      variables[name] = Value::string(text);
    return source.render(variables);
  }

  static std::string describe(llvm::ArrayRef<ChatMessage> chat, bool prompt) {
    std::string text = "for the chat ";
    for (const auto &[i, message] : llvm::enumerate(chat))
      text += (i ? ", " : "") + std::string(roleNames[message.role]) + " " + quoted(message.text);
    return text + (prompt ? " and a prompt" : "");
  }

  static llvm::Error notUnderstood(const Rendering &rendering, llvm::ArrayRef<ChatMessage> chat, bool prompt) {
    return unsupported("line " + llvm::Twine(rendering.line) + " of the chat template: " + rendering.text + ", " +
                       describe(chat, prompt));
  }

  /// Takes the joints out of what a chat comes to.
  llvm::Error learn(const std::vector<unsigned> &roles, bool prompt) {
    std::vector<ChatMessage> chat = chatOf(roles);
    Rendering rendering = render(chat, prompt);
    if (rendering.kind == Rendering::NotUnderstood)
      return notUnderstood(rendering, chat, prompt);
    if (rendering.kind == Rendering::Refused) {
      if (lastReason.empty())
        lastReason = " (" + rendering.text + ")";
      return llvm::Error::success();
    }
    // Each message once, in order; a chat that loses one is not a chat for a program.
    llvm::StringRef rest = rendering.text;
    std::vector<std::string> between;
    for (const ChatMessage &message : chat) {
      auto [before, behind] = rest.split(message.text);
      if (before.size() == rest.size() || behind.contains(message.text))
        return llvm::Error::success();
      between.push_back(before.str());
      rest = behind;
    }
    between.push_back(rest.str());
    for (size_t i = 0; i <= roles.size(); ++i) {
      unsigned before = i ? roles[i - 1] : unsigned(STINT_CHAT_START);
      unsigned behind = i < roles.size() ? roles[i] : unsigned(prompt ? STINT_CHAT_PROMPT : STINT_CHAT_END);
      std::optional<std::string> &joint = program.joints[before][behind];
      if (joint && *joint != between[i])
        return unsupported("the chat template can't be compiled: between the same two roles it writes " +
                           quoted(*joint) + " in one place and " + quoted(between[i]) + " " + describe(chat, prompt));
      joint = between[i];
    }
    return llvm::Error::success();
  }

  /// Finds out whether blanks around a role's messages are kept.
  llvm::Error learnTrim(unsigned role, llvm::ArrayRef<std::vector<unsigned>> all) {
    for (const std::vector<unsigned> &each : all) {
      std::vector<ChatMessage> chat = chatOf(each);
      if (!llvm::is_contained(each, role) || !writeChat(program, chat, true))
        continue;
      for (ChatMessage &message : chat)
        if (message.role == role)
          message.text = "\n " + message.text + "\t\n";
      Rendering rendering = render(chat, true);
      for (bool trims : {false, true}) {
        program.trims[role] = trims;
        if (rendering.text == writeChat(program, chat, true))
          return llvm::Error::success();
      }
      return differs(rendering, chat, true);
    }
    return llvm::Error::success(); // there is no such role
  }

  llvm::Error differs(const Rendering &rendering, llvm::ArrayRef<ChatMessage> chat, bool prompt) const {
    if (rendering.kind == Rendering::NotUnderstood)
      return notUnderstood(rendering, chat, prompt);
    std::string start = "the chat template can't be compiled: " + describe(chat, prompt);
    if (rendering.kind == Rendering::Refused)
      return unsupported(start + " line " + llvm::Twine(rendering.line) +
                         " refuses what it takes elsewhere: " + rendering.text);
    std::string expected = writeChat(program, chat, prompt).value_or("");
    size_t same = 0;
    while (same < expected.size() && same < rendering.text.size() && expected[same] == rendering.text[same])
      ++same;
    llvm::StringRef is = llvm::StringRef(rendering.text).drop_front(same),
                    wanted = llvm::StringRef(expected).drop_front(same);
    return unsupported(start + " it writes " + quoted(is) + " where other chats have " + quoted(wanted) +
                       ": only what roles decide can be compiled, not what messages say or where they stand");
  }

  /// What a program takes, the template must take, and write the same.
  llvm::Error check(llvm::ArrayRef<ChatMessage> chat, bool prompt) const {
    std::optional<std::string> expected = writeChat(program, chat, prompt);
    if (!expected)
      return llvm::Error::success();
    Rendering rendering = render(chat, prompt);
    if (rendering.kind == Rendering::Done && rendering.text == *expected)
      return llvm::Error::success();
    return differs(rendering, chat, prompt);
  }

  /// `shortest`: for each role that there is, the shortest chat that ends with it.
  llvm::Error checkTexts(llvm::ArrayRef<std::vector<unsigned>> shortest) const {
    std::vector<std::string> texts = {"",
                                      " ",
                                      "\n",
                                      "x",
                                      " x",
                                      "x\n\n",
                                      "\t x \r\n",
                                      "\u00a0\u2003x\u3000",
                                      "\x1c y \x1f",
                                      "été, 人 \U0001f600",
                                      "a\\nb",
                                      "'\"",
                                      "{{ messages }}",
                                      "{% raise %}",
                                      "{# x #}",
                                      "<s>[INST] x [/INST]</s>",
                                      "<|im_end|>\n<|im_start|>system\nx",
                                      "<start_of_turn>user",
                                      "<think>x</think>y",
                                      "None",
                                      "False",
                                      "0",
                                      "system",
                                      "user",
                                      "assistant",
                                      "tool"};
    for (const std::string &literal : source.literals()) {
      texts.push_back(literal);
      texts.push_back("a" + literal + "b");
      texts.push_back(" " + literal + "\n");
    }
    for (const auto &[name, text] : config.tokens)
      texts.push_back(text);
    // Each text in each role, in the shortest chat that has one.
    for (const std::vector<unsigned> &each : shortest)
      for (const std::string &text : texts) {
        std::vector<ChatMessage> chat = chatOf(each);
        chat.back().text = text;
        for (bool prompt : {false, true})
          if (llvm::Error error = check(chat, prompt))
            return error;
      }
    // And chats by chance; the same ones at every run.
    uint64_t state = 1;
    auto random = [&](uint64_t below) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      return (state >> 33) % below;
    };
    for (unsigned i = 0; i < checkedCount; ++i) {
      std::vector<ChatMessage> chat;
      unsigned before = STINT_CHAT_START;
      for (size_t length = 1 + random(checkedLength); chat.size() < length;) {
        llvm::SmallVector<unsigned, 3> possible;
        for (unsigned role = STINT_CHAT_SYSTEM; role < STINT_CHAT_BEFORE; ++role)
          if (program.joints[before][role])
            possible.push_back(role);
        if (possible.empty())
          break;
        before = possible[random(possible.size())];
        chat.push_back({before, texts[random(texts.size())]});
      }
      for (bool prompt : {false, true})
        if (llvm::Error error = check(chat, prompt))
          return error;
    }
    return llvm::Error::success();
  }

  const jinja::Template &source;
  const TokenizerConfig &config;
  ChatProgram program;
  std::string lastReason; // of the first chat that was refused
};

} // namespace

std::optional<std::string> writeChat(const ChatProgram &program, llvm::ArrayRef<ChatMessage> chat, bool prompt) {
  std::string result;
  unsigned before = STINT_CHAT_START;
  for (size_t i = 0; i <= chat.size(); ++i) {
    unsigned behind = i < chat.size() ? chat[i].role : unsigned(prompt ? STINT_CHAT_PROMPT : STINT_CHAT_END);
    const std::optional<std::string> &joint = program.joints[before][behind];
    if (!joint)
      return std::nullopt;
    result += *joint;
    if (i == chat.size())
      break;
    result += program.trims[behind] ? jinja::stripped(chat[i].text) : llvm::StringRef(chat[i].text);
    before = behind;
  }
  return result;
}

llvm::Expected<ChatProgram> learnChatProgram(llvm::StringRef source, const TokenizerConfig &config) {
  llvm::Expected<jinja::Template> parsed = jinja::Template::parse(source);
  if (!parsed)
    return parsed.takeError();
  return Learner(*parsed, config).run();
}

} // namespace stint::text
