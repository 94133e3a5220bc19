// Operators that take, add or generate parts of tensors.
#include "compiler/import/ops/Dimensions.h"
#include "compiler/import/ops/Measured.h"

#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;
using graph::GraphTensorType;

/// The smaller or larger of two expressions, where the bounds decide.
static std::optional<AffineExpr> minimum(NodeContext &n, AffineExpr a, AffineExpr b) {
  if (n.symbols.lessEqual(a, b) == true)
    return a;
  if (n.symbols.lessEqual(b, a) == true)
    return b;
  return std::nullopt;
}
static std::optional<AffineExpr> maximum(NodeContext &n, AffineExpr a, AffineExpr b) {
  if (n.symbols.lessEqual(a, b) == true)
    return b;
  if (n.symbols.lessEqual(b, a) == true)
    return a;
  return std::nullopt;
}

/// A start or end as Slice means it: negative counts from the end, then
/// clamped to [low, high]; nothing if it depends on the input which applies.
static std::optional<AffineExpr> clampIndex(NodeContext &n, AffineExpr index, AffineExpr size, AffineExpr low,
                                            AffineExpr high) {
  graph::Range r = n.symbols.range(index);
  constexpr int64_t kFar = int64_t(1) << 31;
  if (r.isPoint() && r.lower >= kFar - 1)
    return high;
  if (r.isPoint() && r.upper <= -kFar + 1)
    return low;
  if (r.upper < 0)
    index = n.simplify(index + size);
  else if (r.lower < 0)
    return std::nullopt;
  auto upper = minimum(n, index, high);
  return upper ? maximum(n, *upper, low) : std::nullopt;
}

static LogicalResult slice(NodeContext &n) {
  SmallVector<Value> measured[2]; // starts and ends that are computed while the model runs
  auto list = [&](StringRef name, size_t input, SmallVector<AffineExpr> &values) -> FailureOr<bool> {
    if (n.has(input)) {
      const Known *k = n.known(input);
      auto known = k ? k->expressions() : std::nullopt;
      if (known) {
        values = *known;
        return true;
      }
      if (input > 2)
        return n.unsupported("'" + name + "' depends on the input's values");
      auto scalars = scalarsOf(n, input);
      if (failed(scalars))
        return failure();
      values.resize(scalars->size());
      measured[input - 1] = *scalars;
      return true;
    }
    // Any integer: an end of INT64_MAX is a common one.
    const NodeAttribute *ints = n.attributeOf(name, NodeAttribute::Kind::Ints, "a list of integers");
    for (int64_t i : ints ? ArrayRef<int64_t>(ints->ints) : ArrayRef<int64_t>())
      values.push_back(n.dim(i));
    return ints != nullptr;
  };
  SmallVector<AffineExpr> starts, ends, axes, steps;
  auto a = list("starts", 1, starts), b = list("ends", 2, ends), c = list("axes", 3, axes), d = list("steps", 4, steps);
  if (failed(a) || failed(b) || failed(c) || failed(d))
    return failure();
  size_t count = starts.size();
  if (!*a || !*b || ends.size() != count || (*c && axes.size() != count) || (*d && steps.size() != count))
    return n.malformed("starts, ends, axes and steps must have one length");
  int64_t rank = n.rank(0);
  SmallVector<AffineExpr> from(rank, n.dim(0)), sizes(n.type(0).getShape());
  SmallVector<int64_t> stride(rank, 1);
  for (size_t j = 0; j < count; ++j) {
    int64_t axisValue = j;
    if (*c) {
      auto constant = dyn_cast<AffineConstantExpr>(axes[j]);
      if (!constant)
        return n.unsupported("axes depend on the input");
      axisValue = constant.getValue();
    }
    auto axis = n.axis(axisValue, rank);
    if (failed(axis))
      return failure();
    int64_t step = 1;
    if (*d) {
      auto constant = dyn_cast<AffineConstantExpr>(steps[j]);
      if (!constant)
        return n.unsupported("steps depend on the input");
      step = constant.getValue();
    }
    if (step == 0)
      return n.malformed("a step is zero");
    constexpr int64_t kMostStep = int64_t(1) << 40; // takes one element
    step = std::clamp(step, -kMostStep, kMostStep);
    AffineExpr size = n.type(0).getDim(*axis), zero = n.dim(0), last = n.simplify(size - 1);
    bool forward = step > 0;
    if (size == 0)
      continue;
    // The largest i32 and i64 mean: all there is, in the direction of the step, as in ONNX Runtime.
    if (!forward && ends[j] &&
        (ends[j] == std::numeric_limits<int32_t>::max() || ends[j] == std::numeric_limits<int64_t>::max()))
      ends[j] = n.dim(std::numeric_limits<int64_t>::min());
    stride[*axis] = step;
    std::optional<AffineExpr> start, end, positive;
    if (starts[j] && ends[j]) {
      start = clampIndex(n, starts[j], size, zero, forward ? size : last);
      end = clampIndex(n, ends[j], size, forward ? zero : n.dim(-1), forward ? size : last);
    }
    if (start && end)
      positive = maximum(n, n.simplify(forward ? *end - *start : *start - *end), zero);
    if (positive) {
      from[*axis] = *start;
      sizes[*axis] = n.simplify(positive->ceilDiv(std::abs(step)));
      continue;
    }
    Interval part = measuredSlice(n, *axis, size, {starts[j], starts[j] ? Value() : measured[0][j]},
                                  {ends[j], ends[j] ? Value() : measured[1][j]}, step);
    from[*axis] = part.start;
    sizes[*axis] = part.size;
  }
  n.out(0, n.slice(n.in(0), from, sizes, stride));
  return success();
}

static LogicalResult split(NodeContext &n) {
  auto axis = n.axis(n.getInt("axis", 0), n.rank(0));
  if (failed(axis))
    return failure();
  AffineExpr total = n.type(0).getDim(*axis);
  SmallVector<AffineExpr> sizes;
  if (n.has(1)) {
    const Known *k = n.known(1);
    auto known = k ? k->expressions() : std::nullopt;
    if (!known)
      return n.unsupported("'split' depends on the input's values");
    sizes = *known;
  } else if (auto given = n.getInts("split"); given && !given->empty()) {
    for (int64_t s : *given)
      sizes.push_back(n.dim(s));
  } else {
    int64_t parts = n.getInt("num_outputs", n.node.outputs.size());
    if (parts < 1 || parts != static_cast<int64_t>(n.node.outputs.size()))
      return n.malformed("num_outputs is not the number of outputs");
    if (auto even = graph::divideExactly(total, n.dim(parts))) {
      sizes.assign(parts, n.simplify(*even));
    } else { // the last part is smaller
      AffineExpr part = n.simplify(total.ceilDiv(parts));
      sizes.assign(parts - 1, part);
      sizes.push_back(n.simplify(total - part * (parts - 1)));
    }
  }
  if (sizes.size() != n.node.outputs.size())
    return n.malformed("'split' has not one size per output");
  AffineExpr sum = n.dim(0), start = n.dim(0);
  for (AffineExpr size : sizes)
    sum = sum + size;
  sum = n.simplify(sum);
  Value x = n.same(sum, total) ? n.in(0) : withDim(n, n.in(0), *axis, sum);
  if (!x)
    return n.malformed("the parts add up to " + n.print(sum) + ", not " + n.print(total));
  for (auto [i, size] : llvm::enumerate(sizes)) {
    AffineExpr known = size;
    if (!n.atLeast(known, 0, "the size of part " + Twine(i)))
      return failure();
    if (n.wants(i)) {
      SmallVector<AffineExpr> starts(n.rank(0), n.dim(0)), shape(n.type(0).getShape());
      starts[*axis] = start;
      shape[*axis] = known;
      n.out(i, n.slice(x, starts, shape));
    }
    start = n.simplify(start + size);
  }
  return success();
}

/// The one element to pad with.
static FailureOr<Value> padding(NodeContext &n) {
  if (!n.has(2))
    return n.scalar(n.element(0), n.opset < 11 ? n.getFloat("value", 0) : 0);
  if (n.element(2) != n.element(0) || n.type(2).getNumElements() != 1)
    return n.malformed("the value must be one element of the input's type");
  return n.reshape(n.in(2), {});
}

/// Pads that are computed while the model runs.
static LogicalResult padByValues(NodeContext &n) {
  if (n.getString("mode", "constant") != "constant")
    return n.unsupported("'pads' depends on the input's values, and the mode isn't constant");
  auto pads = scalarsOf(n, 1);
  auto given = n.getIntsOrInput("axes", 3);
  auto value = padding(n);
  if (failed(pads) || failed(given) || failed(value))
    return failure();
  SmallVector<int64_t> axes = *given ? **given : llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0)));
  if (pads->size() != 2 * axes.size())
    return n.malformed("pads must have two values per axis");
  SmallVector<Value> low(n.rank(0)), high(n.rank(0));
  for (auto [i, at] : llvm::enumerate(axes)) {
    auto axis = n.axis(at, n.rank(0));
    if (failed(axis))
      return failure();
    low[*axis] = (*pads)[i];
    high[*axis] = (*pads)[axes.size() + i];
  }
  auto result = measuredPad(n, n.in(0), low, high, *value);
  if (failed(result))
    return failure();
  n.out(0, *result);
  return success();
}

/// Pads with several turns of a dimension, as far as whole turns go: the pads
/// that are left fit into what is there then.
static Value wrapAround(NodeContext &n, Value x, MutableArrayRef<AffineExpr> low, MutableArrayRef<AffineExpr> high) {
  for (size_t i = 0; i < low.size(); ++i)
    for (MutableArrayRef<AffineExpr> *side : {&low, &high}) {
      AffineExpr &p = (*side)[i];
      AffineExpr size = n.typeOf(x).getDim(i);
      while (isa<AffineConstantExpr>(p) && isa<AffineConstantExpr>(size) && size != 0 &&
             n.symbols.lessEqual(p, n.dim(kMostInteger)) == true && n.symbols.lessEqual(p, size) == false) {
        SmallVector<AffineExpr> before(low.size(), n.dim(0)), shape(n.typeOf(x).getShape());
        before[i] = side == &low ? size : n.dim(0);
        shape[i] = n.simplify(size * 2);
        x = n.make<graph::PadOp>(n.shaped(n.typeOf(x), shape), x, Value(), graph::PadMode::wrap,
                                 graph::symbolMap(before, n.context()));
        p = n.simplify(p - size);
        size = shape[i];
      }
    }
  return x;
}

static LogicalResult pad(NodeContext &n) {
  int64_t rank = n.rank(0);
  SmallVector<AffineExpr> pads;
  if (n.has(1)) {
    const Known *k = n.known(1);
    auto known = k ? k->expressions() : std::nullopt;
    if (!known)
      return padByValues(n);
    pads = *known;
  } else if (auto given = n.getInts(n.opset < 2 ? "paddings" : "pads")) {
    for (int64_t p : *given)
      pads.push_back(n.dim(p));
  }
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (n.has(3)) {
    auto given = n.getIntsOrInput("axes", 3);
    if (failed(given))
      return failure();
    axes = **given;
  }
  if (pads.size() != 2 * axes.size())
    return n.malformed("pads must have two values per axis");
  SmallVector<AffineExpr> low(rank, n.dim(0)), high(rank, n.dim(0));
  for (auto [i, value] : llvm::enumerate(axes)) {
    auto axis = n.axis(value, rank);
    if (failed(axis))
      return failure();
    low[*axis] = pads[i];
    high[*axis] = pads[axes.size() + i];
  }
  // Negative pads cut off: a slice first.
  Value x = n.in(0);
  SmallVector<AffineExpr> starts(rank, n.dim(0)), sizes(n.type(0).getShape());
  bool cut = false, grow = false;
  for (int64_t i = 0; i < rank; ++i) {
    for (AffineExpr *p : {&low[i], &high[i]}) {
      graph::Range r = n.symbols.range(*p);
      if (r.lower < 0 && r.upper > 0)
        return n.unsupported("whether pad " + n.print(*p) + " adds or removes depends on the input");
      if (r.lower < 0) {
        if (p == &low[i])
          starts[i] = n.simplify(-*p);
        sizes[i] = n.simplify(sizes[i] + *p);
        *p = n.dim(0);
        cut = true;
      }
      grow |= *p != 0;
    }
    if (!n.atLeast(sizes[i], 0, "what pads leave of dimension " + Twine(i)))
      return failure();
  }
  if (cut)
    x = n.slice(x, starts, sizes);
  std::string name = n.getString("mode", "constant");
  graph::PadMode mode = name == "reflect" ? graph::PadMode::reflect
                        : name == "edge"  ? graph::PadMode::edge
                        : name == "wrap"  ? graph::PadMode::wrap
                                          : graph::PadMode::constant;
  if (mode == graph::PadMode::constant && name != "constant")
    return n.unsupported("mode '" + name + "'");
  if (mode == graph::PadMode::wrap)
    x = wrapAround(n, x, low, high);
  sizes.assign(n.typeOf(x).getShape().begin(), n.typeOf(x).getShape().end());
  Value value;
  SmallVector<AffineExpr> shape;
  for (int64_t i = 0; i < rank; ++i) {
    shape.push_back(n.simplify(sizes[i] + low[i] + high[i]));
    // Copied elements must exist.
    int64_t room = n.symbols.range(sizes[i]).lower - (mode == graph::PadMode::reflect ? 1 : 0);
    int64_t most = std::max(n.symbols.upper(low[i]), n.symbols.upper(high[i]));
    if (most > 0 && (mode == graph::PadMode::edge ? room < 1 : mode != graph::PadMode::constant && most > room))
      return n.unsupported("mode " + name + " pads dimension " + n.print(sizes[i]) + " by more than it may have");
  }
  if (mode == graph::PadMode::constant) {
    auto given = padding(n);
    if (failed(given))
      return failure();
    value = *given;
  }
  if (grow)
    x = n.make<graph::PadOp>(n.shaped(n.type(0), shape), x, value, mode, graph::symbolMap(low, n.context()));
  n.out(0, x);
  return success();
}

static LogicalResult gather(NodeContext &n) {
  auto axis = n.axis(n.getInt("axis", 0), n.rank(0));
  if (failed(axis))
    return failure();
  if (n.rank(0) + n.rank(1) - 1 > GraphTensorType::kMaxRank)
    return n.unsupported("a result of more than 8 dimensions");
  // One known index is a slice.
  AffineExpr size = n.type(0).getDim(*axis);
  const Known *k = n.known(1);
  if (k && k->elements.size() == 1 && k->elements[0].expr) {
    AffineExpr index = k->elements[0].expr;
    if (n.symbols.range(index).upper < 0)
      index = n.simplify(index + size);
    bool inside = n.symbols.range(index).lower >= 0 && n.symbols.lessEqual(index + 1, size) == true;
    if (!inside && n.symbols.lessEqual(index + 1, size) == false)
      return n.malformed("index " + n.print(index) + " is outside dimension " + n.print(size));
    if (inside) {
      SmallVector<AffineExpr> starts(n.rank(0), n.dim(0)), sizes(n.type(0).getShape());
      starts[*axis] = index;
      sizes[*axis] = n.dim(1);
      Value one = n.slice(n.in(0), starts, sizes);
      SmallVector<AffineExpr> shape(n.type(0).getShape());
      shape.erase(shape.begin() + *axis);
      shape.insert(shape.begin() + *axis, n.rank(1), n.dim(1));
      n.out(0, n.reshape(one, shape));
      return success();
    }
  }
  if (const Known *indices = n.known(1))
    if (auto size = n.type(0).getStaticDim(*axis); auto values = size ? indices->integers() : std::nullopt)
      for (int64_t index : *values)
        if (index < -*size || index >= *size)
          return n.malformed("index " + Twine(index) + " is outside dimension " + Twine(*size));
  n.out(0, n.make<graph::GatherOp>(n.in(0), n.in(1), *axis));
  return success();
}

static LogicalResult gatherElements(NodeContext &n) {
  auto axis = n.axis(n.getInt("axis", 0), n.rank(0));
  if (failed(axis))
    return failure();
  if (n.rank(1) != n.rank(0))
    return n.malformed("indices must have the input's rank");
  for (int64_t i = 0; i < n.rank(0); ++i)
    if (i != *axis && !n.assumeAtMost(n.type(1).getDim(i), n.type(0).getDim(i)))
      return n.malformed("indices are larger than the input in dimension " + Twine(i));
  n.out(0, n.make<graph::GatherElementsOp>(n.shaped(n.type(0), n.type(1).getShape()), n.in(0), n.in(1), *axis));
  return success();
}

static LogicalResult gatherND(NodeContext &n) {
  int64_t batch = n.getInt("batch_dims", 0), rank = n.rank(0);
  auto tuple = n.rank(1) > 0 ? n.type(1).getStaticDim(n.rank(1) - 1) : std::nullopt;
  if (!tuple || batch < 0 || batch >= n.rank(1) || batch + *tuple > rank)
    return n.malformed("indices do not fit the input");
  SmallVector<AffineExpr> shape(n.type(1).getShape().drop_back());
  Value indices = n.in(1);
  for (int64_t i = 0; i < batch; ++i) {
    shape[i] = n.type(0).getDim(i);
    indices = withDim(n, indices, i, shape[i]);
    if (!indices)
      return n.malformed("batch dimensions differ");
  }
  shape.append(n.type(0).getShape().begin() + batch + *tuple, n.type(0).getShape().end());
  if (shape.size() > GraphTensorType::kMaxRank)
    return n.unsupported("a result of more than 8 dimensions");
  n.out(0, n.make<graph::GatherNDOp>(n.shaped(n.type(0), shape), n.in(0), indices, batch));
  return success();
}

// Generators.

/// column - row of the last two dimensions, as an i64 [M, N] tensor.
static Value diagonal(NodeContext &n, AffineExpr rows, AffineExpr columns) {
  return n.sub(n.iota({n.dim(1), columns}, 1), n.iota({rows, n.dim(1)}, 0));
}

static LogicalResult trilu(NodeContext &n) {
  int64_t rank = n.rank(0);
  if (rank < 2)
    return n.malformed("the input must be a matrix or a batch of them");
  Value x = n.in(0), k = n.scalar(n.b.getI64Type(), 0);
  if (n.has(1))
    k = n.cast(n.reshape(n.in(1), {}), n.b.getI64Type());
  bool upper = n.getInt("upper", 1) != 0;
  Value d = diagonal(n, n.type(0).getDim(rank - 2), n.type(0).getDim(rank - 1));
  Value keep = n.compare(upper ? ComparePredicate::ge : ComparePredicate::le, d, k);
  n.out(0, n.select(keep, x, n.scalarLike(x, 0)));
  return success();
}

static LogicalResult eyeLike(NodeContext &n) {
  if (n.rank(0) != 2)
    return n.malformed("the input must be a matrix");
  Type type =
      n.attribute("dtype") ? elementTypeOf(static_cast<DataType>(n.getInt("dtype", 0)), n.context()) : n.element(0);
  if (!type)
    return n.unsupported("its dtype");
  Value d = diagonal(n, n.type(0).getDim(0), n.type(0).getDim(1));
  n.out(0, n.cast(n.compare(ComparePredicate::eq, d, n.scalar(n.b.getI64Type(), n.getInt("k", 0))), type));
  return success();
}

static LogicalResult oneHot(NodeContext &n) {
  int64_t rank = n.rank(0) + 1;
  if (rank > GraphTensorType::kMaxRank || n.rank(2) != 1 || !n.assumeEqual(n.type(2).getDim(0), n.dim(2)) ||
      n.rank(1) > 1 || (n.rank(1) == 1 && !n.assumeEqual(n.type(1).getDim(0), n.dim(1))))
    return n.malformed("depth must be one number, values a pair, the result of at most 8 dimensions");
  auto axis = n.axis(n.getInt("axis", -1), rank);
  if (failed(axis))
    return failure();
  Type i64 = n.b.getI64Type();
  AffineExpr depth;
  const Known *depthKnown = n.known(1);
  if (depthKnown && depthKnown->elements.size() == 1 && depthKnown->elements[0].expr) {
    depth = depthKnown->elements[0].expr;
    if (!n.atLeast(depth, 0, "the depth"))
      return failure();
  } else { // computed while the model runs
    Value given = n.cast(n.reshape(n.in(1), {}), i64);
    n.require(n.compare(ComparePredicate::ge, given, n.scalar(i64, 0)), "a depth that is not negative");
    auto size = n.boundedSize(given, 0, *axis);
    if (failed(size))
      return failure();
    depth = *size;
  }
  SmallVector<AffineExpr> shape(n.type(0).getShape()), line(rank, n.dim(1));
  shape.insert(shape.begin() + *axis, n.dim(1));
  line[*axis] = depth;
  Value index = n.reshape(n.cast(n.in(0), i64), shape);
  Value below = n.compare(ComparePredicate::lt, index, n.scalar(i64, 0));
  index = n.select(below, n.add(index, n.dimension(depth, i64)), index);
  Value hot = n.compare(ComparePredicate::eq, n.iota(line, *axis), index);
  auto pick = [&](int64_t i) { return n.reshape(n.slice(n.in(2), {n.dim(i)}, {n.dim(1)}), {}); };
  n.out(0, n.select(hot, pick(1), pick(0)));
  return success();
}

/// start, limit and delta are computed while the model runs.
static LogicalResult rangeOfValues(NodeContext &n) {
  Value v[3];
  Type type = n.element(0), i64 = n.b.getI64Type(), f64 = n.b.getF64Type();
  for (size_t i = 0; i < 3; ++i) {
    if (n.element(i) != type || n.type(i).getNumElements() != 1)
      return n.malformed("start, limit and delta must be scalars of one type");
    v[i] = n.reshape(n.in(i), {});
  }
  // ceil((limit - start) / delta). Integers may be further apart than INT64_MAX.
  Value count, zero = n.scalar(i64, 0);
  if (graph::isFloat(type)) {
    Value span = n.sub(n.cast(v[1], f64), n.cast(v[0], f64));
    Value parts = n.make<graph::CeilOp>(n.div(span, n.cast(v[2], f64)));
    n.require(n.make<graph::NotOp>(n.compare(ComparePredicate::eq, v[2], n.scalar(type, 0))), "a delta that is not 0");
    n.require(n.compare(ComparePredicate::lt, parts, n.scalar(f64, 0x1p62)),
              "start, limit and delta to be numbers with an end in reach");
    count = n.cast(n.max(parts, n.scalar(f64, 0)), i64);
  } else {
    Type u64 = n.b.getIntegerType(64, /*isSigned=*/false);
    Value from = n.cast(v[0], i64), to = n.cast(v[1], i64), delta = n.cast(v[2], i64);
    n.require(n.make<graph::NotOp>(n.compare(ComparePredicate::eq, delta, zero)), "a delta that is not 0");
    Value up = n.compare(ComparePredicate::gt, delta, zero);
    Value low = n.cast(n.select(up, from, to), u64), high = n.cast(n.select(up, to, from), u64);
    Value stride = n.select(up, n.cast(delta, u64), n.sub(n.scalar(u64, 0), n.cast(delta, u64)));
    Value one = n.scalar(u64, 1);
    // 1 + (high - low - 1) / stride, and at most what an i64 holds.
    Value parts = n.add(n.div(n.sub(n.sub(high, low), one), n.max(stride, one)), one);
    Value some = n.select(up, n.compare(ComparePredicate::lt, from, to), n.compare(ComparePredicate::lt, to, from));
    count = n.select(some, n.cast(n.min(parts, n.scalar(u64, 0x1p62)), i64), zero);
  }
  auto size = n.boundedSize(n.max(count, n.scalar(i64, 0)), 0, 0);
  if (failed(size))
    return failure();
  n.out(0, n.add(n.mul(n.cast(n.iota({*size}, 0), type), v[2]), v[0]));
  return success();
}

static LogicalResult range(NodeContext &n) {
  Type type = n.element(0);
  Scalar v[3];
  for (size_t i = 0; i < 3; ++i) {
    const Known *k = n.known(i);
    if (!k || k->elements.size() != 1)
      return rangeOfValues(n);
    v[i] = k->elements[0];
  }
  AffineExpr count;
  auto start = v[0].number(), limit = v[1].number(), delta = v[2].number();
  if (delta && *delta == 0)
    return n.malformed("delta is zero");
  if (start && limit && delta) {
    double length = std::ceil((*limit - *start) / *delta);
    if (!(length < double(int64_t(1) << 40)))
      return n.malformed("the range is too long");
    count = n.dim(static_cast<int64_t>(std::max(length, 0.0)));
  } else {
    auto step = v[2].integer();
    if (!step || !v[0].expr || !v[1].expr)
      return rangeOfValues(n);
    AffineExpr span = *step > 0 ? v[1].expr - v[0].expr : v[0].expr - v[1].expr;
    auto positive = maximum(n, n.simplify(span), n.dim(0));
    if (!positive)
      return n.unsupported("whether it is empty depends on the input");
    count = n.simplify(positive->ceilDiv(std::abs(*step)));
  }
  auto small = dyn_cast<AffineConstantExpr>(count);
  if (small && small.getValue() <= Known::kMaxElements &&
      (graph::isInteger(type) ? v[2].integer().has_value() : bool(start && delta))) {
    Known known{{small.getValue()}, {}};
    for (int64_t i = 0; i < small.getValue(); ++i)
      known.elements.push_back(graph::isInteger(type)
                                   ? Scalar(n.simplify(v[0].expr + *v[2].integer() * i))
                                   : Scalar::of(roundTo(type, *start + *delta * static_cast<double>(i)), n.context()));
    n.outKnown(0, type, known);
    return success();
  }
  Value i = n.cast(n.iota({count}, 0), type);
  n.out(0, n.add(n.mul(i, n.reshape(n.in(2), {})), n.reshape(n.in(0), {})));
  return success();
}

static LogicalResult constantOfShape(NodeContext &n) {
  const Known *k = n.known(0);
  auto shape = k ? k->expressions() : std::nullopt;
  if (!shape) {
    auto measured = measuredShape(n, 0);
    if (failed(measured))
      return failure();
    shape = *measured;
  }
  if (shape->size() > GraphTensorType::kMaxRank)
    return n.unsupported("more than 8 dimensions");
  for (auto [i, d] : llvm::enumerate(*shape))
    if (!n.atLeast(d, 0, "size " + Twine(i)))
      return failure();
  Known value;
  Type type = n.b.getF32Type();
  if (const NodeAttribute *a = n.attribute("value"); a && a->tensor) {
    auto given = knownOf(n.model(), *a->tensor, n.context());
    type = elementTypeOf(a->tensor->type, n.context());
    if (!given || given->elements.size() != 1 || !type)
      return n.unsupported("its value is not one number or boolean");
    value.elements = given->elements;
  } else {
    value.elements.push_back(Scalar::of(0.0, n.context()));
  }
  int64_t count = 1;
  for (AffineExpr d : *shape) {
    auto constant = dyn_cast<AffineConstantExpr>(d);
    count = constant && count >= 0 && constant.getValue() <= Known::kMaxElements ? count * constant.getValue() : -1;
    if (count > Known::kMaxElements)
      count = -1;
  }
  if (count >= 0) {
    Known known;
    for (AffineExpr d : *shape)
      known.shape.push_back(cast<AffineConstantExpr>(d).getValue());
    known.elements.assign(count, value.elements[0]);
    n.outKnown(0, type, known);
    return success();
  }
  n.out(0, n.broadcast(n.constant(value, type), *shape));
  return success();
}

void stint::import::addSlicings(RuleTable &t) {
  t.add("Slice", 1, slice);
  t.add("Split", 1, split);
  t.add("Pad", 1, pad);
  t.add("Gather", 2, gather);
  t.add("GatherElements", 2, gatherElements);
  t.add("GatherND", 2, gatherND);
  t.add("Trilu", 1, trilu);
  t.add("EyeLike", 1, eyeLike);
  t.add("OneHot", 3, oneHot);
  t.add("Range", 3, range);
  t.add("ConstantOfShape", 1, constantOfShape);
}
