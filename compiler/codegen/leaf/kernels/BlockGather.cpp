// block_gather(rows [T] (i32, i64), words, scales, zeros?) -> [T, K'] f32
//   tables and params: see BlockWeights.h
// Rows of a table of weights as floats. A negative number counts from the end;
// one out of range is clamped into it, as graph.gather has it. Units: rows.
#include "compiler/codegen/leaf/kernels/BlockWeights.h"

namespace stint::leaf {

template <typename Index> static void blockGather(const Call &call) {
  BlockWeights weights(call);
  int result = call.params[2] ? 4 : 3;
  int64_t width = weights.blocks * weights.block, perWord = 32 / weights.bits;
  uint32_t mask = (1u << weights.bits) - 1;
  if (weights.rows == 0)
    return;
  for (int64_t t = call.begin; t < call.end; ++t) {
    int64_t row = call.data<const Index>(0)[t];
    row += row < 0 ? weights.rows : 0;
    row = min(max<int64_t>(row, 0), weights.rows - 1);
    int64_t panel = row / kPanel, lane = row % kPanel;
    float *out = call.data<float>(result) + t * width;
    for (int64_t b = 0; b < weights.blocks; ++b) {
      const uint32_t *words = weights.wordsOf(panel, b) + lane;
      Floats scales = weights.scale(panel, b), zeros = weights.zero(panel, b);
      float scale = scales[lane], zero = zeros[lane];
      for (int64_t w = 0; w < weights.blockWords; ++w)
        for (int64_t i = 0; i < perWord; ++i)
          *out++ = (float(words[w * kPanel] >> (i * weights.bits) & mask) - zero) * scale;
    }
  }
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(block_gather, i32, blockGather<int32_t>)
STINT_LEAF_FUNCTION(block_gather, i64, blockGather<int64_t>)
