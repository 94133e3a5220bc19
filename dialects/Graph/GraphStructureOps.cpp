// Constants, weights and kernel regions.
#include "dialects/Graph/GraphDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.cpp.inc"

using namespace mlir;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

// constant

void ConstantOp::build(OpBuilder &builder, OperationState &state, DenseElementsAttr value) {
  SmallVector<AffineExpr> shape;
  for (int64_t dim : value.getType().getShape())
    shape.push_back(builder.getAffineConstantExpr(dim));
  build(builder, state, GraphTensorType::get(shape, value.getElementType()), value);
}

LogicalResult ConstantOp::verify() {
  GraphTensorType type = tensorType(getResult());
  ShapedType valueType = getValue().getShapedType();
  if (!type.hasStaticShape() || valueType.getElementType() != type.getElementType() ||
      !llvm::equal(type.getStaticShape(), valueType.getShape()))
    return emitOpError() << "value and result must have one static shape and element type";
  if (!getValue().isSplat() && getValue().getNumElements() > 64)
    return emitOpError() << "holds " << getValue().getNumElements() << " elements; above 64 use graph.weight";
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

// weight

LogicalResult WeightOp::verify() {
  ExtentAttr extent = getExtent();
  int64_t elements = 1;
  for (int64_t dim : extent.getShape())
    if (dim < 0 || llvm::MulOverflow(elements, dim, elements))
      return emitOpError() << "extent shape is not one of a tensor";
  if (!tensorType(getResult()).hasStaticShape())
    return emitOpError() << "must have a static shape";
  if (static_cast<uint64_t>(elements) * elementBytes(extent.getType()) != extent.getSize())
    return emitOpError() << "extent has " << extent.getSize() << " bytes, not those of its shape and type";
  SmallVector<int64_t> shape(extent.getShape());
  Type type = extent.getType();
  for (Attribute attribute : getSteps()) {
    auto step = dyn_cast<StepAttr>(attribute);
    if (!step)
      return emitOpError() << "steps must be #graph.step";
    if (step.getKind() == "cast") {
      type = step.getType();
    } else if (step.getKind() == "reshape") {
      shape.assign(step.getValues().begin(), step.getValues().end());
    } else if (step.getKind() == "transpose") {
      if (step.getValues().size() != shape.size())
        return emitOpError() << "transpose step has the wrong rank";
      SmallVector<int64_t> old(shape);
      for (auto [i, dim] : llvm::enumerate(step.getValues())) {
        if (dim < 0 || dim >= static_cast<int64_t>(old.size()))
          return emitOpError() << "transpose step names a dimension that does not exist";
        shape[i] = old[dim];
      }
    } else {
      return emitOpError() << "unknown step '" << step.getKind() << "'";
    }
  }
  if (type != tensorType(getResult()).getElementType() || !llvm::equal(shape, tensorType(getResult()).getStaticShape()))
    return emitOpError() << "recipe does not give the result's shape and element type";
  return success();
}

// kernel

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (!llvm::equal(block.getArgumentTypes(), getInputs().getTypes()))
    return emitOpError() << "block arguments must have the operands' types";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !llvm::equal(yield.getValues().getTypes(), getOutputs().getTypes()))
    return emitOpError() << "must yield its results";
  int64_t contractions = llvm::count_if(block, [](Operation &op) { return isa<MatMulOp, ConvOp>(op); });
  if (getKind() == KernelKind::contraction && contractions != 1)
    return emitOpError() << "a contraction holds exactly one matmul or conv";
  if (getKind() == KernelKind::leaf) {
    auto leaf = dyn_cast<LeafOp>(block.front());
    if (!leaf || leaf->getNextNode() != yield || !llvm::equal(yield.getValues(), leaf.getOutputs()))
      return emitOpError() << "a leaf kernel holds one leaf and yields its results";
  }
  return success();
}

// call

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto callee = symbolTable.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!callee)
    return emitOpError() << "names no kernel: " << getKernel();
  if (callee.getNumArguments() != getInputs().size() || callee.getNumResults() != getOutputs().size())
    return emitOpError() << "does not match the operands and results of @" << getKernel();
  auto symbols = callee->getAttrOfType<ArrayAttr>(kSymbolsAttr);
  if ((symbols ? symbols.size() : 0) != getSymbols().size())
    return emitOpError() << "does not match the symbols of @" << getKernel();
  return success();
}
