// Work on constants moves to @constants, for the driver to run at compile
// time on the baseline kernels, so that what is folded has the bits that the
// device would have computed.
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace stint::passes {
#define GEN_PASS_DEF_HOISTCONSTANTS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

/// Reads its value from the file or from an attribute.
static bool isLeaf(Operation *op) { return isa<WeightOp, ConstantOp>(op); }

/// Bytes a hoisted value may take: broadcasts of small constants stay code.
static bool isWorthStoring(Value value) {
  auto type = cast<GraphTensorType>(value.getType());
  if (!type.hasStaticShape())
    return false;
  return !isa_and_nonnull<BroadcastOp, IotaOp>(value.getDefiningOp());
}

namespace {
struct HoistConstants : passes::impl::HoistConstantsBase<HoistConstants> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || getOperation().lookupSymbol("constants"))
      return;
    Block &body = main.getBody().front();
    llvm::SetVector<Operation *> constant;
    for (Operation &op : body.without_terminator()) {
      bool known = isLeaf(&op) || (op.getNumOperands() > 0 && isMemoryEffectFree(&op) &&
                                   llvm::all_of(op.getOperands(), [&](Value operand) {
                                     return operand.getDefiningOp() && constant.contains(operand.getDefiningOp());
                                   }));
      known &= llvm::all_of(op.getResults(),
                            [](Value result) { return cast<GraphTensorType>(result.getType()).hasStaticShape(); });
      if (known)
        constant.insert(&op);
    }
    SmallVector<Value> values;
    for (Operation *op : constant)
      for (Value result : op->getResults())
        if (!isLeaf(op) && isWorthStoring(result) &&
            llvm::any_of(result.getUsers(), [&](Operation *user) { return !constant.contains(user); }))
          values.push_back(result);
    if (values.empty())
      return;

    OpBuilder builder(main);
    SmallVector<Type> types = llvm::map_to_vector(values, [](Value value) { return value.getType(); });
    auto function = builder.create<func::FuncOp>(main.getLoc(), "constants", builder.getFunctionType({}, types));
    builder.setInsertionPointToStart(function.addEntryBlock());
    IRMapping mapping;
    for (Operation *op : constant)
      builder.clone(*op, mapping);
    builder.create<func::ReturnOp>(main.getLoc(),
                                   llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); }));
    for (auto [i, value] : llvm::enumerate(values)) {
      unsigned number = main.getNumArguments();
      main.insertArgument(
          number, value.getType(),
          builder.getDictionaryAttr(builder.getNamedAttr("stint.constant", builder.getI64IntegerAttr(i))),
          value.getLoc());
      value.replaceUsesWithIf(main.getArgument(number),
                              [&](OpOperand &use) { return !constant.contains(use.getOwner()); });
    }
    // What only fed the hoisted values is dead on both sides.
    for (Block *block : {&body, &function.getBody().front()})
      for (Operation *op = block->getTerminator()->getPrevNode(); op;) {
        Operation *dead = op->use_empty() && isMemoryEffectFree(op) ? op : nullptr;
        op = op->getPrevNode();
        if (dead)
          dead->erase();
      }
  }
};
} // namespace
