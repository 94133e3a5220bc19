// Imports ONNX files and prints what came of them.
//
//   import-print MODEL.onnx [--dim NAME=LO..HI]…   the module, or the problems
//   import-print --count MODEL.onnx…               a line a file, and a total
//
// Exit code: that of the problems. Dynamic dimensions without bounds get 1..8
// with --count.
#include "compiler/import/Importer.h"

#include "mlir/IR/MLIRContext.h"

using namespace stint::import;

static bool parseDim(llvm::StringRef text, ImportOptions &options) {
  auto [name, range] = text.rsplit('=');
  auto [low, high] = range.split("..");
  DimBounds bounds;
  if (low.getAsInteger(10, bounds.lower) || (high.empty() ? low : high).getAsInteger(10, bounds.upper))
    return false;
  options.dims[name] = bounds;
  return true;
}

int main(int argc, char **argv) {
  ImportOptions options;
  std::vector<std::string> paths;
  bool count = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--count")
      count = true;
    else if (argument == "--dim" && i + 1 < argc) {
      if (!parseDim(argv[++i], options))
        return 2;
    } else {
      paths.push_back(argument);
    }
  }
  int good = 0, code = 0;
  for (const std::string &path : paths) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    Diagnostics diagnostics;
    if (count)
      options.otherDims = DimBounds{1, 8};
    ImportedModel imported = importFile(path, options, context, diagnostics);
    if (count) {
      good += diagnostics.ok();
      llvm::outs() << (diagnostics.ok() ? "ok " : "no ") << path << "\n";
      if (!diagnostics.ok())
        llvm::outs() << "   " << diagnostics.all().front().message << "\n";
      continue;
    }
    diagnostics.print(llvm::errs());
    if (imported.module)
      imported.module->print(llvm::outs(), mlir::OpPrintingFlags().elideLargeElementsAttrs(64));
    code = std::max(code, diagnostics.exitCode());
  }
  if (count)
    llvm::outs() << good << " of " << paths.size() << " import\n";
  return code;
}
