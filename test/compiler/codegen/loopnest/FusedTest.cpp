// Loop nests of several operators: chains, row reductions with their
// consumers, movement into arithmetic, results in an operand's memory.
#include "test/compiler/codegen/loopnest/LoopNestTest.h"

#include <gtest/gtest.h>

using namespace stint::test;

namespace {

double relativeOf(Element element) {
  return element == Element::f64 ? 1e-13 : element == Element::f32 ? 3e-6 : element == Element::f16 ? 2e-3 : 1e-2;
}

/// Softmax over one axis of a tensor of rank 3.
std::string softmax(Element e, const std::string &dims, const std::string &reduced, int axis) {
  KernelText k;
  k.symbol(1, 300);
  k.symbol(1, 300);
  std::string full = type(dims, e), row = type(reduced, e), axes = "axes = array<i64: " + std::to_string(axis) + ">";
  auto x = k.operand(full);
  auto largest = k.op("graph.reduce max", {x}, row, axes);
  auto shifted = k.op("graph.sub", {x, largest}, full);
  auto power = k.op("graph.exp", {shifted}, full);
  auto sum = k.op("graph.reduce sum", {power}, row, axes);
  return k.text({k.op("graph.div", {power, sum}, full)});
}

TEST(LoopNestFused, Softmax) {
  Suite suite(lowerLoopNest);
  for (Element e : kFloats) {
    Tolerance tolerance;
    tolerance.relative = relativeOf(e);
    for (auto symbols :
         std::vector<std::vector<int64_t>>{{1, 1}, {3, 7}, {5, 16}, {2, 63}, {2, 65}, {4, 130}, {1, 300}})
      suite.add(std::string("softmax ") + nameOf(e), softmax(e, "2, s0, s1", "2, s0, 1", 2), symbols, {Fill{-9, 9}},
                tolerance);
    for (auto symbols : std::vector<std::vector<int64_t>>{{1, 1}, {3, 7}, {17, 65}})
      suite.add(std::string("softmax of the middle axis ") + nameOf(e), softmax(e, "2, s0, s1", "2, 1, s1", 1), symbols,
                {Fill{-9, 9}}, tolerance);
  }
  check(suite);
}

TEST(LoopNestFused, LayerNorm) {
  Suite suite(lowerLoopNest);
  for (Element e : kFloats) {
    KernelText k;
    k.symbol(1, 300);
    k.symbol(1, 300);
    std::string full = type("s0, s1", e), row = type("s0, 1", e), axes = "axes = array<i64: 1>";
    auto x = k.operand(full), gamma = k.operand(type("s1", e)), beta = k.operand(type("s1", e));
    auto mean = k.op("graph.reduce mean", {x}, row, axes);
    auto centred = k.op("graph.sub", {x, mean}, full);
    auto square = k.op("graph.mul", {centred, centred}, full);
    auto variance = k.op("graph.reduce mean", {square}, row, axes);
    auto safe = k.op("graph.add", {variance, k.splat("1.0e-3", type("", e))}, row);
    auto deviation = k.op("graph.sqrt", {safe}, row);
    auto normal = k.op("graph.div", {centred, deviation}, full);
    auto scaled = k.op("graph.mul", {normal, gamma}, full);
    std::string text = k.text({k.op("graph.add", {scaled, beta}, full)});
    Tolerance tolerance;
    tolerance.relative = 4 * relativeOf(e);
    for (auto symbols : std::vector<std::vector<int64_t>>{{1, 2}, {3, 7}, {5, 16}, {2, 65}, {4, 130}, {30, 33}})
      suite.add(std::string("layer norm ") + nameOf(e), text, symbols, {}, tolerance);
  }
  check(suite);
}

TEST(LoopNestFused, ChainsAndResults) {
  Suite suite(lowerLoopNest);
  for (Element e : kFloats) {
    // a * b + c is not contracted.
    KernelText chain;
    chain.symbol(0, 300);
    std::string t = type("s0", e);
    auto a = chain.operand(t), b = chain.operand(t), c = chain.operand(t);
    auto product = chain.op("graph.mul", {a, b}, t), sum = chain.op("graph.add", {product, c}, t);
    suite.add(std::string("a * b + c ") + nameOf(e), chain.text({sum}), {130});

    // A minimum in other words; LLVM knows that as well.
    KernelText clamp;
    clamp.symbol(0, 300);
    auto y = clamp.operand(t), two = clamp.splat("2.0", type("", e));
    auto less = clamp.op("graph.compare lt", {y, two}, type("s0", Element::boolean));
    suite.add(std::string("clamp ") + nameOf(e), clamp.text({clamp.op("graph.select", {less, y, two}, t)}), {131},
              {Fill{-5, 5, specialFloats(e)}});

    // Results of several types, one of them used by another.
    KernelText several;
    several.symbol(0, 300);
    auto x = several.operand(type("3, s0", e));
    auto root = several.op("graph.abs", {x}, type("3, s0", e));
    auto rounded = several.op("graph.cast", {root}, type("3, s0", Element::i8));
    auto big = several.op("graph.cast", {root}, type("3, s0", Element::f64));
    auto test = several.op("graph.compare gt", {x, several.splat("0.5", type("", e))}, type("3, s0", Element::boolean));
    suite.add(std::string("several results ") + nameOf(e), several.text({root, rounded, big, test}), {67});
  }
  // A value used often: emission must not be exponential.
  KernelText deep;
  deep.symbol(0, 300);
  std::string t = type("s0", Element::f32);
  auto value = deep.operand(t);
  for (int i = 0; i < 24; ++i)
    value = deep.op(i % 2 ? "graph.sub" : "graph.add",
                    {value, deep.op("graph.sqrt", {deep.op("graph.abs", {value}, t)}, t)}, t);
  suite.add("24 levels", deep.text({value}), {70});
  // Unused arguments, an argument twice, an argument as a result.
  KernelText odd;
  odd.symbol(0, 300);
  auto p = odd.operand(t), q = odd.operand(t);
  suite.add("argument twice", odd.text({odd.op("graph.mul", {q, q}, t), odd.op("graph.neg", {q}, t)}), {33});
  (void)p;
  check(suite);
}

TEST(LoopNestFused, MovementIntoArithmetic) {
  Suite suite(lowerLoopNest);
  {
    KernelText k; // a * transpose(b) + slice(c)
    k.symbol(1, 100);
    std::string t = type("s0, 35", Element::f32);
    auto a = k.operand(t), b = k.operand(type("35, s0", Element::f32)), c = k.operand(type("s0, 72", Element::f32));
    auto turned = k.op("graph.transpose", {b}, t, "permutation = array<i64: 1, 0>");
    auto part = k.op("graph.slice", {c}, t, "starts = affine_map<() -> (0, 71)>, steps = array<i64: 1, -2>");
    auto product = k.op("graph.mul", {a, turned}, t);
    for (int64_t size : {1, 16, 33})
      suite.add("transpose and slice", k.text({k.op("graph.add", {product, part}, t)}), {size});
  }
  {
    KernelText k; // hard-swish of a padded concat, channels last
    k.symbol(1, 100);
    std::string layout = "[0, 2, 3, 1]";
    auto a = k.operand(type("1, s0, 4, 5", Element::f32, layout)),
         b = k.operand(type("1, 3, 4, 5", Element::f32, layout));
    std::string joined = type("1, s0 + 3, 4, 5", Element::f32, layout),
                padded = type("1, s0 + 3, 6, 7", Element::f32, layout);
    auto both = k.op("graph.concat", {a, b}, joined, "axis = 1 : i64");
    auto wide = k.op("graph.pad constant", {both, k.splat("0.0", type("", Element::f32))}, padded,
                     "low = affine_map<() -> (0, 0, 1, 1)>");
    auto shifted = k.op("graph.add", {wide, k.splat("3.0", type("", Element::f32))}, padded);
    auto low = k.op("graph.max", {shifted, k.splat("0.0", type("", Element::f32))}, padded);
    auto high = k.op("graph.min", {low, k.splat("6.0", type("", Element::f32))}, padded);
    std::string text = k.text({k.op("graph.mul", {wide, high}, padded)});
    for (int64_t size : {1, 13, 64})
      suite.add("hard-swish of pad of concat", text, {size}, {Fill{-5, 5}});
  }
  {
    KernelText k; // embedding rows, scaled, normalised
    k.symbol(1, 50);
    auto table = k.operand(type("40, 66", Element::f32)), ids = k.operand(type("2, s0", Element::i64));
    auto rows = k.op("graph.gather", {table, ids}, type("2, s0, 66", Element::f32), "axis = 0 : i64");
    auto doubled = k.op("graph.mul", {rows, k.splat("8.0", type("", Element::f32))}, type("2, s0, 66", Element::f32));
    auto sum = k.op("graph.reduce sum", {doubled}, type("2, s0, 1", Element::f32), "axes = array<i64: 2>");
    Tolerance tolerance;
    tolerance.relative = 1e-5;
    suite.add("embedding minus its sum", k.text({k.op("graph.sub", {doubled, sum}, type("2, s0, 66", Element::f32))}),
              {7}, {Fill{}, Fill{-40, 39}}, tolerance);
  }
  {
    KernelText k; // pooling, then scale and bias per channel
    k.symbol(1, 100);
    std::string layout = "[0, 2, 3, 1]", in = type("1, s0, 8, 8", Element::f32, layout),
                out = type("1, s0, 4, 4", Element::f32, layout);
    auto x = k.operand(in), scale = k.operand(type("1, s0, 1, 1", Element::f32)),
         bias = k.operand(type("s0, 1, 1", Element::f32));
    auto active = k.op("graph.max", {x, k.splat("0.0", type("", Element::f32))}, in);
    auto pooled =
        k.op("graph.window_reduce mean", {active}, out,
             "window = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1, "
             "1, 1>, padLow = array<i64: 0, 0, 0, 0>, padHigh = array<i64: 0, 0, 0, 0>");
    auto scaled = k.op("graph.mul", {pooled, scale}, out);
    Tolerance tolerance;
    tolerance.relative = 1e-5;
    for (int64_t size : {3, 17, 64})
      suite.add("pool, scale, bias", k.text({k.op("graph.add", {scaled, bias}, out)}), {size}, {}, tolerance);
  }
  check(suite);
}

TEST(LoopNestFused, Ranks) {
  Suite suite(lowerLoopNest);
  for (Element e : {Element::f32, Element::i8}) {
    KernelText k;
    std::string t = type("2, 1, 3, 2, 1, 2, 3, 5", e);
    auto a = k.operand(t), b = k.operand(type("3, 1, 1, 2, 1, 5", e));
    suite.add("rank 8", k.text({k.op("graph.mul", {a, b}, t)}), {}, {Fill{-3, 3}});
    KernelText turned;
    auto c = turned.operand(t);
    suite.add("rank 8 transposed",
              turned.text({turned.op("graph.transpose", {c}, type("5, 3, 2, 1, 2, 3, 1, 2", e),
                                     "permutation = array<i64: 7, 6, 5, 4, 3, 2, 1, 0>")}),
              {}, {Fill{-3, 3}});
    KernelText scalar;
    auto x = scalar.operand(type("", e)), y = scalar.operand(type("", e));
    suite.add("rank 0", scalar.text({scalar.op("graph.add", {x, y}, type("", e))}), {}, {Fill{-3, 3}});
    KernelText empty;
    empty.symbol(0, 9);
    auto z = empty.operand(type("3, s0, 5", e));
    for (int64_t size : {0, 2})
      suite.add("empty", empty.text({empty.op("graph.neg", {z}, type("3, s0, 5", e))}), {size}, {Fill{-3, 3}});
  }
  check(suite);
}

TEST(LoopNestFused, InPlace) {
  Suite suite(lowerLoopNest);
  const std::string inPlace = "graph.in_place = 0 : i64";
  for (Element e : {Element::f32, Element::f16, Element::i8, Element::f64, Element::boolean}) {
    KernelText k;
    k.symbol(0, 300);
    std::string t = type("s0, 35", e), op = e == Element::boolean ? "graph.xor" : "graph.mul";
    auto a = k.operand(t, inPlace), b = k.operand(type("35", e));
    std::string text = k.text({k.op(op, {a, b}, t)});
    for (int64_t size : {0, 1, 7, 67})
      suite.add(std::string("in place ") + nameOf(e), text, {size}, {Fill{-3, 3}});
  }
  { // Elements of one size, of other types; layouts that differ in name only.
    const std::string from = "[0, 2, 3, 1]";
    KernelText k;
    k.symbol(0, 300);
    auto x = k.operand(type("1, s0, 1, 1", Element::f32, from), inPlace);
    auto whole = k.op("graph.cast", {x}, type("1, s0, 1, 1", Element::i32));
    std::string text = k.text({k.op("graph.neg", {whole}, type("1, s0, 1, 1", Element::i32))});
    KernelText bytes;
    bytes.symbol(0, 300);
    std::string t = type("s0", Element::i8), bools = type("s0", Element::boolean);
    auto a = bytes.operand(t, inPlace), b = bytes.operand(t);
    auto equal = bytes.op("graph.compare lt", {a, b}, bools);
    std::string other =
        bytes.text({bytes.op("graph.xor", {equal, bytes.op("graph.compare eq", {b, a}, bools)}, bools)});
    for (int64_t size : {1, 65, 300}) {
      suite.add("cast in place", text, {size}, {Fill{-300, 300}});
      suite.add("compare in place", other, {size}, {Fill{-3, 3}});
    }
    KernelText last; // channels last, used twice, with a bias
    last.symbol(1, 90);
    std::string full = type("2, s0, 3, 5", Element::f32, from);
    auto y = last.operand(full, inPlace), bias = last.operand(type("s0, 1, 1", Element::f32));
    auto sum = last.op("graph.add", {y, bias}, full);
    auto gate = last.op("graph.sigmoid", {sum}, full);
    auto gated = last.op("graph.mul", {sum, gate}, full);
    Tolerance tolerance;
    tolerance.ulps = 4;
    for (int64_t size : {1, 7, 16, 67})
      suite.add("residual in place", last.text({last.op("graph.add", {gated, y}, full)}), {size}, {Fill{0.5, 2}},
                tolerance);
  }
  {
    KernelText k; // two results, the second in place; both need both operands
    k.symbol(0, 300);
    std::string t = type("s0", Element::f32);
    auto a = k.operand(t, "graph.in_place = 1 : i64"), b = k.operand(t, "graph.in_place = 0 : i64");
    std::string text = k.text({k.op("graph.add", {a, b}, t), k.op("graph.sub", {a, b}, t)});
    for (int64_t size : {3, 67, 130})
      suite.add("two in place", text, {size});
  }
  check(suite);
}

} // namespace
