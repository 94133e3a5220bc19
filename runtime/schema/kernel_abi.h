// The calling convention between the runtime and generated kernels.
//
// Included by the runtime, and by the compiler, which checks its LLVM struct
// types against the offsets asserted here. Depends on <stdint.h> and
// <stddef.h> alone. Never change a field: append, and raise
// STINT_KERNEL_ABI_VERSION.
//
// Ownership: everything belongs to the runtime and is read-only to a kernel,
// except the bytes behind writable buffers and `scratch`.
// Threads: one dispatch runs on many threads at once, each call with its own
// workgroup; two workgroups of one dispatch never write the same byte.
// Errors: a kernel returns 0, or a positive number that reaches the caller
// as the detail of STINT_STATUS_KERNEL_FAILED.
#ifndef STINT_SCHEMA_KERNEL_ABI_H
#define STINT_SCHEMA_KERNEL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A buffer as a kernel sees it. `data` is aligned to 64 bytes for values in
// the arena and for weights; buffers bound by an application are aligned to
// their element only. `size` is in bytes: the value's own size, not what was
// reserved for it.
typedef struct stint_kernel_buffer {
  void *data;
  uint64_t size;
} stint_kernel_buffer;

// What all workgroups of a dispatch share.
// `buffers`: the kernel's operands in order, then its results in order.
// `dims`: the values of the symbols the kernel refers to, in the order the
// compiler chose; the kernel computes every shape from them.
typedef struct stint_dispatch {
  const stint_kernel_buffer *buffers;
  const int64_t *dims;
  uint32_t buffer_count;
  uint32_t dim_count;
} stint_dispatch;

// One piece of a dispatch: the half-open box [begin, end) of the kernel's
// grid, in the kernel's own units; unused axes are [0, 1).
// `scratch`: 64-byte aligned, private to the thread, contents undefined.
typedef struct stint_workgroup {
  int64_t begin[3];
  int64_t end[3];
  void *scratch;
  uint64_t scratch_size;
} stint_workgroup;

typedef int32_t (*stint_kernel)(const stint_dispatch *, const stint_workgroup *);

#ifdef __cplusplus
}
static_assert(sizeof(void *) != 8 || (offsetof(stint_dispatch, dims) == 8 &&
                                      offsetof(stint_dispatch, buffer_count) == 16 && sizeof(stint_dispatch) == 24),
              "frozen");
static_assert(sizeof(void *) != 8 || (sizeof(stint_kernel_buffer) == 16 && offsetof(stint_kernel_buffer, size) == 8),
              "frozen");
static_assert(sizeof(void *) != 8 ||
                  (offsetof(stint_workgroup, end) == 24 && offsetof(stint_workgroup, scratch) == 48 &&
                   offsetof(stint_workgroup, scratch_size) == 56 && sizeof(stint_workgroup) == 64),
              "frozen");
#endif

#endif
