// Rounding without a library: what the baseline of every machine computes.
#ifndef STINT_COMPILER_CODEGEN_LEAF_KERNELS_NUMERIC_H
#define STINT_COMPILER_CODEGEN_LEAF_KERNELS_NUMERIC_H

#include "compiler/codegen/leaf/kernels/Leaf.h"

namespace stint::leaf {

/// A number far outside every image that still converts to an integer; 0 for
/// NaN.
template <typename T> inline T bounded(T x) {
  constexpr T far = T(1 << 30);
  return x >= -far ? min(x, far) : (x < 0 ? -far : T(0));
}
/// Of a bounded number.
template <typename T> inline T floorOf(T x) {
  T whole = T(int64_t(x));
  return whole > x ? whole - 1 : whole;
}
template <typename T> inline T ceilOf(T x) {
  T whole = T(int64_t(x));
  return whole < x ? whole + 1 : whole;
}
/// Ties to even; of a bounded number.
template <typename T> inline T roundOf(T x) {
  T low = floorOf(x), rest = x - low;
  bool up = rest > T(0.5) || (rest == T(0.5) && (int64_t(low) & 1));
  return up ? low + 1 : low;
}
template <typename T> inline T absOf(T x) { return x < 0 ? -x : x; }

} // namespace stint::leaf

#endif
