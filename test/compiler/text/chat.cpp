// stint-test-chat: renders chats with a chat template, for scripts that compare it
// with Jinja's own renderer.
//
// usage: stint-test-chat render|program TEMPLATE INPUT OUTPUT
//
// INPUT holds a JSON object a line: messages [{role, content}], add_generation_prompt,
// and texts by name, such as bos_token. OUTPUT gets one for each: {"text": …}, or
// {"refused": …} or {"not_understood": …}. render: by the evaluator; program: by the
// program that the template is compiled to, with the tokens of the first line.
// Exit codes: 1 failed, 2 usage, 3 unsupported, 4 malformed.
#include "compiler/text/ChatProgram.h"
#include "compiler/text/Jinja.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace stint::text;
using llvm::json::Object;

namespace {

int fail(llvm::Error error) {
  int code = 1;
  llvm::handleAllErrors(
      std::move(error),
      [&](const TextError &problem) {
        llvm::errs() << "stint-test-chat: " << problem.message << "\n";
        code = problem.kind == TextError::Unsupported ? 3 : 4;
      },
      [&](const llvm::ErrorInfoBase &problem) { llvm::errs() << "stint-test-chat: " << problem.message() << "\n"; });
  return code;
}

jinja::Value toValue(const llvm::json::Value &json) {
  if (auto text = json.getAsString())
    return jinja::Value::string(text->str());
  if (auto flag = json.getAsBoolean())
    return jinja::Value::boolean(*flag);
  if (auto number = json.getAsInteger())
    return jinja::Value::integer(*number);
  if (const llvm::json::Array *array = json.getAsArray()) {
    jinja::ValueList items;
    for (const llvm::json::Value &item : *array)
      items.push_back(toValue(item));
    return jinja::Value::list(items);
  }
  if (const Object *object = json.getAsObject()) {
    jinja::Value result = jinja::Value::dict({});
    for (const auto &[key, value] : *object)
      result.setMember(llvm::StringRef(key), toValue(value));
    return result;
  }
  return jinja::Value::none();
}

Object rendered(const jinja::Template &source, const Object &given) {
  std::map<std::string, jinja::Value> variables = {{"tools", jinja::Value::none()},
                                                   {"documents", jinja::Value::none()}};
  for (const auto &[key, value] : given)
    variables[llvm::StringRef(key).str()] = toValue(value);
  jinja::Rendering rendering = source.render(variables);
  const char *kinds[] = {"text", "refused", "not_understood"};
  return Object{{kinds[rendering.kind], rendering.text}};
}

Object written(const ChatProgram &program, const Object &given) {
  std::vector<ChatMessage> chat;
  if (const llvm::json::Array *messages = given.getArray("messages"))
    for (const llvm::json::Value &each : *messages) {
      const Object *message = each.getAsObject();
      llvm::StringRef role = message ? message->getString("role").value_or("") : "";
      unsigned place = role == "system" ? STINT_CHAT_SYSTEM : role == "user" ? STINT_CHAT_USER : STINT_CHAT_ASSISTANT;
      chat.push_back({place, message->getString("content").value_or("").str()});
    }
  std::optional<std::string> text = writeChat(program, chat, given.getBoolean("add_generation_prompt").value_or(false));
  return text ? Object{{"text", *text}} : Object{{"refused", "no joint"}};
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5 || (llvm::StringRef(argv[1]) != "render" && llvm::StringRef(argv[1]) != "program")) {
    llvm::errs() << "usage: stint-test-chat render|program TEMPLATE INPUT OUTPUT\n";
    return 2;
  }
  auto source = llvm::MemoryBuffer::getFile(argv[2]), input = llvm::MemoryBuffer::getFile(argv[3]);
  if (!source || !input)
    return fail(llvm::createStringError(llvm::inconvertibleErrorCode(), "cannot read an input"));
  llvm::Expected<jinja::Template> parsed = jinja::Template::parse((*source)->getBuffer());
  if (!parsed)
    return fail(parsed.takeError());
  std::optional<ChatProgram> program;
  std::error_code error;
  llvm::raw_fd_ostream out(argv[4], error);
  llvm::SmallVector<llvm::StringRef> lines;
  (*input)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    llvm::Expected<llvm::json::Value> json = llvm::json::parse(line);
    if (!json)
      return fail(json.takeError());
    if (llvm::StringRef(argv[1]) == "render") {
      out << llvm::json::Value(rendered(*parsed, *json->getAsObject())) << "\n";
      continue;
    }
    if (!program) {
      TokenizerConfig config;
      for (const auto &[key, value] : *json->getAsObject())
        if (auto text = value.getAsString())
          config.tokens[llvm::StringRef(key).str()] = text->str();
      llvm::Expected<ChatProgram> learnt = learnChatProgram((*source)->getBuffer(), config);
      if (!learnt)
        return fail(learnt.takeError());
      program = std::move(*learnt);
    }
    out << llvm::json::Value(written(*program, *json->getAsObject())) << "\n";
  }
  out.close();
  return error || out.has_error() ? 1 : 0;
}
