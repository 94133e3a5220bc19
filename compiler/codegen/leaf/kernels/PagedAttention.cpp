// Paged keys and values of many sequences, and attention over them.
//
//   paged_append(cache, fresh [T, heads, H], positions [T], sequences [T],
//                pages [N, P]) -> cache
//     params: 1 for keys, whose pages are [heads, H, 32]; 0 for values, whose
//     pages are [heads, 32, H]. Units: tokens.
//   paged_attention(key cache, value cache, query [T, heads, group, H],
//                   positions, sequences, pages[, sink [heads · group]])
//       -> [T, heads, group, Hv]
//     params: window, the keys that a token sees (0: all up to itself); whether
//     there is a sink, one more logit that has no value.
//     fparams: scale; softcap (0: none). Units: tokens × heads.
//
// Caches are f32 or f16 (rounded to nearest, beyond its largest to that);
// everything is computed in f32.
//
// Token t is at positions[t] of sequence sequences[t], whose position p is in
// page pages[sequence][p / 32], at p % 32. It sees positions up to its own.
// A step table that names a place outside the caches is error 1.
//
// Scores of a page are computed at once; pages follow in ascending order with
// the maximum, the sum and the result corrected on the way (Milakov and
// Gimelshein 2018), so that an element of the result depends on its token and
// the sequence alone, whatever else is in the step. Positions that are not seen are never
// read from the values' pages: they may hold anything.
#include "compiler/codegen/leaf/kernels/Vector.h"

namespace stint::leaf {

constexpr int kPage = 32; // positions
constexpr int kPair = kPage / kLanes;
constexpr int32_t kOutside = 1; // error

/// Where the tokens of a step are.
struct StepTable {
  const int32_t *positions, *sequences, *pages;
  int64_t sequenceCount, pagesEach, pageCount;

  StepTable(const Call &call, int positionsAt, int cache)
      : positions(call.data<const int32_t>(positionsAt)), sequences(call.data<const int32_t>(positionsAt + 1)),
        pages(call.data<const int32_t>(positionsAt + 2)), sequenceCount(call.dim(positionsAt + 2, 0)),
        pagesEach(call.dim(positionsAt + 2, 1)), pageCount(call.dim(cache, 0)) {}

  bool holds(int64_t token) const {
    return positions[token] >= 0 && positions[token] / kPage < pagesEach && sequences[token] >= 0 &&
           sequences[token] < sequenceCount;
  }
  /// Page number `index` of the token's sequence, or -1.
  int64_t page(int64_t token, int64_t index) const {
    int64_t number = pages[sequences[token] * pagesEach + index];
    return number >= 0 && number < pageCount ? number : -1;
  }
};

/// What a cache keeps of a float.
inline void keep(float *to, float x) { *to = x; }
inline void keep(uint16_t *to, float x) { *to = halfOf(x); }

template <typename T> static int32_t append(const Call &call) {
  constexpr int kFresh = 1, kResult = 5;
  bool keys = call.params[0] != 0;
  int64_t heads = call.dim(kFresh, 1), size = call.dim(kFresh, 2);
  StepTable table(call, 2, kResult);
  for (int64_t token = call.begin; token < call.end; ++token) {
    if (!table.holds(token))
      return kOutside;
    int64_t page = table.page(token, table.positions[token] / kPage), at = table.positions[token] % kPage;
    if (page < 0)
      return kOutside;
    const float *from = call.data<const float>(kFresh) + token * heads * size;
    T *to = call.data<T>(kResult) + page * heads * size * kPage;
    for (int64_t head = 0; head < heads; ++head, from += size, to += size * kPage)
      for (int64_t i = 0; i < size; ++i)
        keep(keys ? to + i * kPage + at : to + at * size + i, from[i]);
  }
  return 0;
}

/// The scores of one page for one or two queries.
template <int kQueries, typename T>
static void scorePage(const float *query, const T *keys, int64_t size, float *scores) {
  Floats sums[kQueries][kPair] = {};
  for (int64_t i = 0; i < size; ++i) {
    Floats row[kPair];
    for (int half = 0; half < kPair; ++half)
      row[half] = load(keys + i * kPage + half * kLanes);
    for (int q = 0; q < kQueries; ++q) {
      Floats x = splat(query[q * size + i]);
      for (int half = 0; half < kPair; ++half)
        sums[q][half] = sums[q][half] + x * row[half];
    }
  }
  for (int q = 0; q < kQueries; ++q)
    for (int half = 0; half < kPair; ++half)
      store(scores + q * kPage + half * kLanes, sums[q][half]);
}

/// result · correction + Σ weights[j] · values[j], j from first to last.
template <typename T>
static void mixPage(float *result, const T *values, int64_t size, const float *weights, float correction, int first,
                    int last) {
  int64_t i = 0;
  constexpr int kWide = 4;
  for (; i + kWide * kLanes <= size; i += kWide * kLanes) {
    Floats sums[kWide];
    for (int k = 0; k < kWide; ++k)
      sums[k] = load(result + i + k * kLanes) * splat(correction);
    for (int j = first; j <= last; ++j) {
      Floats w = splat(weights[j]);
      for (int k = 0; k < kWide; ++k)
        sums[k] = sums[k] + w * load(values + j * size + i + k * kLanes);
    }
    for (int k = 0; k < kWide; ++k)
      store(result + i + k * kLanes, sums[k]);
  }
  for (; i < size; ++i) {
    float sum = result[i] * correction;
    for (int j = first; j <= last; ++j)
      sum = sum + weights[j] * floatOf(values[j * size + i]);
    result[i] = sum;
  }
}

/// One query head: its softmax so far.
struct Softmax {
  float top, sum;
};

static float maximum(const float *x, int first, int last) {
  float top = x[first];
  for (int j = first + 1; j <= last; ++j)
    top = x[j] > top ? x[j] : top;
  return top;
}

/// What a page adds to one query head. `scores` become weights.
template <typename T>
static void takePage(Softmax &softmax, float *scores, const Call &call, int first, int last, const T *values,
                     int64_t size, float *result) {
  float scale = call.fparams[0], softcap = call.fparams[1];
  for (int half = 0; half < kPair; ++half) {
    Floats x = load(scores + half * kLanes) * splat(scale);
    if (softcap != 0)
      x = tanhOf(x / splat(softcap)) * splat(softcap);
    store(scores + half * kLanes, x);
  }
  float top = maximum(scores, first, last);
  top = softmax.top > top ? softmax.top : top;
  for (int half = 0; half < kPair; ++half)
    store(scores + half * kLanes, expOf(load(scores + half * kLanes) - splat(top)));
  float correction = softmax.sum == 0 ? 0 : expOf(splat(softmax.top - top))[0], sum = softmax.sum * correction;
  for (int j = first; j <= last; ++j)
    sum = sum + scores[j];
  mixPage(result, values, size, scores, correction, first, last);
  softmax = {top, sum};
}

template <typename T> static int32_t attend(const Call &call) {
  constexpr int kKeys = 0, kValues = 1, kQuery = 2, kMostGroup = 16;
  int result = call.params[1] ? 7 : 6;
  int64_t heads = call.dim(kQuery, 1), group = call.dim(kQuery, 2), size = call.dim(kQuery, 3);
  int64_t valueSize = call.dim(result, 3), window = call.params[0];
  StepTable table(call, 3, kKeys);
  for (int64_t unit = call.begin; unit < call.end; ++unit) {
    int64_t token = unit / heads, head = unit % heads;
    if (!table.holds(token))
      return kOutside;
    int64_t position = table.positions[token], lowest = window && position >= window ? position - window + 1 : 0;
    for (int64_t at = 0; at < group; at += kMostGroup) {
      int64_t queries = min<int64_t>(kMostGroup, group - at), firstQuery = unit * group + at;
      const float *query = call.data<const float>(kQuery) + firstQuery * size;
      float *y = call.data<float>(result) + firstQuery * valueSize;
      fill(y, 0.0f, queries * valueSize);
      Softmax softmax[kMostGroup];
      for (int64_t q = 0; q < queries; ++q) {
        bool sink = call.params[1] != 0;
        softmax[q] = {sink ? call.data<const float>(6)[head * group + at + q] : 0, sink ? 1.0f : 0.0f};
      }
      for (int64_t index = lowest / kPage; index <= position / kPage; ++index) {
        int64_t page = table.page(token, index);
        if (page < 0)
          return kOutside;
        const T *keys = call.data<const T>(kKeys) + (page * heads + head) * size * kPage;
        const T *values = call.data<const T>(kValues) + (page * heads + head) * valueSize * kPage;
        int first = int(max<int64_t>(lowest - index * kPage, 0)),
            last = int(min<int64_t>(position - index * kPage, kPage - 1));
        float scores[kMostGroup * kPage];
        int64_t q = 0;
        for (; q + 2 <= queries; q += 2)
          scorePage<2>(query + q * size, keys, size, scores + q * kPage);
        if (q < queries)
          scorePage<1>(query + q * size, keys, size, scores + q * kPage);
        for (q = 0; q < queries; ++q)
          takePage(softmax[q], scores + q * kPage, call, first, last, values, valueSize, y + q * valueSize);
      }
      for (int64_t q = 0; q < queries; ++q)
        for (int64_t i = 0; i < valueSize; ++i)
          y[q * valueSize + i] = y[q * valueSize + i] / softmax[q].sum;
    }
  }
  return 0;
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_CHECKED(paged_append, f32, append<float>)
STINT_LEAF_CHECKED(paged_append, f16, append<uint16_t>)
STINT_LEAF_CHECKED(paged_attention, f32, attend<float>)
STINT_LEAF_CHECKED(paged_attention, f16, attend<uint16_t>)
