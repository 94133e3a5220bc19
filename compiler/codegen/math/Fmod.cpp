// fmod: long division of the mantissas as integers, exact, lane by lane:
// r = mx mod my, then r = (r << s) mod my until the exponents' difference is
// used up. A step takes 40 (f32) or 11 (f64) bits of it.
#include "compiler/codegen/math/Functions.h"
#include "compiler/codegen/math/Math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;

namespace {

/// Scalar arithmetic, mostly i64.
struct Integers {
  OpBuilder &builder;
  Location loc;
  Value constant(int64_t value) { return builder.create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(value)); }
  template <typename Op> Value make(Value x, Value y) { return builder.create<Op>(loc, x, y); }
  Value less(Value x, Value y) { return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y); }
  Value select(Value condition, Value then, Value otherwise) {
    return builder.create<arith::SelectOp>(loc, condition, then, otherwise);
  }
};

/// |x| = mantissa * 2^(exponent - 1) in units of the least denormal.
struct Parts {
  Value mantissa, exponent;
};

} // namespace

static Parts partsOf(Integers &i, Value magnitude, unsigned mantissaBits) {
  Value exponent = i.make<arith::ShRUIOp>(magnitude, i.constant(mantissaBits));
  Value mantissa = i.make<arith::AndIOp>(magnitude, i.constant((int64_t(1) << mantissaBits) - 1));
  Value denormal = i.builder.create<arith::CmpIOp>(i.loc, arith::CmpIPredicate::eq, exponent, i.constant(0));
  Value hidden = i.make<arith::OrIOp>(mantissa, i.constant(int64_t(1) << mantissaBits));
  return {i.select(denormal, mantissa, hidden), i.select(denormal, i.constant(1), exponent)};
}

/// `remainder` * 2^(exponent - 1) units as a float: every product is exact.
static Value floatFrom(Integers &i, Value remainder, Value exponent, Type type) {
  bool is32 = type.isF32();
  Type bitsType = i.builder.getIntegerType(is32 ? 32 : 64);
  auto powerOfTwo = [&](Value power) -> Value {
    Value bits = i.make<arith::AddIOp>(power, i.constant(is32 ? 127 : 1023));
    bits = i.make<arith::ShLIOp>(bits, i.constant(is32 ? 23 : 52));
    if (is32)
      bits = i.builder.create<arith::TruncIOp>(i.loc, bitsType, bits);
    return i.builder.create<arith::BitcastOp>(i.loc, type, bits);
  };
  Value unit = i.builder.create<arith::ConstantOp>(i.loc, i.builder.getFloatAttr(type, is32 ? 0x1p-149 : 0x1p-1074));
  Value value = i.builder.create<arith::SIToFPOp>(i.loc, type, remainder);
  Value power = i.make<arith::SubIOp>(exponent, i.constant(1));
  // In two steps: 2^power alone may be out of range.
  Value half = i.make<arith::ShRUIOp>(power, i.constant(1));
  value = i.make<arith::MulFOp>(value, unit);
  value = i.make<arith::MulFOp>(value, powerOfTwo(half));
  return i.make<arith::MulFOp>(value, powerOfTwo(i.make<arith::SubIOp>(power, half)));
}

/// For finite x and y, y != 0; anything at all, but an end, for others.
static Value fmodScalar(OpBuilder &builder, Location loc, Value x, Value y) {
  bool is32 = x.getType().isF32();
  unsigned mantissaBits = is32 ? 23 : 52;
  Type bitsType = builder.getIntegerType(is32 ? 32 : 64);
  Integers i{builder, loc};
  auto magnitudeOf = [&](Value value) {
    Value bits = builder.create<arith::BitcastOp>(loc, bitsType, value);
    if (is32)
      bits = builder.create<arith::ExtUIOp>(loc, builder.getI64Type(), bits);
    return i.make<arith::AndIOp>(bits, i.constant(is32 ? 0x7fffffff : 0x7fffffffffffffff));
  };
  Parts a = partsOf(i, magnitudeOf(x), mantissaBits), b = partsOf(i, magnitudeOf(y), mantissaBits);
  Value divisor = i.select(i.less(b.mantissa, i.constant(1)), i.constant(1), b.mantissa); // no trap for y = 0
  Value distance = i.make<arith::SubIOp>(a.exponent, b.exponent);
  Value zero = i.constant(0), step = i.constant(is32 ? 40 : 11);
  Value first = i.make<arith::RemUIOp>(a.mantissa, divisor);
  // Bits of the distance that are used up; none if it is negative.
  auto loop = builder.create<scf::ForOp>(
      loc, zero, distance, step, ValueRange{first}, [&](OpBuilder &, Location, Value used, ValueRange state) {
        Value left = i.make<arith::SubIOp>(distance, used);
        Value shift = i.select(i.less(left, step), left, step);
        Value remainder = i.make<arith::RemUIOp>(i.make<arith::ShLIOp>(state[0], shift), divisor);
        builder.create<scf::YieldOp>(loc, remainder);
      });
  return floatFrom(i, loop.getResult(0), b.exponent, x.getType());
}

Value codegen::emitFmod(OpBuilder &builder, Location loc, const target::Variant &variant, Value x, Value y) {
  Value remainder;
  if (auto type = dyn_cast<VectorType>(x.getType())) {
    Value zero = builder.create<arith::ConstantIndexOp>(loc, 0), one = builder.create<arith::ConstantIndexOp>(loc, 1);
    Value count = builder.create<arith::ConstantIndexOp>(loc, type.getNumElements());
    auto lanes = builder.create<scf::ForOp>(
        loc, zero, count, one, ValueRange{x}, [&](OpBuilder &, Location, Value lane, ValueRange state) {
          Value xLane = builder.create<vector::ExtractElementOp>(loc, x, lane);
          Value yLane = builder.create<vector::ExtractElementOp>(loc, y, lane);
          Value r = fmodScalar(builder, loc, xLane, yLane);
          Value next = builder.create<vector::InsertElementOp>(loc, r, state[0], lane);
          builder.create<scf::YieldOp>(loc, next);
        });
    remainder = lanes.getResult(0);
  } else {
    remainder = fmodScalar(builder, loc, x, y);
  }
  math::Arith a(builder, loc, variant, x.getType());
  math::Float u = math::abs(a.wrap(x)), v = math::abs(a.wrap(y)), infinity = a.infinity();
  math::Float result = select(u < v, u, a.wrap(remainder));
  // Infinite x, y = 0 and NaN have no remainder.
  result = select((u < infinity) & (v > 0.0), result, a.nan());
  return math::copySign(result, a.wrap(x)).value;
}
