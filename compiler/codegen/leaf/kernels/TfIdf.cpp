// tf_idf(x [… , length] (i64), sizes [G] (i64), grams [P] (i64), columns [G] (i64), weights [G]) -> y [… , width]
//   params: longest skip, once (1) or as often as a gram appears (0)
// How often each of G n-grams appears in a row. Gram g has sizes[g] words;
// grams lie one after the other, sorted by size, then words; g is counted in
// column columns[g]. Grams of more than one word also match words that lie 1 +
// skip apart, up to the longest skip. Each appearance, or the first one, adds
// weights[g]. Units: rows.
#include "compiler/codegen/leaf/kernels/Leaf.h"

namespace stint::leaf {

static void tfIdf(const Call &call) {
  int64_t length = call.dim(0, call.rank(0) - 1), width = call.dim(5, call.rank(5) - 1), grams = call.dim(1, 0);
  const int64_t *sizes = call.data<const int64_t>(1), *words = call.data<const int64_t>(2);
  const int64_t *columns = call.data<const int64_t>(3);
  const float *weights = call.data<const float>(4);
  for (int64_t unit = call.begin; unit < call.end; ++unit) {
    const int64_t *x = call.data<const int64_t>(0) + unit * length;
    float *y = call.data<float>(5) + unit * width;
    fill(y, 0.0f, width);
    const int64_t *base = words;
    for (int64_t begin = 0, end; begin < grams; begin = end) {
      int64_t size = sizes[begin];
      for (end = begin; end < grams && sizes[end] == size; ++end)
        continue;
      int64_t steps = size == 1 ? 1 : call.params[0] + 1;
      for (int64_t step = 1; step <= steps; ++step)
        for (int64_t at = 0; at + step * (size - 1) < length; ++at) {
          // The gram by bisection.
          int64_t low = begin, high = end;
          while (low < high) {
            int64_t middle = low + (high - low) / 2, i = 0;
            const int64_t *gram = base + (middle - begin) * size;
            while (i < size && gram[i] == x[at + i * step])
              ++i;
            if (i == size) {
              float &to = y[columns[middle]], weight = weights[middle];
              to = call.params[1] ? weight : to + weight;
              break;
            }
            if (gram[i] < x[at + i * step])
              low = middle + 1;
            else
              high = middle;
          }
        }
      base += (end - begin) * size;
    }
  }
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(tf_idf, i64, tfIdf)
