// Span: a pointer and a count, owning nothing.
#ifndef STINT_RUNTIME_BASE_SPAN_H
#define STINT_RUNTIME_BASE_SPAN_H

#include <cstddef>
#include <cstdint>

namespace stint {

template <typename T> struct Span {
  T *data = nullptr;
  uint32_t size = 0;

  T &operator[](size_t index) const { return data[index]; }
  T *begin() const { return data; }
  T *end() const { return data + size; }
  bool empty() const { return size == 0; }
};

} // namespace stint

#endif
