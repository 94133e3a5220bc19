// roi_align(x [N, C, H, W], rois [R, 4] (x1, y1, x2, y2), batches [R] (i64)) -> y [R, C, h, w]
//   params: maximum (1) or average (0), sampling ratio (0: as many as it takes),
//           half_pixel; fparams: spatial scale
// max_roi_pool(x [N, C, H, W], rois [R, 5] (batch, x1, y1, x2, y2)) -> y [R, C, h, w]
//   fparams: spatial scale
// As ONNX RoiAlign and MaxRoiPool. Batch numbers out of range are clamped.
// Units: regions, in max_roi_pool (region, channel).
#include "compiler/codegen/leaf/kernels/Numeric.h"

namespace stint::leaf {

/// Samples of one bin in a dimension at most: boxes of any numbers end.
static constexpr int64_t kMostSamples = 1 << 12;

/// Where a sample lies along one dimension: between `low` and `high`.
template <typename T> struct Position {
  int64_t low, high;
  T lowWeight, highWeight;
  bool inside;

  Position(T x, int64_t size) {
    inside = x >= T(-1) && x <= T(size) && size > 0;
    x = inside ? max(x, T(0)) : T(0);
    low = int64_t(x);
    high = low + 1;
    if (low >= size - 1) {
      low = high = max<int64_t>(size - 1, 0);
      x = T(low);
    }
    highWeight = x - T(low);
    lowWeight = 1 - highWeight;
  }
};

/// Samples of a bin that are located together: every channel reads them then.
static constexpr int kSamples = 32;

template <typename T> struct Samples {
  int64_t count;
  int64_t at[kSamples][4]; // -1: a zero
  T weight[kSamples][4];

  void add(const Position<T> &v, const Position<T> &h, int64_t width) {
    int64_t s = count++;
    for (int corner = 0; corner < 4; ++corner) {
      bool low = corner < 2, left = corner % 2 == 0;
      at[s][corner] = v.inside && h.inside ? (low ? v.low : v.high) * width + (left ? h.low : h.high) : -1;
      weight[s][corner] = (low ? v.lowWeight : v.highWeight) * (left ? h.lowWeight : h.highWeight);
    }
  }

  /// The sum or maximum of `so` (unless `first`) and what the samples read.
  T reduce(const T *x, T so, bool maximum, bool first) const {
    for (int64_t s = 0; s < count; ++s) {
      T parts[4];
      for (int corner = 0; corner < 4; ++corner)
        parts[corner] = at[s][corner] >= 0 ? weight[s][corner] * x[at[s][corner]] : T(0);
      if (maximum) {
        T value = max(max(parts[0], parts[1]), max(parts[2], parts[3]));
        so = first && s == 0 ? value : max(so, value);
      } else {
        so += parts[0] + parts[1] + parts[2] + parts[3];
      }
    }
    return so;
  }
};

template <typename T> static void roiAlign(const Call &call) {
  constexpr int kImage = 0, kRois = 1, kBatches = 2, kResult = 3;
  int64_t channels = call.dim(kImage, 1), height = call.dim(kImage, 2), width = call.dim(kImage, 3);
  int64_t rows = call.dim(kResult, 2), columns = call.dim(kResult, 3);
  bool maximum = call.params[0], half = call.params[2];
  T scale = T(call.fparams[0]), offset = half ? T(0.5) : T(0);
  for (int64_t unit = call.begin; unit < call.end; ++unit) {
    int64_t batch = max<int64_t>(min(call.data<const int64_t>(kBatches)[unit], call.dim(kImage, 0) - 1), 0);
    const T *x = call.data<const T>(kImage) + batch * channels * height * width;
    const T *box = call.data<const T>(kRois) + unit * 4;
    T *y = call.data<T>(kResult) + unit * channels * rows * columns;
    T left = box[0] * scale - offset, top = box[1] * scale - offset;
    T roiWidth = box[2] * scale - offset - left, roiHeight = box[3] * scale - offset - top;
    if (!half) {
      roiWidth = max(roiWidth, T(1));
      roiHeight = max(roiHeight, T(1));
    }
    T binWidth = roiWidth / T(columns), binHeight = roiHeight / T(rows);
    auto samples = [&](T bin) {
      int64_t wanted = call.params[1] > 0 ? call.params[1] : int64_t(ceilOf(bounded(bin)));
      return max<int64_t>(min(wanted, kMostSamples), 0);
    };
    int64_t down = samples(binHeight), across = samples(binWidth);
    T count = T(max<int64_t>(down * across, 1));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        T *bin = y + row * columns + column;
        for (int64_t channel = 0; channel < channels; ++channel)
          bin[channel * rows * columns] = 0;
        Samples<T> block;
        int64_t all = down * across;
        for (int64_t sample = 0; sample < all; sample += block.count) {
          block.count = 0;
          for (int64_t s = sample; s < all && block.count < kSamples; ++s) {
            T i = T(s / across) + T(0.5), j = T(s % across) + T(0.5);
            Position<T> v(top + T(row) * binHeight + i * binHeight / T(down), height);
            Position<T> h(left + T(column) * binWidth + j * binWidth / T(across), width);
            block.add(v, h, width);
          }
          for (int64_t channel = 0; channel < channels; ++channel) {
            T &to = bin[channel * rows * columns];
            to = block.reduce(x + channel * height * width, to, maximum, sample == 0);
          }
        }
        for (int64_t channel = 0; channel < channels && !maximum; ++channel)
          bin[channel * rows * columns] /= count;
      }
  }
}

template <typename T> static void maxRoiPool(const Call &call) {
  constexpr int kImage = 0, kRois = 1, kResult = 2;
  int64_t channels = call.dim(kImage, 1), height = call.dim(kImage, 2), width = call.dim(kImage, 3);
  int64_t rows = call.dim(kResult, 2), columns = call.dim(kResult, 3);
  T scale = T(call.fparams[0]);
  for (int64_t unit = call.begin; unit < call.end; ++unit) {
    const T *box = call.data<const T>(kRois) + unit / channels * 5;
    int64_t batch = max<int64_t>(min(int64_t(bounded(box[0])), call.dim(kImage, 0) - 1), 0);
    const T *x = call.data<const T>(kImage) + (batch * channels + unit % channels) * height * width;
    T *y = call.data<T>(kResult) + unit * rows * columns;
    // Halves away from zero, as C's round.
    auto corner = [&](T value) {
      T scaled = bounded(value * scale), whole = floorOf(absOf(scaled) + T(0.5));
      return int64_t(scaled < 0 ? -whole : whole);
    };
    int64_t left = corner(box[1]), top = corner(box[2]);
    T binWidth = T(max<int64_t>(corner(box[3]) - left + 1, 1)) / T(columns);
    T binHeight = T(max<int64_t>(corner(box[4]) - top + 1, 1)) / T(rows);
    auto clamped = [](int64_t at, int64_t size) { return max<int64_t>(min(at, size), 0); };
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        int64_t firstRow = clamped(int64_t(floorOf(bounded(T(row) * binHeight))) + top, height);
        int64_t lastRow = clamped(int64_t(ceilOf(bounded(T(row + 1) * binHeight))) + top, height);
        int64_t firstColumn = clamped(int64_t(floorOf(bounded(T(column) * binWidth))) + left, width);
        int64_t lastColumn = clamped(int64_t(ceilOf(bounded(T(column + 1) * binWidth))) + left, width);
        bool first = true;
        T result = 0;
        for (int64_t i = firstRow; i < lastRow; ++i)
          for (int64_t j = firstColumn; j < lastColumn; ++j) {
            result = first ? x[i * width + j] : max(result, x[i * width + j]);
            first = false;
          }
        y[row * columns + column] = result;
      }
  }
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(roi_align, f32, roiAlign<float>)
STINT_LEAF_FUNCTION(roi_align, f64, roiAlign<double>)
STINT_LEAF_FUNCTION(max_roi_pool, f32, maxRoiPool<float>)
STINT_LEAF_FUNCTION(max_roi_pool, f64, maxRoiPool<double>)
