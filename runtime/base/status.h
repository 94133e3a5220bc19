// Status inside the runtime: stint_status that the compiler won't let anyone
// ignore. Every fallible function returns one; texts are static, with the
// marks %o, %a, %b, %u that stint_status_format fills in.
#ifndef STINT_RUNTIME_BASE_STATUS_H
#define STINT_RUNTIME_BASE_STATUS_H

#include "stint/stint.h"

namespace stint {

struct [[nodiscard]] Status {
  stint_status value;

  bool ok() const { return value.code == STINT_OK; }

  // Says which input, dispatch, … the status is about.
  Status about(stint_object_kind kind, uint64_t object) const {
    Status copy = *this;
    copy.value.object_kind = kind;
    copy.value.object = static_cast<uint32_t>(object);
    return copy;
  }
};

inline Status success() { return {{STINT_OK, STINT_OBJECT_NONE, 0, 0, 0, 0, "success"}}; }

inline Status failure(stint_status_code code, const char *text, int64_t a = 0, int64_t b = 0) {
  return {{code, STINT_OBJECT_NONE, 0, 0, a, b, text}};
}

inline Status malformed(const char *text, int64_t a = 0, int64_t b = 0) {
  return failure(STINT_STATUS_MALFORMED, text, a, b);
}

inline Status outOfMemory(uint64_t bytes) {
  return failure(STINT_STATUS_OUT_OF_MEMORY, "out of memory: %a bytes wanted", static_cast<int64_t>(bytes));
}

} // namespace stint

// Hands a failure on to the caller.
#define STINT_TRY(expression)                                                                                          \
  do {                                                                                                                 \
    ::stint::Status status_ = (expression);                                                                            \
    if (!status_.ok())                                                                                                 \
      return status_;                                                                                                  \
  } while (false)

#endif
