// What `--state IN=OUT` asks for: checked when both ends are known.
#include "compiler/import/ImporterImpl.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// Each state is one input and one output, of one fixed shape and type.
bool Importer::checkStates(func::FuncOp function, ArrayRef<Value> results, ArrayRef<std::string> names) {
  std::set<std::string> seen;
  for (const auto &[input, output] : options.states) {
    auto wrong = [&](const Twine &why) {
      diagnostics.report(Problem::Usage, "--state " + input + "=" + output + ": " + why);
    };
    if (!seen.insert("input " + input).second || !seen.insert("output " + output).second) {
      wrong("an input or output is named twice");
      continue;
    }
    GraphTensorType before, after;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr) == input)
        before = cast<GraphTensorType>(function.getArgumentTypes()[i]);
    for (auto [i, name] : llvm::enumerate(names))
      if (name == output)
        after = cast<GraphTensorType>(results[i].getType());
    if (!before || !after)
      wrong(Twine("the model has no ") + (before ? "output '" + output : "input '" + input) + "'");
    else if (!before.hasStaticShape())
      wrong("a state needs a fixed shape, '" + input + "' is " + print(before) + "; fix its dimensions with --dim");
    else if (before.getElementType() != after.getElementType() ||
             !llvm::all_of(llvm::zip_longest(before.getShape(), after.getShape()), [&](auto dims) {
               auto [a, b] = dims;
               return a && b && symbols.equal(*a, *b) == true;
             }))
      wrong("'" + input + "' is " + print(before) + ", but '" + output + "' is " + print(after));
  }
  return diagnostics.ok();
}
