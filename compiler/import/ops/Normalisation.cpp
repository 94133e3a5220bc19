// Normalisations, decomposed into reductions and arithmetic.
#include "compiler/import/ops/Dimensions.h"
#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ReduceKind;

static Value rsqrtDivide(NodeContext &n, Value centred, Value variance, double epsilon) {
  return n.div(centred, n.make<graph::SqrtOp>(n.add(variance, n.scalarLike(variance, epsilon))));
}

/// (x - mean) and the variance over `axes`.
static std::pair<Value, Value> centre(NodeContext &n, Value x, ArrayRef<int64_t> axes) {
  Value centred = n.sub(x, n.reduce(ReduceKind::mean, x, axes));
  return {centred, n.reduce(ReduceKind::mean, n.mul(centred, centred), axes)};
}

/// A [C] operand at channel dimension 1 of a rank-`rank` tensor.
static FailureOr<Value> perChannel(NodeContext &n, size_t input, int64_t rank) {
  if (n.rank(input) != 1)
    return n.malformed("input " + Twine(input) + " must be a vector");
  SmallVector<AffineExpr> shape(std::max<int64_t>(rank - 1, 1), n.dim(1));
  shape[0] = n.type(input).getDim(0);
  return n.reshape(n.in(input), shape);
}

/// y = x · scale + bias, broadcast; null operands are left out.
static LogicalResult scaleAndShift(NodeContext &n, Value &x, Value scale, Value bias) {
  for (Value v : {scale, bias}) {
    if (!v)
      continue;
    SmallVector<Value> both = {x, n.cast(v, n.typeOf(x).getElementType())};
    if (failed(n.unify(both)))
      return failure();
    x = v == scale && scale != bias ? n.mul(both[0], both[1])
        : v == scale                ? n.mul(both[0], both[1])
                                    : n.add(both[0], both[1]);
  }
  return success();
}

static std::optional<SmallVector<float>> floats(NodeContext &n, size_t input) {
  const Tensor *t = n.tensor(input);
  if (!t || t->type != DataType::Float)
    return std::nullopt;
  ArrayRef<uint8_t> bytes = n.model().bytes(*t);
  SmallVector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// spatial=0: every position of a channel has statistics of its own.
static LogicalResult normalisePositions(NodeContext &n) {
  SmallVector<Value> v = {n.in(0)};
  for (size_t i = 1; i < 5; ++i) {
    if (n.rank(i) != n.rank(0) - 1)
      return n.malformed("scale, bias, mean and variance must have the shape of one batch element");
    v.push_back(n.in(i));
  }
  if (failed(n.unify(v)))
    return failure();
  Value scaled = n.mul(rsqrtDivide(n, n.sub(v[0], v[3]), v[4], n.getFloat("epsilon", 1e-5f)), v[1]);
  n.out(0, n.add(scaled, v[2]));
  return success();
}

/// Normalises with the batch's own mean and variance. Further results are the
/// running statistics, then (before opset 14) those of the batch.
static LogicalResult trainBatchNormalization(NodeContext &n, Value x) {
  int64_t rank = n.rank(0);
  SmallVector<int64_t> axes = {0};
  for (int64_t i = 2; i < rank; ++i)
    axes.push_back(i);
  Type type = n.element(0);
  // f16 and bf16 are summed in f32.
  bool narrow = type.isF16() || type.isBF16();
  x = narrow ? n.cast(x, n.b.getF32Type()) : x;
  auto [centred, variance] = centre(n, x, axes);
  Value mean = n.reduce(ReduceKind::mean, x, axes);
  Value result = n.cast(rsqrtDivide(n, centred, variance, n.getFloat("epsilon", 1e-5f)), type);
  auto scale = perChannel(n, 1, rank), bias = perChannel(n, 2, rank);
  if (failed(scale) || failed(bias) || failed(scaleAndShift(n, result, *scale, *bias)))
    return failure();
  n.out(0, result);
  float momentum = n.getFloat("momentum", 0.9f);
  Value batch[] = {mean, variance};
  for (size_t i : {0, 1}) {
    Type own = n.element(3 + i);
    Value before = n.in(3 + i), v = n.cast(n.reshape(batch[i], n.type(3 + i).getShape()), own);
    n.out(1 + i, n.add(n.mul(before, n.scalar(own, momentum)), n.mul(v, n.scalar(own, 1 - momentum))));
    n.out(3 + i, v);
  }
  return success();
}

static LogicalResult batchNormalization(NodeContext &n) {
  int64_t rank = n.rank(0);
  if (rank < 2)
    return n.malformed("the input must have a channel dimension");
  bool moreResults = llvm::any_of(llvm::seq<size_t>(1, n.node.outputs.size()), [&](size_t i) { return n.wants(i); });
  bool training = n.opset >= 14  ? n.getInt("training_mode", 0) != 0
                  : n.opset >= 7 ? moreResults
                                 : !n.getInt("is_test", 0);
  if (n.opset < 9 && !n.getInt("spatial", 1)) {
    if (training)
      return n.unsupported("training with spatial=0");
    return normalisePositions(n);
  }
  double epsilon = n.getFloat("epsilon", 1e-5f);
  Value x = n.in(0);
  for (size_t i = 1; i < 5; ++i) {
    x = n.rank(i) == 1 ? withDim(n, x, 1, n.type(i).getDim(0)) : Value();
    if (!x)
      return n.malformed("scale, bias, mean and variance must have one value a channel");
  }
  if (training)
    return trainBatchNormalization(n, x);
  auto scale = floats(n, 1), bias = floats(n, 2), mean = floats(n, 3), variance = floats(n, 4);
  if (scale && bias && mean && variance && n.element(0).isF32()) {
    // Constants: y = x · s + t, computed here in double.
    size_t count = scale->size();
    SmallVector<float> s(count), t(count);
    for (size_t i = 0; i < count; ++i) {
      double factor = (*scale)[i] / std::sqrt(static_cast<double>((*variance)[i]) + epsilon);
      s[i] = static_cast<float>(factor);
      t[i] = static_cast<float>((*bias)[i] - (*mean)[i] * factor);
    }
    SmallVector<int64_t> shape(rank - 1, 1);
    shape[0] = count;
    Value result = n.mul(x, n.weightF32(s, shape, n.node.inputs[1] + "/folded"));
    n.out(0, n.add(result, n.weightF32(t, shape, n.node.inputs[2] + "/folded")));
    return success();
  }
  Value v[4];
  for (size_t i = 1; i < 5; ++i) {
    auto value = perChannel(n, i, rank);
    if (failed(value))
      return failure();
    v[i - 1] = n.cast(*value, n.element(0));
  }
  SmallVector<Value> both = {x, v[2]};
  if (failed(n.unify(both)))
    return failure();
  Value result = rsqrtDivide(n, n.sub(both[0], both[1]), v[3], epsilon);
  if (failed(scaleAndShift(n, result, v[0], v[1])))
    return failure();
  n.out(0, result);
  return success();
}

static LogicalResult instanceNormalization(NodeContext &n) {
  int64_t rank = n.rank(0);
  if (rank < 3)
    return n.malformed("the input must have spatial dimensions");
  auto [centred, variance] = centre(n, n.in(0), llvm::to_vector(llvm::seq<int64_t>(2, rank)));
  auto scale = perChannel(n, 1, rank), bias = perChannel(n, 2, rank);
  if (failed(scale) || failed(bias))
    return failure();
  Value result = rsqrtDivide(n, centred, variance, n.getFloat("epsilon", 1e-5f));
  if (failed(scaleAndShift(n, result, *scale, *bias)))
    return failure();
  n.out(0, result);
  return success();
}

/// f16 and bf16 statistics are computed in f32 (stash_type 1).
static Value statisticsType(NodeContext &n, Value x) {
  Type type = n.typeOf(x).getElementType();
  return type.isF16() || type.isBF16() ? n.cast(x, n.b.getF32Type()) : x;
}

static LogicalResult layerNormalization(NodeContext &n) {
  auto axis = n.axis(n.getInt("axis", -1), n.rank(0));
  if (failed(axis))
    return failure();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(*axis, n.rank(0)));
  double epsilon = n.getFloat("epsilon", 1e-5f);
  Value x = statisticsType(n, n.in(0));
  Value mean = n.reduce(ReduceKind::mean, x, axes);
  Value centred = n.sub(x, mean);
  Value variance = n.reduce(ReduceKind::mean, n.mul(centred, centred), axes);
  Value deviation = n.make<graph::SqrtOp>(n.add(variance, n.scalarLike(variance, epsilon)));
  Value result = n.div(centred, deviation);
  if (n.opset >= 17 || !n.node.domain.empty())
    result = n.cast(result, n.element(0));
  if (failed(scaleAndShift(n, result, n.in(1), n.has(2) ? n.in(2) : Value())))
    return failure();
  n.out(0, result);
  n.out(1, mean);
  if (n.wants(2))
    n.out(2, n.make<graph::ReciprocalOp>(deviation));
  return success();
}

/// RMSNormalization (opset 23), SimplifiedLayerNormalization.
static LogicalResult rmsNormalization(NodeContext &n) {
  auto axis = n.axis(n.getInt("axis", -1), n.rank(0));
  if (failed(axis))
    return failure();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(*axis, n.rank(0)));
  Value x = statisticsType(n, n.in(0));
  Value square = n.reduce(ReduceKind::mean, n.mul(x, x), axes);
  Value root = n.make<graph::SqrtOp>(n.add(square, n.scalarLike(square, n.getFloat("epsilon", 1e-5f))));
  Value result = n.cast(n.div(x, root), n.element(0));
  if (failed(scaleAndShift(n, result, n.in(1), Value())))
    return failure();
  n.out(0, result);
  if (n.wants(1))
    n.out(1, n.make<graph::ReciprocalOp>(root));
  return success();
}

/// com.microsoft SkipLayerNormalization and its simplified sibling: the
/// residual sum is normalised and given as the fourth result.
template <bool simplified> static LogicalResult skipNormalization(NodeContext &n) {
  SmallVector<Value> sum = {n.in(0), n.in(1)};
  size_t biasAt = simplified ? 3 : 4;
  if (n.has(biasAt))
    sum.push_back(n.in(biasAt));
  if (failed(n.unify(sum)))
    return failure();
  Value x = n.add(sum[0], sum[1]);
  if (sum.size() == 3)
    x = n.add(x, sum[2]);
  n.out(3, x);
  SmallVector<int64_t> axes = {n.rank(0) - 1};
  double epsilon = n.getFloat("epsilon", simplified ? 1e-5f : 1e-12f);
  Value wide = statisticsType(n, x), centred = wide;
  if (!simplified)
    centred = n.sub(wide, n.reduce(ReduceKind::mean, wide, axes));
  Value variance = n.reduce(ReduceKind::mean, n.mul(centred, centred), axes);
  Value result = n.cast(rsqrtDivide(n, centred, variance, epsilon), n.element(0));
  if (failed(scaleAndShift(n, result, n.in(2), !simplified && n.has(3) ? n.in(3) : Value())))
    return failure();
  n.out(0, result);
  return success();
}

static LogicalResult groupNormalization(NodeContext &n) {
  int64_t rank = n.rank(0), groups = n.getInt("num_groups", 0);
  auto channels = rank >= 2 ? n.type(0).getStaticDim(1) : std::nullopt;
  if (!channels || groups < 1 || *channels % groups)
    return n.malformed("channels must be a constant multiple of num_groups");
  SmallVector<AffineExpr> original(n.type(0).getShape()), split = original;
  split[1] = n.dim(groups);
  split.insert(split.begin() + 2, n.dim(*channels / groups));
  if (split.size() > graph::GraphTensorType::kMaxRank)
    return n.unsupported("more than 7 dimensions");
  Value x = n.reshape(statisticsType(n, n.in(0)), split);
  auto [centred, variance] = centre(n, x, llvm::to_vector(llvm::seq<int64_t>(2, rank + 1)));
  Value result = n.cast(rsqrtDivide(n, centred, variance, n.getFloat("epsilon", 1e-5f)), n.element(0));
  auto scale = perChannel(n, 1, n.opset < 21 ? rank + 1 : rank),
       bias = perChannel(n, 2, n.opset < 21 ? rank + 1 : rank);
  if (failed(scale) || failed(bias))
    return failure();
  if (n.opset >= 21) // one value a channel; before, one a group
    result = n.reshape(result, original);
  if (failed(scaleAndShift(n, result, *scale, *bias)))
    return failure();
  n.out(0, n.reshape(result, original));
  return success();
}

static LogicalResult lrn(NodeContext &n) {
  int64_t rank = n.rank(0), size = n.getInt("size", 1);
  if (rank < 2 || size < 1 || size > 1 << 20)
    return n.malformed("needs a channel dimension and a positive size");
  double alpha = n.getFloat("alpha", 1e-4f), beta = n.getFloat("beta", 0.75f), bias = n.getFloat("bias", 1);
  Value x = n.in(0), square = n.mul(x, x);
  SmallVector<int64_t> window(rank, 1), ones(rank, 1), low(rank, 0), high(rank, 0);
  window[1] = size;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  auto array = [&](ArrayRef<int64_t> v) { return n.b.getDenseI64ArrayAttr(v); };
  auto type = n.shaped(n.type(0), graph::WindowReduceOp::inferShape(n.type(0), window, ones, ones, low, high));
  Value sum = n.make<graph::WindowReduceOp>(type, Type(), ReduceKind::sum, square, array(window), array(ones),
                                            array(ones), array(low), array(high), DenseI64ArrayAttr());
  Value base = n.add(n.mul(sum, n.scalarLike(x, alpha / size)), n.scalarLike(x, bias));
  SmallVector<Value> v = {x, n.make<graph::PowOp>(base, n.scalarLike(x, beta))};
  if (failed(n.unify(v)))
    return failure();
  n.out(0, n.div(v[0], v[1]));
  return success();
}

static LogicalResult meanVariance(NodeContext &n) {
  auto axes = n.axes(n.getInts("axes").value_or(SmallVector<int64_t>{0, 2, 3}), n.rank(0));
  if (failed(axes))
    return failure();
  auto [centred, variance] = centre(n, n.in(0), *axes);
  Value deviation = n.make<graph::SqrtOp>(variance);
  n.out(0, n.div(centred, n.add(deviation, n.scalarLike(deviation, 1e-9))));
  return success();
}

static LogicalResult lpNormalization(NodeContext &n) {
  auto axis = n.axis(n.getInt("axis", -1), n.rank(0));
  if (failed(axis))
    return failure();
  Value x = n.in(0);
  bool one = n.getInt("p", 2) == 1;
  Value sum = n.reduce(ReduceKind::sum, one ? n.make<graph::AbsOp>(x) : n.mul(x, x), {*axis});
  Value norm = one ? sum : n.make<graph::SqrtOp>(sum);
  // A zero vector stays zero.
  Value zero = n.compare(graph::ComparePredicate::eq, norm, n.scalarLike(norm, 0));
  n.out(0, n.div(x, n.select(zero, n.scalarLike(norm, 1), norm)));
  return success();
}

void stint::import::addNormalisations(RuleTable &t) {
  t.add("BatchNormalization", 5, batchNormalization);
  t.add("InstanceNormalization", 3, instanceNormalization);
  t.add("LayerNormalization", 2, layerNormalization);
  t.add("RMSNormalization", 2, rmsNormalization);
  t.add("SimplifiedLayerNormalization", 2, rmsNormalization);
  t.add("SimplifiedLayerNormalization", 2, rmsNormalization, "com.microsoft");
  t.add("SkipLayerNormalization", 3, skipNormalization<false>, "com.microsoft");
  t.add("SkipSimplifiedLayerNormalization", 3, skipNormalization<true>, "com.microsoft");
  t.add("GroupNormalization", 3, groupNormalization);
  t.add("LRN", 1, lrn);
  t.add("MeanVarianceNormalization", 1, meanVariance);
  t.add("LpNormalization", 1, lpNormalization);
}
