// asin, acos, atan: a polynomial on a short interval and an identity that
// leads there. Minimax polynomials as in Exp.cpp.
#include "compiler/codegen/math/Functions.h"

namespace stint::codegen::math {

/// (asin(s)/s - 1) / z for s² = z, on [0, 1/4], 2^-27.6 and 2^-58.
static Float asinTail(Float z) {
  if (z.a->is32)
    return polynomial(z, {0.166667521, 0.0749530643, 0.0454697944, 0.0241805892, 0.0421667509});
  return polynomial(z, {0.1666666666666676, 0.07499999999970634, 0.04464285717477821, 0.030381942699417398,
                        0.022372215233495547, 0.017351607426056848, 0.013980877497036975, 0.011398430912087287,
                        0.010783033740311688, 0.0036955987872718957, 0.021734474161044345, -0.02103831436765919,
                        0.032653786490617176});
}

namespace {
/// asin(s) = s + sTail; s is |x|, or sqrt((1 - |x|) / 2) where |x| >= 1/2,
/// for asin(|x|) = pi/2 - 2 asin(s).
struct AsinParts {
  Bool large;
  Float s, sTail;
};
} // namespace

static AsinParts asinParts(Float u) {
  Bool large = u >= 0.5;
  Float half = fma(u, -0.5, 0.5), z = select(large, half, u * u);
  Float s = select(large, sqrt(half), u);
  return {large, s, (s * z) * asinTail(z)};
}

// pi/2 in two parts of the type.
static double piHigh(Float x) { return x.a->is32 ? 0x1.921fb6p0 : 0x1.921fb54442d18p0; }
static double piLow(Float x) { return x.a->is32 ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54; }

Float asin(Float x) {
  AsinParts p = asinParts(abs(x));
  Float near = p.s + p.sTail;
  // pi/2 - 2 (s + tail) = (pi/2 - 2s) + (low - 2 tail).
  Double first = exactSumOrdered(x.a->number(piHigh(x)), p.s * -2.0);
  Float far = first.high + (first.low + fma(p.sTail, -2.0, piLow(x)));
  return copySign(select(p.large, far, near), x);
}

Float acos(Float x) {
  Float u = abs(x);
  AsinParts p = asinParts(u);
  Bool negative = x < 0.0;
  // x >= 1/2: 2 asin(s); x <= -1/2: pi - 2 asin(s); between: pi/2 - asin(x).
  Float twice = p.s + p.sTail;
  twice = twice + twice;
  Float two = select(p.large, 2.0, x.a->number(1.0));
  Float s = copySign(p.s * two, x), tail = copySign(p.sTail * two, x);
  Float base = select(p.large & negative, 2 * piHigh(x), x.a->number(piHigh(x)));
  Float low = select(p.large & negative, 2 * piLow(x), x.a->number(piLow(x)));
  // For large negative x: pi - |2s| = base + s, else base - s.
  Float term = select(p.large, s, -s), termTail = select(p.large, tail, -tail);
  Double first = exactSumOrdered(base, term);
  Float rest = first.high + (first.low + (termTail + low));
  return select(p.large & !negative, twice, rest);
}

/// |x| > tan(3pi/8): pi/2 - atan(1/|x|); > tan(pi/8): pi/4 +
/// atan((|x| - 1) / (|x| + 1)); the rest as it is.
Float atan(Float x) {
  Float u = abs(x);
  Bool middle = u > 0x1.a8279ap-2, large = u > 0x1.3504f3p1;
  Float one = x.a->number(1.0);
  Float numerator = select(large, -one, select(middle, u - 1.0, u));
  Float denominator = select(large, u, select(middle, u + 1.0, one));
  Float t = numerator / denominator, z = t * t;
  // (atan(t)/t - 1) / z on |t| <= tan(pi/8), 2^-30.4 and 2^-63.7.
  Float tail =
      x.a->is32
          ? polynomial(z, {-0.333333164, 0.199985281, -0.142443895, 0.105991475, -0.0608998537})
          : polynomial(z, {-0.33333333333333326, 0.19999999999997098, -0.14285714285317075, 0.11111111083804599,
                           -0.09090907988405472, 0.07692279262785222, -0.06666175585279323, 0.058765246560600115,
                           -0.05215227219734487, 0.04490716609982794, -0.033177576672785355, 0.014895454206870027});
  Float zero = x.a->number(0.0);
  Float base = select(large, piHigh(x), select(middle, piHigh(x) / 2, zero));
  Float low = select(large, piLow(x), select(middle, piLow(x) / 2, zero));
  Float result = base + (t + fma(t * z, tail, low));
  return copySign(result, x);
}

} // namespace stint::codegen::math
