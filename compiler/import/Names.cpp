// Names that a model must not use twice.
#include "compiler/import/ImporterImpl.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;

/// Every value of a graph has one name and one place where it is made.
void Importer::checkNames(const Graph &graph) {
  llvm::StringMap<std::string> made;
  auto make = [&](StringRef name, const Twine &what) {
    auto [it, fresh] = made.try_emplace(name, what.str());
    if (!fresh)
      diagnostics.report(Problem::Malformed, "two things make '" + name + "': " + it->second + " and " + what);
  };
  llvm::StringMap<const Tensor *> initializers;
  for (const Tensor &tensor : graph.initializers) {
    make(tensor.name, "an initializer");
    initializers[tensor.name] = &tensor;
  }
  llvm::StringSet<> inputs;
  for (const ValueInfo &input : graph.inputs) {
    if (!inputs.insert(input.name).second)
      diagnostics.report(Problem::Malformed, "two inputs are called '" + input.name + "'");
    // An initializer may be the value that an input has by itself.
    const Tensor *tensor = initializers.lookup(input.name);
    if (!tensor) {
      made.try_emplace(input.name, "an input");
      continue;
    }
    bool fits = input.type == tensor->type && (!input.hasShape || input.dims.size() == tensor->dims.size());
    for (size_t i = 0; fits && input.hasShape && i < input.dims.size(); ++i)
      fits = !input.dims[i].value || *input.dims[i].value < 0 || *input.dims[i].value == tensor->dims[i];
    if (!fits)
      diagnostics.report(Problem::Malformed,
                         "initializer '" + input.name + "' has another type or shape than the input of that name");
  }
  for (const Node &node : graph.nodes) {
    for (const std::string &output : node.outputs)
      if (!output.empty())
        make(output, "node '" + node.label() + "'");
    for (const NodeAttribute &attribute : node.attributes)
      if (attribute.graph)
        checkNames(*attribute.graph);
  }
}

bool Importer::checkNames() {
  llvm::StringSet<> outputs;
  for (const ValueInfo &output : model.graph.outputs)
    if (!outputs.insert(output.name).second)
      diagnostics.report(Problem::Malformed, "two outputs are called '" + output.name + "'");
  for (const auto &[domain, version] : model.opsets)
    if (version < 1)
      diagnostics.report(Problem::Malformed, "opset " + Twine(version) + " of domain '" + domain + "' does not exist");
  checkNames(model.graph);
  return diagnostics.ok();
}
