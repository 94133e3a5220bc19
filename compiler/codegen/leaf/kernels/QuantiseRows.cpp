// quantise_rows(x [… , K] f32) -> [… , blocks · (16 + block size)] i8
//   params: block size, bits of the weights that it will be multiplied with
//   result: see QuantisedRows.h
// A block without anything above 1e-30 becomes zeros; one with an infinity or a
// NaN gets a NaN for its scale. Units: rows of x.
#include "compiler/codegen/leaf/kernels/QuantisedRows.h"

namespace stint::leaf {

typedef int32_t EightInts __attribute__((vector_size(32)));
typedef int8_t EightBytes __attribute__((vector_size(8)));

static inline Eight loadUpTo(const float *x, int64_t count) {
  if (count >= 8)
    return load<Eight>(x);
  Eight v = {};
  for (int64_t i = 0; i < count; ++i)
    v[i] = x[i];
  return v;
}

/// `count` elements, as a piece of a row.
static void quantiseBlock(const float *x, int64_t count, int64_t block, bool interleaved, char *to) {
  Eight most = {}, unsure = {};
  for (int64_t k = 0; k < count; k += 8) {
    Eight v = loadUpTo(x + k, count - k), size = v < -v ? -v : v;
    unsure += v - v;
    most = size > most ? size : most;
  }
  float largest = 0, nan = 0;
  for (int i = 0; i < 8; ++i) {
    largest = max(largest, most[i]);
    nan += unsure[i];
  }
  float scale = largest / 127.0f + nan, inverse = 127.0f / largest;
  if (!(largest > 1e-30f)) {
    scale = nan;
    inverse = 0;
  }
  EightInts sums = {};
  int8_t *numbers = reinterpret_cast<int8_t *>(to + kHeader);
  for (int64_t k = 0; k < block; k += 8) {
    // The low bits of a float of this size are an integer, rounded to even.
    constexpr float kRound = 12582912.0f;
    Eight moved = loadUpTo(x + k, count - k) * inverse + kRound;
    EightInts bits;
    __builtin_memcpy(&bits, &moved, sizeof bits);
    bits = bits << 24 >> 24;
    sums += bits;
    EightBytes bytes = __builtin_convertvector(bits, EightBytes);
    if (interleaved)
      bytes = __builtin_shufflevector(bytes, bytes, 0, 2, 4, 6, 1, 3, 5, 7);
    store(numbers + k, bytes);
  }
  int32_t sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += sums[i];
  int64_t nothing = 0;
  __builtin_memcpy(to, &scale, sizeof scale);
  __builtin_memcpy(to + 4, &sum, sizeof sum);
  __builtin_memcpy(to + 8, &nothing, sizeof nothing);
}

static void quantiseRows(const Call &call) {
  int64_t k = call.dim(0, call.rank(0) - 1), bytes = call.dim(1, call.rank(1) - 1), block = call.params[0];
  for (int64_t row = call.begin; row < call.end; ++row) {
    const float *x = call.data<const float>(0) + row * k;
    char *to = call.data<char>(1) + row * bytes;
    for (int64_t b = 0; b * (kHeader + block) < bytes; ++b)
      quantiseBlock(x + b * block, min(block, k - b * block), block, call.params[1] == 4, to + b * (kHeader + block));
  }
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(quantise_rows, f32, quantiseRows)
