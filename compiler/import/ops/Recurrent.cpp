// RNN, GRU and LSTM. What does not depend on the step, X · Wᵀ + biases, is one
// contraction over all steps; a loop adds H · Rᵀ and applies the gates. A
// sequence of one step needs no loop.
//
// Steps at or after a sequence's length leave its state alone and give zeros.
// The reverse direction walks from the last step to the first, which with this
// rule is each sequence reversed by its own length.
#include "compiler/import/ops/Dimensions.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;

namespace {

/// One of the functions that a gate applies.
struct Activation {
  std::string name;
  float alpha, beta;
};

/// Reads an activation by its name in lower case. One that has an alpha, or a
/// beta, takes the next of the node's list; where that is used up, ONNX's
/// default.
bool read(StringRef name, ArrayRef<float> &alphas, ArrayRef<float> &betas, Activation &a) {
  struct Known {
    StringLiteral name;
    std::optional<float> alpha, beta;
  };
  static constexpr Known known[] = {
      {"relu", {}, {}},         {"tanh", {}, {}},           {"sigmoid", {}, {}},  {"affine", 1, 0},
      {"leakyrelu", 0.01f, {}}, {"thresholdedrelu", 1, {}}, {"scaledtanh", 1, 1}, {"hardsigmoid", 0.2f, 0.5f},
      {"elu", 1, {}},           {"softsign", {}, {}},       {"softplus", {}, {}}};
  auto next = [](std::optional<float> standard, ArrayRef<float> &given) {
    float value = standard.value_or(0);
    if (standard && !given.empty()) {
      value = given.front();
      given = given.drop_front();
    }
    return value;
  };
  for (const Known &one : known)
    if (one.name == name) {
      float alpha = next(one.alpha, alphas), beta = next(one.beta, betas);
      a = {name.str(), alpha, beta};
      return true;
    }
  return false;
}

Value apply(NodeContext &n, const Activation &f, Value x) {
  auto c = [&](double v) { return n.scalarLike(x, v); };
  auto negative = [&] { return n.compare(ComparePredicate::lt, x, c(0)); };
  if (f.name == "relu")
    return n.max(x, c(0));
  if (f.name == "tanh")
    return n.make<graph::TanhOp>(x);
  if (f.name == "sigmoid")
    return n.make<graph::SigmoidOp>(x);
  if (f.name == "affine")
    return n.add(n.mul(x, c(f.alpha)), c(f.beta));
  if (f.name == "leakyrelu")
    return n.select(negative(), n.mul(x, c(f.alpha)), x);
  if (f.name == "thresholdedrelu")
    return n.select(n.compare(ComparePredicate::ge, x, c(f.alpha)), x, c(0));
  if (f.name == "scaledtanh")
    return n.mul(n.make<graph::TanhOp>(n.mul(x, c(f.beta))), c(f.alpha));
  if (f.name == "hardsigmoid")
    return n.max(n.min(n.add(n.mul(x, c(f.alpha)), c(f.beta)), c(1)), c(0));
  if (f.name == "elu")
    return n.select(negative(), n.mul(n.sub(n.make<graph::ExpOp>(x), c(1)), c(f.alpha)), x);
  if (f.name == "softsign")
    return n.div(x, n.add(n.make<graph::AbsOp>(x), c(1)));
  // softplus, without overflow
  Value small = n.make<graph::LogOp>(n.add(n.make<graph::ExpOp>(n.make<graph::NegOp>(n.make<graph::AbsOp>(x))), c(1)));
  return n.add(n.max(x, c(0)), small);
}

/// What the three operators have in common, for all directions.
struct Recurrent {
  NodeContext &n;
  int64_t gates;
  int64_t hidden = 0;
  int64_t directions = 1;
  std::string direction;
  bool batchFirst = false;
  AffineExpr steps, batch, inputs;
  float clip = 0;
  SmallVector<Activation> activations; // per direction, `perDirection` each
  Value x, lengths;                    // [steps, batch, inputs]; [1, batch, 1] i64
  Type element;

  LogicalResult read(int64_t gateCount, ArrayRef<StringRef> functions);
  /// [from, to) of dimension `axis`.
  Value part(Value v, int64_t axis, int64_t from, int64_t to);
  Value part(Value v, int64_t axis, AffineExpr from, AffineExpr size);
  /// One direction of an operand [directions, …], as rank - 1.
  Value ofDirection(size_t input, int64_t d);
  Value initial(size_t input, int64_t d);
  Value bias(int64_t d, bool recurrent);
  Value product(Value a, Value weights);
  Value limited(Value v);

  using Step = llvm::function_ref<SmallVector<Value>(int64_t d, Value projected, ArrayRef<Value> state)>;
  /// Runs all directions; `states` operands hold the initial values, the first
  /// of which is what Y shows.
  LogicalResult run(ArrayRef<size_t> states, llvm::function_ref<Value(int64_t d)> biases, Step step);
};

} // namespace

LogicalResult Recurrent::read(int64_t gateCount, ArrayRef<StringRef> functions) {
  gates = gateCount;
  element = n.element(0);
  if (!graph::isFloat(element) || n.rank(0) != 3 || n.rank(1) != 3 || n.rank(2) != 3)
    return n.malformed("X, W and R must be floating-point tensors of rank 3");
  auto recurrence = n.type(2).getShape();
  auto width = dyn_cast<AffineConstantExpr>(recurrence[2]);
  if (!width)
    return n.unsupported("the size of its hidden state must be fixed");
  hidden = width.getValue();
  if (n.getInt("hidden_size", hidden) != hidden)
    return n.malformed("hidden_size is not that of R");
  direction = n.getString("direction", "forward");
  directions = direction == "bidirectional" ? 2 : 1;
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return n.malformed("direction must be forward, reverse or bidirectional");
  batchFirst = n.getInt("layout", 0) != 0;
  clip = n.getFloat("clip", 0);
  auto shape = n.type(0).getShape();
  steps = shape[batchFirst ? 1 : 0];
  batch = shape[batchFirst ? 0 : 1];
  inputs = n.type(1).getDim(2);
  auto is = [&](size_t i, ArrayRef<AffineExpr> wanted) {
    return n.rank(i) == static_cast<int64_t>(wanted.size()) && n.element(i) == element &&
           llvm::all_of(llvm::zip(n.type(i).getShape(), wanted),
                        [&](auto pair) { return n.assumeEqual(std::get<0>(pair), std::get<1>(pair)); });
  };
  AffineExpr d = n.dim(directions);
  if (!is(1, {d, n.dim(gates * hidden), inputs}) || !is(2, {d, n.dim(gates * hidden), n.dim(hidden)}) ||
      (n.has(3) && !is(3, {d, n.dim(2 * gates * hidden)})))
    return n.malformed("W must be [directions, " + Twine(gates) + " * hidden, inputs], R [directions, " + Twine(gates) +
                       " * hidden, hidden], B [directions, " + Twine(2 * gates) + " * hidden]");

  // Activations.
  SmallVector<std::string> names;
  if (const NodeAttribute *a = n.attribute("activations"))
    names.assign(a->strings.begin(), a->strings.end());
  if (names.empty())
    for (int64_t i = 0; i < directions; ++i)
      for (StringRef function : functions)
        names.push_back(function.str());
  if (names.size() != functions.size() * directions)
    return n.malformed("needs " + Twine(functions.size() * directions) + " activations");
  auto floats = [&](StringRef attribute) {
    const NodeAttribute *a = n.attribute(attribute);
    return a ? ArrayRef<float>(a->floats) : ArrayRef<float>();
  };
  ArrayRef<float> alphas = floats("activation_alpha"), betas = floats("activation_beta");
  for (const std::string &name : names) {
    Activation f;
    if (!::read(StringRef(name).lower(), alphas, betas, f))
      return n.unsupported("activation '" + name + "'");
    activations.push_back(f);
  }

  x = withDim(n, n.in(0), 2, inputs);
  if (!x)
    return n.malformed("W must have a column for each input");
  SmallVector<AffineExpr> state = {d, batch, n.dim(hidden)};
  if (batchFirst)
    std::swap(state[0], state[1]);
  for (size_t i : {5, 6})
    if (n.has(i) && !is(i, state))
      return n.malformed("the states must be [directions, batch, hidden]");
  if (batchFirst)
    x = n.transpose(x, {1, 0, 2});
  if (n.has(4)) {
    if (n.rank(4) != 1 || !graph::isIndex(n.element(4)) || !n.assumeEqual(n.type(4).getDim(0), batch))
      return n.malformed("sequence_lens must be integers, one per batch");
    lengths = n.reshape(n.cast(n.in(4), n.b.getI64Type()), {batch, n.dim(1)});
  }
  return success();
}

Value Recurrent::part(Value v, int64_t axis, AffineExpr from, AffineExpr size) {
  SmallVector<AffineExpr> starts(NodeContext::typeOf(v).getRank(), n.dim(0)), sizes(NodeContext::typeOf(v).getShape());
  starts[axis] = from;
  sizes[axis] = size;
  return n.slice(v, starts, sizes);
}

Value Recurrent::part(Value v, int64_t axis, int64_t from, int64_t to) {
  return part(v, axis, n.dim(from), n.dim(to - from));
}

Value Recurrent::ofDirection(size_t input, int64_t d) {
  Value v = n.in(input);
  ArrayRef<AffineExpr> shape = n.type(input).getShape();
  return n.reshape(directions == 1 ? v : part(v, 0, d, d + 1), shape.drop_front());
}

/// [batch, hidden]
Value Recurrent::initial(size_t input, int64_t d) {
  if (!n.has(input))
    return n.broadcast(n.reshape(n.scalar(element, 0), {n.dim(1), n.dim(1)}), {batch, n.dim(hidden)});
  Value v = n.in(input);
  int64_t axis = batchFirst ? 1 : 0;
  return n.reshape(directions == 1 ? v : part(v, axis, d, d + 1), {batch, n.dim(hidden)});
}

/// [gates * hidden] of W or R, or null.
Value Recurrent::bias(int64_t d, bool recurrent) {
  if (!n.has(3))
    return {};
  int64_t count = gates * hidden;
  return part(ofDirection(3, d), 0, recurrent ? count : 0, recurrent ? 2 * count : count);
}

Value Recurrent::product(Value a, Value weights) { return n.make<graph::MatMulOp>(a, n.transpose(weights, {1, 0})); }

Value Recurrent::limited(Value v) {
  return clip > 0 ? n.max(n.min(v, n.scalarLike(v, clip)), n.scalarLike(v, -clip)) : v;
}

LogicalResult Recurrent::run(ArrayRef<size_t> states, llvm::function_ref<Value(int64_t d)> biases, Step step) {
  SmallVector<Value> ys;
  SmallVector<SmallVector<Value>> lasts(states.size());
  AffineExpr one = n.dim(1), width = n.dim(hidden), all = n.dim(gates * hidden);
  for (int64_t d = 0; d < directions; ++d) {
    bool reverse = direction == "reverse" || d == 1;
    Value projected = product(n.reshape(x, {steps * batch, inputs}), ofDirection(1, d));
    if (Value b = biases(d))
      projected = n.add(projected, b);
    projected = n.reshape(projected, {steps, batch, all});
    SmallVector<Value> inits;
    for (size_t state : states)
      inits.push_back(initial(state, d));
    auto body = [&](AffineExpr iteration, ArrayRef<Value> state, SmallVectorImpl<Value> &results) {
      AffineExpr at = n.simplify(reverse ? steps - 1 - iteration : iteration);
      Value row = n.reshape(part(n.local(projected), 0, at, one), {batch, all});
      SmallVector<Value> next = step(d, row, state);
      Value shown = next[0];
      if (lengths) {
        Value runs = n.compare(ComparePredicate::gt, n.local(lengths), n.dimension(at, n.b.getI64Type()));
        shown = n.select(runs, next[0], n.scalar(element, 0));
        for (auto [now, before] : llvm::zip(next, state))
          now = n.select(runs, now, before);
      }
      results.append(next);
      if (n.wants(0))
        results.push_back(shown);
    };
    SmallVector<Value> results = n.loop(steps, inits, n.wants(0), body);
    for (size_t i = 0; i < states.size(); ++i)
      lasts[i].push_back(n.reshape(results[i], {one, batch, width}));
    if (!n.wants(0))
      continue;
    Value y = results.back();
    if (reverse)
      y = n.slice(y, {steps - 1, n.dim(0), n.dim(0)}, {steps, batch, width}, {-1, 1, 1});
    ys.push_back(n.reshape(y, {steps, one, batch, width}));
  }
  auto joined = [&](ArrayRef<Value> values, int64_t axis) -> Value {
    if (values.size() == 1)
      return values[0];
    return n.make<graph::ConcatOp>(ValueRange(values), axis);
  };
  if (n.wants(0))
    n.out(0, batchFirst ? n.transpose(joined(ys, 1), {2, 0, 1, 3}) : joined(ys, 1));
  for (size_t i = 0; i < states.size(); ++i)
    if (n.wants(i + 1))
      n.out(i + 1, batchFirst ? n.transpose(joined(lasts[i], 0), {1, 0, 2}) : joined(lasts[i], 0));
  return success();
}

static LogicalResult rnn(NodeContext &n) {
  Recurrent r{n};
  if (failed(r.read(1, {"Tanh"})))
    return failure();
  auto biases = [&](int64_t d) {
    Value w = r.bias(d, false), u = r.bias(d, true);
    return w ? n.add(w, u) : w;
  };
  return r.run({5}, biases, [&](int64_t d, Value x, ArrayRef<Value> state) -> SmallVector<Value> {
    Value sum = n.add(r.product(state[0], r.ofDirection(2, d)), x);
    return {apply(n, r.activations[d], r.limited(sum))};
  });
}

static LogicalResult gru(NodeContext &n) {
  Recurrent r{n};
  if (failed(r.read(3, {"Sigmoid", "Tanh"})))
    return failure();
  int64_t h = r.hidden;
  bool after = n.getInt("linear_before_reset", 0) != 0;
  // Biases of z and r add up; that of R for h stays inside where the reset
  // gate multiplies it.
  auto biases = [&](int64_t d) {
    Value w = r.bias(d, false), u = r.bias(d, true);
    if (!w || !after)
      return w ? n.add(w, u) : w;
    Value zr = n.add(r.part(w, 0, 0, 2 * h), r.part(u, 0, 0, 2 * h));
    Value parts[] = {zr, r.part(w, 0, 2 * h, 3 * h)};
    return n.make<graph::ConcatOp>(ValueRange(parts), 0);
  };
  return r.run({5}, biases, [&](int64_t d, Value x, ArrayRef<Value> state) -> SmallVector<Value> {
    const Activation &f = r.activations[2 * d], &g = r.activations[2 * d + 1];
    Value weights = r.ofDirection(2, d), before = state[0];
    Value zr = apply(n, f, r.limited(n.add(r.product(before, r.part(weights, 0, 0, 2 * h)), r.part(x, 1, 0, 2 * h))));
    Value z = r.part(zr, 1, 0, h), reset = r.part(zr, 1, h, 2 * h);
    Value own = r.part(weights, 0, 2 * h, 3 * h), candidate;
    if (after) {
      candidate = r.product(before, own);
      if (Value u = r.bias(d, true))
        candidate = n.add(candidate, r.part(u, 0, 2 * h, 3 * h));
      candidate = n.mul(reset, candidate);
    } else {
      candidate = r.product(n.mul(reset, before), own);
    }
    candidate = apply(n, g, r.limited(n.add(candidate, r.part(x, 1, 2 * h, 3 * h))));
    return {n.add(n.mul(n.sub(n.scalarLike(z, 1), z), candidate), n.mul(z, before))};
  });
}

static LogicalResult lstm(NodeContext &n) {
  Recurrent r{n};
  if (failed(r.read(4, {"Sigmoid", "Tanh", "Tanh"})))
    return failure();
  int64_t h = r.hidden;
  bool coupled = n.getInt("input_forget", 0) != 0;
  if (n.has(7) && (n.rank(7) != 2 || !n.assumeEqual(n.type(7).getDim(0), n.dim(r.directions)) ||
                   !n.assumeEqual(n.type(7).getDim(1), n.dim(3 * h))))
    return n.malformed("P must be [directions, 3 * hidden]");
  auto biases = [&](int64_t d) {
    Value w = r.bias(d, false), u = r.bias(d, true);
    return w ? n.add(w, u) : w;
  };
  return r.run({5, 6}, biases, [&](int64_t d, Value x, ArrayRef<Value> state) -> SmallVector<Value> {
    const Activation *f = &r.activations[3 * d];
    Value sum = n.add(r.product(state[0], r.ofDirection(2, d)), x), cell = state[1];
    Value peepholes = n.has(7) ? r.ofDirection(7, d) : Value();
    // Gates lie as input, output, forget, cell; peepholes as input, output, forget.
    auto gate = [&](int64_t number, Value with) {
      Value v = r.part(sum, 1, number * h, (number + 1) * h);
      if (peepholes && with)
        v = n.add(v, n.mul(with, r.part(peepholes, 0, number * h, (number + 1) * h)));
      return r.limited(v);
    };
    Value input = apply(n, f[0], gate(0, cell));
    Value forget = coupled ? n.sub(n.scalarLike(input, 1), input) : apply(n, f[0], gate(2, cell));
    Value next = n.add(n.mul(forget, cell), n.mul(input, apply(n, f[1], gate(3, {}))));
    Value output = apply(n, f[0], gate(1, next));
    return {n.mul(output, apply(n, f[2], next)), next};
  });
}

void stint::import::addRecurrent(RuleTable &table) {
  table.add("RNN", 3, rnn);
  table.add("GRU", 3, gru);
  table.add("LSTM", 3, lstm);
}
