// UTF-8: one character at a time, strict (no surrogates, nothing overlong).
#ifndef STINT_RUNTIME_GENERATION_UTF8_H
#define STINT_RUNTIME_GENERATION_UTF8_H

#include <cstddef>
#include <cstdint>

namespace stint {

constexpr uint32_t replacementCharacter = 0xfffd;

// Bytes of the character that begins with `lead`; 0 if none does.
inline uint32_t utf8Length(uint8_t lead) {
  if (lead < 0x80)
    return 1;
  if (lead < 0xc2 || lead > 0xf4)
    return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

// Whether `byte` may be byte `index` (from 1) of a character led by `lead`.
inline bool utf8Continues(uint8_t lead, uint32_t index, uint8_t byte) {
  uint8_t low = 0x80, high = 0xbf;
  if (index == 1) {
    if (lead == 0xe0)
      low = 0xa0;
    else if (lead == 0xed)
      high = 0x9f;
    else if (lead == 0xf0)
      low = 0x90;
    else if (lead == 0xf4)
      high = 0x8f;
  }
  return byte >= low && byte <= high;
}

// Bytes at `p` that begin a character: all of it (*valid), or what would be
// replaced as one (at least 1).
inline uint32_t utf8Step(const uint8_t *p, const uint8_t *end, bool *valid) {
  uint32_t length = utf8Length(*p);
  uint32_t have = 1;
  while (have < length && p + have < end && utf8Continues(*p, have, p[have]))
    ++have;
  *valid = have == length;
  return have;
}

// The character at `p` of valid UTF-8.
inline uint32_t utf8Read(const uint8_t *p, uint32_t *length) {
  uint32_t lead = p[0];
  if (lead < 0x80) {
    *length = 1;
    return lead;
  }
  if (lead < 0xe0) {
    *length = 2;
    return (lead & 0x1f) << 6 | (p[1] & 0x3f);
  }
  if (lead < 0xf0) {
    *length = 3;
    return (lead & 0x0f) << 12 | uint32_t(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
  }
  *length = 4;
  return (lead & 0x07) << 18 | uint32_t(p[1] & 0x3f) << 12 | uint32_t(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
}

// Writes a character; returns its bytes.
inline uint32_t utf8Write(uint32_t character, uint8_t *p) {
  if (character < 0x80) {
    p[0] = uint8_t(character);
    return 1;
  }
  if (character < 0x800) {
    p[0] = uint8_t(0xc0 | character >> 6);
    p[1] = uint8_t(0x80 | (character & 0x3f));
    return 2;
  }
  if (character < 0x10000) {
    p[0] = uint8_t(0xe0 | character >> 12);
    p[1] = uint8_t(0x80 | (character >> 6 & 0x3f));
    p[2] = uint8_t(0x80 | (character & 0x3f));
    return 3;
  }
  p[0] = uint8_t(0xf0 | character >> 18);
  p[1] = uint8_t(0x80 | (character >> 12 & 0x3f));
  p[2] = uint8_t(0x80 | (character >> 6 & 0x3f));
  p[3] = uint8_t(0x80 | (character & 0x3f));
  return 4;
}

inline uint32_t utf8Size(uint32_t character) {
  return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

inline bool utf8Valid(const uint8_t *p, const uint8_t *end) {
  bool valid = true;
  while (p < end && valid)
    p += utf8Step(p, end, &valid);
  return valid;
}

// Unicode's White_Space.
inline bool isWhiteSpace(uint32_t c) {
  return c == 0x20 || (c >= 0x09 && c <= 0x0d) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

} // namespace stint

#endif
