// What leaf kernels are written with. Freestanding: no library, no static
// data but constants, no recursion, nothing of a size that is not known on the
// stack (scratch is a result of the operator).
//
// A leaf function gets its tensors, operands first, all dense and row-major;
// it computes the units [begin[0], end[0]) of the workgroup: positions of the
// leading dimensions of the tensor that the table names, as one row-major
// number. One with columns also gets the panels [begin[1], end[1]). Units run
// in any order and on any thread. Values of operands are never trusted as
// indices.
#ifndef STINT_COMPILER_CODEGEN_LEAF_KERNELS_LEAF_H
#define STINT_COMPILER_CODEGEN_LEAF_KERNELS_LEAF_H

#include "runtime/schema/kernel_abi.h"

namespace stint::leaf {

/// Layout known to LeafKernel.cpp.
struct Tensor {
  void *data;
  int64_t rank;
  const int64_t *dims;
};
static_assert(sizeof(Tensor) == 24, "LeafKernel.cpp fills it");

/// Everything a leaf function is given.
struct Call {
  const Tensor *tensors;
  const int64_t *params;
  const float *fparams;
  int64_t begin, end;                   // units
  int64_t panelBegin = 0, panelEnd = 0; // of a leaf with columns

  template <typename T> T *data(int i) const { return static_cast<T *>(tensors[i].data); }
  int64_t rank(int i) const { return tensors[i].rank; }
  int64_t dim(int i, int64_t d) const { return tensors[i].dims[d]; }
  /// Product of the dimensions [from, to).
  int64_t product(int i, int64_t from, int64_t to) const {
    int64_t count = 1;
    for (int64_t d = from; d < to; ++d)
      count *= tensors[i].dims[d];
    return count;
  }
  int64_t size(int i) const { return product(i, 0, tensors[i].rank); }
};

template <typename T> inline T min(T a, T b) { return b < a ? b : a; }
template <typename T> inline T max(T a, T b) { return a < b ? b : a; }
/// Copies; both may be one.
template <typename T> inline void copy(T *to, const T *from, int64_t count) {
  if (to == from)
    return;
#pragma clang loop vectorize(enable) unroll(disable)
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[i];
}
template <typename T> inline void fill(T *to, T value, int64_t count) {
#pragma clang loop vectorize(enable) unroll(disable)
  for (int64_t i = 0; i < count; ++i)
    to[i] = value;
}
template <typename T> inline void swap(T &a, T &b) {
  T old = a;
  a = b;
  b = old;
}

} // namespace stint::leaf

/// Defines stint_leaf_<name>_<suffix> as `function(const Call &)`.
#define STINT_LEAF_FUNCTION(name, suffix, ...)                                                                         \
  extern "C" int32_t stint_leaf_##name##_##suffix(const stint::leaf::Tensor *tensors, const int64_t *params,           \
                                                  const float *fparams, const stint_workgroup *workgroup) {            \
    __VA_ARGS__(stint::leaf::Call{tensors, params, fparams, workgroup->begin[0], workgroup->end[0],                    \
                                  workgroup->begin[1], workgroup->end[1]});                                            \
    return 0;                                                                                                          \
  }

/// The same of a `function` that returns an error, 0 for none.
#define STINT_LEAF_CHECKED(name, suffix, ...)                                                                          \
  extern "C" int32_t stint_leaf_##name##_##suffix(const stint::leaf::Tensor *tensors, const int64_t *params,           \
                                                  const float *fparams, const stint_workgroup *workgroup) {            \
    return __VA_ARGS__(stint::leaf::Call{tensors, params, fparams, workgroup->begin[0], workgroup->end[0],             \
                                         workgroup->begin[1], workgroup->end[1]});                                     \
  }

#endif
