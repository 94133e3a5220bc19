// Contraction kernels against the reference: shapes around every edge of the
// blocking, layouts, element types and epilogues.
#include "compiler/codegen/contraction/Contraction.h"
#include "test/compiler/codegen/contraction/KernelText.h"
#include "test/compiler/codegen/harness/Harness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace stint;
using namespace stint::test;

namespace {

/// Error of a chain of `k` roundings, relative to the largest result.
Tolerance chain(int64_t k, const std::string &element = "f32") {
  double unit = element == "f64" ? 0x1p-53 : 0x1p-24;
  return {element == "f16" || element == "bf16" ? 1.0 : 2.0, unit * (4 + 2 * std::sqrt(static_cast<double>(k)))};
}

struct Contraction : testing::Test {
  Suite suite{codegen::lowerContraction};

  void add(const MatMul &matmul, int64_t k, std::vector<int64_t> symbols = {}, std::vector<Fill> fills = {}) {
    std::string name = "matmul";
    for (const Dims *dims : {&matmul.left, &matmul.right})
      for (const std::string &dim : *dims)
        name += (dims == &matmul.right && &dim == &dims->front() ? " by " : " ") + dim;
    suite.add(name + " " + matmul.element, textOf(matmul), std::move(symbols), std::move(fills),
              chain(k, matmul.element));
  }
  void gemm(int64_t m, int64_t k, int64_t n, Epilogue epilogue = Epilogue::none, std::string element = "f32") {
    auto text = [](int64_t v) { return std::to_string(v); };
    // Sums of about 1 for any K, so that what an epilogue makes of them is not
    // all rounding errors of large ones.
    double scale = 2 / std::pow(std::max<double>(k, 1), 0.25);
    add({{text(m), text(k)}, {text(k), text(n)}, element, epilogue}, k, {}, {Fill{-scale, scale}});
  }
  void conv(const Conv &conv, std::vector<int64_t> symbols = {}) {
    int64_t k = conv.channels;
    std::string name = "conv " + std::to_string(conv.groups) + "x" + std::to_string(conv.channels) + "->" +
                       std::to_string(conv.outputs);
    for (size_t i = 0; i < conv.size.size(); ++i) {
      k *= conv.kernel[i];
      name += " " + std::to_string(conv.kernel[i]) + "@" + std::to_string(conv.size[i]);
    }
    suite.add(name + " " + conv.element, textOf(conv), std::move(symbols), {}, chain(k, conv.element));
  }
  /// Natively all of it, under qemu each n-th case.
  void check(size_t everyEmulated = 5) {
    suite.check({"v2", "v3"});
    suite.check({"neon"}, everyEmulated);
  }
};

TEST_F(Contraction, MatMulTails) {
  const int64_t sizes[][2] = {{1, 1},  {1, 40}, {2, 16}, {3, 15},  {4, 17},  {5, 2},
                              {6, 31}, {7, 16}, {9, 33}, {11, 25}, {24, 16}, {97, 40}};
  for (auto [m, n] : sizes)
    gemm(m, 19, n, m % 2 ? Epilogue::biasRelu : Epilogue::none);
  check(3);
}

TEST_F(Contraction, MatMulDepth) {
  int64_t number = 0;
  for (int64_t k : {0, 1, 2, 3, 4, 5, 64, 127, 384, 385, 513, 800})
    gemm(number++ % 2 ? 100 : 7, k, 35, Epilogue::biasRelu);
  gemm(1, 0, 20);
  gemm(1, 600, 35, Epilogue::biasRelu);
  gemm(3, 2048, 320); // streams panels
  gemm(200, 700, 300, Epilogue::residual);
  check(8);
}

TEST_F(Contraction, MatMulSymbolic) {
  MatMul matmul = {{"s0", "s1"}, {"s1", "s2"}, "f32", Epilogue::residual, "0..130, 0..900, 0..70"};
  for (std::vector<int64_t> symbols : std::vector<std::vector<int64_t>>{
           {1, 1, 1}, {130, 900, 70}, {6, 256, 16}, {7, 257, 33}, {5, 0, 20}, {0, 5, 5}, {4, 3, 0}})
    add(matmul, symbols[1], symbols);
  // Rows of all leading dimensions, a vector of symbols as rows.
  for (int64_t s : {1, 5, 13})
    add({{"s0", "3", "s0", "20"}, {"20", "24"}, "f32", Epilogue::rowScale, "1..13"}, 20, {s});
  check(3);
}

TEST_F(Contraction, MatMulBatches) {
  add({{"2", "3", "7", "9"}, {"2", "3", "9", "21"}, "f32", Epilogue::biasRelu}, 9);
  add({{"3", "7", "9"}, {"2", "1", "9", "16"}, "f32", Epilogue::residual}, 9);
  add({{"2", "1", "7", "9"}, {"3", "9", "5"}}, 9);
  add({{"7", "9"}, {"4", "9", "18"}, "f32", Epilogue::rowScale}, 9);
  add({{"2", "3", "7", "9"}, {"1", "1", "9", "21"}}, 9);
  add({{"2", "3", "7", "9"}, {"9", "21"}, "f32", Epilogue::residual}, 9);
  add({{"1", "7", "9"}, {"1", "1", "1", "9", "21"}}, 9);
  add({{"s0", "12", "s1", "64"}, {"s0", "12", "64", "s1"}, "f32", Epilogue::none, "1..2, 1..20"}, 64, {2, 17});
  add({{"s0", "s1", "64"}, {"s0", "64", "s1"}, "f32", Epilogue::two, "1..2, 1..20"}, 64, {1, 20});
  check(4);
}

TEST_F(Contraction, Epilogues) {
  for (Epilogue epilogue :
       {Epilogue::none, Epilogue::biasRelu, Epilogue::residual, Epilogue::two, Epilogue::rowScale, Epilogue::greater}) {
    gemm(13, 33, 16, epilogue);
    gemm(100, 33, 45, epilogue);
    gemm(8, 900, 39, epilogue);
    conv({2, 1, 5, 22, {6, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}, "f32", epilogue});
    conv({1, 3, 4, 7, {11}, {2}, {}, {}, {}, {}, "f32", epilogue});
  }
  suite.check({"v2", "v3"});
  suite.check({"neon", "dotprod", "i8mm"}, 7);
}

TEST_F(Contraction, ElementTypes) {
  for (const char *element : {"f16", "bf16", "f64"}) {
    gemm(9, 30, 37, Epilogue::none, element);
    gemm(9, 30, 37, Epilogue::residual, element);
    gemm(1, 600, 16, Epilogue::two, element);
    conv({2, 1, 5, 22, {6, 9}, {3, 3}, {2, 1}, {}, {1, 1}, {1, 1}, element, Epilogue::residual});
    conv({1, 2, 3, 16, {6, 9}, {1, 1}, {}, {}, {}, {}, element, Epilogue::none});
    gemm(103, 700, 50, Epilogue::biasRelu, element);
  }
  check(3);
}

TEST_F(Contraction, ConvShapes) {
  using V = std::vector<int64_t>;
  // First layers: few channels, unrolled runs.
  conv({1, 1, 3, 32, {15, 17}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, "f32", Epilogue::biasRelu});
  conv({2, 1, 3, 19, {23, 20}, {7, 7}, {2, 2}, {}, {3, 3}, {3, 3}, "f32", Epilogue::biasRelu});
  conv({1, 1, 1, 8, {9, 9}, {5, 5}, {}, {}, {2, 2}, {2, 2}});
  // Pointwise, in place and strided.
  conv({2, 1, 40, 24, {7, 7}, {1, 1}, {}, {}, {}, {}, "f32", Epilogue::residual});
  conv({2, 1, 40, 24, {7, 8}, {1, 1}, {2, 2}});
  conv({1, 1, 700, 40, {11, 10}, {1, 1}, {}, {}, {}, {}, "f32", Epilogue::biasRelu});
  // Several blocks of K, at and inside a run.
  conv({1, 1, 64, 64, {9, 12}, {3, 3}, {}, {}, {1, 1}, {1, 1}, "f32", Epilogue::residual});
  conv({1, 1, 300, 20, {5, 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}});
  conv({1, 2, 200, 20, {5, 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}});
  // Dilation, strides, uneven and negative pads, pads larger than the input.
  conv({1, 1, 8, 16, {14, 13}, {3, 3}, {}, {2, 3}, {2, 3}, {2, 3}});
  conv({1, 1, 8, 16, {14, 13}, {3, 2}, {3, 2}, {1, 2}, {0, 2}, {1, 0}});
  conv({1, 1, 6, 18, {14, 13}, {4, 4}, {}, {}, {-2, 3}, {3, -1}});
  conv({1, 1, 6, 18, {3, 2}, {3, 5}, {2, 1}, {}, {6, 7}, {5, 8}});
  // Groups.
  conv({2, 3, 4, 16, {8, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, "f32", Epilogue::biasRelu});
  conv({1, 4, 2, 5, {8, 7}, {3, 3}, {2, 2}, {2, 2}, {1, 1}, {1, 1}, "f32", Epilogue::residual});
  conv({1, 2, 20, 20, {8, 7}, {1, 1}});
  // Other ranks.
  conv({2, 1, 6, 20, {31}, {5}, {2}, {}, {2}, {2}, "f32", Epilogue::biasRelu});
  conv({1, 1, 6, 20, {31}, {5}, {}, {3}, {2}, {2}});
  conv({1, 1, 5, 17, {5, 6, 7}, {3, 2, 3}, {1, 2, 1}, {}, {1, 0, 1}, {1, 1, 1}, "f32", Epilogue::residual});
  conv({1, 2, 3, 17, {5, 6, 7}, {2, 2, 3}, {}, {1, 2, 2}, {1, 0, 1}, {1, 1, 1}});
  conv({1, 1, 2, 4, {4, 3, 4, 3, 4}, {2, 1, 2, 3, 2}, {}, {}, V(5, 1), V(5, 0)});
  check(3);
}

TEST_F(Contraction, ConvSymbolic) {
  Conv kernel = {2, 1, 5, 24, {1, 12}, {3, 3}, {2, 1}, {}, {1, 1}, {1, 1}, "f32", Epilogue::residual, 40};
  Conv point = {1, 1, 24, 20, {1, 4}, {1, 1}, {}, {}, {}, {}, "f32", Epilogue::biasRelu, 40};
  for (int64_t size : {1, 2, 7, 40}) {
    kernel.size[0] = point.size[0] = size;
    conv(kernel, {size});
    conv(point, {size});
  }
  check(3);
}

/// Infinities and NaN reach exactly the elements whose chain they are in.
TEST_F(Contraction, NotFinite) {
  Fill special;
  special.specials = {INFINITY, -INFINITY, NAN, 0.0, 1e-40};
  for (int64_t m : {1, 13})
    add({{std::to_string(m), "5"}, {"5", "37"}, "f32", Epilogue::biasRelu}, 5, {}, {Fill(), special, Fill()});
  add({{"13", "5"}, {"5", "37"}, "f64", Epilogue::residual}, 5, {}, {special, Fill(), special});
  add({{"13", "5"}, {"5", "37"}, "bf16", Epilogue::residual}, 5, {}, {special, Fill()});
  suite.check({"v2", "v3"});
}

} // namespace
