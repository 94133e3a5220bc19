// Resize and Upsample, one axis at a time: the source coordinates of an axis
// are arithmetic on a counter; a gather takes the elements and, for linear and
// cubic modes, weights mix them.
//
// Coordinates are computed in f64 for the exact ratios of integer sizes, as a
// rounding error at a half changes which element "nearest" takes.
#include "compiler/import/NodeContext.h"
#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;

namespace {
/// How one axis is resized.
struct Axis {
  int64_t axis;
  AffineExpr in, out;
  double scale = 1; // as given; 0: out / in
  double roiStart = 0, roiEnd = 1;
};

class Resizer {
public:
  explicit Resizer(NodeContext &n) : n(n), f64(n.b.getF64Type()), i64(n.b.getI64Type()) {}
  LogicalResult run();

private:
  LogicalResult readSizes();
  LogicalResult readRoi();
  Value f(double v) { return n.scalar(f64, v); }
  /// Source coordinates, [out] f64.
  FailureOr<Value> coordinates(const Axis &a);
  Value resizeNearest(Value x, const Axis &a, Value at);
  Value resizeLinear(Value x, const Axis &a, Value at);
  Value resizeCubic(Value x, const Axis &a, Value at);
  /// Rows `index` ([out] i64, clamped to the input) times `weight` ([out] f64).
  Value weighted(Value x, const Axis &a, Value index, Value weight);
  /// A [out] value shaped to broadcast along the axis.
  Value alongAxis(Value v, const Axis &a, int64_t rank) {
    SmallVector<AffineExpr> shape(rank - a.axis, n.dim(1));
    shape[0] = a.out;
    return n.reshape(v, shape);
  }
  Value clampIndex(Value index, const Axis &a) {
    return n.min(n.max(index, n.scalar(i64, 0)), n.dimension(n.simplify(a.in - 1), i64));
  }

  NodeContext &n;
  Type f64, i64;
  std::string mode, transform;
  SmallVector<Axis> axes;
};
} // namespace

LogicalResult Resizer::readSizes() {
  bool upsample = n.node.opType == "Upsample";
  bool old = upsample || n.opset < 11; // inputs X, scales
  std::optional<size_t> scalesAt = old ? 1 : 2, sizesAt;
  if (!old && n.has(3))
    sizesAt = 3;
  SmallVector<int64_t> which = llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0)));
  if (auto given = n.getInts("axes")) {
    which.clear();
    for (int64_t v : *given) {
      auto axis = n.axis(v, n.rank(0));
      if (failed(axis))
        return failure();
      which.push_back(*axis);
    }
  }
  std::string policy = n.getString("keep_aspect_ratio_policy", "stretch");
  if (sizesAt) {
    const Known *k = n.known(*sizesAt);
    auto sizes = k ? k->expressions() : std::nullopt;
    if (!sizes || sizes->size() != which.size())
      return n.unsupported("'sizes' depends on the input's values");
    if (policy != "stretch")
      return n.unsupported("keep_aspect_ratio_policy " + policy);
    for (auto [axis, size] : llvm::zip(which, *sizes)) {
      if (n.symbols.range(size).lower < 0)
        return n.malformed("a size may be negative");
      axes.push_back({axis, n.type(0).getDim(axis), size, 0});
    }
    return success();
  }
  SmallVector<double> scales;
  if (n.has(*scalesAt)) {
    const Known *k = n.known(*scalesAt);
    if (!k || !k->isConstant() || k->elements.size() != which.size())
      return n.unsupported("'scales' depends on the input's values");
    for (const Scalar &s : k->elements)
      scales.push_back(*s.number());
  } else if (const NodeAttribute *a = n.attribute("scales")) {
    scales.assign(a->floats.begin(), a->floats.end());
  }
  if (scales.size() != which.size())
    return n.malformed("needs scales or sizes for every axis");
  for (auto [axis, scale] : llvm::zip(which, scales)) {
    AffineExpr in = n.type(0).getDim(axis), out;
    if (!(scale > 0) || scale > 1 << 20)
      return n.malformed("a scale is not positive");
    double inverse = 1 / scale;
    if (auto size = n.type(0).getStaticDim(axis))
      out = n.dim(static_cast<int64_t>(std::floor(static_cast<float>(*size) * static_cast<float>(scale))));
    else if (scale == std::floor(scale))
      out = n.simplify(in * static_cast<int64_t>(scale));
    else if (inverse == std::floor(inverse))
      out = n.simplify(in.floorDiv(static_cast<int64_t>(inverse)));
    else
      return n.unsupported("scale " + Twine(std::to_string(scale)) + " of dimension " + n.print(in) +
                           "; fix it with --dim");
    axes.push_back({axis, in, out, scale});
  }
  return success();
}

LogicalResult Resizer::readRoi() {
  if (transform != "tf_crop_and_resize")
    return success();
  const Known *k = n.known(1);
  if (!k || !k->isConstant() || k->elements.size() != 2 * axes.size())
    return n.unsupported("'roi' depends on the input's values");
  for (auto [i, a] : llvm::enumerate(axes)) {
    a.roiStart = *k->elements[i].number();
    a.roiEnd = *k->elements[axes.size() + i].number();
  }
  return success();
}

FailureOr<Value> Resizer::coordinates(const Axis &a) {
  Value i = n.cast(n.iota({a.out}, 0), f64);
  Value in = n.dimension(a.in, f64), out = n.dimension(a.out, f64);
  Value scale = a.scale == 0 ? n.div(out, in) : f(a.scale);
  if (transform == "asymmetric")
    return n.div(i, scale);
  if (transform == "half_pixel" || transform == "pytorch_half_pixel") {
    if (transform == "pytorch_half_pixel" && n.symbols.upper(a.out) <= 1)
      return n.mul(i, f(0));
    if (transform == "pytorch_half_pixel" && n.symbols.range(a.out).lower <= 1)
      return n.unsupported("pytorch_half_pixel where dimension " + n.print(a.out) + " may be 1");
    return n.sub(n.div(n.add(i, f(0.5)), scale), f(0.5));
  }
  if (transform == "half_pixel_symmetric") {
    Value exact = n.mul(scale, in); // output size before rounding
    Value adjustment = n.div(out, exact), centre = n.mul(in, f(0.5));
    Value offset = n.mul(centre, n.sub(f(1), adjustment));
    return n.sub(n.add(n.div(n.add(i, f(0.5)), scale), offset), f(0.5));
  }
  if (transform == "align_corners") {
    // ONNX takes the size before it is rounded down where a scale is given.
    Value exact = a.scale == 0 ? out : n.mul(scale, in);
    Value one = n.compare(ComparePredicate::le, out, f(1)); // one element: its coordinate is 0
    Value last = n.select(one, f(1), n.sub(exact, f(1)));
    return n.div(n.mul(i, n.sub(in, f(1))), last);
  }
  if (transform == "tf_half_pixel_for_nn")
    return n.div(n.add(i, f(0.5)), scale);
  if (transform == "tf_crop_and_resize") {
    Value size = n.sub(in, f(1));
    if (n.symbols.range(a.out).lower <= 1)
      return n.unsupported("tf_crop_and_resize to one element");
    Value step = n.div(n.mul(f(a.roiEnd - a.roiStart), size), n.sub(out, f(1)));
    return n.add(n.mul(f(a.roiStart), size), n.mul(i, step));
  }
  return n.unsupported("coordinate_transformation_mode " + transform);
}

Value Resizer::resizeNearest(Value x, const Axis &a, Value at) {
  std::string rounding = n.getString("nearest_mode", "round_prefer_floor");
  if (n.opset < 11 || n.node.opType == "Upsample")
    rounding = "floor";
  Value index = rounding == "floor"               ? n.make<graph::FloorOp>(at)
                : rounding == "ceil"              ? n.make<graph::CeilOp>(at)
                : rounding == "round_prefer_ceil" ? n.make<graph::FloorOp>(n.add(at, f(0.5)))
                                                  : n.make<graph::CeilOp>(n.sub(at, f(0.5)));
  return n.make<graph::GatherOp>(x, clampIndex(n.cast(index, i64), a), a.axis);
}

Value Resizer::weighted(Value x, const Axis &a, Value index, Value weight) {
  Value rows = n.make<graph::GatherOp>(x, clampIndex(index, a), a.axis);
  Type type = n.typeOf(x).getElementType();
  return n.mul(rows, n.cast(alongAxis(weight, a, n.typeOf(x).getRank()), type));
}

Value Resizer::resizeLinear(Value x, const Axis &a, Value at) {
  Value low = n.make<graph::FloorOp>(at), fraction = n.sub(at, low), index = n.cast(low, i64);
  Value next = n.add(index, n.scalar(i64, 1));
  return n.add(weighted(x, a, index, n.sub(f(1), fraction)), weighted(x, a, next, fraction));
}

/// Keys' cubic with coefficient A, four taps.
Value Resizer::resizeCubic(Value x, const Axis &a, Value at) {
  double A = n.getFloat("cubic_coeff_a", -0.75f);
  Value low = n.make<graph::FloorOp>(at), t = n.sub(at, low), index = n.cast(low, i64);
  auto near = [&](Value d) { // |d| <= 1: ((A+2)d - (A+3))d² + 1
    return n.add(n.mul(n.mul(n.sub(n.mul(d, f(A + 2)), f(A + 3)), d), d), f(1));
  };
  auto far = [&](Value d) { // 1 < |d| < 2: ((A·d - 5A)d + 8A)d - 4A
    return n.sub(n.mul(n.add(n.mul(n.sub(n.mul(d, f(A)), f(5 * A)), d), f(8 * A)), d), f(4 * A));
  };
  Value weights[4] = {far(n.add(t, f(1))), near(t), near(n.sub(f(1), t)), far(n.sub(f(2), t))};
  bool exclude = n.getInt("exclude_outside", 0) != 0;
  Value indices[4], total;
  for (int64_t k = 0; k < 4; ++k) {
    indices[k] = n.add(index, n.scalar(i64, static_cast<double>(k - 1)));
    if (!exclude)
      continue;
    Value inside = n.make<graph::AndOp>(n.compare(ComparePredicate::ge, indices[k], n.scalar(i64, 0)),
                                        n.compare(ComparePredicate::lt, indices[k], n.dimension(a.in, i64)));
    weights[k] = n.select(inside, weights[k], f(0));
    total = total ? n.add(total, weights[k]) : weights[k];
  }
  Value result;
  for (int64_t k = 0; k < 4; ++k) {
    Value term = weighted(x, a, indices[k], exclude ? n.div(weights[k], total) : weights[k]);
    result = result ? n.add(result, term) : term;
  }
  return result;
}

LogicalResult Resizer::run() {
  mode = n.getString("mode", "nearest");
  transform = n.getString("coordinate_transformation_mode", "half_pixel");
  if (n.opset < 11 || n.node.opType == "Upsample")
    transform = "asymmetric";
  if (mode != "nearest" && mode != "linear" && mode != "bilinear" && mode != "cubic")
    return n.unsupported("mode " + mode);
  if (mode != "nearest" && !graph::isFloat(n.element(0)))
    return n.unsupported("interpolating integers");
  if (failed(readSizes()) || failed(readRoi()))
    return failure();
  Value x = n.in(0);
  Type type = n.element(0);
  if (n.getInt("antialias", 0))
    for (const Axis &a : axes)
      if (n.symbols.lessEqual(a.in, a.out) != true)
        return n.unsupported("antialias when downsampling");
  for (const Axis &a : axes) {
    bool whole = transform != "tf_crop_and_resize" || (a.roiStart == 0 && a.roiEnd == 1);
    if (whole && n.same(a.in, a.out) && (a.scale == 0 || a.scale == 1))
      continue;
    if (n.symbols.range(a.in).lower < 1)
      return n.unsupported("dimension " + n.print(a.in) + " may be empty");
    // The common case: whole multiples copied.
    auto factor = n.same(a.out, a.in) ? std::nullopt : graph::divideExactly(a.out, a.in);
    std::string rounding = n.opset < 11 ? "floor" : n.getString("nearest_mode", "round_prefer_floor");
    bool copies = mode == "nearest" && factor && n.typeOf(x).getRank() < graph::GraphTensorType::kMaxRank &&
                  isa<AffineConstantExpr>(*factor) &&
                  (n.node.opType == "Upsample" || (transform == "asymmetric" && rounding == "floor") ||
                   (transform == "half_pixel" && rounding == "round_prefer_floor"));
    if (copies) {
      SmallVector<AffineExpr> split(n.typeOf(x).getShape()), merged = split;
      split.insert(split.begin() + a.axis + 1, n.dim(1));
      SmallVector<AffineExpr> stretched = split;
      stretched[a.axis + 1] = *factor;
      merged[a.axis] = a.out;
      x = n.reshape(n.broadcast(n.reshape(x, split), stretched), merged);
      continue;
    }
    auto at = coordinates(a);
    if (failed(at))
      return failure();
    x = mode == "nearest" ? resizeNearest(x, a, *at)
        : mode == "cubic" ? resizeCubic(x, a, *at)
                          : resizeLinear(x, a, *at);
    if (transform == "tf_crop_and_resize") { // outside the input: a given value
      Value last = n.dimension(n.simplify(a.in - 1), f64);
      Value out =
          n.make<graph::OrOp>(n.compare(ComparePredicate::lt, *at, f(0)), n.compare(ComparePredicate::gt, *at, last));
      x = n.select(alongAxis(out, a, n.typeOf(x).getRank()), n.scalar(type, n.getFloat("extrapolation_value", 0)), x);
    }
  }
  if (x == n.in(0))
    n.forward(0, 0);
  else
    n.out(0, x);
  return success();
}

static LogicalResult resize(NodeContext &n) { return Resizer(n).run(); }

void stint::import::addResizes(RuleTable &t) {
  t.add("Resize", 1, resize);
  t.add("Upsample", 1, resize);
}
