// non_max_suppression(boxes [B, N, 4], scores [B, C, N], most [1] (i64), iou [1], score [1])
//   -> selected [capacity, 3] (i64: batch, class, box), count [1] (i64), order [N] (i64)
//   params: boxes are centre and size (1) or two corners (0), whether there is a
//           score threshold
// As ONNX NonMaxSuppression: in each class boxes are taken by score, the lower
// number first of equal ones, unless they overlap one that was taken by more
// than `iou`. At most `most` of a class and `capacity` in all. `order` is
// scratch. One unit.
#include "compiler/codegen/leaf/kernels/Order.h"

namespace stint::leaf {

struct Box {
  float left, top, right, bottom;

  Box(const float *box, bool centred) {
    if (centred) {
      float halfWidth = box[2] / 2, halfHeight = box[3] / 2;
      left = box[0] - halfWidth;
      right = box[0] + halfWidth;
      top = box[1] - halfHeight;
      bottom = box[1] + halfHeight;
    } else {
      top = min(box[0], box[2]);
      bottom = max(box[0], box[2]);
      left = min(box[1], box[3]);
      right = max(box[1], box[3]);
    }
  }

  float area() const { return (right - left) * (bottom - top); }

  bool overlaps(const Box &other, float threshold) const {
    float width = min(right, other.right) - max(left, other.left);
    float height = min(bottom, other.bottom) - max(top, other.top);
    if (!(width > 0) || !(height > 0))
      return false;
    float common = width * height, mine = area(), others = other.area(), all = mine + others - common;
    return common > 0 && mine > 0 && others > 0 && all > 0 && common / all > threshold;
  }
};

static void nonMaxSuppression(const Call &call) {
  if (call.begin >= call.end)
    return;
  const uint32_t *scoreBits = call.data<const uint32_t>(1);
  int64_t batches = call.dim(1, 0), classes = call.dim(1, 1), n = call.dim(0, 1);
  int64_t most = call.data<const int64_t>(2)[0], capacity = call.dim(5, 0), count = 0;
  float iou = call.data<const float>(3)[0], threshold = call.data<const float>(4)[0];
  bool centred = call.params[0], thresholded = call.params[1];
  int64_t *selected = call.data<int64_t>(5);
  uint64_t *order = call.data<uint64_t>(7);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t c = 0; c < classes; ++c) {
      const float *boxes = call.data<const float>(0) + batch * n * 4;
      const float *scores = call.data<const float>(1) + (batch * classes + c) * n;
      const uint32_t *bits = scoreBits + (batch * classes + c) * n;
      int64_t candidates = 0, begin = count;
      for (int64_t i = 0; i < n; ++i)
        if (!thresholded || scores[i] > threshold)
          order[candidates++] = uint64_t(~F32::key(bits[i])) << 32 | uint64_t(i);
      sort(order, candidates, [](uint64_t a, uint64_t b) { return a < b; });
      for (int64_t i = 0; i < candidates && count - begin < most && count < capacity; ++i) {
        int64_t number = order[i] & 0xFFFFFFFF;
        Box box(boxes + number * 4, centred);
        bool free = true;
        for (int64_t s = begin; s < count && free; ++s)
          free = !box.overlaps(Box(boxes + selected[s * 3 + 2] * 4, centred), iou);
        if (!free)
          continue;
        int64_t *row = selected + 3 * count++;
        row[0] = batch;
        row[1] = c;
        row[2] = number;
      }
    }
  call.data<int64_t>(6)[0] = count;
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(non_max_suppression, f32, nonMaxSuppression)
