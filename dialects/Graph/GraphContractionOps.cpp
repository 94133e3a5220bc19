// Shape rules of matmul and conv.
#include "dialects/Graph/GraphDialect.h"

using namespace mlir;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

/// Result shape, or nullopt with `why` set.
static std::optional<SmallVector<AffineExpr>> inferMatMul(GraphTensorType lhs, GraphTensorType rhs, const char *&why) {
  if (lhs.getRank() < 2 || rhs.getRank() < 2) {
    why = "operands must have rank 2 or more";
    return std::nullopt;
  }
  if (lhs.getShape().back() != rhs.getDim(rhs.getRank() - 2)) {
    why = "K differs between the operands";
    return std::nullopt;
  }
  auto shape = broadcastShapes(lhs.getShape().drop_back(2), rhs.getShape().drop_back(2));
  if (!shape) {
    why = "batch dimensions do not broadcast";
    return std::nullopt;
  }
  shape->push_back(lhs.getDim(lhs.getRank() - 2));
  shape->push_back(rhs.getShape().back());
  return shape;
}

void MatMulOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs) {
  const char *why = nullptr;
  auto shape = inferMatMul(tensorType(lhs), tensorType(rhs), why);
  assert(shape && "operands must match");
  build(builder, state, tensorType(lhs).withShape(*shape), lhs, rhs);
}

LogicalResult MatMulOp::verify() {
  const char *why = nullptr;
  auto shape = inferMatMul(tensorType(getLhs()), tensorType(getRhs()), why);
  if (!shape)
    return emitOpError() << why;
  GraphTensorType result = tensorType(getResult());
  if (ArrayRef<AffineExpr>(*shape) != result.getShape())
    return emitOpError() << "result shape is not […, M, N]";
  if (tensorType(getLhs()).getElementType() != result.getElementType() ||
      tensorType(getRhs()).getElementType() != result.getElementType())
    return emitOpError() << "operands and result must have one element type";
  return success();
}

static SmallVector<AffineExpr> inferConv(GraphTensorType input, GraphTensorType weight, ArrayRef<int64_t> strides,
                                         ArrayRef<int64_t> dilations, ArrayRef<int64_t> padLow,
                                         ArrayRef<int64_t> padHigh) {
  SmallVector<AffineExpr> shape = {input.getDim(0), weight.getDim(0) * weight.getDim(1)};
  for (size_t i = 0; i < strides.size(); ++i)
    shape.push_back((input.getDim(i + 2) + padLow[i] + padHigh[i] - (weight.getDim(i + 3) - 1) * dilations[i] - 1)
                        .floorDiv(strides[i]) +
                    1);
  return shape;
}

void ConvOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight, ArrayRef<int64_t> strides,
                   ArrayRef<int64_t> dilations, ArrayRef<int64_t> padLow, ArrayRef<int64_t> padHigh) {
  auto shape = inferConv(tensorType(input), tensorType(weight), strides, dilations, padLow, padHigh);
  build(builder, state, tensorType(input).withShape(shape), input, weight, strides, dilations, padLow, padHigh);
}

bool ConvOp::isDepthwise() { return tensorType(getWeight()).getDim(2) == 1 && tensorType(getWeight()).getDim(0) != 1; }

LogicalResult ConvOp::verify() {
  GraphTensorType input = tensorType(getInput()), weight = tensorType(getWeight()), result = tensorType(getResult());
  int64_t spatial = getSpatialRank();
  if (spatial < 1 || input.getRank() != spatial + 2 || weight.getRank() != spatial + 3 ||
      result.getRank() != spatial + 2)
    return emitOpError() << "input must be [N, G·C, D…] and weight [G, O, C, K…] with " << spatial
                         << " spatial dimensions";
  if (getDilations().size() != getStrides().size() || getPadLow().size() != getStrides().size() ||
      getPadHigh().size() != getStrides().size())
    return emitOpError() << "attributes must have one value per spatial dimension";
  if (llvm::any_of(getStrides(), [](int64_t v) { return v < 1; }) ||
      llvm::any_of(getDilations(), [](int64_t v) { return v < 1; }))
    return emitOpError() << "strides and dilations must be positive";
  if (weight.getDim(0) * weight.getDim(2) != input.getDim(1))
    return emitOpError() << "input channels are not groups times the weight's channels";
  auto shape = inferConv(input, weight, getStrides(), getDilations(), getPadLow(), getPadHigh());
  if (ArrayRef<AffineExpr>(shape) != result.getShape())
    return emitOpError() << "result shape does not follow from the operands";
  if (input.getElementType() != result.getElementType() || weight.getElementType() != result.getElementType())
    return emitOpError() << "operands and result must have one element type";
  return success();
}
