// Byte pair encoding of one word. Its symbols form a list; a heap holds, for
// each symbol that can be merged with its neighbour on the right, its position,
// the merge of lowest rank on top and leftmost where ranks are equal. Each merge
// takes one symbol out of the list and changes two places in the heap, so that a
// word of n symbols takes O(n log n).
#include "runtime/generation/tokenizer_tables.h"
#include "runtime/generation/utf8.h"

namespace stint {
namespace {

constexpr uint32_t none = STINT_TOKENIZER_NONE;

struct Symbols {
  const Tokenizer &t;
  uint32_t count = 0, heapSize = 0;
  uint32_t *id, *previous, *next;
  uint32_t *rank; // of the merge with the next symbol, or none
  uint32_t *heap; // positions
  uint32_t *slot; // where in the heap a position is, or none

  void add(uint32_t symbol) { id[count++] = symbol; }

  bool before(uint32_t a, uint32_t b) const { return rank[a] < rank[b] || (rank[a] == rank[b] && a < b); }

  void place(uint32_t at, uint32_t position) {
    heap[at] = position;
    slot[position] = at;
  }

  void siftUp(uint32_t at) {
    uint32_t position = heap[at];
    while (at && before(position, heap[(at - 1) / 2])) {
      place(at, heap[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    place(at, position);
  }

  void siftDown(uint32_t at) {
    uint32_t position = heap[at];
    for (uint32_t child; (child = 2 * at + 1) < heapSize; at = child) {
      if (child + 1 < heapSize && before(heap[child + 1], heap[child]))
        ++child;
      if (!before(heap[child], position))
        break;
      place(at, heap[child]);
    }
    place(at, position);
  }

  void remove(uint32_t position) {
    uint32_t at = slot[position];
    if (at == none)
      return;
    slot[position] = none;
    uint32_t last = heap[--heapSize];
    if (at == heapSize)
      return;
    place(at, last);
    siftUp(at);
    siftDown(slot[last]);
  }

  // The pair that begins at `position` has changed.
  void refresh(uint32_t position) {
    remove(position);
    if (next[position] == none)
      return;
    rank[position] = findMerge(t, id[position], id[next[position]]);
    if (rank[position] == none)
      return;
    place(heapSize, position);
    siftUp(heapSize++);
  }

  void link() {
    for (uint32_t i = 0; i < count; ++i) {
      previous[i] = i ? i - 1 : none;
      next[i] = i + 1 < count ? i + 1 : none;
      slot[i] = none;
    }
    for (uint32_t i = 0; i + 1 < count; ++i) {
      rank[i] = findMerge(t, id[i], id[i + 1]);
      if (rank[i] != none)
        place(heapSize++, i);
    }
    for (uint32_t i = heapSize / 2; i-- > 0;)
      siftDown(i);
  }

  void merge() {
    while (heapSize) {
      uint32_t left = heap[0], right = next[left], after = next[right];
      id[left] = t.merges[rank[left]].id;
      remove(right);
      next[left] = after;
      if (after != none)
        previous[after] = left;
      refresh(left);
      if (previous[left] != none)
        refresh(previous[left]);
    }
  }
};

// The symbols that a word begins as: its bytes or characters that are tokens, else
// the tokens of a character's bytes, else the unknown token. As in Hugging
// Face's tokenizers an unknown token is put down only when a known one follows,
// so that bytes' tokens come before it.
void addSymbols(const Tokenizer &t, Text word, Symbols *symbols) {
  bool bytes = t.has(STINT_TOKENIZER_BYTE_LEVEL), unknown = false;
  uint32_t unknownId = t.header->unknown_id;
  for (const uint8_t *p = word.begin; p < word.end;) {
    uint32_t length = bytes ? 1 : utf8Length(*p);
    uint32_t id = bytes ? t.byteIds[*p] : findToken(t, {p, p + length});
    bool fallback = id == none && t.has(STINT_TOKENIZER_BYTE_FALLBACK);
    for (uint32_t i = 0; fallback && i < length; ++i)
      fallback = t.byteIds[p[i]] != none;
    if (id != none) {
      if (unknown)
        symbols->add(unknownId);
      unknown = false;
      symbols->add(id);
    } else if (fallback) {
      for (uint32_t i = 0; i < length; ++i)
        symbols->add(t.byteIds[p[i]]);
    } else if (unknownId != none) {
      if (unknown && !t.has(STINT_TOKENIZER_FUSE_UNKNOWN))
        symbols->add(unknownId);
      unknown = true;
    }
    p += length;
  }
  if (unknown)
    symbols->add(unknownId);
}

} // namespace

bool mergeWord(const Tokenizer &t, Text word, Scratch *scratch, uint32_t **ids, uint32_t *count) {
  uint64_t most = word.size();
  auto *memory = scratch->take<uint32_t>(most * (mergeBytesPerByte / sizeof(uint32_t)));
  if (!memory)
    return false;
  Symbols symbols{
      t, 0, 0, memory, memory + most, memory + 2 * most, memory + 3 * most, memory + 4 * most, memory + 5 * most};
  addSymbols(t, word, &symbols);
  if (symbols.count) {
    symbols.link();
    symbols.merge();
    uint32_t kept = 0;
    for (uint32_t i = 0; i != none; i = symbols.next[i])
      symbols.id[kept++] = symbols.id[i];
    symbols.count = kept;
  }
  *ids = symbols.id;
  *count = symbols.count;
  return true;
}

} // namespace stint
