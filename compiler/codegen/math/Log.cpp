// log: x = 2^e m with m in [sqrt(1/2), sqrt(2)); the exponent is taken from
// the bits. The inverse hyperbolic functions are logarithms of 1 + w, where
// what 1 + w loses is given back as (lost part) / (1 + w). Their f32 versions
// compute in f64: they are rare, and near 1 ulp this way.
//
// Minimax polynomials as in Exp.cpp.
#include "compiler/codegen/math/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace stint::codegen::math {

namespace {
/// x = 2^exponent (1 + f), for positive finite x.
struct Split {
  Float exponent, f;
};
} // namespace

static Split split(Float x) {
  const Arith &a = *x.a;
  // Where the bits are offset so, the exponent changes at sqrt(1/2).
  uint64_t root = a.is32 ? 0x3f3504f3u : 0x3fe6a09e667f3bcdu;
  uint64_t one = a.is32 ? 0x3f800000u : 0x3ff0000000000000u;
  uint64_t mantissa = (uint64_t(1) << a.mantissaBits()) - 1;
  Bool tiny = x < a.fromBits(a.is32 ? 0x00800000u : 0x0010000000000000u);
  x = select(tiny, x * (a.is32 ? 0x1p23 : 0x1p52), x);
  Int bits = bitsOf(x) + (one - root);
  // bits >> 23 (52) as a float, by way of the last bits of a large one.
  Int biased = bits >> a.mantissaBits();
  double magic = a.is32 ? 0x1p23 : 0x1p52, bias = a.is32 ? 127 : 1023;
  Float exponent = floatOf(biased | (a.is32 ? 0x4b000000u : 0x4330000000000000u));
  exponent = exponent - select(tiny, magic + bias + a.mantissaBits(), a.number(magic + bias));
  return {exponent, floatOf((bits & mantissa) + root) - 1.0};
}

/// exponent ln2 + log(1 + f) + c, where c is tiny.
static Float logOf(Split s, const Float *c) {
  Float f = s.f, e = s.exponent;
  if (f.a->is32) {
    // log(1 + f) = f - f²/2 + f³ P(f) on [sqrt(1/2) - 1, sqrt(2) - 1], 2^-27.2.
    Float p = polynomial(f, {0.333333313, -0.250008196, 0.200012296, -0.166233465, 0.142017156, -0.131603524,
                             0.127619714, -0.0763452277});
    Float z = f * f;
    Float y = fma(e, 0x1.7f7d1cp-20, (p * f) * z);
    y = fma(z, -0.5, y);
    return fma(e, 0x1.62e4p-1, f + y);
  }
  // With s = f / (2 + f): log(1 + f) = 2 atanh(s) = f - (f²/2 - s (f²/2 + R)),
  // R = s² P(s²), on the same interval, 2^-59.
  Float t = f / (f + 2.0), z = t * t, half = (f * f) * 0.5;
  Float r = z * polynomial(z, {0.6666666666666734, 0.3999999999941649, 0.2857142874208451, 0.22222198597430934,
                               0.18183563324934324, 0.15314067019513278, 0.14795933683152152});
  Float low = fma(t, half + r, e * 0x1.ef35793c7673p-45);
  if (c)
    low = low + *c;
  return fma(e, 0x1.62e42fefa38p-1, f - (half - low));
}

Float log(Float x) {
  const Arith &a = *x.a;
  Float result = logOf(split(x), nullptr);
  result = select(x < a.infinity(), result, x);
  result = select(equal(x, 0.0), -a.infinity(), result);
  return select(x < 0.0, a.nan(), result);
}

/// log(1 + w) for w >= 0, f64.
static Float log1p(Float w) {
  Double u = exactSum(w.a->number(1.0), w);
  Float lost = u.low / u.high;
  Float result = logOf(split(u.high), &lost);
  return select(w < w.a->infinity(), result, w);
}

/// Computes an f32 function in f64.
template <typename F> static Float inDouble(Float x, F function) {
  if (!x.a->is32)
    return function(x);
  mlir::OpBuilder &builder = x.a->builder;
  Arith wide(builder, x.a->loc, x.a->variant, withElement(x.a->floatType, builder.getF64Type()));
  return convert(function(convert(x, wide)), *x.a);
}

// Beyond 2^28 the square root is its argument's, and w is 2u.
static Float logOfTwice(Float u) { return log(u) + 0x1.62e42fefa39efp-1; }

Float asinh(Float x) {
  return inDouble(x, [](Float x) {
    Float u = abs(x);
    Bool large = u > 0x1p28;
    Float v = select(large, 1.0, u), z = v * v;
    Float small = log1p(v + z / (sqrt(z + 1.0) + 1.0));
    return copySign(select(large, logOfTwice(u), small), x);
  });
}

Float acosh(Float x) {
  return inDouble(x, [](Float x) {
    Bool large = x > 0x1p28;
    Float t = select(large, 1.0, x - 1.0);
    Float small = log1p(t + sqrt(t * (t + 2.0)));
    return select(large, logOfTwice(x), select(x < 1.0, x.a->nan(), small));
  });
}

Float atanh(Float x) {
  return inDouble(x, [](Float x) {
    Float u = abs(x);
    Float result = log1p((u + u) / (1.0 - u)) * 0.5;
    return copySign(select(u > 1.0, u.a->nan(), result), x);
  });
}

} // namespace stint::codegen::math
