// Imports ONNX files and prints what came of them.
//
//   import-print MODEL.onnx [--dim NAME=LO..HI[:STEP]]…   the module, or the problems
//   import-print --count MODEL.onnx…               a line a file, and a total
//   import-print MODEL.onnx --constant NAME=FILE.pb   an input with one value
//
// `--generic` prints the generic form; `--data FILE` writes the bytes of
// `<inline>`. With --count, a model that does not import is tried again with its integer
// inputs after the first as constants from its test_data_set_0.
//
// Exit code: that of the problems. Dynamic dimensions without bounds get 1..8
// with --count.
#include "compiler/import/Importer.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace stint::import;

static bool parseDim(llvm::StringRef text, ImportOptions &options) {
  auto [name, range] = text.rsplit('=');
  auto [span, step] = range.split(':');
  auto [low, high] = span.split("..");
  DimBounds bounds;
  if (!step.empty() && step.getAsInteger(10, bounds.step))
    return false;
  if (low.getAsInteger(10, bounds.lower) || (high.empty() ? low : high).getAsInteger(10, bounds.upper))
    return false;
  options.dims[name] = bounds;
  return true;
}

/// Small operands given as inputs: their values in the model's test data.
static bool takeConstants(llvm::StringRef path, ImportOptions &options) {
  Diagnostics ignored;
  auto model = readModel(path, ignored);
  if (!model)
    return false;
  auto &inputs = model->graph.inputs;
  for (size_t i = inputs.size() > 1 && inputs[0].dims.size() > 1; i < inputs.size(); ++i) {
    std::string file = path.rsplit('/').first.str() + "/test_data_set_0/input_" + std::to_string(i) + ".pb";
    if (inputs[i].dims.size() < 2 && llvm::sys::fs::exists(file))
      options.constants[inputs[i].name] = file;
  }
  return !options.constants.empty();
}

int main(int argc, char **argv) {
  ImportOptions options;
  std::vector<std::string> paths;
  bool count = false, generic = false;
  std::string dataPath;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--count")
      count = true;
    else if (argument == "--generic")
      generic = true;
    else if (argument == "--data" && i + 1 < argc)
      dataPath = argv[++i];
    else if (argument == "--constant" && i + 1 < argc) {
      auto [name, path] = llvm::StringRef(argv[++i]).split('=');
      options.constants[name] = path.str();
    } else if (argument == "--dim" && i + 1 < argc) {
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
    if (count && !diagnostics.ok() && takeConstants(path, options)) {
      diagnostics = {};
      imported = importFile(path, options, context, diagnostics);
      options.constants.clear();
    }
    if (count) {
      good += diagnostics.ok();
      llvm::outs() << (diagnostics.ok() ? "ok " : "no ") << path << "\n";
      llvm::outs().flush();
      if (!diagnostics.ok())
        llvm::outs() << "   " << diagnostics.all().front().message << "\n";
      continue;
    }
    diagnostics.print(llvm::errs());
    mlir::OpPrintingFlags flags;
    if (generic)
      flags.printGenericOpForm();
    if (imported.module)
      imported.module->print(llvm::outs(), flags);
    if (imported.module && !dataPath.empty()) {
      std::error_code error;
      llvm::raw_fd_ostream data(dataPath, error);
      data << llvm::toStringRef(imported.inlineData->bytes());
    }
    code = std::max(code, diagnostics.exitCode());
  }
  if (count)
    llvm::outs() << good << " of " << paths.size() << " import\n";
  return code;
}
