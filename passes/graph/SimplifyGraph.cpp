// Canonical forms: greedy rewriting, then common subexpressions, until
// nothing changes. Every rewrite keeps the bits of every output.
#include "passes/Passes.h"
#include "passes/Views.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace stint::passes {
#define GEN_PASS_DEF_SIMPLIFYGRAPH
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

/// The value of a splat constant of numbers as a double.
static std::optional<double> splatValue(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat())
    return std::nullopt;
  if (isFloat(dense.getElementType()))
    return dense.getSplatValue<APFloat>().convertToDouble();
  if (isInteger(dense.getElementType())) {
    APInt integer = dense.getSplatValue<APInt>();
    return dense.getElementType().isUnsignedInteger() ? integer.roundToDouble(false) : integer.roundToDouble(true);
  }
  return std::nullopt;
}

namespace {
/// x * 1, x / 1, x - 0, pow(x, 1); integer x + 0. (A float x + 0 turns -0
/// into 0, and is left alone.)
template <typename Op> struct RemoveIdentity : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Value operands[] = {op.getLhs(), op.getRhs()};
    bool commutes = std::is_same_v<Op, MulOp> || std::is_same_v<Op, AddOp>;
    double neutral = std::is_same_v<Op, SubOp> || std::is_same_v<Op, AddOp> ? 0.0 : 1.0;
    if (std::is_same_v<Op, AddOp> && isFloat(tensorType(op.getResult()).getElementType()))
      return failure();
    for (int i : {1, 0}) {
      auto value = splatValue(operands[i]);
      if (!value || *value != neutral || (neutral == 0 && std::signbit(*value)) || (i == 0 && !commutes))
        continue;
      Value other = operands[1 - i];
      if (other.getType() != op.getType())
        continue;
      rewriter.replaceOp(op, other);
      return success();
    }
    return failure();
  }
};

struct SquareInsteadOfPow : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    auto exponent = splatValue(op.getRhs());
    if (!exponent || *exponent != 2.0 || op.getLhs().getType() != op.getType())
      return failure();
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), op.getLhs());
    return success();
  }
};

/// reshape, transpose and cast of a weight: one more step of the recipe.
struct StepsIntoRecipe : RewritePattern {
  StepsIntoRecipe(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<ReshapeOp, TransposeOp, CastOp>(op))
      return failure();
    auto weight = op->getOperand(0).getDefiningOp<WeightOp>();
    if (!weight || !weight.getResult().getType().isRowMajor())
      return failure();
    GraphTensorType type = tensorType(op->getResult(0));
    if (!type.hasStaticShape())
      return failure();
    SmallVector<Attribute> steps(weight.getSteps().getValue());
    if (auto transpose = dyn_cast<TransposeOp>(op))
      steps.push_back(StepAttr::get(op->getContext(), "transpose", transpose.getPermutation()));
    else if (isa<ReshapeOp>(op))
      steps.push_back(StepAttr::get(op->getContext(), "reshape", type.getStaticShape()));
    else
      steps.push_back(StepAttr::get(op->getContext(), "cast", ArrayRef<int64_t>(), type.getElementType()));
    rewriter.replaceOpWithNewOp<WeightOp>(op, type, weight.getNameAttr(), weight.getExtent(),
                                          rewriter.getArrayAttr(steps));
    return success();
  }
};

/// reshape, transpose and broadcast of a splat; reshape of any constant.
struct MoveConstant : RewritePattern {
  MoveConstant(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<ReshapeOp, TransposeOp, BroadcastOp>(op))
      return failure();
    auto constant = op->getOperand(0).getDefiningOp<ConstantOp>();
    auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
    GraphTensorType type = tensorType(op->getResult(0));
    if (!dense || !type.hasStaticShape() || !type.isRowMajor() || (!dense.isSplat() && !isa<ReshapeOp>(op)))
      return failure();
    auto shaped = RankedTensorType::get(type.getStaticShape(), type.getElementType());
    DenseElementsAttr value = isa<ReshapeOp>(op) ? dense.reshape(shaped) : dense.resizeSplat(shaped);
    rewriter.replaceOpWithNewOp<ConstantOp>(op, type, value);
    return success();
  }
};

/// A transpose that keeps the order of all dimensions but those of 1.
struct ReshapeInsteadOfTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    GraphTensorType type = tensorType(op.getInput());
    int64_t last = -1;
    for (int64_t dim : op.getPermutation()) {
      if (type.getDim(dim) == 1)
        continue;
      if (dim < last)
        return failure();
      last = dim;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

struct SingleConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs())
      if (!(tensorType(input).getDim(op.getAxis()) == 0))
        inputs.push_back(input);
    if (inputs.size() == 1 && inputs[0].getType() == op.getType()) {
      rewriter.replaceOp(op, inputs[0]);
      return success();
    }
    if (inputs.empty() || inputs.size() == op.getInputs().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(inputs); });
    return success();
  }
};

struct SimplifyGraph : passes::impl::SimplifyGraphBase<SimplifyGraph> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    for (RegisteredOperationName name : context->getRegisteredOperations())
      if (isa<GraphDialect>(&name.getDialect()))
        name.getCanonicalizationPatterns(patterns, context);
    patterns.add<RemoveIdentity<MulOp>, RemoveIdentity<DivOp>, RemoveIdentity<SubOp>, RemoveIdentity<AddOp>,
                 RemoveIdentity<PowOp>, SquareInsteadOfPow, StepsIntoRecipe, MoveConstant, ReshapeInsteadOfTranspose,
                 SingleConcat>(context);
    FrozenRewritePatternSet frozen(std::move(patterns));
    IRRewriter rewriter(context);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      (void)applyPatternsAndFoldGreedily(function, frozen);
      DominanceInfo dominance(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
    }
  }
};
} // namespace
