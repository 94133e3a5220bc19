// Vectors of 16 floats, whatever the machine's are: code generation cuts them
// to size. Every operation is IEEE's own, rounded by itself (no contraction),
// so that all machines compute the same.
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
