// top_k(x [… , n]) -> values [… , k], indices [… , k] (i64)
//   params: largest (1) or smallest (0)
// The k first elements of each row in order; of equal ones the lower index
// comes first. NaN counts as the largest. Of a k above n the rest is zeros.
// Units: rows of x.
//
// The k best so far are a heap with the worst at its root, which most elements
// are compared with only; at the end they are sorted. The heap lies in the
// results' own memory: where key and index fit in 64 bits, as one number in
// `indices`, else as the index, the key being looked up.
#include "compiler/codegen/leaf/kernels/Order.h"

namespace stint::leaf {

// Shared by all types whose items are numbers.
static bool lessNumber(uint64_t a, uint64_t b) { return a < b; }
__attribute__((noinline)) static void startNumbers(uint64_t *best, int64_t k) { makeHeap(best, k, lessNumber); }
__attribute__((noinline)) static void replaceWorst(uint64_t *best, int64_t k, uint64_t item) {
  best[0] = item;
  siftDown(best, 0, k, lessNumber);
}
__attribute__((noinline)) static void sortNumbers(uint64_t *best, int64_t k) { sort(best, k, lessNumber); }

/// Key and index as one number. The index has what the key leaves of 64 bits:
/// the importer sees that it is enough.
template <typename Type> static void topPacked(const Call &call) {
  using Bits = typename Type::Bits;
  constexpr int kIndexBits = 64 - 8 * int(sizeof(Bits));
  constexpr uint64_t kIndex = (uint64_t(1) << kIndexBits) - 1;
  int64_t n = call.dim(0, call.rank(0) - 1), width = call.dim(1, call.rank(1) - 1), k = min(width, n);
  Bits flip = call.params[0] ? Bits(~Bits(0)) : Bits(0);
  for (int64_t row = call.begin; row < call.end; ++row) {
    const Bits *x = call.data<Bits>(0) + row * n;
    Bits *values = call.data<Bits>(1) + row * width;
    uint64_t *items = call.data<uint64_t>(2) + row * width;
    fill(values + k, Bits(0), width - k);
    fill(items + k, uint64_t(0), width - k);
    if (k == 0)
      continue;
    auto item = [&](int64_t i) { return uint64_t(Bits(Type::key(x[i]) ^ flip)) << kIndexBits | uint64_t(i); };
    for (int64_t i = 0; i < k; ++i)
      items[i] = item(i);
    startNumbers(items, k);
    uint64_t worst = items[0];
    for (int64_t i = k; i < n; ++i)
      if (uint64_t next = item(i); next < worst) {
        replaceWorst(items, k, next);
        worst = items[0];
      }
    sortNumbers(items, k);
    for (int64_t i = 0; i < k; ++i) {
      items[i] &= kIndex;
      values[i] = x[items[i]];
    }
  }
}

template <typename Type> static void topIndirect(const Call &call) {
  using Bits = typename Type::Bits;
  int64_t n = call.dim(0, call.rank(0) - 1), width = call.dim(1, call.rank(1) - 1), k = min(width, n);
  Bits flip = call.params[0] ? Bits(~Bits(0)) : Bits(0);
  for (int64_t row = call.begin; row < call.end; ++row) {
    const Bits *x = call.data<Bits>(0) + row * n;
    Bits *values = call.data<Bits>(1) + row * width;
    int64_t *items = call.data<int64_t>(2) + row * width;
    fill(values + k, Bits(0), width - k);
    fill(items + k, int64_t(0), width - k);
    if (k == 0)
      continue;
    auto less = [&](int64_t a, int64_t b) {
      Bits first = Bits(Type::key(x[a]) ^ flip), second = Bits(Type::key(x[b]) ^ flip);
      return first != second ? first < second : a < b;
    };
    for (int64_t i = 0; i < k; ++i)
      items[i] = i;
    makeHeap(items, k, less);
    for (int64_t i = k; i < n; ++i)
      if (less(i, items[0])) {
        items[0] = i;
        siftDown(items, 0, k, less);
      }
    sort(items, k, less);
    for (int64_t i = 0; i < k; ++i)
      values[i] = x[items[i]];
  }
}

template <typename Type> static void topK(const Call &call) {
  if constexpr (sizeof(typename Type::Bits) <= 4)
    topPacked<Type>(call);
  else
    topIndirect<Type>(call);
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_ORDERED(top_k, topK)
