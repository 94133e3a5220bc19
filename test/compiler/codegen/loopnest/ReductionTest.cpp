// Loop nests of reductions over axes and windows, depthwise convolution and
// integer matrix products.
#include "test/compiler/codegen/loopnest/LoopNestTest.h"

#include <gtest/gtest.h>

using namespace stint::test;

namespace {

/// Sums are exact to this part of the largest one.
double relativeOf(Element element) {
  return element == Element::f64 ? 1e-13 : element == Element::f32 ? 1e-5 : element == Element::f16 ? 1e-3 : 8e-3;
}

std::string without(std::vector<std::string> dims, const std::vector<int64_t> &axes) {
  for (int64_t axis : axes)
    dims[axis] = "1";
  std::string text;
  for (const std::string &dim : dims)
    text += (text.empty() ? "" : ", ") + dim;
  return text;
}

void addReduce(Suite &suite, const std::string &kind, Element e, const std::vector<std::string> &dims,
               const std::vector<int64_t> &axes, const std::vector<std::vector<int64_t>> &sizes, Fill fill = {-1, 3},
               const std::string &layout = "", bool last = false) {
  KernelText k;
  k.symbol(0, 300);
  k.symbol(0, 300);
  bool index = kind == "argmax" || kind == "argmin";
  auto x = k.operand(type(without(dims, {}), e, layout));
  std::string text = k.text({k.op("graph.reduce " + kind, {x}, type(without(dims, axes), index ? Element::i64 : e),
                                  (axes.empty() ? "axes = array<i64>" : "axes = array<i64: " + list(axes) + ">") +
                                      (last ? ", selectLast" : ""))});
  Tolerance tolerance;
  if (isFloat(e) && (kind == "sum" || kind == "mean" || kind == "prod"))
    tolerance.relative = relativeOf(e);
  for (const auto &symbols : sizes)
    suite.add(kind + " [" + without(dims, {}) + "] over [" + list(axes) + "] " + nameOf(e) +
                  (layout.empty() ? "" : " " + layout) + (last ? " last" : ""),
              text, symbols, {fill}, tolerance);
}

const char *kKinds[] = {"sum", "mean", "prod", "max", "min", "argmax", "argmin"};

TEST(LoopNestReduce, Axes) {
  Suite suite(lowerLoopNest);
  const std::vector<std::vector<int64_t>> sizes = {{3, 67}, {1, 1}, {17, 16}, {2, 130}};
  for (const char *kind : kKinds)
    for (std::vector<int64_t> axes :
         std::vector<std::vector<int64_t>>{{2}, {1}, {0}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}})
      if (axes.size() == 1 || kind[0] != 'a')
        addReduce(suite, kind, Element::f32, {"s0", "5", "s1"}, axes, sizes,
                  kind == std::string("prod") ? Fill{0.9, 1.1} : Fill{-1, 3});
  for (std::vector<int64_t> axes : std::vector<std::vector<int64_t>>{{0}, {1, 3}, {2, 3}, {0, 1, 2, 3}})
    addReduce(suite, "sum", Element::f32, {"3", "s0", "2", "s1"}, axes, {{7, 33}, {64, 1}});
  addReduce(suite, "sum", Element::f32, {"s0"}, {0}, {{1, 1}, {300, 1}, {64, 1}, {15, 1}});
  addReduce(suite, "sum", Element::f32, {"s0", "s1"}, {}, {{3, 5}});
  check(suite);
}

TEST(LoopNestReduce, Types) {
  Suite suite(lowerLoopNest);
  for (Element e : kAllElements)
    for (const char *kind : kKinds) {
      bool extreme = kind == std::string("max") || kind == std::string("min");
      if (e == Element::f32 || (e == Element::boolean && !extreme))
        continue;
      Fill fill;
      if (isFloat(e))
        fill = kind == std::string("prod") ? Fill{0.8, 1.2} : Fill{-1, 3};
      else if (kind == std::string("mean"))
        fill = {-1, 2};
      else
        fill.wide = true;
      for (std::vector<int64_t> axes : std::vector<std::vector<int64_t>>{{1}, {0}})
        addReduce(suite, kind, e, {"s0", "s1"}, axes, {{3, 67}, {33, 5}}, fill);
    }
  check(suite);
}

TEST(LoopNestReduce, SpecialValues) {
  Suite suite(lowerLoopNest);
  for (Element e : kFloats) {
    for (const char *kind : {"sum", "max", "min", "prod"})
      for (std::vector<int64_t> axes : std::vector<std::vector<int64_t>>{{1}, {0}})
        addReduce(suite, kind, e, {"s0", "s1"}, axes, {{35, 4}, {3, 70}, {40, 40}},
                  Fill{-2, 2, {specialFloats(e)[4], specialFloats(e)[5], specialFloats(e)[6], 1, 2, 3}});
    for (const char *kind : {"sum", "prod", "max", "min", "mean"}) { // empty axes
      addReduce(suite, kind, e, {"s0", "s1"}, {1}, {{5, 0}});
      addReduce(suite, kind, e, {"s0", "s1"}, {0}, {{0, 67}});
    }
  }
  for (Element e : {Element::i8, Element::u8, Element::i32, Element::u64, Element::boolean})
    for (const char *kind : {"max", "min", "sum", "prod"})
      if (e != Element::boolean || kind[0] == 'm')
        addReduce(suite, kind, e, {"s0", "s1"}, {1}, {{5, 0}});
  // Of equal elements the first or the last.
  for (const char *kind : {"argmax", "argmin"})
    for (bool last : {false, true})
      for (Element e : {Element::f32, Element::i8, Element::u32, Element::f16})
        for (std::vector<int64_t> axes : std::vector<std::vector<int64_t>>{{1}, {0}})
          addReduce(suite, kind, e, {"s0", "s1"}, axes, {{5, 67}, {20, 3}}, Fill{0, 3, {0, 1, 2, 3}}, "", last);
  check(suite);
}

TEST(LoopNestReduce, Layouts) {
  Suite suite(lowerLoopNest);
  for (const char *kind : {"sum", "mean", "max", "argmax"})
    for (const char *layout : {"[0, 2, 3, 1]", "[3, 2, 1, 0]", "[0, 1, 2, 3], tile = 1 : 16"})
      for (std::vector<int64_t> axes : std::vector<std::vector<int64_t>>{{2, 3}, {1}, {3}, {1, 2, 3}})
        if (axes.size() == 1 || kind[0] != 'a')
          addReduce(suite, kind, Element::f32, {"2", "s0", "s1", "5"}, axes, {{20, 7}, {33, 3}}, {}, layout);
  check(suite);
}

// Windows.

struct Window {
  std::vector<int64_t> window, strides, dilations, low, high;
};

/// Result size of one dimension.
std::string slid(const std::string &dim, const Window &w, size_t d) {
  int64_t extra = w.low[d] + w.high[d] - w.dilations[d] * (w.window[d] - 1) - 1;
  return "(" + dim + " + " + std::to_string(extra) + ") floordiv " + std::to_string(w.strides[d]) + " + 1";
}

std::string attributes(const Window &w) {
  return "window = array<i64: " + list(w.window) + ">, strides = array<i64: " + list(w.strides) +
         ">, dilations = array<i64: " + list(w.dilations) + ">, padLow = array<i64: " + list(w.low) +
         ">, padHigh = array<i64: " + list(w.high) + ">";
}

void addWindow(Suite &suite, const std::string &kind, Element e, const std::vector<std::string> &dims, const Window &w,
               const std::string &layout, const std::string &more, bool indices,
               const std::vector<std::vector<int64_t>> &sizes, Fill fill = {}) {
  KernelText k;
  k.symbol(1, 300);
  k.symbol(1, 300);
  std::string result;
  for (size_t d = 0; d < dims.size(); ++d)
    result += (d ? ", " : "") + slid(dims[d], w, d);
  auto x = k.operand(type(without(dims, {}), e, layout));
  std::string first = type(result, e, layout), name = "graph.window_reduce " + kind, all = attributes(w) + more;
  std::string text;
  if (indices) {
    auto both = k.op2(name, {x}, first, type(result, Element::i64, layout), all);
    text = k.text({both + "#0", both + "#1"});
  } else {
    text = k.text({k.op(name, {x}, first, all)});
  }
  Tolerance tolerance;
  if (isFloat(e) && (kind == "sum" || kind == "mean"))
    tolerance.relative = relativeOf(e);
  for (const auto &symbols : sizes)
    suite.add("window " + kind + " [" + list(w.window) + "] by [" + list(w.strides) + "] " + nameOf(e) + " " + layout,
              text, symbols, {fill}, tolerance);
}

TEST(LoopNestWindows, Pooling) {
  Suite suite(lowerLoopNest);
  const Window windows[] = {
      {{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
      {{1, 1, 3, 3}, {1, 1, 2, 2}, {1, 1, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}},
      {{1, 1, 3, 3}, {1, 1, 2, 1}, {1, 1, 2, 1}, {0, 0, 2, 0}, {0, 0, 3, 1}},
      {{1, 1, 3, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, -1, 0}, {0, 0, 0, -1}},
      {{1, 1, 5, 5}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 4, 4}, {0, 0, 4, 4}},
  };
  for (Element e : {Element::f32, Element::f16, Element::i8, Element::u8, Element::i32, Element::f64})
    for (const char *layout : {"[0, 2, 3, 1]", ""})
      for (const char *kind : {"max", "min", "mean", "sum"})
        for (const Window &w : windows) {
          if (e != Element::f32 && (&w != &windows[1] || layout[0] == 0))
            continue;
          addWindow(suite, kind, e, {"2", "s0", "s1", "9"}, w, layout, "", false, {{20, 8}, {3, 33}, {65, 7}},
                    isFloat(e) ? Fill{} : Fill{-9, 9});
        }
  check(suite);
}

TEST(LoopNestWindows, CountedPaddingAndIndices) {
  Suite suite(lowerLoopNest);
  Window w = {{1, 1, 3, 3}, {1, 1, 2, 2}, {1, 1, 1, 1}, {0, 0, 1, 1}, {0, 0, 2, 1}};
  for (const char *layout : {"[0, 2, 3, 1]", ""}) {
    addWindow(suite, "mean", Element::f32, {"1", "s0", "s1", "9"}, w, layout,
              ", countPadding = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>", false, {{20, 8}, {3, 33}});
    for (Element e : {Element::f32, Element::i8, Element::f16})
      addWindow(suite, "max", e, {"2", "s0", "s1", "9"}, w, layout, "", true, {{20, 8}, {3, 33}, {1, 5}},
                Fill{-3, 3, {1, 2}});
    addWindow(suite, "max", Element::f32, {"2", "s0", "s1", "9"}, w, layout, "", false, {{20, 8}},
              Fill{-2, 2, specialFloats(Element::f32)});
  }
  // One and three spatial dimensions; a window over channels (LRN).
  addWindow(suite, "max", Element::f32, {"2", "s0", "s1"}, {{1, 1, 4}, {1, 1, 3}, {1, 1, 1}, {0, 0, 2}, {0, 0, 1}},
            "[0, 2, 1]", "", false, {{20, 8}, {3, 33}});
  addWindow(suite, "mean", Element::f32, {"2", "s0", "4", "s1", "5"},
            {{1, 1, 2, 3, 2}, {1, 1, 1, 2, 2}, {1, 1, 1, 1, 1}, {0, 0, 0, 1, 0}, {0, 0, 1, 1, 1}}, "[0, 2, 3, 4, 1]",
            "", false, {{20, 8}, {3, 33}});
  addWindow(suite, "sum", Element::f32, {"2", "s0", "s1"}, {{1, 5, 1}, {1, 1, 1}, {1, 1, 1}, {0, 2, 0}, {0, 2, 0}}, "",
            "", false, {{20, 8}, {3, 33}});
  addWindow(suite, "sum", Element::f32, {"2", "s0", "s1"}, {{1, 5, 1}, {1, 1, 1}, {1, 1, 1}, {0, 2, 0}, {0, 2, 0}},
            "[0, 2, 1]", "", false, {{20, 8}, {3, 33}});
  check(suite);
}

TEST(LoopNestWindows, DepthwiseConv) {
  Suite suite(lowerLoopNest);
  struct Conv {
    std::string multiplier;
    std::vector<int64_t> kernel, strides, dilations, low, high;
  };
  const Conv convs[] = {
      {"1", {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {"1", {3, 3}, {2, 2}, {1, 1}, {0, 1}, {1, 1}},
      {"1", {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},
      {"1", {5, 3}, {2, 1}, {1, 2}, {2, 2}, {2, 2}},
      {"2", {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {"1", {3}, {1}, {1}, {1}, {1}},
      {"1", {7}, {2}, {2}, {6}, {6}},
      {"1", {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {"1", {2, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
  };
  for (Element e : {Element::f32, Element::f16, Element::f64})
    for (bool channelsLast : {true, false})
      for (const Conv &c : convs) {
        if (e != Element::f32 && !channelsLast)
          continue;
        size_t n = c.kernel.size();
        KernelText k;
        k.symbol(2, 200);
        k.symbol(5, 100);
        std::string input = "2, s0", result = "2, s0 * " + c.multiplier, weight = "s0, " + c.multiplier + ", 1";
        std::vector<int64_t> order = {0}, weightOrder;
        Window w = {c.kernel, c.strides, c.dilations, c.low, c.high};
        for (size_t d = 0; d < n; ++d) {
          std::string dim = d + 1 == n ? "s1" : "9";
          input += ", " + dim;
          result += ", " + slid(dim, w, d);
          weight += ", " + std::to_string(c.kernel[d]);
          order.push_back(d + 2);
        }
        order.push_back(1);
        for (size_t d = 1; d < n + 3; ++d)
          weightOrder.push_back(d);
        weightOrder.push_back(0);
        std::string layout = channelsLast ? "[" + list(order) + "]" : "";
        auto x = k.operand(type(input, e, layout));
        auto y = k.operand(type(weight, e, channelsLast ? "[" + list(weightOrder) + "]" : ""));
        std::string text = k.text(
            {k.op("graph.conv", {x, y}, type(result, e, layout),
                  "strides = array<i64: " + list(c.strides) + ">, dilations = array<i64: " + list(c.dilations) +
                      ">, padLow = array<i64: " + list(c.low) + ">, padHigh = array<i64: " + list(c.high) + ">")});
        Tolerance tolerance;
        tolerance.relative = relativeOf(e);
        for (auto symbols : std::vector<std::vector<int64_t>>{{20, 8}, {3, 11}, {67, 7}})
          suite.add("depthwise [" + list(c.kernel) + "] " + nameOf(e) + " " + layout, text, symbols, {}, tolerance);
      }
  check(suite);
}

TEST(LoopNestWindows, IntegerMatMul) {
  Suite suite(lowerLoopNest);
  struct Product {
    const char *lhs, *rhs, *result, *layout;
  };
  const Product products[] = {
      {"s0, s1", "s1, 21", "s0, 21", ""},
      {"s0, s1", "s1, 21", "s0, 21", "[1, 0], tile = 1 : 16"},
      {"3, s0, s1", "3, s1, 18", "3, s0, 18", ""},
      {"2, 1, s0, s1", "3, s1, 5", "2, 3, s0, 5", "[0, 2, 1], tile = 2 : 16"},
      {"s0, s1", "4, s1, 66", "4, s0, 66", ""},
  };
  for (Element e : kIntegers)
    for (const Product &p : products) {
      if (&p != products && e != Element::i32)
        continue;
      KernelText k;
      k.symbol(0, 100);
      k.symbol(0, 100);
      auto a = k.operand(type(p.lhs, e)), b = k.operand(type(p.rhs, e, p.layout));
      std::string text = k.text({k.op("graph.matmul", {a, b}, type(p.result, e))});
      Fill wide;
      wide.wide = true;
      for (auto symbols : std::vector<std::vector<int64_t>>{{5, 17}, {1, 1}, {3, 0}, {0, 4}})
        suite.add(std::string("matmul ") + p.lhs + " by " + p.rhs + " " + nameOf(e), text, symbols, {wide});
    }
  check(suite);
}

} // namespace
