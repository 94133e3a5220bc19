// Verifiers of the plan operations.
#include "dialects/Plan/PlanDialect.h"

#include "dialects/Graph/Shapes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

using namespace mlir;
using namespace stint;
using namespace stint::plan;

LogicalResult SymbolOp::verify() {
  size_t count = graph::Symbols::of(*this).size();
  if (getNumber() >= count)
    return emitOpError() << "names symbol " << getNumber() << " of " << count;
  return success();
}

// entry

void EntryOp::build(OpBuilder &builder, OperationState &state, StringRef name) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addRegion()->emplaceBlock();
}

SmallVector<Value> EntryOp::getBuffers() {
  SmallVector<Value> buffers;
  for (Operation &op : getBody().front())
    for (Value result : op.getResults())
      if (isa<BufferType>(result.getType()))
        buffers.push_back(result);
  return buffers;
}

LogicalResult EntryOp::verify() {
  size_t buffers = getBuffers().size(), symbols = graph::Symbols::of(*this).size();
  for (Attribute attribute : getProfiles()) {
    auto profile = dyn_cast<ProfileAttr>(attribute);
    if (!profile)
      return emitOpError() << "profiles must be #plan.profile";
    if (profile.getMaxima().size() != symbols)
      return emitOpError() << "a profile needs one maximum per symbol";
    if (profile.getOffsets().size() != buffers || profile.getCapacities().size() != buffers)
      return emitOpError() << "a profile needs one offset and capacity per buffer";
    for (auto [offset, capacity] : llvm::zip(profile.getOffsets(), profile.getCapacities()))
      if (offset < 0 || capacity < 0 || offset % 64 || offset + capacity > profile.getArenaSize())
        return emitOpError() << "a buffer of a profile is not aligned to 64 bytes or lies outside the arena";
  }
  for (Operation &op : getBody().front())
    if (!isa<PlanDialect>(op.getDialect()))
      return op.emitOpError() << "is not allowed in an entry";
  return success();
}

// ports

template <typename Port> static LogicalResult verifyPort(Port op) {
  auto type = cast<graph::GraphTensorType>(op.getType());
  if (!type.isRowMajor())
    return op.emitOpError() << "must be row-major";
  if (static_cast<int64_t>(op.getDims().size()) != type.getRank())
    return op.emitOpError() << "needs one register per dimension";
  return success();
}
LogicalResult InputOp::verify() { return verifyPort(*this); }
LogicalResult OutputOp::verify() { return verifyPort(*this); }

// dispatch

LogicalResult DispatchOp::verify() {
  if (getGrid().size() != 3 || getTile().size() != 3)
    return emitOpError() << "needs three grid and three tile registers";
  for (Value output : getOutputs())
    if (isa_and_nonnull<InputOp, WeightOp, ConstantOp>(output.getDefiningOp()))
      return emitOpError() << "writes a buffer that is read-only";
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel = symbolTable.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "names no kernel: " << getKernel();
  if (kernel.getNumArguments() != getInputs().size() || kernel.getNumResults() != getOutputs().size())
    return emitOpError() << "does not match the buffers of @" << getKernel();
  auto symbols = kernel->getAttrOfType<ArrayAttr>(graph::kSymbolsAttr);
  if ((symbols ? symbols.size() : 0) != getDims().size())
    return emitOpError() << "does not match the symbols of @" << getKernel();
  return success();
}
