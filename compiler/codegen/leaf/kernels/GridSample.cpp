// grid_sample(x [N, C, d…], grid [N, o…, S]) -> y [N, C, o…], S = 2 or 3 spatial dimensions
//   params: mode (0 nearest, 1 linear, 2 cubic), padding (0 zeros, 1 border,
//           2 reflection), align_corners
// As ONNX GridSample; the last coordinate of a point is that of the outermost
// spatial dimension. Units: rows of y.
//
// As in ONNX Runtime, with border padding a cubic point stays where it is and
// its neighbours are moved inside.
//
// Along each dimension a point reads 1, 2 or 4 neighbours with weights; the
// result is the weighted sum over their product. Points that are far outside
// read like the farthest ones that an index can name; a NaN reads position 0
// and, but for nearest, gives NaN.
#include "compiler/codegen/leaf/kernels/Numeric.h"

namespace stint::leaf {

/// x reflected at low and high until it lies between them.
template <typename T> static T reflect(T x, T low, T high) {
  T range = high - low;
  if (!(range > 0))
    return low;
  T beyond = x < low ? low - x : x > high ? x - high : T(0);
  if (beyond == 0)
    return x;
  T times = floorOf(beyond / range), rest = beyond - times * range;
  bool odd = int64_t(times) & 1, below = x < low;
  return below != odd ? low + rest : high - rest;
}

/// What a point reads along one dimension. Position -1: a zero.
template <typename T> struct Axis {
  int count;
  int64_t at[4];
  T weight[4];
};

template <typename T> struct Sampler {
  int64_t mode, padding;
  bool corners;

  int64_t place(int64_t at, int64_t size, T low, T high) const {
    if (at >= 0 && at < size)
      return at;
    if (padding == 0)
      return -1;
    if (padding == 2)
      at = int64_t(bounded(reflect(T(at), low, high)));
    return max<int64_t>(min(at, size - 1), 0);
  }

  /// A grid's coordinate in pixels.
  T pixel(T coordinate, int64_t size) const {
    T x = corners ? (coordinate + 1) / 2 * T(size - 1) : ((coordinate + 1) * T(size) - 1) / 2;
    return mode == 0 && x == x ? roundOf(bounded(x)) : x;
  }

  void locate(Axis<T> &axis, T x, int64_t size) const {
    T low = corners ? T(0) : T(-0.5), high = corners ? T(size - 1) : T(size) - T(0.5), given = x;
    bool isNan = x != x;
    x = bounded(x);
    bool outside = x < low || x > high;
    if (outside && padding == 1 && mode != 2)
      x = max(min(x, T(size - 1)), T(0));
    else if (outside && padding == 2)
      x = reflect(x, low, high);
    T whole = floorOf(x), part = isNan ? given : x - whole;
    int64_t first = int64_t(whole);
    if (mode == 0) {
      axis.count = 1;
      axis.weight[0] = 1;
    } else if (mode == 1) {
      axis.count = 2;
      axis.weight[0] = whole + 1 - x;
      axis.weight[1] = part;
      if (isNan)
        axis.weight[0] = part;
    } else {
      constexpr T a = T(-0.75);
      T far = part + 1, near = 1 - part, other = 2 - part;
      axis.count = 4;
      axis.weight[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
      axis.weight[1] = ((a + 2) * part - (a + 3)) * part * part + 1;
      axis.weight[2] = ((a + 2) * near - (a + 3)) * near * near + 1;
      axis.weight[3] = ((a * other - 5 * a) * other + 8 * a) * other - 4 * a;
      --first;
    }
    for (int i = 0; i < axis.count; ++i)
      axis.at[i] = place(first + i, size, low, high);
  }
};

template <typename T> static void gridSample(const Call &call) {
  constexpr int kImage = 0, kGrid = 1, kResult = 2;
  int64_t rank = call.rank(kImage), spatial = rank - 2;
  int64_t channels = call.dim(kImage, 1), plane = call.product(kImage, 2, rank);
  int64_t columns = call.dim(kResult, rank - 1), rows = call.product(kResult, 2, rank - 1);
  Sampler<T> sampler{call.params[0], call.params[1], call.params[2] != 0};
  for (int64_t unit = call.begin; unit < call.end; ++unit) {
    int64_t row = unit % rows, image = unit / rows, batch = image / channels;
    const T *x = call.data<const T>(kImage) + image * plane;
    const T *grid = call.data<const T>(kGrid) + (batch * rows + row) * columns * spatial;
    T *y = call.data<T>(kResult) + unit * columns;
    for (int64_t column = 0; column < columns; ++column, grid += spatial) {
      // Missing dimensions are in front, of size 1.
      Axis<T> axes[3] = {{1, {0}, {1}}, {1, {0}, {1}}, {1, {0}, {1}}};
      int64_t sizes[3] = {1, 1, 1}, first = 3 - spatial;
      for (int64_t slot = first; slot < 3; ++slot) {
        sizes[slot] = call.dim(kImage, 2 + slot - first);
        sampler.locate(axes[slot], sampler.pixel(grid[2 - slot], sizes[slot]), sizes[slot]);
      }
      T sum = 0;
      for (int i = 0; i < axes[0].count; ++i)
        for (int j = 0; j < axes[1].count; ++j) {
          T line = 0;
          for (int k = 0; k < axes[2].count; ++k) {
            bool inside = plane > 0 && axes[0].at[i] >= 0 && axes[1].at[j] >= 0 && axes[2].at[k] >= 0;
            T value = inside ? x[(axes[0].at[i] * sizes[1] + axes[1].at[j]) * sizes[2] + axes[2].at[k]] : T(0);
            line += axes[2].weight[k] * value;
          }
          sum += axes[0].weight[i] * axes[1].weight[j] * line;
        }
      y[column] = sum;
    }
  }
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(grid_sample, f32, gridSample<float>)
STINT_LEAF_FUNCTION(grid_sample, f64, gridSample<double>)
