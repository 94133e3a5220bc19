// How far a result is from the truth, and points to measure it at.
#ifndef STINT_TEST_COMPILER_CODEGEN_MATH_COMPARE_H
#define STINT_TEST_COMPILER_CODEGEN_MATH_COMPARE_H

#include "test/compiler/codegen/math/Functions.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace stint::test {

template <typename T> struct Traits;
template <> struct Traits<float> {
  using Truth = double;
  using Bits = uint32_t;
  static Truth truth(const Function &f, float x, float y) { return f.truth32(x, y); }
  static double bound(const Function &f) { return f.bound32; }
  static constexpr bool is32 = true;
  static constexpr int mantissa = 23, bias = 127;
};
template <> struct Traits<double> {
  using Truth = long double;
  using Bits = uint64_t;
  static Truth truth(const Function &f, double x, double y) { return f.truth64(x, y); }
  static double bound(const Function &f) { return f.bound64; }
  static constexpr bool is32 = false;
  static constexpr int mantissa = 52, bias = 1023;
};

template <typename T> T fromBits(typename Traits<T>::Bits bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
template <typename T> typename Traits<T>::Bits bitsOf(T value) {
  typename Traits<T>::Bits bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Both NaN, or the same bits.
template <typename T> bool same(T a, T b) { return (a != a && b != b) || bitsOf(a) == bitsOf(b); }

/// Distance in units in the last place of the truth, as T has them; infinite
/// if one is NaN and the other isn't, or the sign is wrong, also of a zero.
/// An infinite result is worth the next power of two.
template <typename T> double distance(T got, typename Traits<T>::Truth truth) {
  using Truth = typename Traits<T>::Truth;
  const double never = std::numeric_limits<double>::infinity();
  if (got != got || truth != truth)
    return got != got && truth != truth ? 0 : never;
  if (std::signbit(got) != std::signbit(truth))
    return never;
  if (static_cast<T>(truth) == got)
    if (std::isinf(got))
      return 0;
  int exponent = -Traits<T>::bias + 1;
  if (truth != 0 && !std::isinf(truth))
    exponent = std::max(exponent, std::ilogb(truth));
  exponent = std::min(exponent, Traits<T>::bias);
  Truth limit = std::ldexp(Truth(1), Traits<T>::bias + 1);
  Truth value = std::isinf(got) ? std::copysign(limit, Truth(got)) : Truth(got);
  if (std::isinf(truth))
    return never;
  return static_cast<double>(std::fabs(std::ldexp(value - truth, Traits<T>::mantissa - exponent)));
}

} // namespace stint::test

#endif
