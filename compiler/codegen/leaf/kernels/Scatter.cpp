// scatter_elements(data, indices (i64), updates) -> data with some elements replaced
//   params: axis
// scatter_elements_reduce: params: axis, reduction (0 add, 1 mul, 2 min, 3 max)
//   As ONNX ScatterElements: update u[i0, …] goes to the element i0, … of the
//   result whose coordinate on `axis` is the index. Indices and updates have
//   one shape, none of whose dimensions but `axis` is larger than data's.
//   Units: the dimensions before `axis` (`leading` is the axis).
// scatter_nd(data, indices (i64) [… , L], updates) -> data with some slices replaced
// scatter_nd_reduce: params: reduction
//   As ONNX ScatterND. One unit.
//
// Updates are applied in row-major order, so of duplicates the last one wins.
// A negative index counts from the end; updates whose index is out of range
// are left out. With min and max, a NaN in updates wins, one in data loses.
#include "compiler/codegen/leaf/kernels/Leaf.h"

namespace stint::leaf {

/// Makes an index non-negative, or returns false.
static bool resolve(int64_t &index, int64_t size) {
  index += index < 0 ? size : 0;
  return index >= 0 && index < size;
}

/// The strides of a row-major tensor, in elements.
struct Strides {
  int64_t of[8];
  Strides(const Call &call, int tensor) {
    int64_t stride = 1;
    for (int64_t d = call.rank(tensor) - 1; d >= 0; --d) {
      of[d] = stride;
      stride *= call.dim(tensor, d);
    }
  }
};

template <typename T, typename Apply> static void scatterUnit(const Call &call, int64_t unit, Apply apply) {
  constexpr int kData = 0, kIndices = 1, kUpdates = 2, kResult = 3;
  int64_t rank = call.rank(kData), axis = call.params[0], size = call.dim(kData, axis);
  Strides result(call, kResult), update(call, kIndices);
  int64_t slab = call.product(kData, axis, rank);
  T *out = call.data<T>(kResult) + unit * slab;
  copy(out, call.data<const T>(kData) + unit * slab, slab);
  if (call.size(kIndices) == 0)
    return;
  // Where the unit's updates begin, if it has any.
  int64_t from = 0;
  for (int64_t d = axis - 1, rest = unit; d >= 0; --d) {
    int64_t at = rest % call.dim(kData, d);
    rest /= call.dim(kData, d);
    if (at >= call.dim(kIndices, d))
      return;
    from += at * update.of[d];
  }
  const int64_t *indices = call.data<const int64_t>(kIndices) + from;
  const T *updates = call.data<const T>(kUpdates) + from;
  int64_t last = rank - 1, columns = call.dim(kIndices, last), along = last == axis ? 0 : 1;
  int64_t counts[8] = {}, rows = call.product(kIndices, axis, last);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t base = 0;
    for (int64_t d = axis + 1; d < last; ++d)
      base += counts[d] * result.of[d];
    for (int64_t i = 0; i < columns; ++i) {
      int64_t index = *indices++;
      if (resolve(index, size))
        apply(out[base + index * result.of[axis] + i * along], *updates);
      ++updates;
    }
    for (int64_t d = last - 1; d >= axis && ++counts[d] == call.dim(kIndices, d); --d)
      counts[d] = 0;
  }
}

template <typename T, typename Apply> static void scatterSlices(const Call &call, Apply apply) {
  constexpr int kData = 0, kIndices = 1, kUpdates = 2, kResult = 3;
  Strides strides(call, kData);
  int64_t length = call.dim(kIndices, call.rank(kIndices) - 1), slice = call.product(kData, length, call.rank(kData));
  int64_t tuples = call.product(kIndices, 0, call.rank(kIndices) - 1);
  T *out = call.data<T>(kResult);
  copy(out, call.data<const T>(kData), call.size(kData));
  for (int64_t t = 0; t < tuples; ++t) {
    const int64_t *indices = call.data<const int64_t>(kIndices) + t * length;
    int64_t at = 0;
    bool inside = true;
    for (int64_t l = 0; l < length; ++l) {
      int64_t index = indices[l];
      inside &= resolve(index, call.dim(kData, l));
      at += inside ? index * strides.of[l] : 0;
    }
    if (!inside)
      continue;
    const T *updates = call.data<const T>(kUpdates) + t * slice;
    for (int64_t i = 0; i < slice; ++i)
      apply(out[at + i], updates[i]);
  }
}

template <typename T> static void replace(T &to, T from) { to = from; }

/// The reduction of that number. One loop for all of them: few cycles more, a
/// quarter of the code.
template <typename T> struct Reduce {
  int64_t kind;
  void operator()(T &to, T from) const {
    switch (kind) {
    case 0:
      to = T(to + from);
      break;
    case 1:
      to = T(to * from);
      break;
    case 2:
      to = to < from ? to : from;
      break;
    default:
      to = to > from ? to : from;
    }
  }
};

template <typename T> static void elements(const Call &call) {
  for (int64_t unit = call.begin; unit < call.end; ++unit)
    scatterUnit<T>(call, unit, replace<T>);
}
template <typename T> static void elementsReduce(const Call &call) {
  for (int64_t unit = call.begin; unit < call.end; ++unit)
    scatterUnit<T>(call, unit, Reduce<T>{call.params[1]});
}
template <typename T> static void nd(const Call &call) {
  if (call.begin < call.end)
    scatterSlices<T>(call, replace<T>);
}
template <typename T> static void ndReduce(const Call &call) {
  if (call.begin < call.end)
    scatterSlices<T>(call, Reduce<T>{call.params[0]});
}

} // namespace stint::leaf

using namespace stint::leaf;
#define BOTH(suffix, type)                                                                                             \
  STINT_LEAF_FUNCTION(scatter_elements, suffix, elements<type>)                                                        \
  STINT_LEAF_FUNCTION(scatter_nd, suffix, nd<type>)
BOTH(b8, uint8_t)
BOTH(b16, uint16_t)
BOTH(b32, uint32_t)
BOTH(b64, uint64_t)
#undef BOTH
#define BOTH(suffix, type)                                                                                             \
  STINT_LEAF_FUNCTION(scatter_elements_reduce, suffix, elementsReduce<type>)                                           \
  STINT_LEAF_FUNCTION(scatter_nd_reduce, suffix, ndReduce<type>)
BOTH(f32, float)
BOTH(f64, double)
BOTH(i8, int8_t)
BOTH(i16, int16_t)
BOTH(i32, int32_t)
BOTH(i64, int64_t)
BOTH(u8, uint8_t)
BOTH(u16, uint16_t)
BOTH(u32, uint32_t)
BOTH(u64, uint64_t)
