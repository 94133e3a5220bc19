// sin, cos, tan: x = k pi/2 + r with |r| <= pi/4, then a polynomial in r that
// k's last bits choose. Minimax polynomials as in Exp.cpp.
#include "compiler/codegen/math/Functions.h"
#include "compiler/codegen/math/Reduce.h"

namespace stint::codegen::math {

namespace {
struct SinCos {
  Float sin, cos;
};
} // namespace

/// On [-pi/4, pi/4], 2^-27.9 and 2^-33 (f32), 2^-57.8 and 2^-63.9 (f64).
static SinCos sinCos(const Reduced &x) {
  Float r = x.r, z = r * r;
  if (r.a->is32) {
    Float s = polynomial(z, {-0.166666552, 0.00833218917, -0.000195182889});
    Float c = polynomial(z, {0.0416666456, -0.00138873095, 2.44323273e-05});
    return {fma(r * z, s, r), fma(z * z, c, fma(z, -0.5, 1.0))};
  }
  Float s = polynomial(z, {-0.1666666666666663, 0.00833333333332184, -0.00019841269829359704, 2.755731353968878e-06,
                           -2.50507348092952e-08, 1.5895477501081854e-10});
  Float c = polynomial(z, {0.041666666666666595, -0.0013888888888873338, 2.4801587288997336e-05,
                           -2.7557314215197125e-07, 2.0875705092133037e-09, -1.1358731041308717e-11});
  Float half = z * 0.5, w = 1.0 - half;
  Float sine = r + fma(r * z, s, x.low * w);
  Float cosine = w + (((1.0 - w) - half) + (z * z * c - r * x.low));
  return {sine, cosine};
}

/// Quadrant's last bit set.
static Bool isOdd(Int k) { return !isZero(k & 1); }
/// Quadrant's second bit as a sign.
static Int signOf(Int k) { return (k << (k.a->bits() - 2)) & k.a->signBit(); }

Float sin(Float x) {
  const Arith &a = *x.a;
  Reduced reduced = reduce(abs(x));
  SinCos both = sinCos(reduced);
  Float result = select(isOdd(reduced.k), both.cos, both.sin);
  return floatOf(bitsOf(result) ^ signOf(reduced.k) ^ (bitsOf(x) & a.signBit()));
}

Float cos(Float x) {
  Reduced reduced = reduce(abs(x));
  SinCos both = sinCos(reduced);
  Float result = select(isOdd(reduced.k), both.sin, both.cos);
  return floatOf(bitsOf(result) ^ signOf(reduced.k + 1));
}

/// tan(r) = t + low on [-pi/4, pi/4], 2^-29.5 and 2^-58.7; cotangents where k
/// is odd.
Float tan(Float x) {
  const Arith &a = *x.a;
  Reduced reduced = reduce(abs(x));
  Float r = reduced.r, z = r * r;
  Float tail = a.is32 ? polynomial(z, {0.333333492, 0.133326754, 0.0540589131, 0.0212862063, 0.0108274529,
                                       9.81762932e-05, 0.00437279977})
                      : polynomial(z, {0.33333333333333376, 0.13333333333326075, 0.05396825397254101,
                                       0.021869488408656837, 0.008863237777044586, 0.0035921023603155892,
                                       0.0014560352133207136, 0.0005889155700236416, 0.00024357073055606657,
                                       8.401813962440761e-05, 6.638723139284678e-05, -2.4577725728746746e-05,
                                       4.7752627707974174e-05, -2.383507430235915e-05, 9.701013047944377e-06});
  Float rest = (r * z) * tail;
  rest = a.is32 ? rest + reduced.low : fma(reduced.low, z + 1.0, rest);
  Double t = exactSumOrdered(r, rest);
  Float q = -1.0 / t.high;
  Float cotangent = fma(q * q, t.low, q);
  Float result = select(isOdd(reduced.k), cotangent, t.high);
  return floatOf(bitsOf(result) ^ (bitsOf(x) & a.signBit()));
}

} // namespace stint::codegen::math
