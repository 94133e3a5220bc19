// Options structs cross from callers that may be older or newer than this
// library: each begins with the size its caller knew.
#ifndef STINT_RUNTIME_BASE_OPTIONS_H
#define STINT_RUNTIME_BASE_OPTIONS_H

#include "runtime/base/status.h"

#include <string.h>

namespace stint {

// Copies what the caller gave (nullptr: nothing) over zeros. A field this
// library doesn't know must be zero.
template <typename T> Status readOptions(const T *given, T *options) {
  memset(options, 0, sizeof(T));
  options->size = sizeof(T);
  if (!given)
    return success();
  if (given->size < sizeof(size_t) || given->size > 4096)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "an options struct has size %a: set its first field",
                   static_cast<int64_t>(given->size));
  size_t common = given->size < sizeof(T) ? given->size : sizeof(T);
  const char *bytes = reinterpret_cast<const char *>(given);
  for (size_t i = common; i < given->size; ++i)
    if (bytes[i])
      return failure(STINT_STATUS_UNSUPPORTED, "an options struct holds an option this library is too "
                                               "old for");
  memcpy(options, given, common);
  options->size = sizeof(T);
  return success();
}

// The other way: writes as much of `value` as the caller's struct has room
// for, keeping the caller's size.
template <typename T> Status writeInfo(const T &value, T *out) {
  if (!out || out->size < sizeof(size_t))
    return failure(STINT_STATUS_INVALID_ARGUMENT, "an info struct without its size");
  size_t size = out->size < sizeof(T) ? out->size : sizeof(T);
  memcpy(reinterpret_cast<char *>(out) + sizeof(size_t), reinterpret_cast<const char *>(&value) + sizeof(size_t),
         size - sizeof(size_t));
  return success();
}

} // namespace stint

#endif
