// Activation functions, decomposed into arithmetic. Formulas are ONNX's own,
// but for those that would lose accuracy or overflow as written there.
#include "compiler/import/NodeContext.h"
#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;

static Value c(NodeContext &n, Value like, double v) { return n.scalarLike(like, v); }
static Value exp(NodeContext &n, Value x) { return n.make<graph::ExpOp>(x); }
static Value neg(NodeContext &n, Value x) { return n.make<graph::NegOp>(x); }
static Value sigmoid(NodeContext &n, Value x) { return n.make<graph::SigmoidOp>(x); }
static Value below(NodeContext &n, Value x, double bound) { return n.compare(ComparePredicate::lt, x, c(n, x, bound)); }

static LogicalResult done(NodeContext &n, Value result) {
  n.out(0, result);
  return success();
}

static LogicalResult relu(NodeContext &n) { return done(n, n.max(n.in(0), c(n, n.in(0), 0))); }

static LogicalResult leakyRelu(NodeContext &n) {
  Value x = n.in(0);
  return done(n, n.select(below(n, x, 0), n.mul(x, c(n, x, n.getFloat("alpha", 0.01f))), x));
}

static LogicalResult pRelu(NodeContext &n) {
  SmallVector<Value> v = {n.in(0), n.in(1)};
  if (n.element(0) != n.element(1))
    return n.malformed("slope must have the operand's element type");
  if (n.opset < 7 && n.rank(1) == 1 && n.rank(0) > 1) { // one slope a channel
    SmallVector<AffineExpr> shape(n.rank(0) - 1, n.dim(1));
    shape[0] = n.type(1).getDim(0);
    v[1] = n.reshape(v[1], shape);
  }
  if (failed(n.unify(v)))
    return failure();
  return done(n, n.select(below(n, v[0], 0), n.mul(v[0], v[1]), v[0]));
}

/// alpha · (exp(x) - 1)
static Value expMinus1(NodeContext &n, Value x, double alpha) {
  return n.mul(n.sub(exp(n, x), c(n, x, 1)), c(n, x, alpha));
}

static LogicalResult elu(NodeContext &n) {
  Value x = n.in(0);
  return done(n, n.select(below(n, x, 0), expMinus1(n, x, n.getFloat("alpha", 1)), x));
}

static LogicalResult selu(NodeContext &n) {
  Value x = n.in(0);
  double alpha = n.getFloat("alpha", n.opset < 6 ? 1.6732f : 1.67326319217681884765625f);
  double gamma = n.getFloat("gamma", n.opset < 6 ? 1.0507f : 1.05070102214813232421875f);
  return done(n, n.mul(n.select(below(n, x, 0), expMinus1(n, x, alpha), x), c(n, x, gamma)));
}

static LogicalResult celu(NodeContext &n) {
  Value x = n.in(0);
  double alpha = n.getFloat("alpha", 1);
  Value scaled = alpha == 1 ? x : n.div(x, c(n, x, alpha));
  return done(n, n.select(below(n, x, 0), expMinus1(n, scaled, alpha), x));
}

static Value geluErf(NodeContext &n, Value x) {
  Value erf = n.make<graph::ErfOp>(n.mul(x, c(n, x, M_SQRT1_2)));
  return n.mul(n.mul(x, c(n, x, 0.5)), n.add(erf, c(n, x, 1)));
}

static Value geluTanh(NodeContext &n, Value x) {
  Value cube = n.mul(n.mul(n.mul(x, x), x), c(n, x, 0.044715));
  Value tanh = n.make<graph::TanhOp>(n.mul(n.add(x, cube), c(n, x, std::sqrt(2 / M_PI))));
  return n.mul(n.mul(x, c(n, x, 0.5)), n.add(tanh, c(n, x, 1)));
}

static LogicalResult gelu(NodeContext &n) {
  return done(n, n.getString("approximate", "none") == "tanh" ? geluTanh(n, n.in(0)) : geluErf(n, n.in(0)));
}

/// com.microsoft: an optional bias is added first.
template <Value (*formula)(NodeContext &, Value)> static LogicalResult biasGelu(NodeContext &n) {
  SmallVector<Value> v = {n.in(0)};
  if (n.has(1))
    v.push_back(n.in(1));
  if (failed(n.unify(v)))
    return failure();
  return done(n, formula(n, v.size() == 2 ? n.add(v[0], v[1]) : v[0]));
}

static LogicalResult quickGelu(NodeContext &n) {
  Value x = n.in(0);
  return done(n, n.mul(x, sigmoid(n, n.mul(x, c(n, x, n.getFloat("alpha", 1.702f))))));
}

static LogicalResult swish(NodeContext &n) {
  Value x = n.in(0);
  double alpha = n.getFloat("alpha", 1);
  return done(n, n.mul(x, sigmoid(n, alpha == 1 ? x : n.mul(x, c(n, x, alpha)))));
}

static Value clamp01(NodeContext &n, Value x) { return n.min(n.max(x, c(n, x, 0)), c(n, x, 1)); }

static LogicalResult hardSigmoid(NodeContext &n) {
  Value x = n.in(0);
  Value line = n.add(n.mul(x, c(n, x, n.getFloat("alpha", 0.2f))), c(n, x, n.getFloat("beta", 0.5f)));
  return done(n, clamp01(n, line));
}

static LogicalResult hardSwish(NodeContext &n) {
  Value x = n.in(0);
  return done(n, n.mul(x, clamp01(n, n.add(n.mul(x, c(n, x, 1.0 / 6)), c(n, x, 0.5)))));
}

/// log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|)).
static Value softplusOf(NodeContext &n, Value x) {
  Value tail = n.make<graph::LogOp>(n.add(exp(n, neg(n, n.make<graph::AbsOp>(x))), c(n, x, 1)));
  return n.add(n.max(x, c(n, x, 0)), tail);
}

static LogicalResult softplus(NodeContext &n) { return done(n, softplusOf(n, n.in(0))); }

static LogicalResult mish(NodeContext &n) {
  Value x = n.in(0);
  return done(n, n.mul(x, n.make<graph::TanhOp>(softplusOf(n, x))));
}

static LogicalResult softsign(NodeContext &n) {
  Value x = n.in(0);
  return done(n, n.div(x, n.add(n.make<graph::AbsOp>(x), c(n, x, 1))));
}

static LogicalResult thresholdedRelu(NodeContext &n) {
  Value x = n.in(0);
  Value above = n.compare(ComparePredicate::gt, x, c(n, x, n.getFloat("alpha", 1)));
  return done(n, n.select(above, x, c(n, x, 0)));
}

static LogicalResult shrink(NodeContext &n) {
  Value given = n.in(0);
  Type type = n.element(0);
  Value x = graph::isFloat(type) ? given : n.cast(given, n.b.getF32Type());
  double lambda = n.getFloat("lambd", 0.5f), bias = n.getFloat("bias", 0);
  Value above = n.compare(ComparePredicate::gt, x, c(n, x, lambda));
  Value low = n.select(below(n, x, -lambda), n.add(x, c(n, x, bias)), c(n, x, 0));
  return done(n, n.cast(n.select(above, n.sub(x, c(n, x, bias)), low), type));
}

void stint::import::addActivations(RuleTable &t) {
  t.add("Relu", 1, relu);
  t.add("LeakyRelu", 1, leakyRelu);
  t.add("PRelu", 2, pRelu);
  t.add("Elu", 1, elu);
  t.add("Selu", 1, selu);
  t.add("Celu", 1, celu);
  t.add("Gelu", 1, gelu);
  t.add("Swish", 1, swish);
  t.add("HardSigmoid", 1, hardSigmoid);
  t.add("HardSwish", 1, hardSwish);
  t.add("Softplus", 1, softplus);
  t.add("Mish", 1, mish);
  t.add("Softsign", 1, softsign);
  t.add("ThresholdedRelu", 1, thresholdedRelu);
  t.add("Shrink", 1, shrink);
  t.add("Gelu", 1, biasGelu<geluErf>, "com.microsoft");
  t.add("BiasGelu", 1, biasGelu<geluErf>, "com.microsoft");
  t.add("FastGelu", 1, biasGelu<geluTanh>, "com.microsoft");
  t.add("QuickGelu", 1, quickGelu, "com.microsoft");
}
