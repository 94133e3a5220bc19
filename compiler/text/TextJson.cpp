// TextJson: see the header of that name.
#include "compiler/text/TextJson.h"
#include "compiler/text/TokenizerModel.h"

namespace stint::text {

static bool nestsDeeperThan(llvm::StringRef text, unsigned limit) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > limit)
        return true;
    } else if ((c == '}' || c == ']') && depth) {
      --depth;
    }
  }
  return false;
}

llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  if (nestsDeeperThan(text, 64))
    return malformed("nested too deep");
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed)
    return malformed(llvm::toString(parsed.takeError()));
  return parsed;
}

} // namespace stint::text
