// Loop nests of one data movement operator: index maps, layouts, indices out
// of range.
#include "test/compiler/codegen/loopnest/LoopNestTest.h"

#include <gtest/gtest.h>

using namespace stint::test;

namespace {

const Element kSizes[] = {Element::f32, Element::i8, Element::f16, Element::i64, Element::boolean};

std::string join(const std::vector<std::string> &dims) {
  std::string text;
  for (const std::string &dim : dims)
    text += (text.empty() ? "" : ", ") + dim;
  return text;
}

TEST(LoopNestMovement, Transpose) {
  Suite suite(lowerLoopNest);
  const std::vector<std::vector<int64_t>> permutations = {{1, 0},       {0, 2, 1},    {2, 1, 0},    {1, 2, 0},
                                                          {0, 2, 3, 1}, {0, 3, 1, 2}, {3, 2, 1, 0}, {1, 0, 3, 2}};
  const std::vector<std::string> dims = {"s0", "3", "s1", "5"};
  for (Element e : kSizes)
    for (const auto &permutation : permutations) {
      if (e != Element::f32 && permutation.size() != 3)
        continue;
      KernelText k;
      k.symbol(0, 200);
      k.symbol(0, 200);
      std::vector<std::string> from(dims.begin(), dims.begin() + permutation.size()), to;
      for (int64_t p : permutation)
        to.push_back(from[p]);
      auto x = k.operand(type(join(from), e));
      std::string text = k.text(
          {k.op("graph.transpose", {x}, type(join(to), e), "permutation = array<i64: " + list(permutation) + ">")});
      for (auto symbols : std::vector<std::vector<int64_t>>{{67, 17}, {1, 65}, {16, 16}, {5, 0}})
        suite.add("transpose [" + list(permutation) + "] " + nameOf(e), text, symbols, {Fill{-100, 100}});
    }
  check(suite);
}

TEST(LoopNestMovement, Slice) {
  Suite suite(lowerLoopNest);
  struct Slicing {
    const char *input, *result, *starts, *steps;
  };
  const Slicing slicings[] = {
      {"s0", "s0", "s0 - 1", "-1"},
      {"s0 + 3", "s0", "2", "1"},
      {"s0 * 2 + 1", "s0", "1", "2"},
      {"s0 * 3", "s0", "s0 * 3 - 1", "-3"},
      {"7, 70", "5, 65", "1, 4", "1, 1"},
      {"9, 70", "3, 65", "8, 69", "-3, -1"},
      {"4, s0 + 2, 5", "2, s0, 5", "1, 2, 0", "2, 1, 1"},
      {"4, 5, s0 * 2", "4, 3, s0", "0, 4, s0 * 2 - 1", "1, -2, -2"},
      {"6", "0", "3", "1"},
      {"6", "1", "5", "-7"},
  };
  for (Element e : kSizes)
    for (const Slicing &s : slicings) {
      KernelText k;
      k.symbol(1, 200);
      auto x = k.operand(type(s.input, e));
      std::string text = k.text({k.op("graph.slice", {x}, type(s.result, e),
                                      "starts = affine_map<()[s0] -> (" + std::string(s.starts) +
                                          ")>, steps = array<i64: " + s.steps + ">")});
      for (int64_t size : {67, 1, 16})
        suite.add(std::string("slice ") + s.input + " by " + s.steps + " " + nameOf(e), text, {size},
                  {Fill{-100, 100}});
    }
  check(suite);
}

TEST(LoopNestMovement, Pad) {
  Suite suite(lowerLoopNest);
  struct Padding {
    const char *input, *result, *low;
  };
  const Padding paddings[] = {
      {"s0", "s0 + 5", "2"},
      {"s0", "s0 + 3", "0"},
      {"s0", "s0 + 3", "3"},
      {"4, s0", "9, s0 + 4", "3, 1"},
      {"s0, 6", "s0 + 2, 21", "1, 7"},
      {"2, 3, s0", "2, 5, s0", "0, 1, 0"},
      {"3", "23", "11"}, // reflected more than once
      {"1, 67", "4, 70", "2, 3"},
      {"s0", "s0 * 3", "s0"},
  };
  for (Element e : kSizes)
    for (const char *mode : {"constant", "reflect", "edge", "wrap"})
      for (const Padding &p : paddings) {
        KernelText k;
        k.symbol(1, 200);
        std::vector<KernelText::Ref> operands = {k.operand(type(p.input, e))};
        if (mode == std::string("constant"))
          operands.push_back(k.operand(type("", e)));
        std::string text = k.text({k.op(std::string("graph.pad ") + mode, operands, type(p.result, e),
                                        "low = affine_map<()[s0] -> (" + std::string(p.low) + ")>")});
        for (int64_t size : {66, 1, 5})
          suite.add(std::string("pad ") + mode + " " + p.input + " to " + p.result + " " + nameOf(e), text, {size},
                    {Fill{-100, 100}});
      }
  KernelText k; // nothing but padding
  auto x = k.operand(type("0, 3", Element::f32)), v = k.operand(type("", Element::f32));
  suite.add("pad of nothing", k.text({k.op("graph.pad constant", {x, v}, type("2, 70", Element::f32),
                                           "low = affine_map<() -> (1, 4)>")}));
  check(suite);
}

TEST(LoopNestMovement, Concat) {
  Suite suite(lowerLoopNest);
  struct Joining {
    std::vector<const char *> inputs;
    const char *result;
    int axis;
  };
  const std::vector<Joining> joinings = {
      {{"s0", "3"}, "s0 + 3", 0},
      {{"s0", "s0", "s0"}, "s0 * 3", 0},
      {{"2, s0", "3, s0"}, "5, s0", 0},
      {{"4, 3", "4, s0", "4, 1"}, "4, s0 + 4", 1},
      {{"2, 3, 66", "2, 1, 66"}, "2, 4, 66", 1},
      {{"s0, 16", "s0, 48"}, "s0, 64", 1},
      {{"0", "s0", "0"}, "s0", 0},
      {{"5, s0"}, "5, s0", 1},
      {{"1, 3", "s0, 3", "2, 3", "s0, 3", "0, 3", "1, 3", "s0, 3", "4, 3", "1, 3", "1, 3"}, "s0 * 3 + 10, 3", 0},
  };
  for (Element e : kSizes)
    for (const Joining &j : joinings) {
      KernelText k;
      k.symbol(0, 200);
      std::vector<KernelText::Ref> operands;
      for (const char *dims : j.inputs)
        operands.push_back(k.operand(type(dims, e)));
      std::string text =
          k.text({k.op("graph.concat", operands, type(j.result, e), "axis = " + std::to_string(j.axis) + " : i64")});
      for (int64_t size : {67, 0, 16})
        suite.add(std::string("concat to ") + j.result + " " + nameOf(e), text, {size}, {Fill{-100, 100}});
    }
  check(suite);
}

TEST(LoopNestMovement, Gathers) {
  Suite suite(lowerLoopNest);
  struct Gathering {
    const char *op, *input, *indices, *result, *attribute;
  };
  const Gathering gatherings[] = {
      {"gather", "s0", "17", "17", "axis = 0 : i64"},
      {"gather", "s0, 67", "5", "5, 67", "axis = 0 : i64"},
      {"gather", "4, s0", "9", "4, 9", "axis = 1 : i64"},
      {"gather", "4, s0", "", "4", "axis = 1 : i64"},
      {"gather", "4, s0, 5", "2, 3", "4, 2, 3, 5", "axis = 1 : i64"},
      {"gather", "s0, 3", "70", "70, 3", "axis = 0 : i64"},
      {"gather", "s0, 3", "0", "0, 3", "axis = 0 : i64"},
      {"gather_elements", "s0, 5", "7, 5", "7, 5", "axis = 0 : i64"},
      {"gather_elements", "3, s0", "3, 67", "3, 67", "axis = 1 : i64"},
      {"gather_elements", "3, s0, 4", "2, 6, 3", "2, 6, 3", "axis = 1 : i64"},
      {"gather_nd", "s0, 5, 3", "4, 2", "4, 3", "batchDims = 0 : i64"},
      {"gather_nd", "s0, 5", "66, 2", "66", "batchDims = 0 : i64"},
      {"gather_nd", "4, s0, 65", "4, 3, 1", "4, 3, 65", "batchDims = 1 : i64"},
      {"gather_nd", "2, 3, s0", "2, 3, 1", "2, 3", "batchDims = 2 : i64"},
  };
  for (Element e : kSizes)
    for (Element index : {Element::i64, Element::i32})
      for (const Gathering &g : gatherings) {
        KernelText k;
        k.symbol(1, 200);
        auto x = k.operand(type(g.input, e)), i = k.operand(type(g.indices, index));
        std::string text = k.text({k.op(std::string("graph.") + g.op, {x, i}, type(g.result, e), g.attribute)});
        for (int64_t size : {6, 1}) {
          Fill outside{-9, 9, {2147483647, -2147483648.0}}; // negative ones and far out of range
          suite.add(std::string(g.op) + " " + g.input + " by " + g.indices + " " + nameOf(e) + " " + nameOf(index),
                    text, {size}, {Fill{-100, 100}, outside});
        }
      }
  check(suite);
}

TEST(LoopNestMovement, Sources) {
  Suite suite(lowerLoopNest);
  for (Element e : kAllElements) {
    if (e == Element::boolean)
      continue;
    for (int axis : {0, 1}) {
      KernelText k;
      k.symbol(0, 200);
      suite.add(std::string("iota ") + std::to_string(axis) + " " + nameOf(e),
                k.text({k.source("graph.iota", "axis = " + std::to_string(axis) + " : i64", type("s0, 66", e))}), {33});
    }
    KernelText k;
    suite.add(std::string("splat ") + nameOf(e), k.text({k.splat(isFloat(e) ? "1.5" : "3", type("2, 35", e))}));
  }
  KernelText dimensions;
  dimensions.symbol(0, 200);
  dimensions.symbol(1, 200);
  suite.add("dimensions",
            dimensions.text({dimensions.source(
                "graph.dimensions", "values = affine_map<()[s0, s1] -> (s0 * 3, s1, s0 floordiv 4, s0 * s1 + 1, 7)>",
                type("5", Element::i64))}),
            {22, 5});
  // One-hot: compare a counter with the labels.
  KernelText hot;
  auto labels = hot.operand(type("9, 1", Element::i64));
  auto counter = hot.source("graph.iota", "axis = 0 : i64", type("66", Element::i64));
  auto equal = hot.op("graph.compare eq", {labels, counter}, type("9, 66", Element::boolean));
  suite.add("one-hot", hot.text({hot.op("graph.cast", {equal}, type("9, 66", Element::f32))}), {}, {Fill{0, 65}});
  check(suite);
}

TEST(LoopNestMovement, ReshapeAndBroadcast) {
  Suite suite(lowerLoopNest);
  const std::pair<const char *, const char *> reshapes[] = {
      {"s0, 6", "s0 * 6"},   {"s0 * 6", "s0, 2, 3"}, {"s0, 3, 4", "s0 * 3, 4"},
      {"6, s0", "2, 3, s0"}, {"12, s0", "s0, 12"},   {"s0, 1, 5", "s0, 5"},
      {"", "1, 1"},          {"35, 2", "7, 10"},
  };
  for (Element e : kSizes) {
    for (auto [from, to] : reshapes) {
      KernelText k;
      k.symbol(0, 200);
      auto x = k.operand(type(from, e));
      std::string text = k.text({k.op("graph.reshape", {x}, type(to, e))});
      for (int64_t size : {11, 1, 64})
        suite.add(std::string("reshape ") + from + " to " + to + " " + nameOf(e), text, {size}, {Fill{-100, 100}});
    }
    const std::pair<const char *, const char *> broadcasts[] = {
        {"1", "s0"}, {"", "s0, 3"}, {"s0, 1", "s0, 65"}, {"1, s0", "4, s0"}, {"3, 1, s0", "2, 3, 5, s0"}};
    for (auto [from, to] : broadcasts) {
      KernelText k;
      k.symbol(0, 200);
      auto x = k.operand(type(from, e));
      suite.add(std::string("broadcast ") + from + " to " + to + " " + nameOf(e),
                k.text({k.op("graph.broadcast", {x}, type(to, e))}), {35}, {Fill{-100, 100}});
    }
  }
  check(suite);
}

TEST(LoopNestMovement, Relayout) {
  Suite suite(lowerLoopNest);
  struct Layouts {
    const char *dims, *from, *to;
  };
  const Layouts layouts[] = {
      {"2, s0, 3, 5", "", "[0, 2, 3, 1]"},
      {"2, s0, 3, 5", "[0, 2, 3, 1]", ""},
      {"2, s0, 3", "[0, 2, 1]", "[1, 0, 2]"},
      {"s0, 40", "", "[1, 0], tile = 1 : 16"},
      {"40, s0", "", "[1, 0], tile = 1 : 16"},
      {"5, s0", "[1, 0], tile = 1 : 16", ""},
      {"3, 20, s0", "", "[0, 2, 1], tile = 2 : 16"},
      {"3, 20, s0", "[0, 2, 1], tile = 2 : 16", "[1, 0, 2]"},
      {"1, s0, 7, 3, 3", "", "[0, 1, 3, 4, 2], tile = 1 : 16"},
      {"1, s0, 7, 3, 3", "[0, 1, 3, 4, 2], tile = 1 : 16", ""},
      {"s0, 1, 1, 3", "", "[1, 2, 3, 0]"},
      {"s0, 21", "[1, 0], tile = 0 : 16", "[1, 0], tile = 1 : 16"},
      {"s0, 21", "", "[0, 1], tile = 1 : 4"},
  };
  for (Element e : {Element::f32, Element::f16, Element::i8, Element::f64})
    for (const Layouts &l : layouts) {
      KernelText k;
      k.symbol(0, 200);
      auto x = k.operand(type(l.dims, e, l.from));
      std::string text = k.text({k.op("graph.relayout", {x}, type(l.dims, e, l.to))});
      for (int64_t size : {1, 15, 16, 17, 35})
        suite.add(std::string("relayout ") + l.dims + " from " + l.from + " to " + l.to + " " + nameOf(e), text, {size},
                  {Fill{-100, 100}});
    }
  check(suite);
}

} // namespace
