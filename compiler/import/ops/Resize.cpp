// Resize and Upsample, one axis at a time: the source coordinates of an axis
// are arithmetic on a counter; a gather takes the elements and, for linear and
// cubic modes, weights mix them.
//
// Coordinates are computed in f64. In mode "nearest", where a rounding error
// changes which element is taken, they are computed as ONNX Runtime does: in f32,
// in its order.
//
// Antialiasing, where an axis shrinks, stretches the filter over as many
// elements as it shrinks by, and makes its weights sum to 1.
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
  double scale = 1;  // as given; 0: out / in
  Value common = {}; // f64, in place of both: the scale of all axes
  double roiStart = 0, roiEnd = 1;
};

class Resizer {
public:
  explicit Resizer(NodeContext &n) : n(n), f64(n.b.getF64Type()), i64(n.b.getI64Type()) {}
  LogicalResult run();

private:
  LogicalResult readSizes();
  LogicalResult keepAspectRatio(StringRef policy);
  LogicalResult keepDynamicAspectRatio(bool smallest);
  /// floor(in · scale), as f32 computes it, or null where it has no form.
  AffineExpr scaledSize(AffineExpr in, double scale);
  LogicalResult readRoi();
  Value f(double v) { return n.scalar(f64, v); }
  /// Source coordinates, [out] f64; f32 in mode nearest.
  FailureOr<Value> coordinates(const Axis &a);
  Value resizeNearest(Value x, const Axis &a, Value at);
  LogicalResult interpolate(Value &x, const Axis &a, Value at);
  /// Weight of an element at `distance` (f64).
  Value filter(Value distance);
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

AffineExpr Resizer::scaledSize(AffineExpr in, double scale) {
  auto exact = [&](int64_t size) {
    return static_cast<int64_t>(std::floor(static_cast<float>(size) * static_cast<float>(scale)));
  };
  if (auto constant = dyn_cast<AffineConstantExpr>(in))
    return n.dim(exact(constant.getValue()));
  graph::Range range = n.symbols.range(in);
  if (range.upper - range.lower > 1 << 20)
    return {};
  // The first fraction that is right for every size.
  for (int64_t bottom = 1; bottom <= 1024; ++bottom) {
    double top = std::round(scale * static_cast<double>(bottom));
    if (top < 1 || std::abs(top / static_cast<double>(bottom) - scale) > 1e-6 * scale)
      continue;
    auto whole = static_cast<int64_t>(top);
    bool right = true;
    for (int64_t size = range.lower; right && size <= range.upper; ++size)
      right = size * whole / bottom == exact(size);
    if (right)
      return n.simplify((in * whole).floorDiv(bottom));
  }
  return {};
}

/// One scale for all axes: the smallest or largest that 'sizes' comes to, in f32
/// as ONNX Runtime has it.
LogicalResult Resizer::keepAspectRatio(StringRef policy) {
  if (policy != "not_larger" && policy != "not_smaller")
    return n.malformed("unknown keep_aspect_ratio_policy '" + policy + "'");
  bool smallest = policy == "not_larger", constant = true;
  for (const Axis &a : axes) {
    constant &= isa<AffineConstantExpr>(a.in) && isa<AffineConstantExpr>(a.out);
    if (n.symbols.range(a.in).lower < 1)
      return n.unsupported("keep_aspect_ratio_policy of dimension " + n.print(a.in) + ", which may be empty");
  }
  if (!constant)
    return keepDynamicAspectRatio(smallest);
  std::optional<float> scale;
  auto value = [](AffineExpr e) { return static_cast<float>(cast<AffineConstantExpr>(e).getValue()); };
  for (const Axis &a : axes) {
    float own = value(a.out) / value(a.in);
    scale = !scale ? own : smallest ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (Axis &a : axes) {
    a.scale = *scale;
    a.out = n.dim(std::llround(*scale * value(a.in)));
  }
  return success();
}

/// The same while the model runs: the result's sizes are data.
LogicalResult Resizer::keepDynamicAspectRatio(bool smallest) {
  Type f32 = n.b.getF32Type();
  Value scale;
  double largest = 0; // that the scale may be
  for (const Axis &a : axes) {
    Value own = n.div(n.dimension(a.out, f32), n.dimension(a.in, f32));
    scale = !scale ? own : smallest ? n.min(scale, own) : n.max(scale, own);
    largest = std::max(largest,
                       static_cast<double>(n.symbols.upper(a.out)) / static_cast<double>(n.symbols.range(a.in).lower));
  }
  for (Axis &a : axes) {
    Value exact = n.cast(n.mul(scale, n.dimension(a.in, f32)), f64);
    Value count = n.cast(n.make<graph::FloorOp>(n.add(exact, f(0.5))), i64);
    double most = std::ceil(largest * static_cast<double>(n.symbols.upper(a.in))) + 1;
    if (!smallest && most > 1e12)
      return n.unsupported("keep_aspect_ratio_policy not_smaller with bounds this wide; narrow them with --dim");
    AffineExpr limit = smallest ? a.out : n.dim(static_cast<int64_t>(most));
    a.common = n.cast(scale, f64);
    a.out = n.dataDependent(n.reshape(count, {n.dim(1)}), limit, 0, a.axis);
  }
  return success();
}

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
    for (auto [axis, size] : llvm::zip(which, *sizes)) {
      if (!n.atLeast(size, 0, "the size of axis " + Twine(axis)))
        return failure();
      axes.push_back({axis, n.type(0).getDim(axis), size, 0});
    }
    return policy == "stretch" ? success() : keepAspectRatio(policy);
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
    AffineExpr in = n.type(0).getDim(axis);
    if (!(scale > 0) || scale > 1 << 20)
      return n.malformed("a scale is not positive");
    AffineExpr out = scaledSize(in, scale);
    if (!out)
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
  Type work = mode == "nearest" ? n.b.getF32Type() : f64;
  auto w = [&](double v) { return n.scalar(work, v); };
  Value i = n.cast(n.iota({a.out}, 0), work);
  Value in = n.dimension(a.in, work), out = n.dimension(a.out, work);
  Value scale = a.common ? n.cast(a.common, work) : a.scale == 0 ? n.div(out, in) : w(a.scale);
  if (transform == "asymmetric")
    return n.div(i, scale);
  if (transform == "half_pixel" || transform == "pytorch_half_pixel") {
    Value position = n.sub(n.div(n.add(i, w(0.5)), scale), w(0.5));
    if (transform == "pytorch_half_pixel") // one element: its coordinate is 0
      position = n.select(n.compare(ComparePredicate::le, out, w(1)), w(0), position);
    return position;
  }
  if (transform == "half_pixel_symmetric") {
    Value exact = n.mul(scale, in); // output's size before rounding
    Value adjustment = n.div(out, exact), centre = n.mul(in, w(0.5));
    Value offset = n.mul(centre, n.sub(w(1), adjustment));
    return n.sub(n.add(n.div(n.add(i, w(0.5)), scale), offset), w(0.5));
  }
  if (transform == "align_corners") {
    // ONNX takes the size before it is rounded down where a scale is given.
    Value exact = a.scale == 0 && !a.common ? out : n.mul(scale, in);
    Value one = n.compare(ComparePredicate::le, out, w(1)); // one element: its coordinate is 0
    Value last = n.select(one, w(1), n.sub(exact, w(1)));
    return n.div(n.mul(i, n.sub(in, w(1))), last);
  }
  if (transform == "tf_half_pixel_for_nn")
    return n.div(n.add(i, w(0.5)), scale);
  if (transform == "tf_crop_and_resize") {
    Value size = n.sub(in, w(1));
    Value one = n.compare(ComparePredicate::le, out, w(1));
    Value steps = n.mul(n.mul(i, w(a.roiEnd - a.roiStart)), size);
    Value many = n.add(n.mul(w(a.roiStart), size), n.div(steps, n.select(one, w(1), n.sub(out, w(1)))));
    return n.select(one, n.mul(w(0.5 * (a.roiStart + a.roiEnd)), size), many);
  }
  return n.unsupported("coordinate_transformation_mode " + transform);
}

Value Resizer::resizeNearest(Value x, const Axis &a, Value at) {
  std::string rounding = n.getString("nearest_mode", "round_prefer_floor");
  if (n.opset < 11 || n.node.opType == "Upsample")
    rounding = "floor";
  at = n.cast(at, f64);
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

Value Resizer::filter(Value distance) {
  Value d = n.make<graph::AbsOp>(distance);
  if (mode != "cubic") // a triangle
    return n.max(n.sub(f(1), d), f(0));
  // Keys' cubic with coefficient A.
  double A = n.getFloat("cubic_coeff_a", -0.75f);
  Value near = n.add(n.mul(n.mul(n.sub(n.mul(d, f(A + 2)), f(A + 3)), d), d), f(1));
  Value far = n.sub(n.mul(n.add(n.mul(n.sub(n.mul(d, f(A)), f(5 * A)), d), f(8 * A)), d), f(4 * A));
  Value outer = n.select(n.compare(ComparePredicate::lt, d, f(2)), far, f(0));
  return n.select(n.compare(ComparePredicate::le, d, f(1)), near, outer);
}

/// A weighted sum of the elements around a coordinate.
LogicalResult Resizer::interpolate(Value &x, const Axis &a, Value at) {
  double reach = mode == "cubic" ? 2 : 1, shrink = 1;
  bool antialias = n.getInt("antialias", 0) != 0, exclude = n.getInt("exclude_outside", 0) != 0;
  Value factor; // what distances shrink by; null: 1
  if (antialias && !a.common && a.scale != 0) {
    shrink = std::min(a.scale, 1.0);
    if (shrink < 1)
      factor = f(shrink);
  } else if (antialias && (a.common || n.symbols.lessEqual(a.in, a.out) != true)) {
    auto ratio = graph::divideExactly(a.in, a.out);
    auto whole = ratio && !a.common ? dyn_cast<AffineConstantExpr>(*ratio) : AffineConstantExpr();
    // The most it may be; elements that are too far away weigh 0.
    shrink = whole ? 1 / static_cast<double>(whole.getValue())
                   : std::min(static_cast<double>(std::max<int64_t>(n.symbols.range(a.out).lower, 1)) /
                                  static_cast<double>(n.symbols.upper(a.in)),
                              1.0);
    Value own = a.common ? a.common : n.div(n.dimension(a.out, f64), n.dimension(a.in, f64));
    factor = n.min(own, f(1));
  }
  bool narrow = !factor;
  auto first = static_cast<int64_t>(std::floor(-reach / shrink)) + 1;
  if (2 - 2 * first > 128)
    return n.unsupported("antialias of dimension " + n.print(a.in) + " to " + n.print(a.out) +
                         ", over more than 128 elements; narrow the bounds with --dim");
  Value low = n.make<graph::FloorOp>(at), fraction = n.sub(at, low), index = n.cast(low, i64);
  SmallVector<Value> indices, weights;
  Value total;
  for (int64_t k = first; k < 2 - first; ++k) {
    indices.push_back(n.add(index, n.scalar(i64, static_cast<double>(k))));
    Value distance = n.sub(f(static_cast<double>(k)), fraction);
    Value weight = filter(narrow ? distance : n.mul(distance, factor));
    if (exclude) {
      Value inside = n.make<graph::AndOp>(n.compare(ComparePredicate::ge, indices.back(), n.scalar(i64, 0)),
                                          n.compare(ComparePredicate::lt, indices.back(), n.dimension(a.in, i64)));
      weight = n.select(inside, weight, f(0));
    }
    weights.push_back(weight);
    total = total ? n.add(total, weight) : weight;
  }
  Value result;
  for (auto [i, weight] : llvm::zip(indices, weights)) {
    Value term = weighted(x, a, i, exclude || !narrow ? n.div(weight, total) : weight);
    result = result ? n.add(result, term) : term;
  }
  x = result;
  return success();
}

LogicalResult Resizer::run() {
  mode = n.getString("mode", "nearest");
  transform = n.getString("coordinate_transformation_mode", "half_pixel");
  if (n.opset < 11 || n.node.opType == "Upsample")
    transform = "asymmetric";
  if (mode != "nearest" && mode != "linear" && mode != "bilinear" && mode != "cubic")
    return n.unsupported("mode " + mode);
  if (mode != "nearest" && graph::isBool(n.element(0)))
    return n.malformed("booleans cannot be interpolated");
  if (failed(readSizes()) || failed(readRoi()))
    return failure();
  Value x = n.in(0);
  Type type = n.element(0);
  // Integers are mixed as floats, and cut off.
  if (mode != "nearest" && graph::isInteger(type))
    x = n.cast(x, n.b.getF32Type());
  for (const Axis &a : axes) {
    bool whole = transform != "tf_crop_and_resize" || (a.roiStart == 0 && a.roiEnd == 1);
    if (whole && !a.common && n.same(a.in, a.out) && (a.scale == 0 || a.scale == 1))
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
    if (mode == "nearest")
      x = resizeNearest(x, a, *at);
    else if (failed(interpolate(x, a, *at)))
      return failure();
    if (transform == "tf_crop_and_resize") { // outside the input: a given value
      Value place = n.cast(*at, f64), last = n.dimension(n.simplify(a.in - 1), f64);
      Value out = n.make<graph::OrOp>(n.compare(ComparePredicate::lt, place, f(0)),
                                      n.compare(ComparePredicate::gt, place, last));
      x = n.select(alongAxis(out, a, n.typeOf(x).getRank()), n.scalarLike(x, n.getFloat("extrapolation_value", 0)), x);
    }
  }
  if (x == n.in(0))
    n.forward(0, 0);
  else
    n.out(0, n.cast(x, type));
  return success();
}

static LogicalResult resize(NodeContext &n) { return Resizer(n).run(); }

void stint::import::addResizes(RuleTable &t) {
  t.add("Resize", 1, resize);
  t.add("Upsample", 1, resize);
}
