// JSON of files that anyone may have written.
#ifndef STINT_COMPILER_TEXT_TEXTJSON_H
#define STINT_COMPILER_TEXT_TEXTJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace stint::text {

/// Parses a text; one that is nested too deep for LLVM's parser, which calls
/// itself for each level, is malformed too.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace stint::text

#endif
