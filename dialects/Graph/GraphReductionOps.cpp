// Shape rules of the reductions.
#include "dialects/Graph/GraphDialect.h"

using namespace mlir;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

static GraphTensorType inferReduce(ReduceKind kind, GraphTensorType input, ArrayRef<int64_t> axes) {
  SmallVector<AffineExpr> shape(input.getShape());
  for (int64_t axis : axes)
    shape[axis] = getAffineConstantExpr(1, input.getContext());
  bool index = kind == ReduceKind::argmax || kind == ReduceKind::argmin;
  return GraphTensorType::get(shape, index ? IntegerType::get(input.getContext(), 64) : input.getElementType());
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, ReduceKind kind, Value input, ArrayRef<int64_t> axes,
                     bool selectLast) {
  build(builder, state, inferReduce(kind, tensorType(input), axes), kind, input, axes, selectLast);
}

LogicalResult ReduceOp::verify() {
  GraphTensorType input = tensorType(getInput()), result = tensorType(getResult());
  int64_t previous = -1;
  for (int64_t axis : getAxes()) {
    if (axis <= previous || axis >= input.getRank())
      return emitOpError() << "axes must be sorted, unique and below the rank";
    previous = axis;
  }
  bool index = getKind() == ReduceKind::argmax || getKind() == ReduceKind::argmin;
  if (index && getAxes().size() != 1)
    return emitOpError() << "takes exactly one axis";
  if (isBool(input.getElementType()) && getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError() << "booleans are reduced with max and min only";
  GraphTensorType expected = inferReduce(getKind(), input, getAxes());
  if (expected.getShape() != result.getShape() || expected.getElementType() != result.getElementType())
    return emitOpError() << "result must be " << expected;
  return success();
}

SmallVector<AffineExpr> WindowReduceOp::inferShape(GraphTensorType input, ArrayRef<int64_t> window,
                                                   ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                                                   ArrayRef<int64_t> padLow, ArrayRef<int64_t> padHigh) {
  SmallVector<AffineExpr> shape;
  for (auto [i, dim] : llvm::enumerate(input.getShape())) {
    int64_t extra = padLow[i] + padHigh[i] - dilations[i] * (window[i] - 1) - 1;
    shape.push_back((dim + extra).floorDiv(strides[i]) + 1);
  }
  return shape;
}

LogicalResult WindowReduceOp::verify() {
  GraphTensorType input = tensorType(getInput()), result = tensorType(getResult());
  size_t rank = input.getRank();
  if (getWindow().size() != rank || getStrides().size() != rank || getDilations().size() != rank ||
      getPadLow().size() != rank || getPadHigh().size() != rank)
    return emitOpError() << "attributes must have one value per dimension";
  if (getCountPadding() && getCountPadding()->size() != 2 * rank)
    return emitOpError() << "countPadding must have two values per dimension";
  for (ArrayRef<int64_t> values : {getWindow(), getStrides(), getDilations()})
    if (llvm::any_of(values, [](int64_t v) { return v < 1; }))
      return emitOpError() << "windows, strides and dilations must be positive";
  if (!llvm::is_contained({ReduceKind::sum, ReduceKind::mean, ReduceKind::max, ReduceKind::min}, getKind()))
    return emitOpError() << "kind must be sum, mean, max or min";
  if (getIndices() && getKind() != ReduceKind::max)
    return emitOpError() << "only max has indices";
  auto shape = inferShape(input, getWindow(), getStrides(), getDilations(), getPadLow(), getPadHigh());
  if (ArrayRef<AffineExpr>(shape) != result.getShape() || input.getElementType() != result.getElementType())
    return emitOpError() << "result type does not follow from the operand";
  return success();
}
