// Protobuf's wire format over a buffer: fields one after another, nested
// messages as sub-readers, nothing copied. Every read is bounds-checked; the
// first error sticks and stops all readers that share the `WireError`.
//
//   message = (tag value)*        tag = varint(field << 3 | wire type)
//   wire types: 0 varint, 1 eight bytes, 2 varint length and bytes, 5 four bytes
#ifndef STINT_COMPILER_IMPORT_WIREREADER_H
#define STINT_COMPILER_IMPORT_WIREREADER_H

#include <cstdint>
#include <cstring>
#include <string>

namespace stint::import {

struct WireError {
  const char *what = nullptr;
  uint64_t offset = 0; // in the file
};

class WireReader {
public:
  enum Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

  WireReader(const uint8_t *file, const uint8_t *begin, const uint8_t *end, WireError &error)
      : file(file), p(begin), end(end), error(error) {}

  /// Reads the next tag; false at the end or after an error.
  bool next() {
    if (error.what || p == end)
      return false;
    uint64_t tag = varint();
    if (error.what)
      return false;
    field = static_cast<uint32_t>(tag >> 3);
    wire = tag & 7;
    if (field == 0 || tag >> 32)
      return fail("not a protobuf field");
    if (wire == Bytes) {
      uint64_t length = varint();
      if (error.what)
        return false;
      if (length > static_cast<uint64_t>(end - p))
        return fail("a field is longer than what is left of the file");
      data = p;
      size = length;
      p += length;
    } else if (wire == Varint) {
      value = varint();
    } else if (wire == Fixed64 || wire == Fixed32) {
      size = wire == Fixed64 ? 8 : 4;
      if (static_cast<uint64_t>(end - p) < size)
        return fail("the file ends inside a field");
      value = 0;
      std::memcpy(&value, p, size);
      data = p;
      p += size;
    } else {
      return fail("unknown protobuf wire type");
    }
    return !error.what;
  }

  uint32_t field = 0, wire = 0;
  uint64_t value = 0;            // Varint, Fixed32, Fixed64
  const uint8_t *data = nullptr; // Bytes and Fixed*
  uint64_t size = 0;

  bool isBytes() const { return wire == Bytes; }
  std::string string() const {
    return wire == Bytes ? std::string(reinterpret_cast<const char *>(data), size) : std::string();
  }
  int64_t integer() const { return static_cast<int64_t>(value); }
  float asFloat() const {
    float f;
    uint32_t bits = static_cast<uint32_t>(value);
    std::memcpy(&f, &bits, 4);
    return f;
  }
  uint64_t offsetOfData() const { return data - file; }
  /// The nested message of the current field; empty if it holds none.
  WireReader message() const { return WireReader(file, data, wire == Bytes ? data + size : data, error); }
  /// A repeated integer field, packed or not: calls `each` for every value.
  template <typename F> void integers(F each) {
    if (wire != Bytes)
      return each(integer());
    for (WireReader packed = message(); packed.p != packed.end && !error.what;)
      each(static_cast<int64_t>(packed.varint()));
  }
  /// A repeated float field, packed or not.
  template <typename F> void floats(F each) {
    if (wire == Fixed32)
      return each(asFloat());
    for (uint64_t i = 0; wire == Bytes && i + 4 <= size; i += 4) {
      float f;
      std::memcpy(&f, data + i, 4);
      each(f);
    }
  }
  bool fail(const char *what) {
    if (!error.what)
      error = {what, static_cast<uint64_t>(p - file)};
    return false;
  }

private:
  uint64_t varint() {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (p == end) {
        fail("the file ends inside a field");
        return 0;
      }
      uint8_t byte = *p++;
      result |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128)
        return result;
    }
    fail("a number has too many bytes");
    return 0;
  }

  const uint8_t *file, *p, *end;
  WireError &error;
};

} // namespace stint::import

#endif
