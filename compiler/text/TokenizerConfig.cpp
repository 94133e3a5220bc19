// TokenizerConfig: see the header of that name.
#include "compiler/text/TokenizerConfig.h"
#include "compiler/text/Gguf.h"
#include "compiler/text/TextJson.h"
#include "llvm/Support/JSON.h"

namespace stint::text {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// A token's text: a string, or an object of the library's AddedToken.
static std::optional<std::string> tokenText(const Value &value) {
  if (auto text = value.getAsString())
    return text->str();
  if (const Object *object = value.getAsObject())
    if (auto text = object->getString("content"))
      return text->str();
  return std::nullopt;
}

llvm::Expected<TokenizerConfig> readTokenizerConfig(llvm::StringRef json) {
  llvm::Expected<Value> parsed = parseJson(json);
  if (!parsed)
    return parsed.takeError();
  const Object *root = parsed->getAsObject();
  if (!root)
    return malformed("not an object");
  TokenizerConfig config;
  for (const auto &[key, value] : *root)
    if (llvm::StringRef(key).ends_with("_token"))
      if (std::optional<std::string> text = tokenText(value))
        config.tokens[llvm::StringRef(key).str()] = *text;
  const Value *chat = root->get("chat_template");
  if (!chat || chat->kind() == Value::Null)
    return config;
  if (auto text = chat->getAsString()) {
    config.chatTemplate = text->str();
    return config;
  }
  // Several, by name: the one for chats without tools.
  const Array *list = chat->getAsArray();
  if (!list)
    return malformed("'chat_template' is neither a text nor a list");
  for (const Value &each : *list)
    if (const Object *named = each.getAsObject())
      if (named->getString("name") == "default")
        if (auto text = named->getString("template"))
          config.chatTemplate = text->str();
  return config;
}

llvm::Expected<TokenizerConfig> readGgufConfig(llvm::MemoryBufferRef file) {
  llvm::Expected<GgufMetadata> metadata = GgufMetadata::read(file);
  if (!metadata)
    return metadata.takeError();
  TokenizerConfig config;
  if (const GgufValue *value = metadata->find("tokenizer.chat_template"))
    if (auto text = value->string())
      config.chatTemplate = text->str();
  const GgufValue *list = metadata->find("tokenizer.ggml.tokens");
  std::optional<std::vector<llvm::StringRef>> tokens = list ? list->strings() : std::nullopt;
  for (auto [key, name] : {std::pair("bos", "bos_token"), std::pair("eos", "eos_token"),
                           std::pair("unknown", "unk_token"), std::pair("padding", "pad_token")}) {
    const GgufValue *value = metadata->find("tokenizer.ggml." + std::string(key) + "_token_id");
    std::optional<int64_t> id = value ? value->integer() : std::nullopt;
    if (tokens && id && *id >= 0 && *id < static_cast<int64_t>(tokens->size()))
      config.tokens[name] = (*tokens)[*id].str();
  }
  return config;
}

void apply(const TokenizerConfig &config, TokenizerModel &model) {
  auto set = [&](const char *name, uint32_t &id) {
    auto named = config.tokens.find(name);
    if (id != STINT_TOKENIZER_NONE || named == config.tokens.end())
      return;
    for (size_t i = 0; i < model.tokens.size() && id == STINT_TOKENIZER_NONE; ++i)
      if (model.tokens[i].present && model.tokens[i].text == named->second)
        id = i;
  };
  set("bos_token", model.bosId);
  set("eos_token", model.eosId);
}

} // namespace stint::text
