// grid_sample, roi_align, max_roi_pool, reverse_sequence and det.
#include "test/compiler/codegen/leaf/LeafTest.h"

#include <gtest/gtest.h>

using namespace stint::test;

namespace {

std::string text(int64_t value) { return std::to_string(value); }

TEST(Leaf, GridSample) {
  Suite suite(lowerLeaf);
  Tolerance close;
  close.relative = 2e-5;
  for (int64_t mode = 0; mode < 3; ++mode)
    for (int64_t padding = 0; padding < 3; ++padding)
      for (int64_t corners = 0; corners < 2; ++corners) {
        std::string rest = "params [" + text(mode) + ", " + text(padding) + ", " + text(corners) + "] leading ";
        std::string flat = leafText("grid_sample", {{"s0, 3, s1, 6", "f32"}, {"s0, 4, s2, 2", "f32"}},
                                    {{"s0, 3, 4, s2", "f32"}}, rest + "2");
        std::string solid = leafText("grid_sample", {{"2, 1, 3, s0, 5", "f32"}, {"2, 2, s1, 3, 3", "f32"}},
                                     {{"2, 1, 2, s1, 3", "f32"}}, rest + "3");
        for (auto symbols : std::vector<std::vector<int64_t>>{{2, 5, 7}, {1, 1, 3}, {1, 4, 0}, {0, 4, 2}})
          suite.add("grid_sample " + rest, flat, symbols, {Fill{-2, 2}, Fill{-1.7, 1.7}}, close);
        suite.add("volumetric grid_sample " + rest, solid, {4, 2, 0}, {Fill{-2, 2}, Fill{-1.7, 1.7}}, close);
      }
  suite.add("grid_sample f64",
            leafText("grid_sample", {{"1, 2, s0, s1", "f64"}, {"1, s2, 5, 2", "f64"}}, {{"1, 2, s2, 5", "f64"}},
                     "params [1, 2, 0] leading 2"),
            {5, 4, 3}, {Fill{-2, 2}, Fill{-1.7, 1.7}}, close);
  check(suite);
}

/// Points that no index can name: nothing outside is read.
TEST(Leaf, GridSampleOfWildPoints) {
  for (int64_t mode = 0; mode < 3; ++mode)
    for (int64_t padding = 0; padding < 3; ++padding)
      for (const std::string &variant : runnableVariants()) {
        Outcome outcome = runKernel(
            leafText("grid_sample", {{"1, 1, s0, s0", "f32"}, {"1, 1, 8, 2", "f32"}}, {{"1, 1, 1, 8", "f32"}},
                     "params [" + text(mode) + ", " + text(padding) + ", 0] leading 2"),
            {3, 0, 0},
            {tensorOf({1, 1, 3, 3}, Element::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1}),
             tensorOf({1, 1, 8, 2}, Element::f32,
                      {NAN, 0, 0, INFINITY, -INFINITY, 0, 1e30, 1e30, -1e30, 0, 5e9, -5e9, NAN, NAN, 1e38, 1})},
            lowerLeaf, variant);
        EXPECT_EQ(outcome.error, "");
      }
}

TEST(Leaf, RoiAlign) {
  Suite suite(lowerLeaf);
  Tolerance close;
  close.relative = 2e-5;
  for (int64_t maximum = 0; maximum < 2; ++maximum)
    for (int64_t samples : {0, 2})
      for (int64_t half = 0; half < 2; ++half)
        suite.add("roi_align",
                  leafText("roi_align", {{"2, 3, s0, 9", "f32"}, {"s1, 4", "f32"}, {"s1", "i64"}},
                           {{"s1, 3, 2, 3", "f32"}},
                           "params [" + text(maximum) + ", " + text(samples) + ", " + text(half) +
                               "] fparams [0.5] leading 1"),
                  {7, 5, 0}, {Fill{-2, 2}, Fill{-4, 24}, Fill{-1, 3}}, close);
  std::string pool = leafText("max_roi_pool", {{"2, 3, s0, 9", "f32"}, {"s1, 5", "f32"}}, {{"s1, 3, 2, 3", "f32"}},
                              "fparams [0.5] leading 2");
  suite.add("max_roi_pool", pool, {7, 5, 0}, {Fill{-2, 2}, Fill{-4, 24}});
  suite.add("max_roi_pool of nothing", pool, {0, 2, 0}, {Fill{-2, 2}, Fill{-4, 24}});
  suite.add("no max_roi_pool", pool, {4, 0, 0}, {Fill{-2, 2}, Fill{-4, 24}});
  check(suite);
}

TEST(Leaf, ReverseSequence) {
  Suite suite(lowerLeaf);
  for (const char *element : {"f32", "i1", "f64", "bf16"})
    for (int64_t time = 0; time < 2; ++time)
      for (auto symbols : std::vector<std::vector<int64_t>>{{6, 4, 5}, {1, 1, 1}, {5, 3, 0}, {0, 3, 2}})
        suite.add("reverse_sequence " + std::string(element),
                  leafText("reverse_sequence", {{"s0, s1, s2", element}, {time ? "s0" : "s1", "i64"}},
                           {{"s0, s1, s2", element}}, "params [" + text(time) + "] leading 2"),
                  symbols, {Fill{-100, 100}, Fill{-1, 7}});
  check(suite);
}

/// By the first row.
double determinant(const std::vector<double> &a, size_t n) {
  double sum = n == 0 ? 1 : 0;
  for (size_t skip = 0; skip < n; ++skip) {
    std::vector<double> rest;
    for (size_t i = n; i < n * n; ++i)
      if (i % n != skip)
        rest.push_back(a[i]);
    sum += (skip % 2 ? -1 : 1) * a[skip] * determinant(rest, n - 1);
  }
  return sum;
}

TEST(Leaf, Det) {
  for (const std::string &variant : runnableVariants())
    for (int64_t n : {0, 1, 2, 5}) {
      Tensor x = randomTensor({3, n, n}, Element::f32, n);
      for (int64_t i = 0; i < n; ++i)
        x.set(i, 0); // a matrix with a row of zeros, and a pivot that is not in place
      if (n > 1)
        x.set(n * n, 0);
      Tensor expected({3}, Element::f32);
      for (int64_t m = 0; m < 3; ++m) {
        std::vector<double> a;
        for (int64_t i = 0; i < n * n; ++i)
          a.push_back(x.at(m * n * n + i));
        expected.set(m, determinant(a, n));
      }
      Outcome outcome =
          runKernel(leafText("det", {{"s0, s1, s1", "f32"}}, {{"s0", "f32"}, {"s0, s1, s1", "f32"}}, "leading 1"),
                    {3, n, 0}, {x}, lowerLeaf, variant);
      ASSERT_EQ(outcome.error, "");
      EXPECT_EQ(compare(outcome.results[0], expected, {0, 1e-5}), "") << "n = " << n;
    }
}

} // namespace
