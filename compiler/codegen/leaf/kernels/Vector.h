// Vectors of 16 floats, whatever the machine's are: code generation cuts them
// to size. Every operation is IEEE's own, rounded by itself but for
// multiplyAdd.
#ifndef STINT_COMPILER_CODEGEN_LEAF_KERNELS_VECTOR_H
#define STINT_COMPILER_CODEGEN_LEAF_KERNELS_VECTOR_H

#include "compiler/codegen/leaf/kernels/Leaf.h"

namespace stint::leaf {

constexpr int kLanes = 16;
using Floats = float __attribute__((vector_size(4 * kLanes)));
using Integers = int32_t __attribute__((vector_size(4 * kLanes)));
/// The same in memory, aligned to an element.
struct __attribute__((packed, aligned(4))) FloatsInMemory {
  Floats lanes;
};

inline Floats load(const float *from) { return reinterpret_cast<const FloatsInMemory *>(from)->lanes; }
inline void store(float *to, Floats x) { reinterpret_cast<FloatsInMemory *>(to)->lanes = x; }
inline Floats splat(float x) { return x - Floats{}; }
inline Integers splatInteger(int32_t x) { return x - Integers{}; }
constexpr Integers kLane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// x · y + z, with one rounding where the machine has an instruction for it.
template <typename V> inline V multiplyAdd(V x, V y, V z) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_elementwise_fma(x, y, z);
#else
  return x * y + z;
#endif
}

/// Over all lanes, halves with halves.
inline float sumOf(Floats x) {
  auto eight = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
               __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  auto four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  auto two = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
  return two[0] + two[1];
}
inline float maximumOf(Floats x) {
  auto larger = [](auto a, auto b) { return a > b ? a : b; };
  auto eight = larger(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7),
                      __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15));
  auto four =
      larger(__builtin_shufflevector(eight, eight, 0, 1, 2, 3), __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
  auto two = larger(__builtin_shufflevector(four, four, 0, 1), __builtin_shufflevector(four, four, 2, 3));
  return two[0] > two[1] ? two[0] : two[1];
}

// Half precision, as its bits. What conversion instructions there are give the
// same as the arithmetic here.

using Shorts = uint16_t __attribute__((vector_size(2 * kLanes)));
struct __attribute__((packed, aligned(2))) ShortsInMemory {
  Shorts lanes;
};

#if defined(__F16C__) || defined(__aarch64__)
using Halves = _Float16 __attribute__((vector_size(2 * kLanes)));
struct __attribute__((packed, aligned(2))) HalvesInMemory {
  Halves lanes;
};
inline Floats load(const uint16_t *from) {
  return __builtin_convertvector(reinterpret_cast<const HalvesInMemory *>(from)->lanes, Floats);
}
#else
inline Floats load(const uint16_t *from) {
  auto bits = __builtin_convertvector(reinterpret_cast<const ShortsInMemory *>(from)->lanes, Integers);
  Integers magnitude = (bits & splatInteger(0x7fff)) << 13, sign = (bits & splatInteger(0x8000)) << 16;
  Integers finite = (Integers)((Floats)magnitude * splat(0x1p112f));
  Integers special = (bits & splatInteger(0x7c00)) == splatInteger(0x7c00);
  return (Floats)((special ? magnitude | splatInteger(0x7f800000) : finite) | sign);
}
#endif

inline float floatOf(float x) { return x; }
inline float floatOf(uint16_t half) {
  uint32_t magnitude = uint32_t(half & 0x7fff) << 13, sign = uint32_t(half & 0x8000) << 16;
  float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;
  uint32_t bits = (half & 0x7c00) == 0x7c00 ? magnitude | 0x7f800000 : __builtin_bit_cast(uint32_t, scaled);
  return __builtin_bit_cast(float, bits | sign);
}

/// To nearest, ties to even; finite numbers beyond the largest become that.
inline uint16_t halfOf(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest >= 0x7f800000) // infinite, or no number
    return uint16_t(sign | 0x7c00 | (rest > 0x7f800000 ? 0x200 : 0));
  if (rest >= 0x477ff000) // would round to infinity
    return uint16_t(sign | 0x7bff);
  if (rest < 0x38800000) // denormal: the sum rounds
    return uint16_t(sign | (__builtin_bit_cast(uint32_t, __builtin_bit_cast(float, rest) + 0.5f) - 0x3f000000));
  return uint16_t(sign | ((rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13));
}

/// e^x for x <= 88, within 2 ULP; 0 below -87. Range reduction by ln 2 in two
/// parts (Cody and Waite), a polynomial of degree 6.
inline Floats expOf(Floats x) {
  constexpr float kLow = -87.0f, kRound = 12582912.0f; // 1.5 · 2^23
  Integers low = x<splat(kLow), high = x> splat(88.0f);
  Floats clamped = high ? splat(88.0f) : x;
  clamped = low ? splat(kLow) : clamped;
  Floats shifted = clamped * splat(1.44269504f) + splat(kRound);
  Floats n = shifted - splat(kRound);
  Floats r = clamped - n * splat(0.693359375f);
  r = r - n * splat(-2.12194440e-4f);
  Floats p = splat(1.3888889e-3f);
  p = p * r + splat(8.3333333e-3f);
  p = p * r + splat(4.1666667e-2f);
  p = p * r + splat(1.6666667e-1f);
  p = p * r + splat(0.5f);
  p = p * r + splat(1.0f);
  p = p * r + splat(1.0f);
  Integers power = ((Integers)shifted << 23) + splatInteger(127 << 23);
  Floats result = p * (Floats)power;
  return low ? Floats{} : result;
}

/// tanh x = 1 - 2 / (e^2x + 1), within 1e-6.
inline Floats tanhOf(Floats x) {
  Floats limited = x > splat(10.0f) ? splat(10.0f) : x;
  limited = limited < splat(-10.0f) ? splat(-10.0f) : limited;
  return splat(1.0f) - splat(2.0f) / (expOf(limited + limited) + splat(1.0f));
}

} // namespace stint::leaf

#endif
