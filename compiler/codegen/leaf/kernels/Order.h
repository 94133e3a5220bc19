// Keys: unsigned integers that lie as the elements do, with -0 = 0 and NaN
// above everything, as NumPy sorts. And an in-place sort.
#ifndef STINT_COMPILER_CODEGEN_LEAF_KERNELS_ORDER_H
#define STINT_COMPILER_CODEGEN_LEAF_KERNELS_ORDER_H

#include "compiler/codegen/leaf/kernels/Leaf.h"

namespace stint::leaf {

/// Element types as they lie in memory. `Bits` is the unsigned integer of the
/// same width.
template <typename B> struct Unsigned {
  using Bits = B;
  static Bits key(Bits bits) { return bits; }
};
template <typename B> struct Signed {
  using Bits = B;
  static Bits key(Bits bits) { return bits ^ Bits(Bits(1) << (8 * sizeof(Bits) - 1)); }
};
/// Floats with this many bits of mantissa.
template <typename B, int mantissa> struct Float {
  using Bits = B;
  static Bits key(Bits bits) {
    constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(Bits) - 1)), magnitude = Bits(sign - 1);
    constexpr Bits infinity = Bits(magnitude >> mantissa << mantissa);
    Bits absolute = bits & magnitude;
    if (absolute > infinity)
      return Bits(~Bits(0));
    if (absolute == 0)
      return sign;
    return bits & sign ? Bits(~bits) : Bits(bits | sign);
  }
};
using F16 = Float<uint16_t, 10>;
using BF16 = Float<uint16_t, 7>;
using F32 = Float<uint32_t, 23>;
using F64 = Float<uint64_t, 52>;

/// Moves `items[at]` of a heap (the largest by `less` first) down to its place.
template <typename T, typename Less> inline void siftDown(T *items, int64_t at, int64_t count, Less less) {
  T item = items[at];
  while (true) {
    int64_t child = 2 * at + 1;
    if (child >= count)
      break;
    child += child + 1 < count && less(items[child], items[child + 1]);
    if (!less(item, items[child]))
      break;
    items[at] = items[child];
    at = child;
  }
  items[at] = item;
}

template <typename T, typename Less> inline void makeHeap(T *items, int64_t count, Less less) {
  for (int64_t at = count / 2 - 1; at >= 0; --at)
    siftDown(items, at, count, less);
}

/// Sorts ascending. Quicksort with the median of three, ranges that are left
/// for later on a stack of at most 64, of which too unbalanced ones become
/// heaps; short ranges by insertion. Not stable: `less` must be total.
template <typename T, typename Less> inline void sort(T *items, int64_t count, Less less) {
  struct Range {
    int64_t begin, end;
    int depth;
  } pending[64];
  int top = 0, most = 2;
  for (int64_t n = count; n > 1; n >>= 1)
    most += 2;
  pending[top++] = {0, count, most};
  while (top > 0) {
    auto [begin, end, depth] = pending[--top];
    while (end - begin > 16 && depth-- > 0) {
      T *a = &items[begin], *b = &items[begin + (end - begin) / 2], *c = &items[end - 1];
      if (less(*b, *a))
        swap(*a, *b);
      if (less(*c, *b)) {
        swap(*b, *c);
        if (less(*b, *a))
          swap(*a, *b);
      }
      T pivot = *b;
      int64_t low = begin, high = end - 1;
      while (low <= high) {
        while (less(items[low], pivot))
          ++low;
        while (less(pivot, items[high]))
          --high;
        if (low <= high)
          swap(items[low++], items[high--]);
      }
      // The smaller part now, so that few are pending.
      bool left = high + 1 - begin < end - low;
      pending[top++] = left ? Range{low, end, depth} : Range{begin, high + 1, depth};
      (left ? end : begin) = left ? high + 1 : low;
    }
    if (end - begin > 16) {
      T *heap = items + begin;
      int64_t left = end - begin;
      makeHeap(heap, left, less);
      while (--left > 0) {
        swap(heap[0], heap[left]);
        siftDown(heap, 0, left, less);
      }
      continue;
    }
    for (int64_t i = begin + 1; i < end; ++i) {
      T item = items[i];
      int64_t at = i;
      for (; at > begin && less(item, items[at - 1]); --at)
        items[at] = items[at - 1];
      items[at] = item;
    }
  }
}

} // namespace stint::leaf

// The leaf `name` for every element type of numbers: `function<Type>`.
#define STINT_LEAF_ORDERED(name, function)                                                                             \
  STINT_LEAF_FUNCTION(name, f16, function<F16>)                                                                        \
  STINT_LEAF_FUNCTION(name, bf16, function<BF16>)                                                                      \
  STINT_LEAF_FUNCTION(name, f32, function<F32>)                                                                        \
  STINT_LEAF_FUNCTION(name, f64, function<F64>)                                                                        \
  STINT_LEAF_FUNCTION(name, i8, function<Signed<uint8_t>>)                                                             \
  STINT_LEAF_FUNCTION(name, i16, function<Signed<uint16_t>>)                                                           \
  STINT_LEAF_FUNCTION(name, i32, function<Signed<uint32_t>>)                                                           \
  STINT_LEAF_FUNCTION(name, i64, function<Signed<uint64_t>>)                                                           \
  STINT_LEAF_FUNCTION(name, u8, function<Unsigned<uint8_t>>)                                                           \
  STINT_LEAF_FUNCTION(name, u16, function<Unsigned<uint16_t>>)                                                         \
  STINT_LEAF_FUNCTION(name, u32, function<Unsigned<uint32_t>>)                                                         \
  STINT_LEAF_FUNCTION(name, u64, function<Unsigned<uint64_t>>)

#endif
