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
//     fparams: scale; softcap (0: none). Units: tokens; then heads.
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
// the sequence alone, whatever else is in the step. Neighbouring tokens of a
// sequence read a page together. Positions that are not seen are never read
// from the values' pages: they may hold anything.
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

/// One head of one token: where its query is and its result goes, the positions
/// that it sees, and its softmax so far.
struct Query {
  const float *x;
  float *y;
  int64_t lowest, position;
  float top, sum;
  alignas(64) float scores[kPage]; // of one page; then their weights

  /// The positions of a page that it sees: [first, last]; none if last < first.
  int first(int64_t page) const { return int(max<int64_t>(lowest - page * kPage, 0)); }
  int last(int64_t page) const { return int(min<int64_t>(position - page * kPage, kPage - 1)); }
  bool seesAll(int64_t page) const { return first(page) == 0 && last(page) == kPage - 1; }
};

/// Queries that are computed side by side, as many as registers hold.
constexpr int kSideBySide = 2;
/// Queries of neighbouring tokens that a page is read for at once.
constexpr int kMostQueries = 32;

/// The scores of a page for some queries: over the elements of a key in order.
template <int count, typename T> static void scorePage(Query *queries, const T *keys, int64_t size) {
  Floats sums[count][kPair] = {};
  for (int64_t i = 0; i < size; ++i) {
    Floats row[kPair];
#pragma unroll
    for (int half = 0; half < kPair; ++half)
      row[half] = load(keys + i * kPage + half * kLanes);
#pragma unroll
    for (int q = 0; q < count; ++q)
#pragma unroll
      for (int half = 0; half < kPair; ++half)
        sums[q][half] = multiplyAdd(splat(queries[q].x[i]), row[half], sums[q][half]);
  }
#pragma unroll
  for (int q = 0; q < count; ++q)
#pragma unroll
    for (int half = 0; half < kPair; ++half)
      store(queries[q].scores + half * kLanes, sums[q][half]);
}

/// Scores become weights. What the result so far has to be multiplied by.
static float weighPage(Query &query, int first, int last, float scale, float softcap) {
  constexpr float kNever = -__builtin_inff();
  Floats scores[kPair];
#pragma unroll
  for (int half = 0; half < kPair; ++half) {
    Floats x = load(query.scores + half * kLanes) * splat(scale);
    if (softcap != 0)
      x = tanhOf(x / splat(softcap)) * splat(softcap);
    Integers at = kLane + splatInteger(half * kLanes);
    x = at >= splatInteger(first) ? x : splat(kNever);
    scores[half] = at <= splatInteger(last) ? x : splat(kNever);
  }
  float top = maximumOf(scores[0] > scores[1] ? scores[0] : scores[1]);
  top = query.top > top ? query.top : top;
#pragma unroll
  for (int half = 0; half < kPair; ++half) {
    scores[half] = expOf(scores[half] - splat(top));
    store(query.scores + half * kLanes, scores[half]);
  }
  float correction = query.sum == 0 ? 0 : expOf(splat(query.top - top))[0];
  query.sum = query.sum * correction + sumOf(scores[0] + scores[1]);
  query.top = top;
  return correction;
}

/// result · correction + Σ weight[j] · values[j] for `wide` vectors of the
/// result, over j in order.
template <int count, int wide, typename T>
static void mixColumns(Query *queries, const float *corrections, const T *values, int64_t size, int64_t column,
                       int first, int last) {
  Floats sums[count][wide];
#pragma unroll
  for (int q = 0; q < count; ++q)
#pragma unroll
    for (int k = 0; k < wide; ++k)
      sums[q][k] = load(queries[q].y + column + k * kLanes) * splat(corrections[q]);
  for (int j = first; j <= last; ++j) {
    Floats row[wide];
#pragma unroll
    for (int k = 0; k < wide; ++k)
      row[k] = load(values + j * size + column + k * kLanes);
#pragma unroll
    for (int q = 0; q < count; ++q)
#pragma unroll
      for (int k = 0; k < wide; ++k)
        sums[q][k] = multiplyAdd(splat(queries[q].scores[j]), row[k], sums[q][k]);
  }
#pragma unroll
  for (int q = 0; q < count; ++q)
#pragma unroll
    for (int k = 0; k < wide; ++k)
      store(queries[q].y + column + k * kLanes, sums[q][k]);
}

/// What a page adds to some queries that see the same of it.
template <int count, typename T>
static void takePage(Query *queries, int64_t page, const Call &call, const T *keys, int64_t size, const T *values,
                     int64_t valueSize) {
  int first = queries[0].first(page), last = queries[0].last(page);
  scorePage<count>(queries, keys, size);
  float corrections[count];
#pragma unroll
  for (int q = 0; q < count; ++q)
    corrections[q] = weighPage(queries[q], first, last, call.fparams[0], call.fparams[1]);
  int64_t i = 0;
  for (; i + 2 * kLanes <= valueSize; i += 2 * kLanes)
    mixColumns<count, 2>(queries, corrections, values, valueSize, i, first, last);
  for (; i + kLanes <= valueSize; i += kLanes)
    mixColumns<count, 1>(queries, corrections, values, valueSize, i, first, last);
  for (; i < valueSize; ++i)
#pragma unroll
    for (int q = 0; q < count; ++q) {
      float sum = queries[q].y[i] * corrections[q];
      for (int j = first; j <= last; ++j)
        sum = multiplyAdd(queries[q].scores[j], floatOf(values[j * valueSize + i]), sum);
      queries[q].y[i] = sum;
    }
}

/// Asks for memory that is wanted soon: no prefetcher sees where the next page is.
template <typename T> static void fetch(const T *from, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < count; i += kLine)
    __builtin_prefetch(from + i);
}

/// Everything for some queries of one head and one sequence, page by page.
template <typename T>
static int32_t attendTogether(Query *queries, int count, const Call &call, const StepTable &table, int64_t token,
                              int64_t head) {
  constexpr int kKeys = 0, kValues = 1, kQuery = 2;
  int64_t heads = call.dim(kQuery, 1), size = call.dim(kQuery, 3), valueSize = call.dim(call.params[1] ? 7 : 6, 3);
  int64_t begin = queries[0].lowest, end = queries[0].position;
  for (int q = 1; q < count; ++q) {
    begin = min(begin, queries[q].lowest);
    end = max(end, queries[q].position);
  }
  for (int64_t page = begin / kPage; page <= end / kPage; ++page) {
    int64_t number = table.page(token, page);
    if (number < 0)
      return kOutside;
    const T *keys = call.data<const T>(kKeys) + (number * heads + head) * size * kPage;
    const T *values = call.data<const T>(kValues) + (number * heads + head) * valueSize * kPage;
    fetch(values, valueSize * kPage);
    if (int64_t next = page < end / kPage ? table.page(token, page + 1) : -1; next >= 0)
      fetch(call.data<const T>(kKeys) + (next * heads + head) * size * kPage, size * kPage);
    for (int q = 0; q < count;) {
      int alike = 0;
      while (alike < kSideBySide && q + alike < count && queries[q + alike].seesAll(page))
        ++alike;
      if (alike == kSideBySide)
        takePage<kSideBySide>(queries + q, page, call, keys, size, values, valueSize);
      else if (queries[q].first(page) <= queries[q].last(page))
        takePage<1>(queries + q, page, call, keys, size, values, valueSize);
      q += max(alike, 1);
    }
  }
  for (int q = 0; q < count; ++q)
    for (int64_t i = 0; i < valueSize; ++i)
      queries[q].y[i] = queries[q].y[i] / queries[q].sum;
  return 0;
}

template <typename T> static int32_t attend(const Call &call) {
  constexpr int kKeys = 0, kQuery = 2, kSink = 6;
  bool sink = call.params[1] != 0;
  int result = sink ? 7 : 6;
  int64_t heads = call.dim(kQuery, 1), group = call.dim(kQuery, 2), size = call.dim(kQuery, 3);
  int64_t valueSize = call.dim(result, 3), window = call.params[0];
  StepTable table(call, 3, kKeys);
  for (int64_t token = call.begin; token < call.end; ++token)
    if (!table.holds(token))
      return kOutside;
  for (int64_t head = call.panelBegin; head < call.panelEnd; ++head)
    for (int64_t at = 0; at < group; at += kMostQueries) {
      int64_t together = min<int64_t>(kMostQueries, group - at);
      for (int64_t token = call.begin; token < call.end;) {
        Query queries[kMostQueries];
        int64_t next = token, count = 0;
        for (; next < call.end && table.sequences[next] == table.sequences[token] && count + together <= kMostQueries;
             ++next)
          for (int64_t q = 0; q < together; ++q) {
            int64_t position = table.positions[next], row = (next * heads + head) * group + at + q;
            Query &query = queries[count++];
            query.x = call.data<const float>(kQuery) + row * size;
            query.y = call.data<float>(result) + row * valueSize;
            query.lowest = window && position >= window ? position - window + 1 : 0;
            query.position = position;
            query.top = sink ? call.data<const float>(kSink)[head * group + at + q] : -__builtin_inff();
            query.sum = sink ? 1.0f : 0.0f;
            fill(query.y, 0.0f, valueSize);
          }
        if (int32_t error = attendTogether<T>(queries, int(count), call, table, token, head))
          return error;
        token = next;
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
