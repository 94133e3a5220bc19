// block_matmul(x [… , K], words, scales, zeros?) -> x · weights [… , N], f32
//   tables and params: see BlockWeights.h
// Units: rows of x; panels of 16 columns.
//
// An element of the result is the sum over the blocks, in order, of
//
//   scale · (Σ x[k] · number[k] - zero · Σ x[k])
//
// where the first sum goes over k in order and the second is that of eight
// chains, k mod 8. So it is the same bits whatever else is computed, in
// whatever tiles. A number stays at its place in its word, where it is too
// large by a power of two, by which x is made smaller.
#include "compiler/codegen/leaf/kernels/BlockWeights.h"

namespace stint::leaf {

/// Rows of a tile, and panels that one row is multiplied by side by side.
#if defined(__aarch64__)
constexpr int kMostRows = 4, kSideBySide = 2;
#else
constexpr int kMostRows = 6, kSideBySide = 4;
#endif
/// Panels that one pass over some rows of x serves.
constexpr int kPanelsAtOnce = 4;

template <int bits> struct Packing {
  static constexpr int kPerWord = 32 / bits;
  /// A number of each word as a float, 2^(bits · i) times too large; the last
  /// one as it is.
  template <int i> static Floats number(Words w) {
    if constexpr (i + 1 == kPerWord)
      return __builtin_convertvector(Ints(w >> uint32_t(32 - bits)), Floats);
    else
      return __builtin_convertvector(Ints(w & (uint32_t((1 << bits) - 1) << (bits * i))), Floats);
  }
  static constexpr float factor(int k) {
    int i = k % kPerWord;
    return i + 1 == kPerWord ? 1.0f : 1.0f / float(uint32_t(1) << (bits * i));
  }
  static constexpr Eight kFactors = {factor(0), factor(1), factor(2), factor(3),
                                     factor(4), factor(5), factor(6), factor(7)};
};

/// The block of a row of x that begins at x, `count` of its elements there, made
/// ready; returns their sum.
template <int bits> static inline float prepare(const float *x, int64_t count, int64_t block, float *to) {
  Eight sums = {};
  int64_t k = 0;
  for (; k + 8 <= count; k += 8) {
    Eight v = load<Eight>(x + k);
    sums += v;
    store(to + k, v * Packing<bits>::kFactors);
  }
  for (; k < block; k += 8) {
    Eight v = {};
    for (int64_t i = k; i < count && i < k + 8; ++i)
      v[i - k] = x[i];
    sums += v;
    store(to + k, v * Packing<bits>::kFactors);
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

template <int bits, int i, int rows, int panels>
static inline void addNumber(const Words (&words)[panels], const float *x, Floats (&sums)[rows][panels]) {
  if constexpr (i < Packing<bits>::kPerWord) {
    Floats numbers[panels];
#pragma unroll
    for (int p = 0; p < panels; ++p)
      numbers[p] = Packing<bits>::template number<i>(words[p]);
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int p = 0; p < panels; ++p)
        sums[r][p] = multiplyAdd(splat(x[r * kMaxBlock + i]), numbers[p], sums[r][p]);
    addNumber<bits, i + 1>(words, x, sums);
  }
}

/// Σ x · number of a block.
template <int bits, int rows, int panels>
static inline void addBlock(const uint32_t *words, int64_t panelWords, int64_t count, const float *x,
                            Floats (&sums)[rows][panels]) {
#pragma unroll
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int p = 0; p < panels; ++p)
      sums[r][p] = Floats{};
  for (int64_t w = 0; w < count; ++w, words += kPanel, x += Packing<bits>::kPerWord) {
    Words v[panels];
#pragma unroll
    for (int p = 0; p < panels; ++p)
      v[p] = load<Words>(words + p * panelWords);
    addNumber<bits, 0>(v, x, sums);
  }
}

/// `rows` rows of x times some panels, `together` at a time.
template <int bits, int rows, int together>
static void tile(const Call &call, const BlockWeights &weights, int64_t row, int64_t panel, int64_t panels) {
  int64_t k = call.dim(0, call.rank(0) - 1);
  const float *x = call.data<const float>(0) + row * k;
  alignas(64) float ready[rows * kMaxBlock];
  Floats totals[kPanelsAtOnce][rows];
#pragma unroll
  for (int i = 0; i < kPanelsAtOnce * rows; ++i)
    totals[i / rows][i % rows] = Floats{};
  for (int64_t b = 0; b < weights.blocks; ++b) {
    float sums[rows];
    for (int r = 0; r < rows; ++r)
      sums[r] = prepare<bits>(x + r * k + b * weights.block, min(weights.block, k - b * weights.block), weights.block,
                              ready + r * kMaxBlock);
    auto add = [&](int64_t p, auto &products) {
      constexpr int count = sizeof(products[0]) / sizeof(products[0][0]);
      addBlock<bits>(weights.wordsOf(panel + p, b), weights.panelWords, weights.blockWords, ready, products);
#pragma unroll
      for (int i = 0; i < count; ++i) {
        Floats scale = weights.scale(panel + p + i, b), zero = weights.zero(panel + p + i, b);
#pragma unroll
        for (int r = 0; r < rows; ++r)
          totals[p + i][r] = multiplyAdd(scale, multiplyAdd(-zero, splat(sums[r]), products[r][i]), totals[p + i][r]);
      }
    };
    int64_t p = 0;
    for (; p + together <= panels; p += together) {
      Floats products[rows][together];
      add(p, products);
    }
    for (; p < panels; ++p) {
      Floats products[rows][1];
      add(p, products);
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
    for (; row + kMostRows <= call.end; row += kMostRows)
      tile<bits, kMostRows, 1>(call, weights, row, panel, panels);
    switch (call.end - row) {
    case 5:
      tile<bits, 2, 2>(call, weights, row, panel, panels);
      row += 2;
      [[fallthrough]];
    case 3:
      tile<bits, 3, 1>(call, weights, row, panel, panels);
      break;
    case 4:
      tile<bits, 2, 2>(call, weights, row, panel, panels);
      row += 2;
      [[fallthrough]];
    case 2:
      tile<bits, 2, 2>(call, weights, row, panel, panels);
      break;
    case 1:
      tile<bits, 1, kSideBySide>(call, weights, row, panel, panels);
      break;
    }
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
STINT_LEAF_FUNCTION(block_matmul, f32, blockMatmul)
