// The operations behind Expr.h.
#include "compiler/codegen/math/Expr.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cstring>

using namespace mlir;

namespace stint::codegen::math {

Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

Arith::Arith(OpBuilder &builder, Location loc, const target::Variant &variant, Type type)
    : builder(builder), loc(loc), variant(variant), floatType(type), is32(getElementTypeOrSelf(type).isF32()) {
  assert((is32 || getElementTypeOrSelf(type).isF64()) && "math is for f32 and f64");
  intType = withElement(type, builder.getIntegerType(is32 ? 32 : 64));
}

Value Arith::constant(Type type, TypedAttr element) const {
  if (auto vector = dyn_cast<VectorType>(type))
    return builder.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vector, element));
  return builder.create<arith::ConstantOp>(loc, element);
}

Float Arith::number(double value) const {
  return wrap(constant(floatType, builder.getFloatAttr(getElementTypeOrSelf(floatType), value)));
}

Int Arith::integer(uint64_t value) const {
  APInt narrow(bits(), value & (is32 ? 0xffffffffu : ~uint64_t(0)));
  return {this, constant(intType, builder.getIntegerAttr(getElementTypeOrSelf(intType), narrow))};
}

Float Arith::fromBits(uint64_t pattern) const {
  Type element = getElementTypeOrSelf(floatType);
  APFloat value(cast<FloatType>(element).getFloatSemantics(), APInt(bits(), pattern));
  return wrap(constant(floatType, builder.getFloatAttr(element, value)));
}

template <typename Op, typename T> static T binary(T x, T y) {
  return {x.a, x.a->builder.template create<Op>(x.a->loc, x.value, y.value)};
}

Float operator+(Float x, Float y) { return binary<arith::AddFOp>(x, y); }
Float operator-(Float x, Float y) { return binary<arith::SubFOp>(x, y); }
Float operator*(Float x, Float y) { return binary<arith::MulFOp>(x, y); }
Float operator/(Float x, Float y) { return binary<arith::DivFOp>(x, y); }
Float operator-(Float x) { return x.a->wrap(x.a->builder.create<arith::NegFOp>(x.a->loc, x.value)); }

Float fma(Float x, Float y, Float z) {
  if (!x.a->variant.hasFma)
    return x * y + z;
  return x.a->wrap(x.a->builder.create<LLVM::FMAOp>(x.a->loc, x.value, y.value, z.value));
}
Float abs(Float x) { return x.a->wrap(x.a->builder.create<LLVM::FAbsOp>(x.a->loc, x.value)); }
Float sqrt(Float x) { return x.a->wrap(x.a->builder.create<LLVM::SqrtOp>(x.a->loc, x.value)); }
Float copySign(Float magnitude, Float sign) {
  return magnitude.a->wrap(
      magnitude.a->builder.create<LLVM::CopySignOp>(magnitude.a->loc, magnitude.value, sign.value));
}

// On x86 these are one minps (maxps), which takes its second operand if one
// is NaN; on AArch64 one fmin (fmax), which gives NaN.
Float atMost(Float x, double bound) {
  if (x.a->variant.machine == target::Machine::aarch64)
    return binary<arith::MinimumFOp>(x, x.a->number(bound));
  return select(x > bound, bound, x);
}
Float atLeast(Float x, double bound) {
  if (x.a->variant.machine == target::Machine::aarch64)
    return binary<arith::MaximumFOp>(x, x.a->number(bound));
  return select(x < bound, bound, x);
}

Float polynomial(Float x, std::initializer_list<double> c) {
  assert(c.size() > 1);
  const double *next = c.end() - 1;
  Float sum = x.a->number(*next);
  while (next != c.begin())
    sum = fma(sum, x, *--next);
  return sum;
}

Float roundSmall(Float x) {
  double magic = x.a->is32 ? 0x1.8p23 : 0x1.8p52;
  return (x + magic) - magic;
}

static Bool compare(arith::CmpFPredicate predicate, Float x, Float y) {
  return {x.a, x.a->builder.create<arith::CmpFOp>(x.a->loc, predicate, x.value, y.value)};
}
Bool operator<(Float x, Float y) { return compare(arith::CmpFPredicate::OLT, x, y); }
Bool operator>(Float x, Float y) { return compare(arith::CmpFPredicate::OGT, x, y); }
Bool operator>=(Float x, Float y) { return compare(arith::CmpFPredicate::OGE, x, y); }
Bool equal(Float x, Float y) { return compare(arith::CmpFPredicate::OEQ, x, y); }
Bool notEqual(Float x, Float y) { return compare(arith::CmpFPredicate::UNE, x, y); }
Bool isNan(Float x) { return compare(arith::CmpFPredicate::UNO, x, x); }
Bool operator&(Bool x, Bool y) { return binary<arith::AndIOp>(x, y); }
Bool operator|(Bool x, Bool y) { return binary<arith::OrIOp>(x, y); }
Bool operator!(Bool x) {
  OpBuilder &builder = x.a->builder;
  TypedAttr one = builder.getBoolAttr(true);
  if (auto vector = dyn_cast<VectorType>(x.value.getType()))
    one = DenseElementsAttr::get(vector, true);
  return {x.a, builder.create<arith::XOrIOp>(x.a->loc, x.value, builder.create<arith::ConstantOp>(x.a->loc, one))};
}

Float select(Bool condition, Float then, Float otherwise) {
  const Arith &a = *then.a;
  return a.wrap(a.builder.create<arith::SelectOp>(a.loc, condition.value, then.value, otherwise.value));
}
Int select(Bool condition, Int then, Int otherwise) {
  const Arith &a = *then.a;
  return {&a, a.builder.create<arith::SelectOp>(a.loc, condition.value, then.value, otherwise.value)};
}

Int bitsOf(Float x) { return {x.a, x.a->builder.create<arith::BitcastOp>(x.a->loc, x.a->intType, x.value)}; }
Float floatOf(Int x) { return x.a->wrap(x.a->builder.create<arith::BitcastOp>(x.a->loc, x.a->floatType, x.value)); }
Int operator+(Int x, Int y) { return binary<arith::AddIOp>(x, y); }
Int operator-(Int x, Int y) { return binary<arith::SubIOp>(x, y); }
Int operator&(Int x, Int y) { return binary<arith::AndIOp>(x, y); }
Int operator|(Int x, Int y) { return binary<arith::OrIOp>(x, y); }
Int operator^(Int x, Int y) { return binary<arith::XOrIOp>(x, y); }
Int operator<<(Int x, unsigned count) { return binary<arith::ShLIOp>(x, x.a->integer(count)); }
Int operator>>(Int x, unsigned count) { return binary<arith::ShRUIOp>(x, x.a->integer(count)); }
Bool isZero(Int x) {
  const Arith &a = *x.a;
  return {&a, a.builder.create<arith::CmpIOp>(a.loc, arith::CmpIPredicate::eq, x.value, a.integer(0).value)};
}

Float convert(Float x, const Arith &to) {
  if (x.a->is32 == to.is32)
    return to.wrap(x.value);
  if (to.is32)
    return to.wrap(to.builder.create<arith::TruncFOp>(to.loc, to.floatType, x.value));
  return to.wrap(to.builder.create<arith::ExtFOp>(to.loc, to.floatType, x.value));
}

Double exactSum(Float x, Float y) { // Knuth
  Float sum = x + y;
  Float back = sum - x;
  return {sum, (x - (sum - back)) + (y - back)};
}

Double exactSumOrdered(Float x, Float y) { // Dekker
  Float sum = x + y;
  return {sum, y - (sum - x)};
}

Double exactProduct(Float x, Float y) {
  Float product = x * y;
  if (x.a->variant.hasFma)
    return {product, fma(x, y, -product)};
  // Halves of at most 26 and 27 (12 and 12) bits, whose products are exact.
  uint64_t mask = ~((uint64_t(1) << (x.a->is32 ? 12 : 27)) - 1);
  Float xHigh = floatOf(bitsOf(x) & mask), yHigh = floatOf(bitsOf(y) & mask);
  Float xLow = x - xHigh, yLow = y - yHigh;
  Float error = (xHigh * yHigh - product) + xHigh * yLow + xLow * yHigh;
  return {product, error + xLow * yLow};
}

} // namespace stint::codegen::math
