// Encodes protobuf messages field by field, as hostile as a test wants them.
#ifndef STINT_TEST_COMPILER_IMPORT_ENCODE_H
#define STINT_TEST_COMPILER_IMPORT_ENCODE_H

#include <cstdint>
#include <string>

namespace stint::test {

inline std::string varint(uint64_t v) {
  std::string s;
  for (; v > 127; v >>= 7)
    s.push_back(static_cast<char>(v | 128));
  s.push_back(static_cast<char>(v));
  return s;
}
inline std::string number(unsigned field, uint64_t v) { return varint(field << 3) + varint(v); }
inline std::string bytes(unsigned field, const std::string &v) { return varint(field << 3 | 2) + varint(v.size()) + v; }

} // namespace stint::test

#endif
