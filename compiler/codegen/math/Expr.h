// Internal to codegen/math: formulas over an MLIR builder. `a * b + 1.0` on
// Float emits the operations, on scalars and vectors alike; numbers become
// constants of the operands' type.
//
// An Arith holds what all values of one formula share: the builder and one
// floating point type, f32 or f64, scalar or vector. Int has as many bits.
#ifndef STINT_COMPILER_CODEGEN_MATH_EXPR_H
#define STINT_COMPILER_CODEGEN_MATH_EXPR_H

#include "compiler/target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <initializer_list>

namespace stint::codegen::math {

class Arith;

/// The result of a comparison, lane by lane.
struct Bool {
  const Arith *a;
  mlir::Value value;
};

/// Integers of the width of the floats; arithmetic wraps.
struct Int {
  const Arith *a;
  mlir::Value value;
};

struct Float {
  const Arith *a;
  mlir::Value value;
};

class Arith {
public:
  Arith(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant, mlir::Type type);

  Float wrap(mlir::Value value) const { return {this, value}; }
  /// A constant, rounded to the type.
  Float number(double value) const;
  Int integer(uint64_t value) const;
  /// Bits of the type: 32 or 64; bits of its mantissa as stored: 23 or 52.
  unsigned bits() const { return is32 ? 32 : 64; }
  unsigned mantissaBits() const { return is32 ? 23 : 52; }
  uint64_t signBit() const { return uint64_t(1) << (bits() - 1); }
  /// `bits` as a number: exact powers of two and infinities.
  Float fromBits(uint64_t bits) const;
  Float infinity() const { return fromBits(is32 ? 0x7f800000u : 0x7ff0000000000000u); }
  Float nan() const { return fromBits(is32 ? 0x7fc00000u : 0x7ff8000000000000u); }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const target::Variant &variant;
  mlir::Type floatType, intType;
  bool is32;

private:
  mlir::Value constant(mlir::Type type, mlir::TypedAttr element) const;
};

Float operator+(Float x, Float y);
Float operator-(Float x, Float y);
Float operator*(Float x, Float y);
Float operator/(Float x, Float y);
Float operator-(Float x);
inline Float operator+(Float x, double y) { return x + x.a->number(y); }
inline Float operator-(Float x, double y) { return x - x.a->number(y); }
inline Float operator-(double x, Float y) { return y.a->number(x) - y; }
inline Float operator*(Float x, double y) { return x * x.a->number(y); }
inline Float operator/(double x, Float y) { return y.a->number(x) / y; }

/// x * y + z: one rounding where the variant has the instruction, else two.
Float fma(Float x, Float y, Float z);
inline Float fma(Float x, double y, Float z) { return fma(x, x.a->number(y), z); }
inline Float fma(Float x, Float y, double z) { return fma(x, y, x.a->number(z)); }
inline Float fma(Float x, double y, double z) { return fma(x, x.a->number(y), x.a->number(z)); }
Float abs(Float x);
Float sqrt(Float x);
/// `magnitude` with the sign of `sign`.
Float copySign(Float magnitude, Float sign);
/// The smaller of both; `x` if it is NaN. `bound` is not NaN.
Float atMost(Float x, double bound);
Float atLeast(Float x, double bound);
/// c[0] + c[1] x + c[2] x² ...
Float polynomial(Float x, std::initializer_list<double> c);
/// Nearest integer to x (ties to even) as a float, for |x| below 2^22 or 2^51.
Float roundSmall(Float x);

/// Comparisons are false if an operand is NaN, except notEqual.
Bool operator<(Float x, Float y);
Bool operator>(Float x, Float y);
Bool operator>=(Float x, Float y);
Bool equal(Float x, Float y);
Bool notEqual(Float x, Float y);
inline Bool operator<(Float x, double y) { return x < x.a->number(y); }
inline Bool operator>(Float x, double y) { return x > x.a->number(y); }
inline Bool operator>=(Float x, double y) { return x >= x.a->number(y); }
inline Bool equal(Float x, double y) { return equal(x, x.a->number(y)); }
Bool isNan(Float x);
Bool operator&(Bool x, Bool y);
Bool operator|(Bool x, Bool y);
Bool operator!(Bool x);

Float select(Bool condition, Float then, Float otherwise);
Int select(Bool condition, Int then, Int otherwise);
inline Float select(Bool condition, Float then, double otherwise) {
  return select(condition, then, then.a->number(otherwise));
}
inline Float select(Bool condition, double then, Float otherwise) {
  return select(condition, otherwise.a->number(then), otherwise);
}

Int bitsOf(Float x);
Float floatOf(Int bits);
Int operator+(Int x, Int y);
Int operator-(Int x, Int y);
Int operator&(Int x, Int y);
Int operator|(Int x, Int y);
Int operator^(Int x, Int y);
inline Int operator+(Int x, uint64_t y) { return x + x.a->integer(y); }
inline Int operator-(Int x, uint64_t y) { return x - x.a->integer(y); }
inline Int operator&(Int x, uint64_t y) { return x & x.a->integer(y); }
inline Int operator|(Int x, uint64_t y) { return x | x.a->integer(y); }
Int operator<<(Int x, unsigned count);
/// Zeros come in from the left.
Int operator>>(Int x, unsigned count);
Bool isZero(Int x);

/// 2 to the power of the integer that `roundedBits` holds in its low bits,
/// which carry the exponent's bias already.
inline Float powerOfTwo(Int roundedBits) { return floatOf(roundedBits << roundedBits.a->mantissaBits()); }

/// A value of `from`'s formula in `to`'s type: f32 to f64 or back.
Float convert(Float x, const Arith &to);
/// The type with f64 (f32) elements and the shape of `type`.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// An exact sum or product: high + low, |low| at most half a unit of high.
struct Double {
  Float high, low;
};
/// x + y exactly, for any x and y whose sum is finite.
Double exactSum(Float x, Float y);
/// The same where |x| >= |y| or x is 0.
Double exactSumOrdered(Float x, Float y);
/// x * y exactly, unless parts of it underflow.
Double exactProduct(Float x, Float y);

} // namespace stint::codegen::math

#endif
