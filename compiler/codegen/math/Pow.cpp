// pow: exp(y log|x|), with log|x| to about 2^-66 of its value in two parts,
// since errors of the product are relative errors of the result. The f32
// version computes in f64, where plain logarithms do. Special cases are C's.
#include "compiler/codegen/math/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace stint::codegen::math {

/// log of positive finite x in two parts, f64: x = 2^e m, s = (m-1) / (m+1),
/// log(m) = 2s + s (2/3 s² + s⁴ P(s²)); every term above s⁵ in two parts.
/// Minimax on |s| <= (sqrt2 - 1)², 2^-73, as in Exp.cpp.
static Double logInParts(Float x) {
  const Arith &a = *x.a;
  const uint64_t root = 0x3fe6a09e667f3bcdu, one = 0x3ff0000000000000u;
  Bool tiny = x < a.fromBits(0x0010000000000000u);
  x = select(tiny, x * 0x1p52, x);
  Int bits = bitsOf(x) + (one - root);
  Float e = floatOf((bits >> 52) | 0x4330000000000000u) - select(tiny, 0x1p52 + 1023 + 52, a.number(0x1p52 + 1023));
  Float m = floatOf((bits & 0x000fffffffffffffu) + root);

  Float f = m - 1.0, d = m + 1.0, dLow = m - (d - 1.0);
  Float s = f / d;
  Double back = exactProduct(s, d);
  Float sLow = ((f - back.high) - back.low - s * dLow) / d;

  Double z = exactProduct(s, s);
  Float zLow = fma(s + s, sLow, z.low);
  Float p = polynomial(z.high, {0.3999999999999998, 0.2857142857144384, 0.22222222217789603, 0.18181818844029007,
                                0.15384558424833342, 0.1333626468250428, 0.11675776597556117, 0.11981784511090508});
  const double third = 0x1.5555555555555p-1, thirdLow = 0x1.5555555555555p-55;
  Double t = exactProduct(z.high, a.number(third));
  Float tLow = t.low + fma(z.high, thirdLow, fma(zLow, third, z.high * z.high * p));
  t = exactSumOrdered(t.high, tLow);
  Double u = exactProduct(s, t.high);
  Float uLow = u.low + fma(s, t.low, sLow * t.high);

  Double sum = exactSumOrdered(s + s, u.high);
  Float low = sum.low + fma(sLow, 2.0, uLow);
  Double all = exactSum(e * 0x1.62e42fefa38p-1, sum.high);
  low = all.low + fma(e, 0x1.ef35793c7673p-45, low);
  return exactSumOrdered(all.high, low);
}

static Float powWide(Float x, Float y, bool accurate) {
  const Arith &a = *x.a;
  Float u = abs(x), infinity = a.infinity();
  Bool ordinary = (u > 0.0) & (u < infinity);
  Float product = y, low = a.number(0.0);
  if (accurate) {
    Double l = logInParts(u);
    // log(0) and log(infinity) have no parts.
    Float high = select(ordinary, l.high, select(equal(u, 0.0), -infinity, u));
    Double parts = exactProduct(y, high);
    product = parts.high;
    // Nothing to correct where the result is 0 or infinite anyway, or 1.
    low = select(abs(product) < 0x1p10, fma(y, l.low, parts.low), 0.0);
    low = select(abs(product) > 0x1p-100, low, 0.0);
  } else {
    product = y * log(u);
  }
  product = select(equal(u, 1.0) | equal(y, 0.0), 0.0, product);
  Float magnitude = accurate ? expOfSum(product, low) : exp(product);

  // Beyond 2^53 all numbers are even integers.
  const double two52 = 0x1p52;
  Float v = abs(y), half = v * 0.5;
  Bool isInteger = (v >= two52) | equal((v + two52) - two52, v);
  Bool isOdd = isInteger & (v < 0x1p53) & notEqual((half + two52) - two52, half);
  Bool negative = !isZero(bitsOf(x) & a.signBit());
  Float result = select(negative & isOdd, -magnitude, magnitude);
  result = select((x < 0.0) & !isInteger & (u < infinity), a.nan(), result);
  // x to the 0 and 1 to the y are 1 even for NaN.
  result = select(isNan(x) | isNan(y), x + y, result);
  return select(equal(y, 0.0) | equal(x, 1.0), 1.0, result);
}

Float pow(Float x, Float y) {
  const Arith &a = *x.a;
  if (!a.is32)
    return powWide(x, y, /*accurate=*/true);
  mlir::OpBuilder &builder = a.builder;
  Arith wide(builder, a.loc, a.variant, withElement(a.floatType, builder.getF64Type()));
  return convert(powWide(convert(x, wide), convert(y, wide), /*accurate=*/false), a);
}

} // namespace stint::codegen::math
