// Pages of a decoder's cache: which are free, and by how many sequences each of
// the others is held. A page is the same range of positions in all states of the
// plan: page p of a state is its p-th part.
#ifndef STINT_RUNTIME_GENERATION_PAGES_H
#define STINT_RUNTIME_GENERATION_PAGES_H

#include "runtime/base/span.h"

#include <cstdint>

namespace stint {

// One state of the plan: [pages][heads][page size][head size] elements, or
// transposed: [pages][heads][head size][page size].
struct CacheState {
  uint8_t *data;
  uint32_t heads, headSize;
  int32_t type;      // of an element
  uint32_t rowBytes; // what one head keeps of one token
  bool transposed;
};

constexpr uint32_t noPage = 0xffffffff;

class PagePool {
public:
  PagePool() = default;
  // Both lists have room for an element for each page, which isn't touched
  // before it is needed.
  PagePool(uint32_t *holders, uint32_t *freeList, uint32_t count)
      : holders(holders), freeList(freeList), count(count) {}

  // A page with one holder; noPage if there is none. Those that were used
  // before come first.
  uint32_t take() {
    if (!freeCount && fresh == count)
      return noPage;
    uint32_t page = freeCount ? freeList[--freeCount] : fresh++;
    holders[page] = 1;
    return page;
  }
  void hold(uint32_t page) { ++holders[page]; }
  void release(uint32_t page) {
    if (--holders[page] == 0)
      freeList[freeCount++] = page;
  }
  bool shared(uint32_t page) const { return holders[page] > 1; }
  uint32_t size() const { return count; }
  uint32_t available() const { return freeCount + (count - fresh); }

private:
  uint32_t *holders = nullptr, *freeList = nullptr;
  uint32_t count = 0, freeCount = 0;
  uint32_t fresh = 0; // it and all behind it were never taken
};

} // namespace stint

#endif
