// stint.hpp: owning handles over stint.h for C++ applications; nothing else.
//
// Header only, C++17, no exceptions needed: calls return the C API's
// stint_status unchanged. A handle owns one reference and is movable; each
// keeps the threading rules of what it owns (see stint.h).
#ifndef STINT_STINT_HPP
#define STINT_STINT_HPP

#include "stint/stint.h"

#include <utility>

namespace stint {

// True where a call worked.
inline bool ok(const stint_status &status) { return status.code == STINT_OK; }

// Owns a T* that Release gives back.
template <typename T, void (*Release)(T *)> class Handle {
public:
  Handle() = default;
  explicit Handle(T *object) : object(object) {}
  Handle(Handle &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() { Release(object); }

  T *get() const { return object; }
  explicit operator bool() const { return object != nullptr; }
  // For the C API's out-parameters; gives back what was held.
  T **out() {
    Release(std::exchange(object, nullptr));
    return &object;
  }

private:
  T *object = nullptr;
};

// Releasing NULL is fine for all of them.
using Model = Handle<stint_model, stint_model_release>;
using Executor = Handle<stint_executor, stint_executor_release>;
using Session = Handle<stint_session, stint_session_destroy>;
using Generator = Handle<stint_generator, stint_generator_destroy>;

// An options or info struct of the C API with its size filled in and all
// else zero: auto options = stint::sized<stint_session_options>();
template <typename T> T sized() {
  T value{};
  value.size = sizeof(T);
  return value;
}

// Text to ids in scratch that the call allocates; `flags`: enum stint_encode_flags.
inline stint_status encode(const stint_model *model, const char *text, size_t size, uint32_t flags, uint32_t *ids,
                           size_t capacity, size_t *count) {
  auto options = sized<stint_encode_options>();
  options.flags = flags;
  return stint_model_encode(model, text, size, &options, ids, capacity, count);
}

// A text that comes id by id, in whole characters. Keeps a pointer to the model, no reference.
class TextStream {
public:
  // `flags`: enum stint_decode_flags.
  explicit TextStream(const stint_model *model, uint32_t flags = STINT_DECODE_SKIP_SPECIAL)
      : model(model), flags(flags) {}

  // As stint_model_decode.
  stint_status append(const uint32_t *ids, size_t count, char *text, size_t capacity, size_t *done, size_t *written) {
    return stint_model_decode(model, &stream, ids, count, flags, text, capacity, done, written);
  }
  // As stint_model_decode_end; the stream is as new afterwards.
  stint_status finish(char *text, size_t capacity, size_t *written) {
    return stint_model_decode_end(model, &stream, text, capacity, written);
  }

private:
  const stint_model *model;
  uint32_t flags;
  stint_text_stream stream = {};
};

} // namespace stint

#endif
