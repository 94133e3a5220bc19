// Kernel regions: operands, results, and moving operations inside.
#include "passes/fuse/KernelRegion.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace stint;
using namespace stint::graph;

bool passes::isElementwise(Operation *op) { return op->hasTrait<graph::Elementwise>() && !isa<BroadcastOp>(op); }

bool passes::isImmediate(Operation *op) {
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  return constant && constant.getValue().isSplat();
}

SetVector<Value> passes::operandsOf(const OpSet &set) {
  SetVector<Value> operands;
  for (Operation *op : set)
    for (Value operand : op->getOperands())
      if (!set.contains(operand.getDefiningOp()) && (isa<LeafOp>(op) || !isImmediate(operand.getDefiningOp())))
        operands.insert(operand);
  return operands;
}

SetVector<Value> passes::resultsOf(const OpSet &set) {
  SetVector<Value> results;
  for (Operation *op : set)
    for (Value result : op->getResults())
      if (isa<LeafOp>(op) || llvm::any_of(result.getUsers(), [&](Operation *user) { return !set.contains(user); }))
        results.insert(result);
  return results;
}

KernelOp passes::makeKernel(KernelKind kind, const OpSet &set, Operation *position) {
  SmallVector<Operation *> ops(set.begin(), set.end());
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  OpSet sorted(ops.begin(), ops.end());
  SetVector<Value> operands = operandsOf(sorted), results = resultsOf(sorted);

  OpBuilder builder(position);
  SmallVector<Location> locations;
  SmallVector<Type> types;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  for (Value result : results)
    types.push_back(result.getType());
  auto kernel = builder.create<KernelOp>(builder.getFusedLoc(locations), types, kind, operands.getArrayRef());
  Block &block = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value operand : operands)
    mapping.map(operand, block.addArgument(operand.getType(), operand.getLoc()));
  builder.setInsertionPointToEnd(&block);
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        builder.clone(*operand.getDefiningOp(), mapping);
    builder.clone(*op, mapping);
  }
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  builder.create<YieldOp>(kernel.getLoc(), yielded);
  for (auto [i, result] : llvm::enumerate(results))
    Value(result).replaceAllUsesWith(kernel.getOutputs()[i]);
  for (Operation *op : llvm::reverse(ops)) {
    op->erase();
  }
  return kernel;
}
