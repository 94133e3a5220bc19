// exp and what is made of it: x = n ln2 + r, exp(x) = 2^n exp(r), where n is
// rounded by adding a number so large that its last bit counts ones; the
// sum's bits then hold n, and with the exponent's bias in that number they
// only need to be shifted to be 2^n.
//
// Polynomials are minimax (Remez exchange with 180 bits, coefficients rounded
// one after the other), for the relative error of the result, on the interval
// that each comment names. ln2 is split so that n times its first part is
// exact.
#include "compiler/codegen/math/Functions.h"

namespace stint::codegen::math {

/// exp(x) = p * scale * scale2, for x from where exp is 0 to where it is
/// infinite: no single power of two reaches that far.
struct Parts {
  Float p, scale, scale2;
};

/// x = 2m ln2 + r, |r| <= ln2: with an even power of two both scales are one.
static Parts parts32(Float x) {
  Float biased = fma(x, 0x1.715476p-1, 0x1.8p23 + 127);
  Float m = biased - (0x1.8p23 + 127);
  Float r = fma(m, -0x1.62e4p0, x);
  r = fma(m, -0x1.7f7d1cp-19, r);
  // exp on [-ln2, ln2], 2^-25.9.
  Float p =
      polynomial(r, {1.0, 1.0, 0.500000358, 0.166666165, 0.0416611582, 0.0083359275, 0.00141062622, 0.000196361958});
  Float scale = powerOfTwo(bitsOf(biased));
  return {p, scale, scale};
}

/// x = n ln2 + r, |r| <= ln2/2, 2^n = scale * scale2: two more operations, a
/// third less error.
static Parts accurateParts32(Float x) {
  Float biased = fma(x, 0x1.715476p0, 0x1.8p23 + 2 * 127);
  Float n = biased - (0x1.8p23 + 2 * 127);
  Float r = fma(n, -0x1.62e4p-1, x);
  r = fma(n, -0x1.7f7d1cp-20, r);
  // exp on [-ln2/2, ln2/2], 2^-28.2.
  Float p = polynomial(r, {1.0, 1.0, 0.49999994, 0.166665167, 0.0416681059, 0.00836912543, 0.00138359924});
  Int k = bitsOf(biased), half = k >> 1;
  return {p, powerOfTwo(half), powerOfTwo(k - half)};
}

/// x + low = n ln2 + r, |r| <= ln2/2, 2^n = scale * scale2.
static Parts parts64(Float x, const Float *low) {
  Float biased = fma(x, 0x1.71547652b82fep0, 0x1.8p52 + 2 * 1023);
  Float n = biased - (0x1.8p52 + 2 * 1023);
  Float r = fma(n, -0x1.62e42fefa38p-1, x);
  Float correction = low ? fma(n, -0x1.ef35793c7673p-45, *low) : n * -0x1.ef35793c7673p-45;
  r = r + correction;
  // exp on [-ln2/2, ln2/2], 2^-60.
  Float p = polynomial(r, {1.0, 1.0, 0.5, 0.16666666666666682, 0.04166666666666609, 0.008333333333316918,
                           0.0013888888889117272, 0.00019841269896679774, 2.4801586924575505e-05, 2.755723456000493e-06,
                           2.755758282902639e-07, 2.511214406062065e-08, 2.0826524253698043e-09});
  Int k = bitsOf(biased), half = k >> 1;
  return {p, powerOfTwo(half), powerOfTwo(k - half)};
}

static Parts parts(Float x) {
  return x.a->is32 ? parts32(atMost(atLeast(x, -104.0), 90.0)) : parts64(atMost(atLeast(x, -746.0), 711.0), nullptr);
}

Float exp(Float x) {
  Parts e = parts(x);
  return e.p * e.scale * e.scale2;
}

Float expOfSum(Float x, Float low) {
  Parts e = parts64(atMost(atLeast(x, -746.0), 711.0), &low);
  return e.p * e.scale * e.scale2;
}

/// exp(x) / (exp(x) + 1) = p / (p + 2^-n) where p = exp(r). Both are scaled
/// by 2^-24 (2^-53), so that 2^-n is in range down to where the result is 0:
/// the division does all rounding of small results. f32 also by 1.46875: both
/// terms then lie where rounding errors are least relative to the values.
Float sigmoid(Float x) {
  if (x.a->is32) {
    x = atMost(atLeast(x, -104.0), 18.0);
    Float biased = fma(x, -0x1.715476p0, 0x1.8p23 + 127 - 24);
    Float minusN = biased - (0x1.8p23 + 127 - 24);
    Float r = fma(minusN, 0x1.62e4p-1, x);
    r = fma(minusN, 0x1.7f7d1cp-20, r);
    // 2^-24 1.46875 exp on [-ln2/2, ln2/2], 2^-28.2.
    Float p = polynomial(r, {0x1p-24 * 1.46875, 0x1p-24 * 1.46875, 0x1p-24 * 0.734374881, 0x1p-24 * 0.244789466,
                             0x1p-24 * 0.0612012371, 0x1p-24 * 0.0122922082, 0x1p-24 * 0.00202338072});
    return p / (p + floatOf((bitsOf(biased) << 23) | 0x3c0000));
  }
  x = atMost(atLeast(x, -746.0), 38.0);
  Float biased = fma(x, -0x1.71547652b82fep0, 0x1.8p52 + 1023 - 53);
  Float minusN = biased - (0x1.8p52 + 1023 - 53);
  Float r = fma(minusN, 0x1.62e42fefa38p-1, x);
  r = fma(minusN, 0x1.ef35793c7673p-45, r);
  // exp on [-ln2/2, ln2/2], 2^-60; scaled afterwards.
  Float p = polynomial(r, {1.0, 1.0, 0.5, 0.16666666666666682, 0.04166666666666609, 0.008333333333316918,
                           0.0013888888889117272, 0.00019841269896679774, 2.4801586924575505e-05, 2.755723456000493e-06,
                           2.755758282902639e-07, 2.511214406062065e-08, 2.0826524253698043e-09}) *
            0x1p-53;
  return p / (p + powerOfTwo(bitsOf(biased)));
}

/// With q = exp(2r) - 1: (exp(2x) - 1) / (exp(2x) + 1) =
/// (q + (1 - 2^-n)) / (q + (1 + 2^-n)), for negative x, where nothing cancels.
Float tanh(Float x) {
  Float u = -abs(x), q = u, scale = u;
  if (x.a->is32) {
    u = atLeast(u, -9.2);
    Float biased = fma(u, -0x1.715476p1, 0x1.8p23 + 127);
    Float minusN = biased - (0x1.8p23 + 127);
    Float r = fma(minusN, 0x1.62e4p-2, u);
    r = fma(minusN, 0x1.7f7d1cp-21, r);
    // exp(2r) - 1 on [-ln2/4, ln2/4], 2^-29.9.
    Float tail = polynomial(
        r, {4 * 0.5, 8 * 0.166666657, 16 * 0.0416664034, 32 * 0.00833340082, 64 * 0.00139407197, 128 * 0.000198458947});
    q = fma(r * r, tail, r + r);
    scale = powerOfTwo(bitsOf(biased));
  } else {
    u = atLeast(u, -20.0);
    Float biased = fma(u, -0x1.71547652b82fep1, 0x1.8p52 + 1023);
    Float minusN = biased - (0x1.8p52 + 1023);
    Float r = fma(minusN, 0x1.62e42fefa38p-2, u);
    r = fma(minusN, 0x1.ef35793c7673p-46, r);
    r = r + r;
    // exp(r) - 1 on [-ln2/2, ln2/2], 2^-59.7.
    Float tail =
        polynomial(r, {0.5, 0.16666666666666677, 0.041666666666666505, 0.008333333333321608, 0.0013888888888962875,
                       0.00019841269886207948, 2.480158717188642e-05, 2.755724410403134e-06, 2.755740290541049e-07,
                       2.510908147745988e-08, 2.087533886391433e-09});
    q = fma(r * r, tail, r);
    scale = powerOfTwo(bitsOf(biased));
  }
  return copySign((q + (1.0 - scale)) / (q + (scale + 1.0)), x);
}

/// exp(|x|) / 2, which overflows where sinh and cosh do.
static Float halfExp(Float magnitude) {
  Parts e = magnitude.a->is32 ? accurateParts32(atMost(magnitude, 90.0)) : parts(magnitude);
  return (e.p * 0.5) * e.scale * e.scale2;
}

Float cosh(Float x) {
  Float e = halfExp(abs(x));
  return e + 0.25 / e;
}

Float sinh(Float x) {
  Float u = abs(x), e = halfExp(u);
  Float large = e - 0.25 / e, z = u * u;
  // sinh on [-1, 1], 2^-31.6 and 2^-58.6.
  Float tail =
      x.a->is32
          ? polynomial(z, {0.166666672, 0.00833331048, 0.000198428956, 2.78221319e-06})
          : polynomial(z, {0.16666666666666669, 0.008333333333332912, 0.0001984126984159339, 2.755731910677491e-06,
                           2.5052130993471252e-08, 1.6056653474246687e-10, 7.777231909964936e-13});
  return copySign(select(u < 1.0, fma(u * z, tail, u), large), x);
}

} // namespace stint::codegen::math
