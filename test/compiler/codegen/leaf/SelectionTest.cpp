// Kernels whose results have a count: what lies beyond it, and scratch, is
// cleared before comparing. And tf_idf.
#include "test/compiler/codegen/leaf/LeafTest.h"

#include <gtest/gtest.h>

using namespace stint::test;

namespace {

/// Zeroes the elements of results from `from` on: those of a row of a matrix,
/// where `columns` says how long rows are.
void zero(Tensor &tensor, int64_t from, int64_t columns) {
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (i % columns >= from)
      tensor.setInteger(i, 0);
}

TEST(Leaf, NonZero) {
  Suite suite(lowerLeaf);
  const std::pair<const char *, int64_t> shapes[] = {{"s0", 1}, {"s0, s1", 2}, {"3, s0, s1", 3}};
  for (auto [dims, rank] : shapes)
    for (auto symbols : std::vector<std::vector<int64_t>>{{7, 5, 0}, {1, 1, 0}, {0, 4, 0}, {65, 3, 0}}) {
      std::string all = rank == 1 ? "s0" : rank == 2 ? "s0 * s1" : "s0 * s1 * 3";
      std::string text =
          leafText("non_zero", {{dims, "i1"}}, {{std::to_string(rank) + ", " + all, "i64"}, {"1", "i64"}}, "");
      suite.add(std::string("non_zero of ") + dims, text, symbols, {Fill{0, 1}}).clear =
          [](std::vector<Tensor> &results) {
            zero(results[0], results[1].integer(0), std::max<int64_t>(results[0].shape[1], 1));
          };
    }
  check(suite);
}

TEST(Leaf, Unique) {
  Suite suite(lowerLeaf);
  for (const char *element :
       {"f32", "f64", "f16", "bf16", "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"})
    for (bool sorted : {true, false})
      for (auto symbols : std::vector<std::vector<int64_t>>{{40, 1, 0}, {300, 2, 0}, {0, 3, 0}, {5, 0, 0}, {1, 4, 0}}) {
        std::vector<double> specials;
        if (element == std::string("f32"))
          specials = {NAN, INFINITY, -0.0, 0.0};
        TypeText numbers = {"s0", "i64"};
        suite
            .add("unique " + std::string(element) + (sorted ? "" : " by appearance"),
                 leafText("unique", {{"s0, s1", element}}, {numbers, numbers, numbers, {"1", "i64"}, numbers},
                          "params [" + std::to_string(sorted) + "]"),
                 symbols, {Fill{0, 6, specials, false, true}})
            .clear = [](std::vector<Tensor> &results) {
          int64_t count = results[3].integer(0), n = std::max<int64_t>(results[0].size(), 1);
          zero(results[0], count, n);
          zero(results[2], count, n);
          zero(results[4], 0, n);
        };
      }
  check(suite);
}

TEST(Leaf, NonMaxSuppression) {
  Suite suite(lowerLeaf);
  for (int64_t centred = 0; centred < 2; ++centred)
    for (int64_t thresholded = 0; thresholded < 2; ++thresholded)
      for (int64_t most : {0, 3, 100})
        for (auto symbols : std::vector<std::vector<int64_t>>{{2, 60, 2}, {1, 1, 1}, {1, 0, 2}, {0, 5, 2}}) {
          std::string text =
              leafText("non_max_suppression",
                       {{"s0, s1, 4", "f32"}, {"s0, s2, s1", "f32"}, {"1", "i64"}, {"1", "f32"}, {"1", "f32"}},
                       {{"s0 * s2 * s1, 3", "i64"}, {"1", "i64"}, {"s1", "i64"}},
                       "params [" + std::to_string(centred) + ", " + std::to_string(thresholded) + "]");
          Case &test = suite.add(
              "non_max_suppression", text, symbols,
              {centred ? Fill{1, 8} : Fill{0, 10}, Fill{0, 5, {}, false, true}, Fill{}, Fill{0.1, 0.4}, Fill{1, 2}});
          test.operands[2].setInteger(0, most);
          test.clear = [](std::vector<Tensor> &results) {
            int64_t all = std::max<int64_t>(results[0].size(), 1);
            zero(results[0], 3 * results[1].integer(0), all);
            zero(results[2], 0, std::max<int64_t>(results[2].size(), 1));
          };
        }
  check(suite);
}

TEST(Leaf, TfIdf) {
  Suite suite(lowerLeaf);
  for (int64_t skip : {0, 1, 5})
    for (int64_t once : {0, 1})
      for (auto symbols : std::vector<std::vector<int64_t>>{{3, 20, 0}, {1, 1, 0}, {0, 4, 0}, {2, 0, 0}}) {
        Case &test =
            suite.add("tf_idf",
                      leafText("tf_idf", {{"s0, s1", "i64"}, {"6", "i64"}, {"11", "i64"}, {"6", "i64"}, {"6", "f32"}},
                               {{"s0, 8", "f32"}},
                               "params [" + std::to_string(skip) + ", " + std::to_string(once) + "] leading 1"),
                      symbols, {Fill{0, 3}, Fill{}, Fill{}, Fill{}, Fill{-2, 2}}, {0, 1e-6});
        const int64_t sizes[] = {1, 1, 2, 2, 2, 3}, words[] = {1, 2, 0, 0, 0, 3, 2, 1, 1, 2, 3},
                      columns[] = {0, 7, 3, 2, 1, 5};
        for (int64_t i = 0; i < 6; ++i)
          test.operands[1].setInteger(i, sizes[i]);
        for (int64_t i = 0; i < 11; ++i)
          test.operands[2].setInteger(i, words[i]);
        for (int64_t i = 0; i < 6; ++i)
          test.operands[3].setInteger(i, columns[i]);
      }
  check(suite);
}

} // namespace
