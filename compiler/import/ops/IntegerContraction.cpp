// Matrix products and convolutions of quantised integers: exact sums of i32,
// scaled and rounded where the result is quantised again.
#include "compiler/import/ops/Contractions.h"
#include "compiler/import/ops/Quantisation.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;

/// Operand `input` minus its zero point, operand `zero` if there is one, as
/// i32. A vector of zero points has one value per slice of `axis`.
static FailureOr<Value> centred(NodeContext &n, size_t input, size_t zero, int64_t axis) {
  Type i32 = n.b.getI32Type();
  if (!graph::isInteger(n.element(input)))
    return n.malformed("operand " + Twine(input) + " must hold integers");
  Value x = n.cast(n.in(input), i32);
  if (!n.has(zero))
    return x;
  Value point = n.cast(n.in(zero), i32);
  if (n.rank(zero) == 1 && n.type(zero).getDim(0) == 1) {
    point = n.reshape(point, {});
  } else if (n.rank(zero) == 1) {
    if (axis < 0 || axis >= n.rank(input))
      return n.malformed("zero points per slice of a dimension that operand " + Twine(input) + " lacks");
    SmallVector<AffineExpr> shape(n.rank(input) - axis, n.dim(1));
    shape[0] = n.type(zero).getDim(0);
    point = n.reshape(point, shape);
  }
  SmallVector<Value> v = {x, point};
  if (failed(n.unify(v)))
    return failure();
  Value result = n.sub(v[0], v[1]);
  if (n.typeOf(result).getRank() != n.rank(input))
    return n.malformed("the zero point has more dimensions than its operand");
  return result;
}

/// A scale shaped to broadcast along `axis` of a rank-`rank` result.
static FailureOr<Value> scale(NodeContext &n, size_t input, int64_t axis, int64_t rank) {
  Value v = n.cast(n.in(input), n.b.getF32Type());
  if (n.rank(input) == 0 || (n.rank(input) == 1 && n.type(input).getDim(0) == 1))
    return n.reshape(v, {});
  if (n.rank(input) != 1)
    return v;
  if (axis < 0 || axis >= rank)
    return n.malformed("scales per slice of a dimension that the result lacks");
  SmallVector<AffineExpr> shape(rank - axis, n.dim(1));
  shape[0] = n.type(input).getDim(0);
  return n.reshape(v, shape);
}

static LogicalResult matMulInteger(NodeContext &n) {
  auto a = centred(n, 0, 2, n.rank(0) - 2), b = centred(n, 1, 3, n.rank(1) - 1);
  if (failed(a) || failed(b))
    return failure();
  auto result = matmul(n, *a, *b);
  if (failed(result))
    return failure();
  n.out(0, *result);
  return success();
}

static LogicalResult convInteger(NodeContext &n) {
  auto x = centred(n, 0, 2, -1), w = centred(n, 1, 3, 0);
  if (failed(x) || failed(w))
    return failure();
  auto result = convolve(n, *x, *w);
  if (failed(result))
    return failure();
  n.out(0, *result);
  return success();
}

/// `sum` · scaleA · scaleB / scaleY, rounded and shifted by the zero point of
/// Y. Scales of A and B run along `axisA` and `axisB` of the result.
static LogicalResult requantise(NodeContext &n, Value sum, size_t scaleA, size_t scaleB, size_t scaleY, int64_t axisA,
                                int64_t axisB) {
  int64_t rank = n.typeOf(sum).getRank();
  auto a = scale(n, scaleA, axisA, rank), b = scale(n, scaleB, axisB, rank), y = scale(n, scaleY, axisA, rank);
  if (failed(a) || failed(b) || failed(y))
    return failure();
  SmallVector<Value> v = {n.cast(sum, n.b.getF32Type()), *a, *b, *y};
  if (failed(n.unify(v)))
    return failure();
  Value scaled = n.mul(v[0], n.div(n.mul(v[1], v[2]), v[3]));
  auto zero = scale(n, scaleY + 1, axisA, rank);
  if (failed(zero))
    return failure();
  Type type = n.element(scaleY + 1);
  if (!graph::isInteger(type) || type.getIntOrFloatBitWidth() > 16)
    return n.unsupported("this result type");
  n.out(0, quantise(n, scaled, *zero, type));
  return success();
}

/// Operands: A, its scale, its zero point, the same of B, then of Y.
static LogicalResult qLinearMatMul(NodeContext &n) {
  auto a = centred(n, 0, 2, n.rank(0) - 2), b = centred(n, 3, 5, n.rank(3) - 1);
  if (failed(a) || failed(b))
    return failure();
  auto sum = matmul(n, *a, *b);
  if (failed(sum))
    return failure();
  int64_t rank = n.typeOf(*sum).getRank();
  return requantise(n, *sum, 1, 4, 6, rank - 2, rank - 1);
}

static LogicalResult qLinearConv(NodeContext &n) {
  auto x = centred(n, 0, 2, -1), w = centred(n, 3, 5, 0);
  if (failed(x) || failed(w))
    return failure();
  auto sum = convolve(n, *x, *w);
  if (failed(sum))
    return failure();
  if (n.has(8)) { // i32, of scale x·w
    if (n.rank(8) != 1 || !n.element(8).isSignlessInteger(32))
      return n.malformed("the bias must be a vector of i32");
    SmallVector<AffineExpr> shape(n.typeOf(*sum).getRank() - 1, n.dim(1));
    shape[0] = n.type(8).getDim(0);
    SmallVector<Value> v = {*sum, n.reshape(n.in(8), shape)};
    if (failed(n.unify(v)))
      return failure();
    sum = n.add(v[0], v[1]);
  }
  return requantise(n, *sum, 1, 4, 6, -1, 1);
}

void stint::import::addIntegerContractions(RuleTable &t) {
  t.add("MatMulInteger", 2, matMulInteger);
  t.add("ConvInteger", 2, convInteger);
  t.add("QLinearMatMul", 8, qLinearMatMul);
  t.add("QLinearConv", 8, qLinearConv);
}
