// Rows of activations as 8-bit integers, between the kernel that makes them and
// those that multiply them.
//
// A row [K] becomes a piece of kHeader + block size bytes for each block along
// K: the scale (f32), the sum of the numbers (i32), eight unused bytes, then the
// numbers: round(x / scale), scale = max |x| / 127. Behind K they are 0. Each
// group of 8 lies as the numbers of a word of weights are taken out of it: in
// order for 8 bits, and for 4 bits k = 0 2 4 6 1 3 5 7.
#ifndef STINT_COMPILER_CODEGEN_LEAF_KERNELS_QUANTISEDROWS_H
#define STINT_COMPILER_CODEGEN_LEAF_KERNELS_QUANTISEDROWS_H

#include "compiler/codegen/leaf/kernels/BlockWeights.h"

namespace stint::leaf {

constexpr int64_t kHeader = 16;

struct QuantisedBlock {
  const char *piece;

  float scale() const {
    float value;
    __builtin_memcpy(&value, piece, sizeof value);
    return value;
  }
  int32_t sum() const {
    int32_t value;
    __builtin_memcpy(&value, piece + 4, sizeof value);
    return value;
  }
  const int8_t *numbers(int64_t i) const { return reinterpret_cast<const int8_t *>(piece + kHeader + i); }
  /// Four numbers, as a word.
  int32_t four(int64_t i) const {
    int32_t value;
    __builtin_memcpy(&value, numbers(4 * i), sizeof value);
    return value;
  }
};

} // namespace stint::leaf

#endif
