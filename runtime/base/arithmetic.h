// Arithmetic that tells when it overflows. Everything computed from numbers
// in a file goes through here.
#ifndef STINT_RUNTIME_BASE_ARITHMETIC_H
#define STINT_RUNTIME_BASE_ARITHMETIC_H

#include <cstddef>
#include <cstdint>

namespace stint {

// *result = a op b; false if that doesn't fit.
template <typename T> [[nodiscard]] bool checkedAdd(T a, T b, T *result) {
  return !__builtin_add_overflow(a, b, result);
}
template <typename T> [[nodiscard]] bool checkedSub(T a, T b, T *result) {
  return !__builtin_sub_overflow(a, b, result);
}
template <typename T> [[nodiscard]] bool checkedMul(T a, T b, T *result) {
  return !__builtin_mul_overflow(a, b, result);
}

// True if [offset, offset + size) lies inside [0, limit).
inline bool rangeFits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

// Rounds up to a power of two; false on overflow.
[[nodiscard]] inline bool checkedAlign(uint64_t value, uint64_t alignment, uint64_t *result) {
  if (!checkedAdd(value, alignment - 1, &value))
    return false;
  *result = value & ~(alignment - 1);
  return true;
}

// A sum of sizes that remembers whether it ever overflowed: lays out a block
// piece by piece.
class SizeSum {
public:
  // Reserves count * size bytes at the next multiple of `alignment`; returns
  // their offset.
  uint64_t add(uint64_t count, uint64_t size, uint64_t alignment) {
    uint64_t bytes = 0, start = 0;
    valid = valid && checkedMul(count, size, &bytes) && checkedAlign(total, alignment, &start) &&
            checkedAdd(start, bytes, &total);
    return start;
  }
  // False if it overflowed, or can't be addressed on this machine.
  bool fits() const { return valid && total <= PTRDIFF_MAX; }
  uint64_t bytes() const { return total; }

private:
  uint64_t total = 0;
  bool valid = true;
};

} // namespace stint

#endif
