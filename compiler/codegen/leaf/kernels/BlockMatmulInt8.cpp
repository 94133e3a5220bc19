// block_matmul_int8(x [… , pieces] i8, words, scales, zeros?) -> [… , N] f32
//   x: rows as quantise_rows makes them for these weights' bits and block size,
//   see QuantisedRows.h; tables and params: see BlockWeights.h
// Units: rows of x; panels of 16 columns.
//
// An element of the result is the sum over the blocks, in order, of
//
//   (scale · scale of x) · (Σ x[k] · number[k] - zero · Σ x[k])
//
// with the sums in integers, where they are exact in any order.
#include "compiler/codegen/leaf/kernels/BlockDot.h"

namespace stint::leaf {

/// Panels that one pass over some rows of x serves.
constexpr int kPanelsAtOnce = 4;

template <int bits, int rows>
static void tile(const Call &call, const BlockWeights &weights, int64_t row, int64_t panel, int64_t panels) {
  int64_t bytes = call.dim(0, call.rank(0) - 1), piece = kHeader + weights.block;
  const char *x = call.data<const char>(0) + row * bytes;
  Floats totals[kPanelsAtOnce][rows];
#pragma unroll
  for (int i = 0; i < kPanelsAtOnce * rows; ++i)
    totals[i / rows][i % rows] = Floats{};
  for (int64_t b = 0; b < weights.blocks; ++b) {
    QuantisedBlock blocks[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      blocks[r] = {x + r * bytes + b * piece};
    for (int64_t p = 0; p < panels; ++p) {
      Ints sums[rows];
      dotBlock<bits, rows>(weights.wordsOf(panel + p, b), weights.blockWords, blocks, sums);
      Floats scale = weights.scale(panel + p, b), zero = weights.zero(panel + p, b);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        int32_t sum = blocks[r].sum();
        Ints whole = isShifted<bits>() ? sums[r] + 128 * sum : sums[r];
        Floats difference = multiplyAdd(-zero, splat(float(sum)), __builtin_convertvector(whole, Floats));
        totals[p][r] = multiplyAdd(scale * splat(blocks[r].scale()), difference, totals[p][r]);
      }
    }
  }
  float *out = call.data<float>(call.params[2] ? 4 : 3) + row * weights.rows;
  for (int64_t p = 0; p < panels; ++p)
    for (int r = 0; r < rows; ++r)
      storeColumns(out + r * weights.rows, panel + p, weights.rows, totals[p][r]);
}

template <int bits> static void rowsOf(const Call &call) {
  BlockWeights weights(call);
  for (int64_t panel = call.panelBegin; panel < call.panelEnd; panel += kPanelsAtOnce) {
    int64_t panels = min<int64_t>(kPanelsAtOnce, call.panelEnd - panel), row = call.begin;
    for (; row + kDotRows <= call.end; row += kDotRows)
      tile<bits, kDotRows>(call, weights, row, panel, panels);
    for (; row + 2 <= call.end; row += 2)
      tile<bits, 2>(call, weights, row, panel, panels);
    if (row < call.end)
      tile<bits, 1>(call, weights, row, panel, panels);
  }
}

static void blockMatmul(const Call &call) {
  if (call.params[0] == 4)
    rowsOf<4>(call);
  else
    rowsOf<8>(call);
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(block_matmul_int8, i8, blockMatmul)
