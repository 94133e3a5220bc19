// TextStage: see the header of that name.
#include "compiler/driver/TextStage.h"

#include "compiler/text/ChatProgram.h"
#include "compiler/text/TokenizerConfig.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace stint;
using namespace stint::driver;
using import::Problem;

namespace {

/// The file of that name in the same folder, or "".
std::string neighbour(StringRef path, StringRef name) {
  SmallString<256> beside = sys::path::parent_path(path);
  sys::path::append(beside, name);
  return sys::fs::exists(beside) ? beside.str().str() : std::string();
}

class TextReader {
public:
  explicit TextReader(const Options &options) : options(options) {}

  void run(const std::string &path) {
    sections.file = path;
    if (std::unique_ptr<MemoryBuffer> file = read(path))
      take(path, readAll(path, *file));
  }

  TextSections sections;
  import::Diagnostics diagnostics;

private:
  Error readAll(const std::string &path, const MemoryBuffer &file) {
    Expected<text::TokenizerModel> model = text::readTokenizer(file.getMemBufferRef());
    if (!model)
      return model.takeError();
    Expected<text::TokenizerConfig> config = readConfig(path, file);
    if (!config)
      return config.takeError();
    text::apply(*config, *model);
    Expected<std::vector<uint8_t>> section = text::buildTokenizerSection(*model);
    if (!section)
      return section.takeError();
    sections.tokenizer = std::move(*section);
    sections.tokenCount = model->tokens.size();

    std::string from = chatFile.empty() ? path : chatFile;
    if (options.chatTemplate == "none")
      return Error::success();
    if (!options.chatTemplate.empty()) {
      from = options.chatTemplate;
      std::unique_ptr<MemoryBuffer> file = read(from);
      if (!file)
        return Error::success(); // is reported
      config->chatTemplate = file->getBuffer().str();
    }
    if (!config->chatTemplate)
      return Error::success();
    Expected<text::ChatProgram> program = text::learnChatProgram(*config->chatTemplate, *config);
    if (!program) {
      take(from, program.takeError());
      return Error::success();
    }
    Expected<std::vector<uint8_t>> chat = text::buildChatSection(*program, *model);
    if (chat)
      sections.chat = std::move(*chat);
    else
      take(from, chat.takeError());
    return Error::success();
  }

  /// What lies beside a tokenizer.json, or in the GGUF file itself.
  Expected<text::TokenizerConfig> readConfig(const std::string &path, const MemoryBuffer &file) {
    if (file.getBuffer().starts_with("GGUF"))
      return text::readGgufConfig(file.getMemBufferRef());
    text::TokenizerConfig config;
    std::string beside = neighbour(path, "tokenizer_config.json");
    if (!beside.empty())
      if (std::unique_ptr<MemoryBuffer> json = read(beside)) {
        Expected<text::TokenizerConfig> found = text::readTokenizerConfig(json->getBuffer());
        if (!found) {
          take(beside, found.takeError());
          return config;
        }
        config = std::move(*found);
        chatFile = beside;
      }
    std::string jinja = neighbour(path, "chat_template.jinja");
    if (!jinja.empty())
      if (std::unique_ptr<MemoryBuffer> text = read(jinja))
        config.chatTemplate = text->getBuffer().str(), chatFile = jinja;
    return config;
  }

  std::unique_ptr<MemoryBuffer> read(const std::string &path) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> file =
        MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (file)
      return std::move(*file);
    diagnostics.report(Problem::Failed, "cannot read '" + path + "': " + file.getError().message());
    return nullptr;
  }

  /// Reports an error about a file.
  void take(StringRef path, Error error) {
    handleAllErrors(
        std::move(error),
        [&](const text::TextError &problem) {
          diagnostics.report(problem.kind == text::TextError::Unsupported ? Problem::Unsupported : Problem::Malformed,
                             "'" + path + "': " + problem.message);
        },
        [&](const ErrorInfoBase &problem) {
          diagnostics.report(Problem::Failed, "'" + path + "': " + problem.message());
        });
  }

  const Options &options;
  std::string chatFile; // where the chat template lies, if not in the tokenizer's own file
};

} // namespace

std::optional<TextSections> driver::readText(const Options &options, bool lookBeside,
                                             import::Diagnostics &diagnostics) {
  bool named = !options.tokenizer.empty(), wantsChat = !options.chatTemplate.empty() && options.chatTemplate != "none";
  std::string path = named || !lookBeside ? options.tokenizer : neighbour(options.input, "tokenizer.json");
  TextReader reader(options);
  if (path.empty() && wantsChat)
    reader.diagnostics.report(Problem::Usage,
                              "--chat-template: a chat needs the model's tokenizer too, --tokenizer FILE");
  else if (!path.empty())
    reader.run(path);
  for (const import::Diagnostics::Entry &problem : reader.diagnostics.all())
    if (named || wantsChat)
      diagnostics.report(problem.problem, problem.message);
    else
      reader.sections.warnings.push_back("no " + std::string(reader.sections.tokenizer.empty() ? "text" : "chat") +
                                         " in the plan: " + problem.message);
  if (!diagnostics.ok())
    return std::nullopt;
  return std::move(reader.sections);
}
