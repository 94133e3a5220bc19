// Losses of classifiers: the target's score is gathered, weighted by the
// target's class, and summed.
#include "compiler/import/NodeContext.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;
using graph::ReduceKind;

/// -scores[n, target[n, d…], d…] · weight[target], reduced. `scores` is
/// operand 0's shape; operands 1 and 2 are target and weight.
static FailureOr<Value> likelihoodLoss(NodeContext &n, Value scores) {
  int64_t rank = n.rank(0);
  if (rank < 2 || n.rank(1) != rank - 1 || !graph::isInteger(n.element(1)))
    return n.malformed("needs scores [N, C, d…] and integer targets [N, d…]");
  SmallVector<AffineExpr> shape(n.type(0).getShape()), column = shape;
  shape.erase(shape.begin() + 1);
  column[1] = n.dim(1);
  for (auto [own, other] : llvm::zip(shape, n.type(1).getShape()))
    if (!n.assumeEqual(own, other))
      return n.malformed("scores and targets differ in a dimension: " + n.print(own) + " and " + n.print(other));
  Type i64 = n.b.getI64Type();
  Value target = n.cast(n.reshape(n.in(1), shape), i64), valid;
  if (n.attribute("ignore_index")) {
    Value ignored = n.scalar(i64, static_cast<double>(n.getInt("ignore_index", 0)));
    valid = n.compare(ComparePredicate::ne, target, ignored);
    target = n.select(valid, target, n.scalar(i64, 0));
  }
  Value picked =
      n.make<graph::GatherElementsOp>(n.shaped(n.typeOf(scores), column), scores, n.reshape(target, column), 1);
  Value loss = n.make<graph::NegOp>(n.reshape(picked, shape));
  Value weight;
  if (n.has(2)) {
    if (n.rank(2) != 1 || n.element(2) != n.element(0) || !n.assumeEqual(n.type(2).getDim(0), n.type(0).getDim(1)))
      return n.malformed("the weight must have one value per class");
    weight = n.make<graph::GatherOp>(n.in(2), target, 0);
  }
  Value zero = n.scalarLike(loss, 0);
  if (weight) {
    loss = n.mul(loss, weight);
    weight = valid ? n.select(valid, weight, zero) : weight;
  } else if (valid) {
    weight = n.cast(valid, n.element(0));
  }
  if (valid)
    loss = n.select(valid, loss, zero);
  std::string reduction = n.getString("reduction", "mean");
  if (reduction == "none")
    return loss;
  if (reduction != "sum" && reduction != "mean")
    return n.malformed("unknown reduction '" + reduction + "'");
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  auto total = [&](ReduceKind kind, Value v) { return n.reshape(n.reduce(kind, v, axes), {}); };
  if (reduction == "sum")
    return total(ReduceKind::sum, loss);
  if (!weight)
    return total(ReduceKind::mean, loss);
  return n.div(total(ReduceKind::sum, loss), total(ReduceKind::sum, weight));
}

static LogicalResult negativeLogLikelihoodLoss(NodeContext &n) {
  auto loss = likelihoodLoss(n, n.in(0));
  if (failed(loss))
    return failure();
  n.out(0, *loss);
  return success();
}

static LogicalResult softmaxCrossEntropyLoss(NodeContext &n) {
  if (n.rank(0) < 2)
    return n.malformed("scores must have a class dimension");
  Value x = n.in(0);
  Value shifted = n.sub(x, n.reduce(ReduceKind::max, x, {1}));
  Value sum = n.reduce(ReduceKind::sum, n.make<graph::ExpOp>(shifted), {1});
  Value logs = n.sub(shifted, n.make<graph::LogOp>(sum));
  auto loss = likelihoodLoss(n, logs);
  if (failed(loss))
    return failure();
  n.out(0, *loss);
  n.out(1, logs);
  return success();
}

void stint::import::addLosses(RuleTable &t) {
  t.add("NegativeLogLikelihoodLoss", 2, negativeLogLikelihoodLoss);
  t.add("SoftmaxCrossEntropyLoss", 2, softmaxCrossEntropyLoss);
}
