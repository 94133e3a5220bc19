// unique(x [n, m]) -> first [n], inverse [n], counts [n], count [1], order [n] (all i64)
//   params: sorted (1), or in order of appearance (0)
// The different rows of x, of which there are `count`: where each is first,
// how often it appears, and the number of each row's equal. NaNs are equal.
// `order` is scratch. One unit.
//
// Row numbers are sorted by row, then number; equal ones lie together.
#include "compiler/codegen/leaf/kernels/Order.h"

namespace stint::leaf {

template <typename Type> static void unique(const Call &call) {
  using Bits = typename Type::Bits;
  if (call.begin >= call.end)
    return;
  const Bits *x = call.data<const Bits>(0);
  int64_t n = call.dim(0, 0), m = call.dim(0, 1), count = 0;
  int64_t *first = call.data<int64_t>(1), *inverse = call.data<int64_t>(2), *counts = call.data<int64_t>(3);
  int64_t *order = call.data<int64_t>(5);
  // -1, 0 or 1.
  auto compare = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < m; ++i) {
      Bits left = Type::key(x[a * m + i]), right = Type::key(x[b * m + i]);
      if (left != right)
        return left < right ? -1 : 1;
    }
    return 0;
  };
  for (int64_t i = 0; i < n; ++i)
    order[i] = i;
  sort(order, n, [&](int64_t a, int64_t b) {
    int difference = compare(a, b);
    return difference ? difference < 0 : a < b;
  });
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      first[count] = order[i];
      counts[count++] = 0;
    }
    ++counts[count - 1];
    inverse[order[i]] = count - 1;
  }
  call.data<int64_t>(4)[0] = count;
  if (call.params[0])
    return;
  // Numbers in order of appearance. A row that is the first of its kind gets
  // the next one; a later row takes that of its first.
  for (int64_t i = 0; i < n; ++i)
    order[i] = first[inverse[i]];
  // counts by the row that is first, kept in `first`'s place for a moment.
  for (int64_t g = 0; g < count; ++g)
    inverse[first[g]] = counts[g];
  int64_t next = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (order[i] != i)
      continue;
    counts[next] = inverse[i];
    first[next] = i;
    inverse[i] = next++;
  }
  for (int64_t i = 0; i < n; ++i)
    inverse[i] = inverse[order[i]];
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(unique, i1, unique<Unsigned<uint8_t>>)
STINT_LEAF_ORDERED(unique, unique)
