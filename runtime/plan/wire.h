// A reader of the flatbuffers wire format that never reads outside its
// buffer, whatever the buffer holds.
//
//   table:  int32 distance back to its vtable, then the fields
//   vtable: uint16 size of vtable, uint16 size of table, uint16 per field:
//           where in the table it is, 0 where it has its default
//   vector: uint32 count, then the elements; string: the same plus a zero byte
//   reference: uint32 distance forward from where it is stored
//
// Errors stick: a getter that meets one marks the reader bad and answers with
// a default, so that callers check once at the end. All work is paid from a
// budget proportional to the buffer, so that references shared over and over
// can't make a small plan cost a lot of time or memory.
#ifndef STINT_RUNTIME_PLAN_WIRE_H
#define STINT_RUNTIME_PLAN_WIRE_H

#include "runtime/base/span.h"

#include <cstdint>
#include <string.h>

namespace stint {

class Wire {
public:
  // `data` is aligned to 8 bytes, and stays the caller's.
  Wire(const uint8_t *data, uint64_t size);

  struct Table {
    uint32_t position = 0, size = 0;     // in the buffer; 0: no table
    uint32_t vtable = 0, vtableSize = 0; // likewise
  };
  // Table-valued elements of a vector.
  struct Tables {
    uint32_t position = 0, size = 0;
  };

  // The root, if the buffer carries the identifier.
  Table root(const char identifier[4]);

  // Scalar field number `id`, or its default.
  template <typename T> T scalar(const Table &table, uint32_t id, T value) {
    uint32_t position = field(table, id, sizeof(T), sizeof(T));
    if (position)
      memcpy(&value, data + position, sizeof(T));
    return value;
  }

  // A vector of scalars or structs, in place; empty if the field is absent.
  template <typename T> Span<const T> vector(const Table &table, uint32_t id) {
    uint32_t count = 0;
    uint32_t position = vectorAt(table, id, sizeof(T), alignof(T), &count);
    return {reinterpret_cast<const T *>(data + position), position ? count : 0};
  }

  // A string, zero-terminated; "" if the field is absent.
  const char *string(const Table &table, uint32_t id);

  // A table; at position 0 if the field is absent.
  Table table(const Table &table, uint32_t id);

  Tables tables(const Table &table, uint32_t id);
  Table element(const Tables &tables, uint32_t index);
  // An element of a vector of strings (which is laid out like one of tables).
  const char *stringElement(const Tables &strings, uint32_t index);

  bool bad() const { return failed; }
  void fail() { failed = true; }

private:
  template <typename T> T load(uint32_t position) const {
    T value;
    memcpy(&value, data + position, sizeof(T));
    return value;
  }
  bool inside(uint64_t position, uint64_t bytes) const { return position <= size && bytes <= size - position; }
  bool pay(uint64_t cost);
  // Where a field is, 0 if absent or bad.
  uint32_t field(const Table &table, uint32_t id, uint32_t bytes, uint32_t alignment);
  // Follows the reference at `position`; 0 if bad.
  uint32_t follow(uint32_t position);
  uint32_t vectorAt(const Table &table, uint32_t id, uint32_t elementSize, uint32_t alignment, uint32_t *count);
  uint32_t vectorBody(uint32_t position, uint32_t elementSize, uint32_t alignment, uint32_t *count);
  const char *stringAt(uint32_t position);
  Table tableAt(uint32_t position);

  const uint8_t *data;
  uint64_t size;
  uint64_t budget;
  bool failed = false;
};

} // namespace stint

#endif
