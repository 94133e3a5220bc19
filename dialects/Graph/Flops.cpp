// Flops: see the header of that name.
#include "dialects/Graph/Flops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

static AffineExpr flopsOf(Operation &op) {
  MLIRContext *context = op.getContext();
  AffineExpr none = getAffineConstantExpr(0, context);
  if (op.getNumResults() == 0)
    return none;
  AffineExpr elements = tensorType(op.getResult(0)).getNumElements();
  if (auto matmul = dyn_cast<MatMulOp>(op)) {
    GraphTensorType lhs = tensorType(matmul.getLhs());
    return elements * lhs.getDim(lhs.getRank() - 1) * 2;
  }
  if (auto conv = dyn_cast<ConvOp>(op)) {
    GraphTensorType weight = tensorType(conv.getWeight()); // [G, O, C, K…]
    AffineExpr taps = getAffineConstantExpr(2, context);
    for (AffineExpr dim : weight.getShape().drop_front(2))
      taps = dim * taps;
    return elements * taps;
  }
  if (auto window = dyn_cast<WindowReduceOp>(op)) {
    int64_t taps = 1;
    for (int64_t size : window.getWindow())
      taps *= size;
    return elements * taps;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return tensorType(reduce.getInput()).getNumElements();
  bool moves = isa<BroadcastOp, ConstantOp, CastOp>(op);
  return op.hasTrait<Elementwise>() && !moves ? elements : none;
}

AffineExpr stint::graph::flopsOf(Block &body) {
  AffineExpr sum = getAffineConstantExpr(0, body.getParentOp()->getContext());
  for (Operation &op : body.without_terminator())
    sum = sum + ::flopsOf(op);
  return sum;
}
