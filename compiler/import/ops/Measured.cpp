// Sizes that are computed while the model runs: each becomes a symbol, bound
// to a value by `graph.bind`. What memory is planned for is a bound of the
// user's, or one that the operator itself gives.
#include "compiler/import/ops/Measured.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

FailureOr<SmallVector<Value>> stint::import::scalarsOf(NodeContext &n, size_t input) {
  auto count = n.rank(input) == 1 ? n.type(input).getStaticDim(0) : std::nullopt;
  if (!count || *count > GraphTensorType::kMaxRank * 2 || !graph::isIndex(n.element(input)))
    return n.unsupported("input " + Twine(input) + " must be integers of one dimension, as many as the model says");
  Value all = n.cast(n.in(input), n.b.getI64Type());
  SmallVector<Value> values;
  for (int64_t i = 0; i < *count; ++i)
    values.push_back(n.reshape(n.slice(all, {n.dim(i)}, {n.dim(1)}), {}));
  return values;
}

static Value atLeast(NodeContext &n, Value x, int64_t least) {
  return n.max(x, n.scalar(n.b.getI64Type(), static_cast<double>(least)));
}

// Slices.

/// What ONNX makes of a constant slice of `size` elements.
static std::pair<int64_t, int64_t> constantSlice(int64_t start, int64_t end, int64_t step, int64_t size) {
  bool forward = step > 0;
  auto place = [&](int64_t at, int64_t low, int64_t high) {
    return std::max(low, std::min(at < 0 ? at + size : at, high));
  };
  start = std::max<int64_t>(place(start, 0, forward ? size : size - 1), 0);
  end = forward ? place(end, 0, size) : place(end, -1, size - 1);
  int64_t span = std::clamp<int64_t>(forward ? end - start : start - end, 0, size), stride = std::abs(step);
  return {start, span / stride + (span % stride != 0)};
}

Interval stint::import::measuredSlice(NodeContext &n, int64_t axis, AffineExpr size, End start, End end, int64_t step) {
  Type i64 = n.b.getI64Type();
  bool forward = step > 0;
  Value all = n.dimension(size, i64), zero = n.scalar(i64, 0), one = n.scalar(i64, 1);
  auto place = [&](End at, int64_t low, Value high) {
    Value v = at.value;
    if (!v) {
      // Further away than any dimension is all the same.
      constexpr int64_t kFar = int64_t(1) << 40;
      auto constant = dyn_cast<AffineConstantExpr>(at.expr);
      v = constant ? n.scalar(i64, static_cast<double>(std::clamp(constant.getValue(), -kFar, kFar)))
                   : n.dimension(at.expr, i64);
    }
    v = n.select(n.compare(graph::ComparePredicate::lt, v, zero), n.add(v, all), v);
    return atLeast(n, n.min(v, high), low);
  };
  Value last = n.sub(all, one);
  Value from = atLeast(n, place(start, 0, forward ? all : last), 0);
  Value to = forward ? place(end, 0, all) : place(end, -1, last);
  // Backwards through nothing, the first place is 0 and the last -1.
  Value span = n.min(atLeast(n, forward ? n.sub(to, from) : n.sub(from, to), 0), all);
  int64_t stride = std::abs(step);
  Value count =
      n.div(n.add(span, n.scalar(i64, static_cast<double>(stride - 1))), n.scalar(i64, static_cast<double>(stride)));

  // Of constant ends both grow with the dimension.
  graph::Range sizes = n.symbols.range(size), starts{0, n.symbols.upper(size)}, counts{0, n.symbols.upper(size)};
  auto a = start.expr ? dyn_cast<AffineConstantExpr>(start.expr) : AffineConstantExpr();
  auto b = end.expr ? dyn_cast<AffineConstantExpr>(end.expr) : AffineConstantExpr();
  if (a && b) {
    auto least = constantSlice(a.getValue(), b.getValue(), step, sizes.lower);
    auto most = constantSlice(a.getValue(), b.getValue(), step, n.symbols.upper(size));
    starts = {std::min(least.first, most.first), std::max(least.first, most.first)};
    counts = {std::min(least.second, most.second), std::max(least.second, most.second)};
  }
  Interval result;
  result.start = starts.isPoint() ? n.dim(starts.lower) : n.measured(from, size, starts, 0, axis, ".start");
  result.size =
      counts.isPoint() ? n.dim(counts.lower) : n.measured(count, n.simplify(size.ceilDiv(stride)), counts, 0, axis);
  return result;
}

// Shapes.

/// Ends the run where one of the values is below `least`.
static void requireLeast(NodeContext &n, ArrayRef<Value> values, int64_t least, const Twine &what) {
  if (values.empty())
    return;
  Value smallest = values.front();
  for (Value value : values.drop_front())
    smallest = n.min(smallest, value);
  n.require(n.compare(graph::ComparePredicate::ge, smallest, n.scalar(n.b.getI64Type(), static_cast<double>(least))),
            what);
}

FailureOr<SmallVector<AffineExpr>> stint::import::measuredShape(NodeContext &n, size_t input) {
  auto values = scalarsOf(n, input);
  if (failed(values))
    return failure();
  if (values->size() > GraphTensorType::kMaxRank)
    return n.unsupported("more than 8 dimensions");
  requireLeast(n, *values, 0, "sizes that are not negative");
  SmallVector<AffineExpr> shape;
  for (auto [i, value] : llvm::enumerate(*values)) {
    auto size = n.boundedSize(value, 0, i);
    if (failed(size))
      return failure();
    shape.push_back(*size);
  }
  return shape;
}

LogicalResult stint::import::measuredReshape(NodeContext &n, size_t input) {
  auto values = scalarsOf(n, input);
  if (failed(values))
    return failure();
  if (values->size() > GraphTensorType::kMaxRank)
    return n.unsupported("more than 8 dimensions");
  Type i64 = n.b.getI64Type();
  Value zero = n.scalar(i64, 0), minus = n.scalar(i64, -1), one = n.scalar(i64, 1), product = one;
  requireLeast(n, *values, -1, "sizes of -1 or more");
  // 0 is the input's own size; -1 what is left.
  for (auto [i, value] : llvm::enumerate(*values)) {
    if (!n.getInt("allowzero", 0) && static_cast<int64_t>(i) < n.rank(0))
      value =
          n.select(n.compare(graph::ComparePredicate::eq, value, zero), n.dimension(n.type(0).getDim(i), i64), value);
    product = n.mul(product, n.select(n.compare(graph::ComparePredicate::eq, value, minus), one, value));
  }
  AffineExpr total = n.simplify(n.type(0).getNumElements());
  Value rest = n.div(n.dimension(total, i64), atLeast(n, product, 1));
  SmallVector<AffineExpr> shape;
  AffineExpr elements = n.dim(1);
  for (auto [i, value] : llvm::enumerate(*values)) {
    Value size = n.select(n.compare(graph::ComparePredicate::eq, value, minus), rest, value);
    auto symbol = n.boundedSize(size, 0, i);
    if (failed(symbol))
      return failure();
    shape.push_back(*symbol);
    elements = elements * *symbol;
  }
  if (!n.assumeEqual(total, n.simplify(elements)))
    return n.malformed("the number of elements changes");
  n.out(0, n.reshape(n.in(0), shape));
  return success();
}

LogicalResult stint::import::measuredExpand(NodeContext &n, size_t input) {
  auto values = scalarsOf(n, input);
  if (failed(values))
    return failure();
  size_t rank = std::max<size_t>(n.rank(0), values->size());
  if (rank > GraphTensorType::kMaxRank)
    return n.unsupported("more than 8 dimensions");
  requireLeast(n, *values, 0, "sizes that are not negative");
  Type i64 = n.b.getI64Type();
  SmallVector<AffineExpr> own(n.type(0).getShape()), shape(rank, n.dim(1));
  std::copy(own.begin(), own.end(), shape.end() - own.size());
  for (auto [i, value] : llvm::enumerate(*values)) {
    AffineExpr &d = shape[rank - values->size() + i];
    graph::Range r = n.symbols.range(d);
    if (d != 1 && r.lower <= 1 && r.upper > 1)
      return n.unsupported("whether dimension " + n.print(d) + " is 1 depends on the input");
    if (d == 1) {
      auto size = n.boundedSize(value, 0, rank - values->size() + i);
      if (failed(size))
        return failure();
      d = *size;
      continue;
    }
    // It stays, and only 1 or the same was allowed.
    Value same = n.compare(graph::ComparePredicate::eq, value, n.dimension(d, i64));
    Value one = n.compare(graph::ComparePredicate::eq, value, n.scalar(i64, 1));
    n.require(n.make<graph::OrOp>(same, one), "dimension " + n.print(d) + " to be asked for as it is, or as 1");
  }
  n.out(0, n.broadcast(n.in(0), shape));
  return success();
}

LogicalResult stint::import::measuredTile(NodeContext &n, size_t input) {
  auto repeats = scalarsOf(n, input);
  if (failed(repeats))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != n.rank(0))
    return n.malformed("needs one repeat a dimension");
  requireLeast(n, *repeats, 0, "repeats that are not negative");
  Type i64 = n.b.getI64Type();
  Value x = n.in(0);
  for (auto [i, times] : llvm::enumerate(*repeats)) {
    Value own = n.dimension(n.typeOf(x).getDim(i), i64);
    auto size = n.boundedSize(n.mul(own, times), 0, i);
    if (failed(size))
      return failure();
    Value at = n.make<graph::RemOp>(n.iota({*size}, 0), atLeast(n, own, 1));
    x = n.make<graph::GatherOp>(x, at, static_cast<int64_t>(i));
  }
  n.out(0, x);
  return success();
}

FailureOr<Value> stint::import::measuredPad(NodeContext &n, Value x, ArrayRef<Value> low, ArrayRef<Value> high,
                                            Value value) {
  Type i64 = n.b.getI64Type();
  SmallVector<AffineExpr> starts, shape;
  for (size_t i = 0; i < low.size(); ++i) {
    AffineExpr own = n.typeOf(x).getDim(i);
    if (!low[i]) {
      starts.push_back(n.dim(0));
      shape.push_back(own);
      continue;
    }
    Value negative = n.compare(graph::ComparePredicate::lt, n.min(low[i], high[i]), n.scalar(i64, 0));
    n.require(n.make<graph::NotOp>(negative), "pads that are not negative");
    Value all = n.add(n.dimension(own, i64), n.add(low[i], high[i]));
    auto size = n.boundedSize(all, 0, i);
    if (failed(size))
      return failure();
    shape.push_back(*size);
    starts.push_back(n.measured(low[i], *size, {0, n.symbols.upper(*size)}, 0, i, ".low"));
  }
  return n.make<graph::PadOp>(n.shaped(n.typeOf(x), shape), x, value, graph::PadMode::constant,
                              graph::symbolMap(starts, n.context()));
}
