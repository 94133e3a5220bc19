// fmod: long division of the mantissas as integers, exact, lane by lane:
// r = mx mod my, then r = (r << s) mod my until the exponents' difference is
// used up. A step takes 40 (f32) or 11 (f64) bits of it.
#include "compiler/codegen/math/Functions.h"
#include "compiler/codegen/math/Math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;

namespace {

/// Scalar i64 arithmetic.
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

/// `remainder` * 2^(exponent - 1) units as a float's bits; remainder has at
/// most mantissaBits + 1 bits.
static Value bitsFrom(Integers &i, Value remainder, Value exponent, unsigned mantissaBits) {
  // Shift left until the hidden bit is there, or the exponent is 1.
  Value leading = i.builder.create<LLVM::CountLeadingZerosOp>(i.loc, i.builder.getI64Type(), remainder, false);
  Value wanted = i.make<arith::SubIOp>(leading, i.constant(63 - mantissaBits));
  Value most = i.make<arith::SubIOp>(exponent, i.constant(1));
  Value shift = i.select(i.less(wanted, most), wanted, most);
  // Adding leaves the hidden bit as the exponent's last.
  Value field = i.make<arith::ShLIOp>(i.make<arith::SubIOp>(most, shift), i.constant(mantissaBits));
  Value zero = i.constant(0);
  Value isZero = i.builder.create<arith::CmpIOp>(i.loc, arith::CmpIPredicate::eq, remainder, zero);
  return i.select(isZero, zero, i.make<arith::AddIOp>(field, i.make<arith::ShLIOp>(remainder, shift)));
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
  Value divisor = i.make<arith::MaxUIOp>(b.mantissa, i.constant(1)); // no trap for y = 0
  Value distance = i.make<arith::SubIOp>(a.exponent, b.exponent);
  Value zero = i.constant(0), step = i.constant(is32 ? 40 : 11);
  Value first = i.make<arith::RemUIOp>(a.mantissa, divisor);
  auto loop = builder.create<scf::WhileOp>(
      loc, TypeRange{builder.getI64Type(), builder.getI64Type()}, ValueRange{first, distance},
      [&](OpBuilder &, Location, ValueRange state) {
        builder.create<scf::ConditionOp>(loc, i.less(zero, state[1]), state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value shift = i.select(i.less(state[1], step), state[1], step);
        Value remainder = i.make<arith::RemUIOp>(i.make<arith::ShLIOp>(state[0], shift), divisor);
        builder.create<scf::YieldOp>(loc, ValueRange{remainder, i.make<arith::SubIOp>(state[1], shift)});
      });
  Value bits = bitsFrom(i, loop.getResult(0), b.exponent, mantissaBits);
  if (is32)
    bits = builder.create<arith::TruncIOp>(loc, bitsType, bits);
  return builder.create<arith::BitcastOp>(loc, x.getType(), bits);
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
