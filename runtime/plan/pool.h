// Pool: memory handed out piece by piece and given back all at once.
#ifndef STINT_RUNTIME_PLAN_POOL_H
#define STINT_RUNTIME_PLAN_POOL_H

#include "runtime/base/span.h"

#include <cstdint>
#include <type_traits>

namespace stint {

class Pool {
public:
  Pool() = default;
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  // Zeroed memory aligned to 64 bytes; nullptr if there is none.
  void *allocate(uint64_t bytes);

  // `count` zeroed objects; false if there is no memory.
  template <typename T> [[nodiscard]] bool array(uint32_t count, Span<T> *out) {
    static_assert(std::is_trivially_destructible_v<T>, "never destroyed");
    using Element = std::remove_const_t<T>;
    void *memory = count ? allocate(uint64_t(count) * sizeof(T)) : nullptr;
    *out = {static_cast<Element *>(memory), memory ? count : 0};
    return count == 0 || memory;
  }

  uint64_t bytes() const { return total; }

private:
  struct Block {
    Block *next;
    uint64_t size;
  };
  Block *blocks = nullptr;
  uint8_t *free = nullptr;
  uint64_t left = 0, total = 0;
};

} // namespace stint

#endif
