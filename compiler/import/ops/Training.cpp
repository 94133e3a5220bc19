// Optimiser steps of ai.onnx.preview.training: plain arithmetic on each tensor
// X with its gradient G and its state. Operands are the rate R, the step
// number T, then all X, all G, and all tensors of each kind of state.
#include "compiler/import/NodeContext.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;

namespace {
/// One optimiser node with `kinds` operands and `kinds` - 1 results a tensor
/// (all but G).
class Optimiser {
public:
  Optimiser(NodeContext &n, size_t kinds) : n(n), kinds(kinds) {}

  /// Calls `step` for each tensor with X, the regularised G and the state; it
  /// gives the new X and state.
  LogicalResult run(function_ref<SmallVector<Value>(Value x, Value g, ArrayRef<Value> state)> step) {
    size_t count = (n.numInputs() - 2) / kinds;
    if (count == 0 || n.numInputs() != 2 + kinds * count || n.node.outputs.size() != (kinds - 1) * count)
      return n.malformed("its operands or results are not " + Twine(kinds) + " a tensor");
    for (size_t i = 0; i < count; ++i) {
      SmallVector<Value> v;
      for (size_t k = 0; k < kinds; ++k) {
        size_t at = 2 + k * count + i;
        if (!n.has(at) || n.element(at) != n.element(2 + i) || !graph::isFloat(n.element(at)))
          return n.malformed("operand " + Twine(at) + " must hold floats as its tensor does");
        v.push_back(n.in(at));
      }
      if (failed(n.unify(v)))
        return failure();
      Value g = n.add(n.mul(n.scalarLike(v[0], n.getFloat("norm_coefficient", 0)), v[0]), v[1]);
      for (auto [k, value] : llvm::enumerate(step(v[0], g, ArrayRef<Value>(v).drop_front(2))))
        n.out(k * count + i, value);
    }
    return success();
  }

  /// A rank-0 operand as `x`'s type.
  Value scalar(size_t input, Value x) { return n.cast(n.reshape(n.in(input), {}), n.typeOf(x).getElementType()); }
  /// `later` where T > 0, else `first`.
  Value afterFirst(Value later, Value first) {
    Value t = n.reshape(n.in(1), {});
    return n.select(n.compare(graph::ComparePredicate::gt, t, n.scalarLike(t, 0)), later, first);
  }

private:
  NodeContext &n;
  size_t kinds;
};
} // namespace

static LogicalResult checkScalars(NodeContext &n) {
  for (size_t i : {0, 1})
    if (n.type(i).getNumElements() != 1)
      return n.malformed("the rate and the step number must be scalars");
  return success();
}

static LogicalResult adagrad(NodeContext &n) {
  if (failed(checkScalars(n)))
    return failure();
  Optimiser optimiser(n, 3);
  return optimiser.run([&](Value x, Value g, ArrayRef<Value> state) -> SmallVector<Value> {
    Value decay = n.mul(optimiser.scalar(1, x), n.scalarLike(x, n.getFloat("decay_factor", 0)));
    Value rate = n.div(optimiser.scalar(0, x), n.add(n.scalarLike(x, 1), decay));
    Value h = n.add(state[0], n.mul(g, g));
    Value root = n.add(n.make<graph::SqrtOp>(h), n.scalarLike(x, n.getFloat("epsilon", 1e-6f)));
    return {n.sub(x, n.div(n.mul(rate, g), root)), h};
  });
}

static LogicalResult adam(NodeContext &n) {
  if (failed(checkScalars(n)))
    return failure();
  float alpha = n.getFloat("alpha", 0.9f), beta = n.getFloat("beta", 0.999f);
  float epsilon = n.getFloat("epsilon", 1e-6f), post = n.getFloat("norm_coefficient_post", 0);
  Optimiser optimiser(n, 4);
  return optimiser.run([&](Value x, Value g, ArrayRef<Value> state) -> SmallVector<Value> {
    auto f = [&](double v) { return n.scalarLike(x, v); };
    Value v = n.add(n.mul(f(alpha), state[0]), n.mul(f(1 - alpha), g));
    Value h = n.add(n.mul(f(beta), state[1]), n.mul(f(1 - beta), n.mul(g, g)));
    Value root = n.add(n.make<graph::SqrtOp>(h), f(epsilon));
    Value rate = optimiser.scalar(0, x), t = optimiser.scalar(1, x);
    auto left = [&](double base) { return n.sub(f(1), n.make<graph::PowOp>(f(base), t)); };
    Value adjusted = n.div(n.mul(rate, n.make<graph::SqrtOp>(left(beta))), left(alpha));
    Value next = n.sub(x, n.div(n.mul(optimiser.afterFirst(adjusted, rate), v), root));
    return {n.mul(f(1 - post), next), v, h};
  });
}

static LogicalResult momentum(NodeContext &n) {
  if (failed(checkScalars(n)))
    return failure();
  std::string mode = n.getString("mode");
  if (mode != "standard" && mode != "nesterov")
    return n.malformed("unknown mode '" + mode + "'");
  float alpha = n.getFloat("alpha", 0), beta = n.getFloat("beta", 0);
  Optimiser optimiser(n, 3);
  return optimiser.run([&](Value x, Value g, ArrayRef<Value> state) -> SmallVector<Value> {
    Value share = optimiser.afterFirst(n.scalarLike(x, beta), n.scalarLike(x, 1));
    Value v = n.add(n.mul(n.scalarLike(x, alpha), state[0]), n.mul(share, g));
    Value direction = mode == "standard" ? v : n.add(g, n.mul(n.scalarLike(x, alpha), v));
    return {n.sub(x, n.mul(optimiser.scalar(0, x), direction)), v};
  });
}

void stint::import::addTraining(RuleTable &t) {
  constexpr StringLiteral domain = "ai.onnx.preview.training";
  t.add("Adagrad", 5, adagrad, domain);
  t.add("Adam", 6, adam, domain);
  t.add("Momentum", 5, momentum, domain);
}
