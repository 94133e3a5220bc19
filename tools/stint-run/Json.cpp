// JSON strings: see Json.h.
#include "Json.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace stint_run {

namespace {

// Length of the well-formed UTF-8 sequence at `text`, 0 if there is none.
size_t sequence(const uint8_t *text) {
  uint8_t lead = text[0];
  size_t length = lead < 0x80                    ? 1
                  : lead >= 0xc2 && lead <= 0xdf ? 2
                  : lead >= 0xe0 && lead <= 0xef ? 3
                  : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                 : 0;
  for (size_t i = 1; i < length; ++i)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  bool surrogate = lead == 0xed && text[1] > 0x9f;
  bool tooLong = (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
  bool tooFar = lead == 0xf4 && text[1] > 0x8f;
  return surrogate || tooLong || tooFar ? 0 : length;
}

} // namespace

const char *jsonString(const char *text, char *to, size_t size) {
  const uint8_t *at = reinterpret_cast<const uint8_t *>(text);
  size_t used = 0;
  to[used++] = '"';
  while (*at && used + 8 < size) {
    size_t length = sequence(at);
    if (!length) {
      memcpy(to + used, "\xef\xbf\xbd", 3);
      used += 3;
      ++at;
    } else if (length == 1 && (*at < 0x20 || *at == 0x7f)) {
      used += static_cast<size_t>(snprintf(to + used, 8, "\\u%04x", *at++));
    } else {
      if (*at == '"' || *at == '\\')
        to[used++] = '\\';
      memcpy(to + used, at, length);
      used += length;
      at += length;
    }
  }
  to[used++] = '"';
  to[used] = 0;
  return to;
}

} // namespace stint_run
