// Linear quantisation as plain arithmetic.
#include "compiler/import/ops/Quantisation.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;
using graph::ReduceKind;

/// A scale or zero point of every block of `block` elements along an axis,
/// repeated: [.., blocks, ..] -> [.., blocks, block, ..] -> [.., size, ..].
static FailureOr<Value> blockParameter(NodeContext &n, size_t input, int64_t axis, int64_t block) {
  if (n.rank(input) != n.rank(0) || n.rank(0) == GraphTensorType::kMaxRank)
    return n.malformed("block-wise scales and zero points must have the input's rank, at most 7");
  SmallVector<AffineExpr> whole(n.type(0).getShape()), own = whole, split;
  AffineExpr size = whole[axis];
  own[axis] = n.simplify(size.ceilDiv(block));
  for (auto [wanted, d] : llvm::zip(own, n.type(input).getShape()))
    if (!n.assumeEqual(wanted, d))
      return n.malformed("scale or zero point has " + n.print(d) + " values where " + n.print(wanted) +
                         " blocks of the input are");
  split = own;
  split.insert(split.begin() + axis + 1, n.dim(1));
  Value v = n.reshape(n.in(input), split);
  split[axis + 1] = n.dim(block);
  own[axis] = n.simplify(own[axis] * block);
  v = n.reshape(n.broadcast(v, split), own);
  SmallVector<AffineExpr> starts(n.rank(0), n.dim(0));
  return n.same(own[axis], size) ? n.reshape(v, whole) : n.slice(v, starts, whole); // the last block may be short
}

/// A scale or zero point shaped to broadcast along `axis`.
static FailureOr<Value> parameter(NodeContext &n, size_t input) {
  int64_t block = n.getInt("block_size", 0);
  if (n.rank(input) == 0)
    return n.in(input);
  if (n.rank(input) == 1 && n.type(input).getDim(0) == 1 && block == 0)
    return n.reshape(n.in(input), {});
  auto axis = n.axis(n.getInt("axis", 1), n.rank(0));
  if (failed(axis))
    return failure();
  if (block < 0 || block > int64_t(1) << 40)
    return n.malformed("block_size is out of range");
  if (block > 0)
    return blockParameter(n, input, *axis, block);
  if (n.rank(input) != 1)
    return n.malformed("scale or zero point must be one number or a list; blocks need block_size");
  if (!n.assumeEqual(n.type(input).getDim(0), n.type(0).getDim(*axis)))
    return n.malformed("scale or zero point has not one value per slice of the axis");
  SmallVector<AffineExpr> shape(n.rank(0), n.dim(1));
  shape[*axis] = n.type(0).getDim(*axis);
  return n.reshape(n.in(input), shape);
}

static LogicalResult dequantizeLinear(NodeContext &n) {
  auto scale = parameter(n, 1);
  if (failed(scale))
    return failure();
  if (!graph::isInteger(n.element(0)))
    return n.unsupported("this element type");
  Type f32 = n.b.getF32Type();
  Value x = n.cast(n.in(0), n.b.getI32Type());
  if (n.has(2)) {
    auto zero = parameter(n, 2);
    if (failed(zero))
      return failure();
    x = n.sub(x, n.cast(*zero, n.b.getI32Type()));
  }
  Type type = n.element(1);
  n.out(0, n.cast(n.mul(n.cast(x, f32), n.cast(*scale, f32)), type));
  return success();
}

Value stint::import::quantise(NodeContext &n, Value scaled, Value zero, Type type) {
  Value rounded = n.make<graph::RoundOp>(scaled);
  if (zero)
    rounded = n.add(rounded, n.cast(zero, n.typeOf(rounded).getElementType()));
  int64_t width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger();
  double low = isUnsigned ? 0 : -static_cast<double>(int64_t(1) << (width - 1));
  double high = static_cast<double>((int64_t(1) << (isUnsigned ? width : width - 1)) - 1);
  Value clamped = n.min(n.max(rounded, n.scalarLike(rounded, low)), n.scalarLike(rounded, high));
  return n.cast(clamped, type);
}

static LogicalResult quantizeLinear(NodeContext &n) {
  auto scale = parameter(n, 1);
  if (failed(scale))
    return failure();
  Type type = n.has(2) ? n.element(2) : Type(n.b.getIntegerType(8, /*isSigned=*/false));
  if (int64_t given = n.getInt("output_dtype", 0); given && !n.has(2))
    type = elementTypeOf(static_cast<DataType>(given), n.context());
  if (!type || !graph::isInteger(type) || type.getIntOrFloatBitWidth() > 16)
    return n.unsupported("this result type");
  Value zero;
  if (n.has(2)) {
    auto value = parameter(n, 2);
    if (failed(value))
      return failure();
    zero = *value;
  }
  Type f32 = n.b.getF32Type();
  n.out(0, quantise(n, n.div(n.cast(n.in(0), f32), n.cast(*scale, f32)), zero, type));
  return success();
}

static LogicalResult dynamicQuantizeLinear(NodeContext &n) {
  Value x = n.in(0), none = n.scalarLike(x, 0);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0)));
  Value high = n.max(n.reshape(n.reduce(ReduceKind::max, x, axes), {}), none);
  Value low = n.min(n.reshape(n.reduce(ReduceKind::min, x, axes), {}), none);
  Value scale = n.div(n.sub(high, low), n.scalarLike(x, 255));
  Type u8 = n.b.getIntegerType(8, /*isSigned=*/false);
  Value zero = quantise(n, n.div(n.make<graph::NegOp>(low), scale), Value(), u8);
  n.out(0, quantise(n, n.div(x, scale), zero, u8));
  n.out(1, scale);
  n.out(2, zero);
  return success();
}

void stint::import::addQuantisations(RuleTable &t) {
  t.add("DequantizeLinear", 2, dequantizeLinear);
  t.add("QuantizeLinear", 2, quantizeLinear);
  t.add("DynamicQuantizeLinear", 1, dynamicQuantizeLinear);
}
