// Element types: their sizes and names, numbered as in the plan.
#ifndef STINT_RUNTIME_BASE_ELEMENT_TYPE_H
#define STINT_RUNTIME_BASE_ELEMENT_TYPE_H

#include "runtime/base/status.h"

namespace stint {

// Bytes of a dense tensor, sub-byte elements packed; false on overflow, a
// negative dimension, or a type without a fixed size.
[[nodiscard]] bool tensorBytes(int32_t type, uint32_t rank, const int64_t *dims, uint64_t *bytes);

// Alignment of one element in bytes.
inline uint32_t elementAlignment(int32_t type) {
  switch (type) {
  case STINT_C64:
    return 4;
  case STINT_C128:
    return 8;
  default:
    return stint_type_bits(type) < 16 ? 1 : stint_type_bits(type) / 8;
  }
}

} // namespace stint

#endif
