// non_zero(x of booleans) -> positions [rank of x, at least elements of x] (i64), count [1] (i64)
// The coordinates of the elements that are true, in row-major order; the first
// `count` columns are written. One unit.
#include "compiler/codegen/leaf/kernels/Leaf.h"

namespace stint::leaf {

static void nonZero(const Call &call) {
  if (call.begin >= call.end)
    return;
  const uint8_t *x = call.data<const uint8_t>(0);
  int64_t *positions = call.data<int64_t>(1), columns = call.dim(1, 1), count = 0;
  int64_t rank = call.rank(0), total = call.size(0), inner = rank ? call.dim(0, rank - 1) : 1;
  for (int64_t row = 0; row * inner < total; ++row)
    for (int64_t i = 0; i < inner; ++i) {
      if (!x[row * inner + i])
        continue;
      if (rank)
        positions[(rank - 1) * columns + count] = i;
      for (int64_t d = rank - 2, rest = row; d >= 0; --d) {
        positions[d * columns + count] = rest % call.dim(0, d);
        rest /= call.dim(0, d);
      }
      ++count;
    }
  call.data<int64_t>(2)[0] = count;
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(non_zero, b8, nonZero)
