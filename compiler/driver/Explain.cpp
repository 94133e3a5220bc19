// Explain: see the header of that name.
#include "compiler/driver/Explain.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace stint;
using namespace stint::driver;

// Bounds that dynamic dimensions without --dim are given: wide enough that
// nothing is taken for fixed.
static constexpr import::DimBounds kAnyDim = {1, 4096};

static std::string fullName(const import::OperatorUse &use) {
  return use.domain.empty() ? use.opType : use.domain + "." + use.opType;
}

static void printJson(const import::ImportedModel &model, const import::Diagnostics &diagnostics,
                      const Options &options, llvm::raw_ostream &os) {
  llvm::json::Array operators, dims, nodes, problems;
  for (const import::OperatorUse &use : model.operators)
    operators.push_back(llvm::json::Object{{"domain", use.domain},
                                           {"operator", use.opType},
                                           {"version", use.version},
                                           {"count", use.count},
                                           {"unsupported", use.unsupported}});
  for (const import::UnsupportedNode &node : diagnostics.unsupported())
    nodes.push_back(llvm::json::Object{{"domain", node.domain},
                                       {"operator", node.opType},
                                       {"version", node.version},
                                       {"node", node.name},
                                       {"types", node.types},
                                       {"why", node.why}});
  for (const import::DynamicDim &dim : model.dynamicDims) {
    llvm::json::Object object{{"name", dim.name}, {"where", dim.where}};
    if (auto bounds = options.dims.find(dim.name); bounds != options.dims.end()) {
      object["lower"] = bounds->second.lower;
      object["upper"] = bounds->second.upper;
    }
    dims.push_back(std::move(object));
  }
  for (const import::Diagnostics::Entry &entry : diagnostics.all())
    if (entry.problem != import::Problem::Unsupported)
      problems.push_back(entry.message);
  llvm::json::Object root{
      {"model", options.input},          {"supported", diagnostics.ok()},         {"operators", std::move(operators)},
      {"unsupported", std::move(nodes)}, {"dynamic_dimensions", std::move(dims)}, {"problems", std::move(problems)}};
  os << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(root)));
}

static void printText(const import::ImportedModel &model, const import::Diagnostics &diagnostics,
                      const Options &options, llvm::raw_ostream &os) {
  int64_t total = 0, unsupported = 0;
  for (const import::OperatorUse &use : model.operators) {
    total += use.count;
    unsupported += use.unsupported;
  }
  os << llvm::formatv("{0}: {1} nodes of {2} operators", options.input, total, model.operators.size());
  if (unsupported)
    os << llvm::formatv(", {0} nodes are not supported", unsupported);
  os << "\n";
  for (const import::OperatorUse &use : model.operators) {
    os << llvm::formatv("  {0,-32} {1,6}  ", fullName(use), use.count);
    if (use.unsupported)
      os << llvm::formatv("unsupported: {0}\n", use.unsupported);
    else
      os << "ok\n";
  }
  if (!model.dynamicDims.empty())
    os << "dynamic dimensions:\n";
  for (const import::DynamicDim &dim : model.dynamicDims) {
    os << "  " << dim.name << " (" << dim.where << "): ";
    if (auto bounds = options.dims.find(dim.name); bounds != options.dims.end())
      os << bounds->second.lower << ".." << bounds->second.upper << "\n";
    else
      os << "compile needs --dim " << dim.name << "=N or " << dim.name << "=LO..HI\n";
  }
  if (!diagnostics.ok())
    os << "problems:\n";
  for (const import::Diagnostics::Entry &entry : diagnostics.all())
    os << "  " << entry.message << "\n";
}

int driver::explain(const Options &options, bool json, llvm::raw_ostream &os, import::Diagnostics &diagnostics) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  import::ImportOptions importOptions;
  importOptions.dims = options.dims;
  importOptions.constants = options.constants;
  importOptions.otherDims = kAnyDim;
  import::ImportedModel model = import::importFile(options.input, importOptions, context, diagnostics);
  if (model.operators.empty() && !diagnostics.ok()) {
    // Nothing was read that could be explained.
    diagnostics.print(llvm::errs());
    return diagnostics.exitCode();
  }
  if (json)
    printJson(model, diagnostics, options, os);
  else
    printText(model, diagnostics, options, os);
  return diagnostics.exitCode();
}
