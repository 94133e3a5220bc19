// top_k: every type, ties, NaN, sizes from nothing to a heap of many levels.
#include "test/compiler/codegen/leaf/LeafTest.h"

#include <gtest/gtest.h>

using namespace stint::test;

namespace {

const char *const kNumbers[] = {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"};

std::string topK(const std::string &element, bool largest) {
  return leafText("top_k", {{"s0, s1", element}}, {{"s0, s2", element}, {"s0, s2", "i64"}},
                  "params [" + std::to_string(largest) + "] leading 1");
}

TEST(Leaf, TopK) {
  Suite suite(lowerLeaf);
  for (const char *element : kNumbers)
    for (bool largest : {true, false})
      for (auto symbols : std::vector<std::vector<int64_t>>{
               {3, 7, 3}, {1, 1, 1}, {2, 5, 0}, {0, 5, 2}, {4, 0, 0}, {2, 3, 5}, {5, 129, 100}, {1, 1000, 1000}}) {
        std::string name = "top_k " + std::string(element) + (largest ? " largest" : " smallest");
        suite.add(name, topK(element, largest), symbols, {Fill{-1000, 1000}});
        suite.add(name + " with ties", topK(element, largest), symbols, {Fill{0, 3, {}, false, true}});
      }
  for (bool largest : {true, false})
    for (int64_t k : {1, 9, 63})
      suite.add("top_k of special floats", topK("f32", largest), {4, 63, k},
                {Fill{-2, 2, specialFloats(Element::f32)}});
  for (const char *element : {"i8", "i32", "i64", "ui64"})
    suite.add("top_k of extremes", topK(element, true), {3, 200, 150}, {Fill{-1, 1, {}, true}});
  check(suite);
}

/// Orders in which a quicksort could take long, and a long row.
TEST(Leaf, TopKOfPatterns) {
  Suite suite(lowerLeaf);
  for (int pattern = 0; pattern < 5; ++pattern)
    for (int64_t k : {40, 20000}) {
      Case &test = suite.add("top_k of pattern " + std::to_string(pattern), topK("f32", pattern % 2), {1, 20000, k});
      for (int64_t i = 0; i < 20000; ++i)
        test.operands[0].set(i, pattern == 0   ? i
                                : pattern == 1 ? -i
                                : pattern == 2 ? (i < 10000 ? i : 20000 - i)
                                : pattern == 3 ? i % 2
                                               : 0);
    }
  check(suite);
}

} // namespace
