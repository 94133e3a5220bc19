// x = k pi/2 + r for sin, cos and tan. f32 and moderate f64 are reduced by
// straight-line arithmetic; f64 beyond 2^20, which hardly occurs, lane by lane
// in integers (Payne and Hanek), behind a branch.
#include "compiler/codegen/math/Reduce.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace stint::codegen::math {

/// k of f32 in the last bits; those above may be anything.
static Int narrow(Int k, const Arith &to) {
  return {&to, to.builder.create<arith::TruncIOp>(to.loc, to.intType, k.value)};
}

/// Any f32, in f64: x 2/pi with 2/pi cut into pieces whose products with x
/// are exact. Of a large x, the bits of 2/pi that give multiples of 4 are
/// left out, so the pieces depend on x's magnitude. Error of r below 2^-58,
/// far below the smallest r of any f32.
static Reduced reduce32(Float narrowX) {
  const Arith &a = *narrowX.a;
  OpBuilder &builder = a.builder;
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
  Float exact = turns * 0x1.921fb54442d18p0, r = convert(exact, a);
  return {k, r, convert(exact - convert(r, wide), a)};
}

/// |x| < 2^20 in f64: pi/2 in three parts of 33 bits, whose products with k
/// are exact, and a fourth.
static Reduced reduceSmall64(Float x) {
  const double magic = 0x1.8p52;
  Float biased = fma(x, 0x1.45f306dc9c883p-1, magic), k = biased - magic;
  Float first = x - k * 0x1.921fb544p0;
  Double sum = exactSum(first, k * -0x1.0b4611a6p-34);
  Double sum2 = exactSum(sum.high, k * -0x1.3198a2ep-69);
  Float low = (sum2.low + sum.low) + k * -0x1.b839a252049c1p-104;
  Double r = exactSumOrdered(sum2.high, low);
  return {bitsOf(biased), r.high, r.low};
}

template <typename Op> static Int make(Int x, Int y) {
  return {x.a, x.a->builder.create<Op>(x.a->loc, x.value, y.value)};
}

/// 2/pi after the binary point, after a word of zeros.
static const uint64_t kTwoOverPi[] = {0,
                                      0xa2f9836e4e441529,
                                      0xfc2757d1f534ddc0,
                                      0xdb6295993c439041,
                                      0xfe5163abdebbc561,
                                      0xb7246e3a424dd2e0,
                                      0x06492eea09d1921c,
                                      0xfe1deb1cb129a73e,
                                      0xe88235f52ebb4484,
                                      0xe99c7026b45f7e41,
                                      0x3991d639835339f4,
                                      0x9c845f8bbdf9283b,
                                      0x1ff897ffde05980f,
                                      0xef2f118b5a0a6d1f,
                                      0x6d367ecf27cb09b7,
                                      0x4f463f669e5fea2d,
                                      0x7527bac7ebe5f17b,
                                      0x3d0739f78a5292ea,
                                      0x6bfb5fb11f8d5d08,
                                      0x56033046fc7b6bab};

/// x in [2^20, infinity), a scalar f64: x = m 2^e, m an integer. Of 2/pi only
/// the bits of weight 2^(1-e) and less matter, since the others times m 2^e
/// are multiples of 4. The next 192 of them times m, modulo 2^192, are the
/// quadrant in the first two bits and the fraction after them.
static Reduced reduceLarge64(Float x) {
  const Arith &a = *x.a;
  OpBuilder &builder = a.builder;
  Location loc = a.loc;
  Int bits = bitsOf(x);
  Int m = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
  // Bit of the table that has weight 2^(1-e), e = exponent - 1075.
  Int position = (bits >> 52) - uint64_t(1075 + 1 - 63);
  Int word = position >> 6, shift = position & 63, opposite = a.integer(63) - shift;

  auto tableType = VectorType::get({std::size(kTwoOverPi)}, builder.getI64Type());
  Value table = builder.create<arith::ConstantOp>(loc, DenseElementsAttr::get(tableType, ArrayRef(kTwoOverPi)));
  auto wordAt = [&](uint64_t offset) -> Int {
    return {&a, builder.create<vector::ExtractElementOp>(loc, table, (word + offset).value)};
  };
  Int words[] = {wordAt(0), wordAt(1), wordAt(2), wordAt(3)};
  Int w[3] = {word, word, word};
  for (int i = 0; i < 3; ++i)
    w[i] = make<arith::ShLIOp>(words[i], shift) | (make<arith::ShRUIOp>(words[i + 1], opposite) >> 1);

  auto low = [&](Int y) { return make<arith::MulIOp>(m, y); };
  auto high = [&](Int y) -> Int {
    return {&a, builder.create<arith::MulUIExtendedOp>(loc, m.value, y.value).getHigh()};
  };
  Int middle = low(w[1]), second = middle + high(w[2]);
  Bool carries{&a, builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, second.value, middle.value)};
  Int first = low(w[0]) + high(w[1]) + select(carries, a.integer(1), a.integer(0));

  // To the nearest quadrant; the rest is first:second, signed, in 2^-126.
  Int k = (first + (uint64_t(1) << 61)) >> 62;
  first = first - (k << 62);
  auto number = [&](Int value, double unit) {
    return a.wrap(builder.create<arith::SIToFPOp>(loc, a.floatType, value.value)) * unit;
  };
  Int signedHigh = make<arith::ShRSIOp>(first, a.integer(32));
  Double sum = exactSum(number(signedHigh, 0x1p-30), number(first & 0xffffffffu, 0x1p-62));
  Double turns = exactSum(sum.high, number(second >> 32, 0x1p-94));
  Float turnsLow = (sum.low + turns.low) + number(second & 0xffffffffu, 0x1p-126);
  Double r = exactProduct(turns.high, a.number(0x1.921fb54442d18p0));
  r = exactSumOrdered(r.high, fma(turns.high, 0x1.1a62633145c07p-54, fma(turnsLow, 0x1.921fb54442d18p0, r.low)));
  return {k, r.high, r.low};
}

/// Lanes of `fast` that are large get their results from reduceLarge64.
static ValueRange reduceLanes(Float x, Bool large, const Reduced &fast) {
  const Arith &a = *x.a;
  OpBuilder &builder = a.builder;
  Location loc = a.loc;
  Value any = large.value;
  auto type = dyn_cast<VectorType>(a.floatType);
  if (type)
    any = builder.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, large.value);
  Value none[] = {fast.k.value, fast.r.value, fast.low.value};
  auto branch = builder.create<scf::IfOp>(
      loc, any,
      [&](OpBuilder &, Location) {
        Arith scalar(builder, loc, a.variant, builder.getF64Type());
        if (!type) {
          Reduced one = reduceLarge64(scalar.wrap(x.value));
          builder.create<scf::YieldOp>(loc, ValueRange{one.k.value, one.r.value, one.low.value});
          return;
        }
        auto index = [&](int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); };
        auto lanes = builder.create<scf::ForOp>(
            loc, index(0), index(type.getNumElements()), index(1), none,
            [&](OpBuilder &, Location, Value lane, ValueRange state) {
              Reduced one = reduceLarge64(scalar.wrap(builder.create<vector::ExtractElementOp>(loc, x.value, lane)));
              Value parts[] = {one.k.value, one.r.value, one.low.value};
              for (auto [part, all] : llvm::zip_equal(parts, state))
                part = builder.create<vector::InsertElementOp>(loc, part, all, lane);
              builder.create<scf::YieldOp>(loc, parts);
            });
        builder.create<scf::YieldOp>(loc, lanes.getResults());
      },
      [&](OpBuilder &, Location) { builder.create<scf::YieldOp>(loc, none); });
  return branch.getResults();
}

Reduced reduce(Float x) {
  if (x.a->is32)
    return reduce32(x);
  const Arith &a = *x.a;
  Reduced fast = reduceSmall64(x);
  Bool large = (x >= 0x1p20) & (x < a.infinity());
  ValueRange slow = reduceLanes(x, large, fast);
  return {select(large, Int{&a, slow[0]}, fast.k), select(large, a.wrap(slow[1]), fast.r),
          select(large, a.wrap(slow[2]), fast.low)};
}

} // namespace stint::codegen::math
