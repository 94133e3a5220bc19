// Where functions are measured: points[i] for any i, the same in every run.
#ifndef STINT_TEST_COMPILER_CODEGEN_MATH_POINTS_H
#define STINT_TEST_COMPILER_CODEGEN_MATH_POINTS_H

#include "test/compiler/codegen/math/Compare.h"

namespace stint::test {

template <typename T> struct Point {
  T x, y;
};

/// Well mixed bits of a number (splitmix64).
inline uint64_t mix(uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
  return i ^ (i >> 31);
}

/// Any mantissa and sign, an exponent in [low, high].
template <typename T> T withExponent(uint64_t random, int low, int high) {
  using Bits = typename Traits<T>::Bits;
  constexpr int mantissa = Traits<T>::mantissa;
  Bits exponent = Traits<T>::bias + low + static_cast<int>((random >> 53) % (high - low + 1));
  Bits sign = random & 1;
  return fromBits<T>(sign << (sizeof(T) * 8 - 1) | exponent << mantissa |
                     (static_cast<Bits>(random >> 1) & ((Bits(1) << mantissa) - 1)));
}

/// Three of four points have a magnitude at which functions do something.
template <typename T> T anyMagnitude(uint64_t i) {
  uint64_t random = mix(i);
  if (i % 4 == 0)
    return withExponent<T>(random, -Traits<T>::bias, Traits<T>::bias);
  return i % 4 == 1 ? withExponent<T>(random, -40, 0) : withExponent<T>(random, -6, 11);
}

/// anyMagnitude, and one of eight close to 1 or -1.
template <typename T> T anyArgument(uint64_t i) {
  T x = anyMagnitude<T>(i);
  return i % 8 == 3 ? std::copysign(1 + withExponent<T>(mix(~i), 1 - Traits<T>::mantissa, -1), x) : x;
}

/// The values of T around a multiple of pi/2, below 2^20 or of any size.
template <typename T> T nearQuadrant(uint64_t i) {
  const long double quarter = 1.57079632679489661923132169163975144L;
  uint64_t random = mix(i);
  long double turns = i % 2 ? static_cast<long double>(random >> 44)
                            : std::floor(std::fabs(withExponent<T>(random, 1, Traits<T>::bias - 2)));
  T x = static_cast<T>(turns * quarter);
  for (uint64_t step = random % 4; step; --step)
    x = std::nextafter(x, std::numeric_limits<T>::infinity());
  return random & 16 ? -x : x;
}

/// Bases and exponents whose power is mostly in range.
template <typename T> Point<T> powPoint(uint64_t i) {
  uint64_t random = mix(~i);
  T x = anyMagnitude<T>(i / 4);
  if (i % 4 == 0)
    return {x, anyMagnitude<T>(i / 4 + 77)};
  if (i % 4 == 1)
    return {x, static_cast<T>(static_cast<int>(random % 129) - 64) / 2};
  if (i % 4 == 2) // near 1
    x = 1 + withExponent<T>(random, -20, -2);
  T reach = (static_cast<T>(mix(random) >> 40) / (1 << 23) - 1) * Traits<T>::bias * T(1.1);
  return {std::fabs(x), reach / std::log2(std::fabs(x))};
}

template <typename T> Point<T> fmodPoint(uint64_t i) {
  uint64_t random = mix(~i);
  T x = anyMagnitude<T>(i);
  if (i % 3 == 0)
    return {x, anyMagnitude<T>(i + 77)};
  int exponent = std::ilogb(x) - static_cast<int>(random % 60);
  T y = std::ldexp(withExponent<T>(mix(random), 0, 0), exponent);
  return i % 3 == 1 ? Point<T>{x, y} : Point<T>{std::round(x / y) * y, y};
}

/// Values at which functions change, on both sides of them, and denormals,
/// infinities, NaN, zeros.
template <typename T> std::vector<T> specialValues() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           Limits::denorm_min(),
                           Limits::min(),
                           Limits::epsilon(),
                           Limits::max(),
                           Limits::infinity(),
                           Limits::quiet_NaN()};
  for (double v : {0.125,
                   0.1716,
                   0.25,
                   0.34657359,
                   0.41421356,
                   0.5,
                   0.6931471805599453,
                   0.70710678,
                   0.78539816,
                   1.0,
                   1.41421356,
                   1.57079632679,
                   2.0,
                   2.41421356,
                   2.5,
                   3.0,
                   3.14159265358979,
                   3.92,
                   4.0,
                   5.0,
                   5.95,
                   8.0,
                   9.01,
                   9.2,
                   17.32,
                   18.0,
                   20.0,
                   36.7,
                   38.0,
                   87.33,
                   88.7228,
                   89.4159,
                   90.0,
                   103.97,
                   104.0,
                   255.0,
                   708.39,
                   709.7827,
                   710.4758,
                   711.0,
                   745.13,
                   746.0,
                   65536.0,
                   1048575.0,
                   8388607.0,
                   8388608.0,
                   16777215.0,
                   0x1p28,
                   0x1p31,
                   4503599627370495.5,
                   0x1p53,
                   0x1p62,
                   1e30})
    for (T near : {std::nextafter(T(v), T(0)), T(v), std::nextafter(T(v), Limits::infinity())})
      values.push_back(near);
  size_t count = values.size();
  for (size_t i = 0; i < count; ++i)
    values.push_back(-values[i]);
  return values;
}

} // namespace stint::test

#endif
