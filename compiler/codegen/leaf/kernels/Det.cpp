// det(x [… , n, n]) -> y [… ], scratch [… , n, n]
// Determinants by elimination with row pivoting, as LAPACK does. The matrix of
// no rows has 1. Units: matrices.
#include "compiler/codegen/leaf/kernels/Numeric.h"

namespace stint::leaf {

template <typename T> static void det(const Call &call) {
  int64_t n = call.dim(0, call.rank(0) - 1);
  for (int64_t unit = call.begin; unit < call.end; ++unit) {
    T *a = call.data<T>(2) + unit * n * n, result = 1;
    copy(a, call.data<const T>(0) + unit * n * n, n * n);
    for (int64_t step = 0; step < n; ++step) {
      int64_t pivot = step;
      for (int64_t row = step + 1; row < n; ++row)
        if (absOf(a[row * n + step]) > absOf(a[pivot * n + step]))
          pivot = row;
      if (pivot != step) {
        for (int64_t column = step; column < n; ++column)
          swap(a[pivot * n + column], a[step * n + column]);
        result = -result;
      }
      T head = a[step * n + step];
      result *= head;
      if (head == 0)
        break;
      for (int64_t row = step + 1; row < n; ++row) {
        T factor = a[row * n + step] / head;
        for (int64_t column = step + 1; column < n; ++column)
          a[row * n + column] -= factor * a[step * n + column];
      }
    }
    call.data<T>(1)[unit] = result;
  }
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(det, f32, det<float>)
STINT_LEAF_FUNCTION(det, f64, det<double>)
