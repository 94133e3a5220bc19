// The harness finds what it is there to find: a small generator for
// `graph.neg` of f32 vectors works, and each of its deliberate mistakes is
// seen.
#include "test/compiler/codegen/harness/Harness.h"

#include "compiler/codegen/emitter/KernelBuilder.h"
#include "test/compiler/codegen/harness/Jobs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <gtest/gtest.h>

using namespace stint;
using namespace stint::test;
using namespace stint::codegen;
using mlir::Value;

namespace {

enum class Mistake {
  none,
  forgetsTheLast,
  writesBeyond,
  readsBeyond,
  changesOperand,
  scratchBeyond,
  wrongValue,
  wholeAlways,
  dividesByZero,
  fails,
};

Lower negation(Mistake mistake) {
  return [mistake](mlir::func::FuncOp kernel, const target::Variant &variant, mlir::ModuleOp into) {
    KernelBuilder k(kernel, variant, into);
    Value size = k.evaluate(k.resultType(0).getDim(0));
    Value x = k.operandPointer(kernel.getArgument(0)), y = k.resultPointer(0);
    Value first = k.mul(k.begin(1), 64), last = k.min(k.mul(k.end(1), 64), size);
    mlir::Type f32 = k.builder.getF32Type();
    if (mistake == Mistake::forgetsTheLast)
      last = k.min(last, k.add(size, -1));
    if (mistake == Mistake::writesBeyond)
      last = k.add(last, 1);
    if (mistake == Mistake::wholeAlways)
      first = k.constant(0);
    Value shift = k.constant(mistake == Mistake::readsBeyond ? 1 : 0);
    k.loop(first, last, k.constant(1), [&](Value i) {
      Value from = k.load(k.address(x, mistake == Mistake::writesBeyond ? k.constant(0) : k.add(i, shift), 4), f32);
      Value negative = k.builder.create<mlir::arith::NegFOp>(k.loc, from);
      if (mistake == Mistake::wrongValue)
        negative = k.builder.create<mlir::arith::AddFOp>(k.loc, negative, from);
      k.store(negative, k.address(y, i, 4));
      if (mistake == Mistake::wholeAlways) // adds up what others have written
        k.store(k.builder.create<mlir::arith::AddFOp>(k.loc, negative, k.load(k.address(y, first, 4), f32)),
                k.address(y, first, 4));
      if (mistake == Mistake::changesOperand)
        k.store(negative, k.address(x, i, 4));
    });
    if (mistake == Mistake::scratchBeyond)
      k.store(k.constant(0), k.address(k.scratch(), k.constant(5), 8));
    if (mistake == Mistake::dividesByZero) {
      Value zero = k.add(k.sub(k.end(2), k.begin(2)), -1); // the axis is not used: [0, 1)
      k.store(k.builder.create<mlir::arith::RemSIOp>(k.loc, size, zero), k.scratch());
    }
    if (mistake == Mistake::fails)
      return llvm::Expected<int64_t>(llvm::createStringError(llvm::inconvertibleErrorCode(), "not today"));
    k.finish();
    return llvm::Expected<int64_t>(40);
  };
}

const char *kNeg = R"(func.func @k(%x: !graph.tensor<[s0] x f32> {graph.in_place = 0 : i64})
    -> !graph.tensor<[s0] x f32> attributes {graph.symbols = [#graph.symbol<"s0", 0, 1000>]} {
  %y = graph.neg %x : (!graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32>
  return %y : !graph.tensor<[s0] x f32>
})";

std::string errorOf(Mistake mistake) {
  Tensor x = randomTensor({200}, Element::f32, 1);
  Outcome outcome = runKernel(kNeg, {200}, {x}, negation(mistake), "v2");
  if (!outcome.error.empty())
    return outcome.error;
  Outcome expected = referenceOf({"", kNeg, {200}, {x}, {}});
  return compare(outcome.results[0], expected.results[0], {});
}

TEST(Harness, RightIsRight) {
  Suite suite(negation(Mistake::none));
  for (int64_t size : {0, 1, 63, 64, 65, 1000})
    suite.add("neg", kNeg, {size});
  suite.check({"v2", "v3", "neon", "dotprod", "i8mm"});
}

TEST(Harness, MistakesAreSeen) {
  EXPECT_EQ(errorOf(Mistake::none), "");
  EXPECT_NE(errorOf(Mistake::forgetsTheLast).find("other bits"), std::string::npos);
  EXPECT_NE(errorOf(Mistake::writesBeyond).find("signal 11"), std::string::npos);
  EXPECT_NE(errorOf(Mistake::readsBeyond).find("signal 11"), std::string::npos);
  EXPECT_NE(errorOf(Mistake::changesOperand).find("changed operand 0"), std::string::npos);
  EXPECT_NE(errorOf(Mistake::scratchBeyond).find("wrote after its scratch"), std::string::npos);
  EXPECT_NE(errorOf(Mistake::wrongValue).find("200 of 200 elements differ"), std::string::npos);
  EXPECT_NE(errorOf(Mistake::wholeAlways).find("other bits"), std::string::npos);
  EXPECT_NE(errorOf(Mistake::dividesByZero).find("signal 8"), std::string::npos);
  EXPECT_NE(errorOf(Mistake::fails).find("not today"), std::string::npos);
}

TEST(Harness, InvalidTextIsAnError) {
  Outcome outcome = runKernel("func.func @k(", {}, {}, negation(Mistake::none), "v2");
  EXPECT_NE(outcome.error.find("no valid module"), std::string::npos);
}

TEST(Harness, Halves) {
  EXPECT_EQ(roundTo(65520, Element::f16), std::numeric_limits<double>::infinity());
  EXPECT_EQ(roundTo(65519, Element::f16), 65504);
  EXPECT_EQ(roundTo(1 + 1.0 / 2048, Element::f16), 1); // ties to even
  EXPECT_EQ(roundTo(1 + 3.0 / 2048, Element::f16), 1 + 2.0 / 1024);
  EXPECT_EQ(roundTo(1 + 1.0 / 256, Element::bf16), 1);
  EXPECT_EQ(wrapTo(200, Element::i8), -56);
  EXPECT_EQ(wrapTo(-1, Element::u16), 65535);
}

} // namespace
