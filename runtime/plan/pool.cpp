// A chain of blocks from the platform; each begins with its link.
#include "runtime/plan/pool.h"

#include "runtime/base/arithmetic.h"
#include "runtime/platform/platform.h"

namespace stint {

Pool::~Pool() {
  while (blocks) {
    Block *next = blocks->next;
    platform::free(blocks, blocks->size);
    blocks = next;
  }
}

void *Pool::allocate(uint64_t bytes) {
  constexpr uint64_t head = 64, blockSize = 32 * 1024;
  static_assert(sizeof(Block) <= head, "the link comes first");
  if (!checkedAlign(bytes ? bytes : 1, 64, &bytes)) // nothing has a place too
    return nullptr;
  if (bytes > left) {
    uint64_t wanted = 0;
    if (!checkedAdd(bytes, head, &wanted))
      return nullptr;
    wanted = wanted < blockSize ? blockSize : wanted;
    auto *block = static_cast<Block *>(platform::allocate(wanted));
    if (!block)
      return nullptr;
    *block = {blocks, wanted};
    blocks = block;
    free = reinterpret_cast<uint8_t *>(block) + head;
    left = wanted - head;
    total += wanted;
  }
  void *result = free; // zeros, as all that platform::allocate gives
  free += bytes;
  left -= bytes;
  return result;
}

} // namespace stint
