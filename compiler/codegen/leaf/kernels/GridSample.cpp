// grid_sample(x [N, C, d…], grid [N, o…, S]) -> y [N, C, o…], S = 2 or 3 spatial dimensions
//   params: mode (0 nearest, 1 linear, 2 cubic), padding (0 zeros, 1 border,
//           2 reflection), align_corners
// As ONNX GridSample; the last coordinate of a point is that of the outermost
// spatial dimension. Units: rows of points, that is `leading` is 1 + S - 1 dimensions
// of the grid.
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

/// Points that are located together: every channel reads them then.
static constexpr int kPoints = 16;

/// What the points of a block read: `count` elements each, -1 for a zero.
template <typename T> struct Taps {
  int count;
  int64_t at[64][kPoints];
  T weight[64][kPoints];

  /// All combinations of the neighbours along three dimensions.
  void set(int point, const Axis<T> *axes, const int64_t *sizes) {
    count = 0;
    for (int i = 0; i < axes[0].count; ++i)
      for (int j = 0; j < axes[1].count; ++j)
        for (int k = 0; k < axes[2].count; ++k) {
          bool inside = axes[0].at[i] >= 0 && axes[1].at[j] >= 0 && axes[2].at[k] >= 0;
          // Nothing is inside an empty image.
          inside &= sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0;
          at[count][point] = inside ? (axes[0].at[i] * sizes[1] + axes[1].at[j]) * sizes[2] + axes[2].at[k] : -1;
          weight[count++][point] = axes[0].weight[i] * axes[1].weight[j] * axes[2].weight[k];
        }
  }
};

template <typename T> static void gridSample(const Call &call) {
  constexpr int kImage = 0, kGrid = 1, kResult = 2;
  int64_t rank = call.rank(kImage), spatial = rank - 2, first = 3 - spatial;
  int64_t channels = call.dim(kImage, 1), plane = call.product(kImage, 2, rank);
  int64_t columns = call.dim(kResult, rank - 1), rows = call.product(kResult, 2, rank - 1);
  Sampler<T> sampler{call.params[0], call.params[1], call.params[2] != 0};
  int64_t sizes[3] = {1, 1, 1};
  for (int64_t slot = first; slot < 3; ++slot)
    sizes[slot] = call.dim(kImage, 2 + slot - first);
  Taps<T> taps;
  for (int64_t unit = call.begin; unit < call.end; ++unit) {
    int64_t batch = unit / rows, row = unit % rows;
    const T *grid = call.data<const T>(kGrid) + unit * columns * spatial;
    for (int64_t column = 0; column < columns; column += kPoints) {
      int points = int(min<int64_t>(kPoints, columns - column));
      for (int p = 0; p < points; ++p) {
        // Missing dimensions are in front, of size 1.
        Axis<T> axes[3] = {{1, {0}, {1}}, {1, {0}, {1}}, {1, {0}, {1}}};
        for (int64_t slot = first; slot < 3; ++slot)
          sampler.locate(axes[slot], sampler.pixel(grid[(column + p) * spatial + 2 - slot], sizes[slot]), sizes[slot]);
        taps.set(p, axes, sizes);
      }
      for (int64_t channel = 0; channel < channels; ++channel) {
        int64_t image = batch * channels + channel;
        const T *x = call.data<const T>(kImage) + image * plane;
        T *y = call.data<T>(kResult) + (image * rows + row) * columns + column;
        for (int p = 0; p < points; ++p) {
          T sum = 0;
          for (int t = 0; t < taps.count; ++t)
            sum += taps.weight[t][p] * (taps.at[t][p] >= 0 ? x[taps.at[t][p]] : T(0));
          y[p] = sum;
        }
      }
    }
  }
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(grid_sample, f32, gridSample<float>)
STINT_LEAF_FUNCTION(grid_sample, f64, gridSample<double>)
