// Shape rules and folds of the data movement operators.
#include "dialects/Graph/GraphDialect.h"
#include "dialects/Graph/Shapes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

static LogicalResult verifyElementType(Operation *op, Value input) {
  if (tensorType(input).getElementType() != tensorType(op->getResult(0)).getElementType())
    return op->emitOpError() << "operand and result must have one element type";
  return success();
}

static LogicalResult verifyShape(Operation *op, ArrayRef<AffineExpr> expected) {
  if (expected != tensorType(op->getResult(0)).getShape())
    return op->emitOpError() << "result shape must be "
                             << GraphTensorType::get(expected, tensorType(op->getResult(0)).getElementType());
  return success();
}

// reshape

LogicalResult ReshapeOp::verify() {
  Symbols symbols = Symbols::of(*this);
  if (symbols.equal(tensorType(getInput()).getNumElements(), tensorType(getResult()).getNumElements()) == false)
    return emitOpError() << "changes the number of elements";
  return verifyElementType(*this, getInput());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : OpFoldResult(); }

namespace {
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto producer = op.getInput().getDefiningOp<ReshapeOp>();
    if (!producer)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), producer.getInput());
    return success();
  }
};

struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto producer = op.getInput().getDefiningOp<TransposeOp>();
    if (!producer)
      return failure();
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(producer.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), producer.getInput(), permutation);
    return success();
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeReshapes>(context);
}

// transpose

static SmallVector<AffineExpr> permute(ArrayRef<AffineExpr> shape, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation, [&](int64_t dim) { return shape[dim]; });
}

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> permutation) {
  GraphTensorType type = tensorType(input);
  build(builder, state, type.withShape(permute(type.getShape(), permutation)), input, permutation);
}

LogicalResult TransposeOp::verify() {
  GraphTensorType input = tensorType(getInput());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.getRank())))
    return emitOpError() << "permutation must name every dimension once";
  if (failed(verifyElementType(*this, getInput())))
    return failure();
  return verifyShape(*this, permute(input.getShape(), getPermutation()));
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  bool identity = llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size()));
  return identity && getInput().getType() == getType() ? getInput() : OpFoldResult();
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes>(context);
}

// slice

LogicalResult SliceOp::verify() {
  size_t rank = tensorType(getInput()).getRank();
  if (getStarts().getNumResults() != rank || getSteps().size() != rank ||
      tensorType(getResult()).getRank() != static_cast<int64_t>(rank))
    return emitOpError() << "needs one start and one step per dimension";
  if (llvm::is_contained(getSteps(), 0))
    return emitOpError() << "a step is zero";
  return verifyElementType(*this, getInput());
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getInput().getType() == getType() && llvm::all_of(getSteps(), [](int64_t s) { return s == 1; }) &&
               llvm::all_of(getStarts().getResults(), [](AffineExpr e) { return e == 0; });
  return whole ? getInput() : OpFoldResult();
}

// pad

LogicalResult PadOp::verify() {
  GraphTensorType input = tensorType(getInput());
  if (static_cast<int64_t>(getLow().getNumResults()) != input.getRank() ||
      tensorType(getResult()).getRank() != input.getRank())
    return emitOpError() << "needs one low pad per dimension";
  if ((getMode() == PadMode::constant) != static_cast<bool>(getValue()))
    return emitOpError() << "a value is given exactly for mode constant";
  if (getValue() &&
      (tensorType(getValue()).getRank() != 0 || tensorType(getValue()).getElementType() != input.getElementType()))
    return emitOpError() << "the value must be a scalar of the operand's element type";
  return verifyElementType(*this, getInput());
}

// concat

static SmallVector<AffineExpr> inferConcat(ValueRange inputs, int64_t axis) {
  SmallVector<AffineExpr> shape(tensorType(inputs.front()).getShape());
  for (Value input : inputs.drop_front())
    shape[axis] = shape[axis] + tensorType(input).getDim(axis);
  return shape;
}

void ConcatOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, int64_t axis) {
  build(builder, state, tensorType(inputs.front()).withShape(inferConcat(inputs, axis)), inputs, axis);
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one operand";
  GraphTensorType first = tensorType(getInputs().front());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOpError() << "axis is not below the rank";
  for (Value input : getInputs()) {
    GraphTensorType type = tensorType(input);
    if (type.getRank() != first.getRank() || type.getElementType() != first.getElementType())
      return emitOpError() << "operands must have one rank and element type";
    for (int64_t i = 0; i < first.getRank(); ++i)
      if (i != axis && type.getDim(i) != first.getDim(i))
        return emitOpError() << "operands differ in dimension " << i;
  }
  if (failed(verifyElementType(*this, getInputs().front())))
    return failure();
  return verifyShape(*this, inferConcat(getInputs(), axis));
}

// gather

static SmallVector<AffineExpr> inferGather(GraphTensorType input, GraphTensorType indices, int64_t axis) {
  SmallVector<AffineExpr> shape(input.getShape().take_front(axis));
  shape.append(indices.getShape().begin(), indices.getShape().end());
  shape.append(input.getShape().begin() + axis + 1, input.getShape().end());
  return shape;
}

void GatherOp::build(OpBuilder &builder, OperationState &state, Value input, Value indices, int64_t axis) {
  auto shape = inferGather(tensorType(input), tensorType(indices), axis);
  build(builder, state, tensorType(input).withShape(shape), input, indices, axis);
}

LogicalResult GatherOp::verify() {
  GraphTensorType input = tensorType(getInput());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOpError() << "axis is not below the rank";
  if (failed(verifyElementType(*this, getInput())))
    return failure();
  return verifyShape(*this, inferGather(input, tensorType(getIndices()), axis));
}

LogicalResult GatherElementsOp::verify() {
  GraphTensorType input = tensorType(getInput()), indices = tensorType(getIndices());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= input.getRank() || indices.getRank() != input.getRank())
    return emitOpError() << "axis is not below the rank, or the ranks differ";
  if (failed(verifyElementType(*this, getInput())))
    return failure();
  return verifyShape(*this, indices.getShape());
}

LogicalResult GatherNDOp::verify() {
  GraphTensorType input = tensorType(getInput()), indices = tensorType(getIndices());
  int64_t batch = getBatchDims();
  if (indices.getRank() < 1 || batch < 0 || batch >= indices.getRank())
    return emitOpError() << "batchDims must be below the rank of indices";
  auto tuple = indices.getStaticDim(indices.getRank() - 1);
  if (!tuple || batch + *tuple > input.getRank())
    return emitOpError() << "indices need a constant last dimension that fits the operand's rank";
  SmallVector<AffineExpr> shape(indices.getShape().drop_back());
  shape.append(input.getShape().begin() + batch + *tuple, input.getShape().end());
  if (failed(verifyElementType(*this, getInput())))
    return failure();
  return verifyShape(*this, shape);
}

// relayout, iota, dimensions

LogicalResult RelayoutOp::verify() {
  if (failed(verifyElementType(*this, getInput())))
    return failure();
  return verifyShape(*this, tensorType(getInput()).getShape());
}

OpFoldResult RelayoutOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : OpFoldResult(); }

LogicalResult IotaOp::verify() {
  if (getAxis() < 0 || getAxis() >= tensorType(getResult()).getRank())
    return emitOpError() << "axis is not below the rank";
  return success();
}

LogicalResult DimensionsOp::verify() {
  GraphTensorType type = tensorType(getResult());
  if (!type.getElementType().isSignlessInteger(64) || type.getRank() != 1 ||
      type.getStaticDim(0) != static_cast<int64_t>(getValues().getNumResults()))
    return emitOpError() << "result must be a rank-1 i64 tensor with one element per expression";
  return success();
}
