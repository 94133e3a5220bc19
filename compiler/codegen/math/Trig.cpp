// sin, cos, tan: x = k pi/2 + r with |r| <= pi/4, then a polynomial in r that
// k's last bits choose. Minimax polynomials as in Exp.cpp.
#include "compiler/codegen/math/Trig.h"
#include "compiler/codegen/math/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace stint::codegen::math {

/// k of f32 in the last bits; those above may be anything.
static Int narrow(Int k, const Arith &to) {
  return {&to, to.builder.create<mlir::arith::TruncIOp>(to.loc, to.intType, k.value)};
}

/// Any f32, in f64: x 2/pi with 2/pi cut into pieces whose products with x
/// are exact. Of a large x, the bits of 2/pi that give multiples of 4 are
/// left out, so the pieces depend on x's magnitude. Error of r below 2^-58,
/// far below the smallest r of any f32.
static Reduced reduce32(Float narrowX) {
  const Arith &a = *narrowX.a;
  mlir::OpBuilder &builder = a.builder;
  Arith wide(builder, a.loc, a.variant, withElement(a.floatType, builder.getF64Type()));
  Float x = convert(narrowX, wide);
  struct Piece {
    double from, first, second, third;
  };
  static const Piece pieces[] = {{0, 0x1.45f306dp-1, 0x1.9391054p-30, 0x1.4fe13abe8fa9ap-59},
                                 {0x1p26, 0x1.17cc1b6p-3, 0x1.27220a9p-31, 0x1.3f84eafa3ea6ap-61},
                                 {0x1p52, 0x1.c9c882ap-29, 0x1.4fe13a8p-59, 0x1.f47d4d377036ep-86},
                                 {0x1p78, 0x1.4a7f09dp-54, 0x1.7d1f534p-84, 0x1.bb81b6c52b328p-113},
                                 {0x1p104, 0x1.57d1f53p-80, 0x1.377036cp-110, 0x1.8a5664f10e41p-138}};
  Float first = wide.number(pieces[0].first), second = wide.number(pieces[0].second),
        third = wide.number(pieces[0].third);
  for (const Piece &piece : llvm::ArrayRef(pieces).drop_front()) {
    Bool reached = x >= piece.from;
    first = select(reached, piece.first, first);
    second = select(reached, piece.second, second);
    third = select(reached, piece.third, third);
  }
  const double magic = 0x1.8p52;
  Float product = x * first, biased = product + magic;
  Float rest = product - (biased - magic);
  Float product2 = x * second, biased2 = (rest + product2) + magic;
  Float turns = ((rest - (biased2 - magic)) + product2) + x * third;
  Int k = narrow(bitsOf(biased) + bitsOf(biased2), a);
  return {k, convert(turns * 0x1.921fb54442d18p0, a), a.number(0.0)};
}

/// |x| < 2^20 in f64: pi/2 in three parts of 33 bits, whose products with k
/// are exact, and a fourth.
static Reduced reduce64(Float x) {
  const double magic = 0x1.8p52;
  Float biased = fma(x, 0x1.45f306dc9c883p-1, magic), k = biased - magic;
  Float first = x - k * 0x1.921fb544p0;
  Double sum = exactSum(first, k * -0x1.0b4611a6p-34);
  Double sum2 = exactSum(sum.high, k * -0x1.3198a2ep-69);
  Float low = (sum2.low + sum.low) + k * -0x1.b839a252049c1p-104;
  Double r = exactSumOrdered(sum2.high, low);
  return {bitsOf(biased), r.high, r.low};
}

Reduced reduce(Float x) { return x.a->is32 ? reduce32(x) : reduce64(x); }

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
  if (!a.is32)
    rest = fma(reduced.low, fma(r, r, 1.0), rest);
  Double t = exactSumOrdered(r, rest);
  Float q = -1.0 / t.high;
  Float cotangent = fma(q * q, t.low, q);
  Float result = select(isOdd(reduced.k), cotangent, t.high);
  return floatOf(bitsOf(result) ^ (bitsOf(x) & a.signBit()));
}

} // namespace stint::codegen::math
