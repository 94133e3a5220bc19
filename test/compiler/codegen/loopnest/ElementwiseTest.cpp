// Loop nests of one elementwise operator (or a few, where they are cheap): all
// operators on all element types, special values, broadcasting, casts.
#include "test/compiler/codegen/loopnest/LoopNestTest.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace stint::test;

namespace {

/// Units in the last place that a function of the math library may be wrong,
/// as seen from a double (or C's own double functions for f64).
double ulpsOf(Element element) { return element == Element::f32 ? 3 : element == Element::f64 ? 6 : 1; }

struct UnaryCase {
  const char *name;
  double low, high;
  bool exact;
};
const UnaryCase kFloatUnary[] = {
    {"abs", -9, 9, true},      {"neg", -9, 9, true},    {"sign", -2, 2, true},       {"exp", -12, 12, false},
    {"log", 0.01, 50, false},  {"sqrt", 0, 90, true},   {"reciprocal", -4, 4, true}, {"floor", -9, 9, true},
    {"ceil", -9, 9, true},     {"round", -9, 9, true},  {"sin", -20, 20, false},     {"cos", -20, 20, false},
    {"tan", -1.5, 1.5, false}, {"asin", -1, 1, false},  {"acos", -1, 1, false},      {"atan", -9, 9, false},
    {"sinh", -5, 5, false},    {"cosh", -5, 5, false},  {"tanh", -4, 4, false},      {"asinh", -9, 9, false},
    {"acosh", 1, 9, false},    {"atanh", -1, 1, false}, {"erf", -3, 3, false},       {"sigmoid", -9, 9, false},
};

TEST(LoopNestElementwise, FloatUnary) {
  Suite suite(lowerLoopNest);
  for (Element e : kFloats)
    for (const UnaryCase &op : kFloatUnary) {
      KernelText k;
      k.symbol(0, 200);
      std::string t = type("s0", e);
      std::string text = k.text({k.op(std::string("graph.") + op.name, {k.operand(t)}, t)});
      Tolerance tolerance;
      tolerance.ulps = op.exact ? 0 : ulpsOf(e);
      std::string name = std::string(op.name) + " " + nameOf(e);
      std::vector<double> specials = specialFloats(e);
      if (e == Element::f64 && std::set<std::string>{"sin", "cos", "tan"}.count(op.name))
        llvm::erase_if(specials, [](double x) { return std::fabs(x) > 1e300 && !std::isinf(x); });
      suite.add(name, text, {131}, {Fill{op.low, op.high}}, tolerance);
      suite.add(name + " special", text, {77}, {Fill{op.low, op.high, specials}}, tolerance);
    }
  check(suite);
}

TEST(LoopNestElementwise, SignedZeros) {
  Suite suite(lowerLoopNest);
  for (Element e : kFloats)
    for (const char *op : {"abs", "neg", "sqrt", "floor", "ceil", "round", "sin", "tanh", "asinh"}) {
      KernelText k;
      std::string t = type("12", e);
      std::string text = k.text({k.op(std::string("graph.") + op, {k.operand(t)}, t)});
      Case test = {std::string("zeros ") + op + " " + nameOf(e),
                   text,
                   {},
                   {tensorOf({12}, e, {0.0, -0.0, 0.0, -0.0, 0.25, -0.25, -0.0, 0.0, 0.0, -0.0, -0.0, -0.0})},
                   {ulpsOf(e), 0, true}};
      suite.add(std::move(test));
    }
  check(suite);
}

TEST(LoopNestElementwise, FloatBinary) {
  Suite suite(lowerLoopNest);
  for (Element e : kFloats)
    for (const char *op : {"add", "sub", "mul", "div", "rem", "pow", "min", "max"}) {
      bool power = std::string(op) == "pow";
      KernelText k;
      k.symbol(0, 200);
      std::string t = type("s0", e);
      auto a = k.operand(t), b = k.operand(t);
      std::string text = k.text({k.op(std::string("graph.") + op, {a, b}, t)});
      std::string name = std::string(op) + " " + nameOf(e);
      Tolerance tolerance;
      tolerance.ulps = power ? ulpsOf(e) : 0;
      suite.add(name, text, {99}, {Fill{power ? 0.1 : -30, 30}, Fill{-4, 4}}, tolerance);
      Fill special = {-4, 4, specialFloats(e)};
      Case &both = suite.add(name + " special", text, {124}, {special}, tolerance);
      // Every special value with every other.
      std::vector<double> values = specialFloats(e);
      int64_t n = both.operands[0].size(), count = static_cast<int64_t>(values.size());
      for (int64_t i = 0; i < n; ++i) {
        both.operands[0].set(i, values[i % count]);
        both.operands[1].set(i, values[(i / count * 5 + i) % count]);
      }
    }
  check(suite);
}

TEST(LoopNestElementwise, FloatTests) {
  Suite suite(lowerLoopNest);
  for (Element e : kFloats) {
    KernelText k;
    k.symbol(0, 200);
    auto a = k.operand(type("s0", e)), b = k.operand(type("s0", e));
    std::string bools = type("s0", Element::boolean);
    std::vector<KernelText::Ref> results = {k.op("graph.is_nan", {a}, bools), k.op("graph.is_inf", {a}, bools),
                                            k.op("graph.is_inf", {a}, bools, "negative = false"),
                                            k.op("graph.is_inf", {a}, bools, "positive = false")};
    for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
      results.push_back(k.op(std::string("graph.compare ") + predicate, {a, b}, bools));
    Case &test = suite.add(std::string("tests ") + nameOf(e), k.text(results), {90}, {Fill{-2, 2, specialFloats(e)}});
    for (int64_t i = 0; i < 90; i += 4) // some are equal
      test.operands[1].set(i, test.operands[0].at(i));
  }
  check(suite);
}

TEST(LoopNestElementwise, Integers) {
  Suite suite(lowerLoopNest);
  for (Element e : kIntegers) {
    std::string t = type("s0", e), bools = type("s0", Element::boolean);
    auto kernel = [&](const std::string &name, const std::vector<std::string> &unary,
                      const std::vector<std::string> &binary, std::vector<Fill> fills) {
      KernelText k;
      k.symbol(0, 200);
      auto a = k.operand(t), b = k.operand(t);
      std::vector<KernelText::Ref> results;
      for (const std::string &op : unary)
        results.push_back(k.op("graph." + op, {a}, t));
      for (const std::string &op : binary)
        results.push_back(k.op("graph." + op, {a, b}, op.compare(0, 7, "compare") == 0 ? bools : t));
      suite.add(name + " " + nameOf(e), k.text(results), {133}, fills);
    };
    Fill wide;
    wide.wide = true;
    kernel("abs, neg, sign, bit_not, add, sub", {"abs", "neg", "sign", "bit_not"}, {"add", "sub"}, {wide});
    kernel("mul", {}, {"mul"}, {wide});
    kernel("min, max, bit_and, bit_or, bit_xor", {}, {"min", "max", "bit_and", "bit_or", "bit_xor"}, {wide});
    kernel("compare", {}, {"compare eq", "compare ne", "compare lt", "compare le", "compare gt", "compare ge"},
           {Fill{-2, 2}});
    kernel("compare wide", {}, {"compare lt", "compare le", "compare gt", "compare ge"}, {wide});
    kernel("div", {}, {"div"}, {wide, Fill{-4, 4}});
    kernel("div wide", {}, {"div"}, {wide});
    kernel("rem", {}, {"rem"}, {wide, Fill{-4, 4}});
    kernel("mod", {}, {"mod"}, {wide, Fill{-4, 4}});
    kernel("mod wide", {}, {"mod"}, {wide});
    kernel("pow", {}, {"pow"}, {Fill{-5, 5}, Fill{0, 9}});
    kernel("shifts", {}, {"shift_left", "shift_right"}, {wide, Fill{0, static_cast<double>(bitsOf(e)) + 2}});
  }
  check(suite);
}

TEST(LoopNestElementwise, Booleans) {
  Suite suite(lowerLoopNest);
  KernelText k;
  k.symbol(0, 200);
  std::string t = type("s0", Element::boolean);
  auto a = k.operand(t), b = k.operand(t);
  std::string text =
      k.text({k.op("graph.not", {a}, t), k.op("graph.and", {a, b}, t), k.op("graph.or", {a, b}, t),
              k.op("graph.xor", {a, b}, t), k.op("graph.compare eq", {a, b}, t), k.op("graph.compare ne", {a, b}, t)});
  for (int64_t size : {0, 1, 15, 64, 131})
    suite.add("booleans", text, {size});
  check(suite);
}

/// One kernel per source type: results of all types.
TEST(LoopNestElementwise, Casts) {
  Suite suite(lowerLoopNest);
  for (Element from : kAllElements) {
    for (Element to : kAllElements) {
      KernelText k;
      k.symbol(0, 200);
      auto x = k.operand(type("s0", from));
      std::string text = k.text({k.op("graph.cast", {x}, type("s0", to))});
      std::string name = std::string("cast ") + nameOf(from) + " to " + nameOf(to);
      if (!isFloat(from)) {
        Fill wide;
        wide.wide = true;
        suite.add(name, text, {101}, {wide});
        continue;
      }
      std::vector<double> limits = specialFloats(from);
      for (double limit : {127.5, 128.0, 129.0, 255.5, 256.0, 32768.0, 65536.0, 2147483648.0, 4294967296.0,
                           9223372036854775808.0, 18446744073709551616.0, 1e30})
        limits.insert(limits.end(), {limit, -limit, limit - 0.5, limit * 0.999});
      suite.add(name, text, {101}, {Fill{-300, 300, limits}});
      Case &all = suite.add(name + " limits", text, {static_cast<int64_t>(limits.size())}, {});
      for (size_t i = 0; i < limits.size(); ++i)
        all.operands[0].set(i, limits[i]);
    }
  }
  check(suite);
}

TEST(LoopNestElementwise, Selects) {
  Suite suite(lowerLoopNest);
  for (Element e : kAllElements) {
    KernelText k;
    k.symbol(0, 200);
    auto c = k.operand(type("s0", Element::boolean));
    auto a = k.operand(type("s0", e)), b = k.operand(type("s0", e));
    suite.add(std::string("select ") + nameOf(e), k.text({k.op("graph.select", {c, a, b}, type("s0", e))}), {70});
  }
  KernelText k;
  auto c = k.operand(type("3, 1", Element::boolean));
  auto a = k.operand(type("67", Element::f32)), b = k.operand(type("", Element::f32));
  suite.add("select broadcasts", k.text({k.op("graph.select", {c, a, b}, type("3, 67", Element::f32))}));
  check(suite);
}

TEST(LoopNestElementwise, Broadcasting) {
  Suite suite(lowerLoopNest);
  struct Shapes {
    const char *a, *b, *result;
  };
  const Shapes shapes[] = {
      {"s0, 5", "s0, 5", "s0, 5"},
      {"s0, 5", "5", "s0, 5"},
      {"s0, 67", "1", "s0, 67"},
      {"s0, 67", "s0, 1", "s0, 67"},
      {"s0, 67", "", "s0, 67"},
      {"4, 1, 67", "1, s0, 1", "4, s0, 67"},
      {"s0, 1, 5, 1", "2, 1, 7", "s0, 2, 5, 7"},
      {"1, 1, 1", "s0, 3, 1", "s0, 3, 1"},
      {"", "", ""},
      {"1", "s0", "s0"},
      {"s0, s1", "1, s1", "s0, s1"},
      {"s1, 1, s0", "3, 1", "s1, 3, s0"},
  };
  for (Element e : {Element::f32, Element::i8, Element::f16, Element::f64})
    for (const Shapes &s : shapes) {
      KernelText k;
      k.symbol(0, 130);
      k.symbol(1, 130);
      auto a = k.operand(type(s.a, e)), b = k.operand(type(s.b, e));
      std::string text = k.text({k.op("graph.sub", {a, b}, type(s.result, e))});
      for (auto symbols : std::vector<std::vector<int64_t>>{{1, 1}, {3, 66}, {64, 2}, {0, 3}})
        suite.add(std::string("sub ") + s.a + " and " + s.b + " " + nameOf(e), text, symbols);
    }
  check(suite);
}

/// A vector's tail, at every size.
TEST(LoopNestElementwise, Sizes) {
  Suite suite(lowerLoopNest);
  for (Element e : {Element::f32, Element::i8, Element::f16, Element::f64, Element::boolean}) {
    KernelText k;
    k.symbol(0, 400);
    auto a = k.operand(type("s0", e)), b = k.operand(type("s0", e));
    std::string op = e == Element::boolean ? "graph.xor" : "graph.mul";
    std::string text = k.text({k.op(op, {a, b}, type("s0", e))});
    for (int64_t size : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300})
      suite.add("size " + std::string(nameOf(e)), text, {size}, {Fill{-3, 3}});
    for (int64_t size : {1, 7, 64, 67}) { // a constant size is another kernel
      KernelText fixed;
      std::string t = type(std::to_string(size), e);
      auto x = fixed.operand(t), y = fixed.operand(t);
      suite.add("fixed size " + std::string(nameOf(e)), fixed.text({fixed.op(op, {x, y}, t)}), {}, {Fill{-3, 3}});
    }
  }
  check(suite);
}

} // namespace
