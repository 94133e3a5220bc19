// Reference: leaf kernels, each as ONNX's text says it, element by element.
#include "test/compiler/codegen/harness/ReferenceImpl.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace stint;
using namespace stint::test;

namespace {
/// One leaf operator with its operands and zeroed results.
struct Leaf {
  llvm::ArrayRef<int64_t> params;
  llvm::ArrayRef<float> fparams;
  llvm::ArrayRef<const Array *> operands;
  std::vector<Array> &results;
  int64_t param(size_t i) const { return params[i]; }
  double fparam(size_t i) const { return fparams[i]; }
};
} // namespace

/// Whether a comes before b, NaN last; u64 by bit pattern.
static bool isBefore(const Array &x, const Number &a, const Number &b) {
  if (!x.isFloat())
    return x.element == Element::u64 ? uint64_t(a.i) < uint64_t(b.i) : a.i < b.i;
  return std::isnan(b.f) ? !std::isnan(a.f) : a.f < b.f;
}

static void topK(const Leaf &leaf) {
  const Array &x = *leaf.operands[0];
  int64_t n = x.shape.back(), k = leaf.results[0].shape.back();
  bool largest = leaf.param(0);
  for (int64_t row = 0; n && row < int64_t(x.data.size()) / n; ++row) {
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const Number &first = x.data[row * n + a], &second = x.data[row * n + b];
      return largest ? isBefore(x, second, first) : isBefore(x, first, second);
    });
    for (int64_t i = 0; i < std::min(k, n); ++i) {
      leaf.results[0].data[row * k + i] = x.data[row * n + order[i]];
      leaf.results[1].data[row * k + i].i = order[i];
    }
  }
}

/// One update of a scatter; reductions: 0 add, 1 mul, 2 min, 3 max, -1 none.
static void update(Array &result, int64_t at, const Number &by, int64_t reduction) {
  Number &to = result.data[at];
  if (result.isFloat()) {
    double f = reduction == -1  ? by.f
               : reduction == 0 ? to.f + by.f
               : reduction == 1 ? to.f * by.f
               : reduction == 2 ? (to.f < by.f ? to.f : by.f)
                                : (to.f > by.f ? to.f : by.f);
    to.f = toRegister(f, result.element);
    return;
  }
  bool isLess = result.element == Element::u64 ? uint64_t(to.i) < uint64_t(by.i) : to.i < by.i;
  to.i = wrapTo(reduction == -1  ? by.i
                : reduction == 0 ? int64_t(uint64_t(to.i) + uint64_t(by.i))
                : reduction == 1 ? int64_t(uint64_t(to.i) * uint64_t(by.i))
                : reduction == 2 ? (isLess ? to.i : by.i)
                                 : (isLess ? by.i : to.i),
                result.element);
}

static void scatterElements(const Leaf &leaf) {
  const Array &data = *leaf.operands[0], &indices = *leaf.operands[1], &updates = *leaf.operands[2];
  int64_t axis = leaf.param(0), reduction = leaf.params.size() > 1 ? leaf.param(1) : -1;
  leaf.results[0].data = data.data;
  forEach(indices.shape, [&](llvm::ArrayRef<int64_t> index) {
    Shape to(index);
    int64_t at = indices[index].i;
    to[axis] = at < 0 ? at + data.shape[axis] : at;
    if (to[axis] >= 0 && to[axis] < data.shape[axis])
      update(leaf.results[0], data.offset(to), updates[index], reduction);
  });
}

static void scatterND(const Leaf &leaf) {
  const Array &data = *leaf.operands[0], &indices = *leaf.operands[1], &updates = *leaf.operands[2];
  int64_t reduction = leaf.params.empty() ? -1 : leaf.param(0);
  size_t length = indices.shape.back(), tuples = indices.shape.size() - 1;
  leaf.results[0].data = data.data;
  forEach(updates.shape, [&](llvm::ArrayRef<int64_t> index) {
    Shape to;
    for (size_t l = 0; l < length; ++l) {
      Shape from(index.take_front(tuples));
      from.push_back(l);
      int64_t at = indices[from].i;
      to.push_back(at < 0 ? at + data.shape[l] : at);
      if (to[l] < 0 || to[l] >= data.shape[l])
        return;
    }
    to.insert(to.end(), index.begin() + tuples, index.end());
    update(leaf.results[0], data.offset(to), updates[index], reduction);
  });
}

/// A coordinate reflected at the borders.
static double reflect(double x, double low, double high) {
  while (low < high && (x < low || x > high))
    x = x < low ? 2 * low - x : 2 * high - x;
  return low < high ? x : low;
}

static double cubicWeight(double distance) {
  double x = std::abs(distance), a = -0.75;
  return x <= 1  ? (a + 2) * x * x * x - (a + 3) * x * x + 1
         : x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a
                 : 0;
}

/// Coordinates are f32, as those of the kernel: what is nearest depends on it.
static void gridSample(const Leaf &leaf) {
  const Array &x = *leaf.operands[0], &grid = *leaf.operands[1];
  int64_t mode = leaf.param(0), padding = leaf.param(1), corners = leaf.param(2);
  size_t spatial = x.shape.size() - 2;
  int64_t reach = mode == 2 ? 2 : 1;
  forEach(leaf.results[0].shape, [&](llvm::ArrayRef<int64_t> index) {
    std::vector<double> at(spatial);
    for (size_t d = 0; d < spatial; ++d) {
      Shape from = {index[0]};
      from.insert(from.end(), index.begin() + 2, index.end());
      from.push_back(spatial - 1 - d);
      float n = grid[from].f, size = x.shape[2 + d];
      float c = corners ? (n + 1) / 2 * (size - 1) : ((n + 1) * size - 1) / 2;
      if (mode == 0)
        c = std::nearbyint(c);
      double low = corners ? 0 : -0.5, high = corners ? size - 1 : size - 0.5;
      if (c < low || c > high)
        c = padding == 1 && mode != 2 ? std::clamp<double>(c, 0, size - 1) : padding == 2 ? reflect(c, low, high) : c;
      at[d] = c;
    }
    double sum = 0;
    Shape window(spatial, mode == 0 ? 1 : 2 * reach);
    forEach(window, [&](llvm::ArrayRef<int64_t> tap) {
      double weight = 1;
      Shape from = {index[0], index[1]};
      for (size_t d = 0; d < spatial; ++d) {
        int64_t size = x.shape[2 + d], place = std::floor(at[d]) + tap[d] - (mode == 2 ? 1 : 0);
        double distance = at[d] - place;
        weight *= mode == 0 ? 1 : mode == 1 ? 1 - std::abs(distance) : cubicWeight(distance);
        if (place < 0 || place >= size) {
          if (padding == 0)
            return;
          if (padding == 2)
            place = reflect(place, corners ? 0 : -0.5, corners ? size - 1 : size - 0.5);
          place = std::clamp<int64_t>(place, 0, size - 1);
        }
        from.push_back(place);
      }
      sum += weight * x[from].f;
    });
    leaf.results[0][index].f = sum;
  });
}

static void roiAlign(const Leaf &leaf) {
  const Array &x = *leaf.operands[0], &rois = *leaf.operands[1], &batches = *leaf.operands[2];
  bool maximum = leaf.param(0), half = leaf.param(2);
  int64_t height = x.shape[2], width = x.shape[3];
  forEach(leaf.results[0].shape, [&](llvm::ArrayRef<int64_t> index) {
    int64_t roi = index[0], batch = std::clamp<int64_t>(batches.data[roi].i, 0, x.shape[0] - 1);
    float scale = leaf.fparam(0), offset = half ? 0.5f : 0;
    float x1 = float(rois[{roi, 0}].f) * scale - offset, y1 = float(rois[{roi, 1}].f) * scale - offset;
    float w = float(rois[{roi, 2}].f) * scale - offset - x1, h = float(rois[{roi, 3}].f) * scale - offset - y1;
    if (!half) {
      w = std::max(w, 1.0f);
      h = std::max(h, 1.0f);
    }
    w /= leaf.results[0].shape[3];
    h /= leaf.results[0].shape[2];
    int64_t down = leaf.param(1) > 0 ? leaf.param(1) : std::max<int64_t>(std::ceil(h), 0);
    int64_t across = leaf.param(1) > 0 ? leaf.param(1) : std::max<int64_t>(std::ceil(w), 0);
    double sum = 0, most = 0;
    bool first = true;
    for (int64_t i = 0; i < down; ++i)
      for (int64_t j = 0; j < across; ++j) {
        double v = y1 + (index[2] + (i + 0.5) / down) * h, u = x1 + (index[3] + (j + 0.5) / across) * w;
        bool inside = v >= -1 && v <= height && u >= -1 && u <= width;
        v = std::clamp<double>(v, 0, height - 1);
        u = std::clamp<double>(u, 0, width - 1);
        int64_t top = std::floor(v), left = std::floor(u);
        double best = 0;
        for (int64_t corner = 0; corner < 4; ++corner) {
          int64_t row = top + corner / 2, column = left + corner % 2;
          double weight = (corner / 2 ? v - top : 1 - (v - top)) * (corner % 2 ? u - left : 1 - (u - left));
          row = std::min(row, height - 1);
          column = std::min(column, width - 1);
          double part = inside ? weight * x[{batch, index[1], row, column}].f : 0;
          sum += part;
          best = corner == 0 ? part : std::max(best, part);
        }
        most = first ? best : std::max(most, best);
        first = false;
      }
    leaf.results[0][index].f = maximum ? most : sum / std::max<int64_t>(down * across, 1);
  });
}

static void maxRoiPool(const Leaf &leaf) {
  const Array &x = *leaf.operands[0], &rois = *leaf.operands[1];
  forEach(leaf.results[0].shape, [&](llvm::ArrayRef<int64_t> index) {
    auto value = [&](int64_t i) { return rois[{index[0], i}].f; };
    auto corner = [&](int64_t i) -> int64_t { return std::round(float(value(i)) * float(leaf.fparam(0))); };
    auto bin = [&](int64_t d) {
      int64_t low = corner(d == 2 ? 2 : 1), high = corner(d == 2 ? 4 : 3);
      float size = float(std::max<int64_t>(high - low + 1, 1)) / leaf.results[0].shape[d];
      int64_t from = low + int64_t(std::floor(index[d] * size)), to = low + int64_t(std::ceil((index[d] + 1) * size));
      return std::make_pair(std::clamp<int64_t>(from, 0, x.shape[d]), std::clamp<int64_t>(to, 0, x.shape[d]));
    };
    int64_t batch = std::clamp<int64_t>(value(0), 0, x.shape[0] - 1);
    auto [top, bottom] = bin(2);
    auto [left, right] = bin(3);
    double most = top < bottom && left < right ? -HUGE_VAL : 0;
    for (int64_t i = top; i < bottom; ++i)
      for (int64_t j = left; j < right; ++j)
        most = std::max(most, x[{batch, index[1], i, j}].f);
    leaf.results[0][index].f = most;
  });
}

static void reverseSequence(const Leaf &leaf) {
  const Array &x = *leaf.operands[0];
  int64_t time = leaf.param(0);
  forEach(x.shape, [&](llvm::ArrayRef<int64_t> index) {
    int64_t length = std::clamp<int64_t>(leaf.operands[1]->data[index[1 - time]].i, 0, x.shape[time]);
    Shape from(index);
    if (from[time] < length)
      from[time] = length - 1 - from[time];
    leaf.results[0][index] = x[from];
  });
}

static void nonZero(const Leaf &leaf) {
  const Array &x = *leaf.operands[0];
  int64_t count = 0;
  forEach(x.shape, [&](llvm::ArrayRef<int64_t> index) {
    if (!x[index].i)
      return;
    for (size_t d = 0; d < index.size(); ++d)
      leaf.results[0][{int64_t(d), count}].i = index[d];
    ++count;
  });
  leaf.results[1].data[0].i = count;
}

static void unique(const Leaf &leaf) {
  const Array &x = *leaf.operands[0];
  int64_t n = x.shape[0], m = x.shape[1];
  auto before = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < m; ++i) {
      if (isBefore(x, x.data[a * m + i], x.data[b * m + i]))
        return true;
      if (isBefore(x, x.data[b * m + i], x.data[a * m + i]))
        return false;
    }
    return false;
  };
  std::vector<int64_t> kinds; // first row of each
  for (int64_t i = 0; i < n; ++i)
    if (llvm::none_of(kinds, [&](int64_t k) { return !before(i, k) && !before(k, i); }))
      kinds.push_back(i);
  if (leaf.param(0))
    std::sort(kinds.begin(), kinds.end(), before);
  for (size_t k = 0; k < kinds.size(); ++k) {
    leaf.results[0].data[k].i = kinds[k];
    for (int64_t i = 0; i < n; ++i)
      if (!before(i, kinds[k]) && !before(kinds[k], i)) {
        leaf.results[1].data[i].i = k;
        ++leaf.results[2].data[k].i;
      }
  }
  leaf.results[3].data[0].i = kinds.size();
}

static void nonMaxSuppression(const Leaf &leaf) {
  const Array &boxes = *leaf.operands[0], &scores = *leaf.operands[1];
  int64_t most = leaf.operands[2]->data[0].i, count = 0;
  double iou = leaf.operands[3]->data[0].f, threshold = leaf.operands[4]->data[0].f;
  for (int64_t b = 0; b < scores.shape[0]; ++b)
    for (int64_t c = 0; c < scores.shape[1]; ++c) {
      std::vector<int64_t> taken, order(scores.shape[2]);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t i, int64_t j) { return isBefore(scores, scores[{b, c, j}], scores[{b, c, i}]); });
      auto side = [&](int64_t box, int64_t axis, bool high) -> float {
        float first = boxes[{b, box, axis}].f, second = boxes[{b, box, axis + 2}].f;
        if (leaf.param(0))
          return high ? first + second / 2 : first - second / 2;
        return high ? std::max(first, second) : std::min(first, second);
      };
      auto area = [&](int64_t box) {
        return (side(box, 0, true) - side(box, 0, false)) * (side(box, 1, true) - side(box, 1, false));
      };
      for (int64_t box : order) {
        if ((leaf.param(1) && !(scores[{b, c, box}].f > threshold)) || int64_t(taken.size()) >= most ||
            count >= leaf.results[0].shape[0])
          continue;
        bool free = llvm::none_of(taken, [&](int64_t other) {
          float common = 1;
          for (int64_t axis = 0; axis < 2; ++axis)
            common *= std::max(0.0f, std::min(side(box, axis, true), side(other, axis, true)) -
                                         std::max(side(box, axis, false), side(other, axis, false)));
          float all = area(box) + area(other) - common;
          return common > 0 && area(box) > 0 && area(other) > 0 && all > 0 && common / all > float(iou);
        });
        if (!free)
          continue;
        taken.push_back(box);
        leaf.results[0][{count, 0}].i = b;
        leaf.results[0][{count, 1}].i = c;
        leaf.results[0][{count++, 2}].i = box;
      }
    }
  leaf.results[1].data[0].i = count;
}

static void tfIdf(const Leaf &leaf) {
  const Array &x = *leaf.operands[0], &sizes = *leaf.operands[1], &words = *leaf.operands[2];
  int64_t length = x.shape.back(), width = leaf.results[0].shape.back();
  for (int64_t row = 0; length && row < int64_t(x.data.size()) / length; ++row) {
    const Number *gram = words.data.data();
    for (size_t g = 0; g < sizes.data.size(); ++g) {
      int64_t size = sizes.data[g].i, found = 0;
      for (int64_t step = 1; step <= (size == 1 ? 1 : leaf.param(0) + 1); ++step)
        for (int64_t at = 0; at + step * (size - 1) < length; ++at) {
          bool equal = true;
          for (int64_t i = 0; i < size; ++i)
            equal &= x.data[row * length + at + i * step].i == gram[i].i;
          found += equal;
        }
      gram += size;
      double weight = leaf.operands[4]->data[g].f;
      leaf.results[0].data[row * width + leaf.operands[3]->data[g].i].f +=
          leaf.param(1) && found ? weight : found * weight;
    }
  }
}

bool stint::test::evaluateLeaf(mlir::Operation *op, const Environment &environment,
                               llvm::ArrayRef<const Array *> operands, std::vector<Array> &results) {
  auto leafOp = llvm::dyn_cast<graph::LeafOp>(op);
  if (!leafOp)
    return false;
  for (mlir::Value result : op->getResults())
    results.push_back(environment.arrayFor(result));
  static const std::pair<llvm::StringRef, void (*)(const Leaf &)> leaves[] = {
      {"grid_sample", gridSample},
      {"max_roi_pool", maxRoiPool},
      {"non_max_suppression", nonMaxSuppression},
      {"non_zero", nonZero},
      {"reverse_sequence", reverseSequence},
      {"roi_align", roiAlign},
      {"scatter_elements", scatterElements},
      {"scatter_elements_reduce", scatterElements},
      {"scatter_nd", scatterND},
      {"scatter_nd_reduce", scatterND},
      {"tf_idf", tfIdf},
      {"top_k", topK},
      {"unique", unique},
  };
  for (auto [name, compute] : leaves)
    if (name == leafOp.getName()) {
      compute({leafOp.getParams(), leafOp.getFparams(), operands, results});
      return true;
    }
  return false;
}
