// Text of contraction kernels as the passes outline them.
#ifndef STINT_TEST_COMPILER_CODEGEN_CONTRACTION_KERNELTEXT_H
#define STINT_TEST_COMPILER_CODEGEN_CONTRACTION_KERNELTEXT_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stint::test {

/// Dimensions as they are written in a type: "7", "s0", "s0 * 2".
using Dims = std::vector<std::string>;

/// What follows the contraction %m.
enum class Epilogue {
  none,
  biasRelu, // relu(%m + %bias), %bias one per column
  residual, // relu(%m + %bias) + %r, which may share the result's memory
  two,      // %m and sigmoid(%m)
  rowScale, // %m * %r, one per row
  greater,  // booleans: %m > %bias
};

struct MatMul {
  Dims left, right; // […, M, K] and […, K, N]
  std::string element = "f32";
  Epilogue epilogue = Epilogue::none;
  std::string symbols = ""; // "1..8, 1..9": bounds of s0, s1
};
std::string textOf(const MatMul &matmul);

struct Conv {
  int64_t batch = 1, groups = 1, channels = 1, outputs = 1; // per group
  std::vector<int64_t> size, kernel, strides = {}, dilations = {}, padLow = {}, padHigh = {};
  std::string element = "f32";
  Epilogue epilogue = Epilogue::none;
  /// The first of `size` is s0 in [1, upper], if not 0.
  int64_t symbolUpper = 0;
};
std::string textOf(const Conv &conv);

} // namespace stint::test

#endif
