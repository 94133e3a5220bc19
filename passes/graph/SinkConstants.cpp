// Functions of control flow read weights and constants themselves, so that
// later passes can arrange them for their kernels; and they take only what
// they read.
#include "passes/Passes.h"
#include "passes/SymbolUses.h"

#include "mlir/IR/Builders.h"

namespace stint::passes {
#define GEN_PASS_DEF_SINKCONSTANTS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

/// Takes out of `inputs`, and of the function's arguments from `first` on, what
/// the function can make itself or does not read.
static bool sink(func::FuncOp function, MutableOperandRange inputs, unsigned first) {
  bool changed = false;
  for (unsigned i = inputs.size(); i-- > 0;) {
    BlockArgument argument = function.getArgument(first + i);
    Operation *leaf = inputs[i].get().getDefiningOp();
    if (isa_and_nonnull<WeightOp, ConstantOp>(leaf)) {
      OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
      argument.replaceAllUsesWith(builder.clone(*leaf)->getResult(0));
    }
    if (!argument.use_empty())
      continue;
    function.eraseArgument(first + i);
    inputs.erase(i);
    changed = true;
  }
  return changed;
}

namespace {
struct SinkConstants : passes::impl::SinkConstantsBase<SinkConstants> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Until nothing changes: what one function took may be another's now.
    for (bool changed = true; changed;) {
      changed = false;
      for (auto function : module.getOps<func::FuncOp>())
        function.walk([&](Operation *op) {
          auto callee = [&](FlatSymbolRefAttr name) { return module.lookupSymbol<func::FuncOp>(name.getValue()); };
          if (auto branch = dyn_cast<IfOp>(op)) {
            changed |= sink(callee(branch.getThenFunctionAttr()), branch.getThenInputsMutable(), 0);
            changed |= sink(callee(branch.getElseFunctionAttr()), branch.getElseInputsMutable(), 0);
          } else if (auto loop = dyn_cast<LoopOp>(op)) {
            changed |= sink(callee(loop.getBodyAttr()), loop.getCapturesMutable(), loop.getInits().size());
          }
        });
    }
  }
};
} // namespace
