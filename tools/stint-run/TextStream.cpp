// See TextStream.h.
#include "TextStream.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace stint_run {

bool TextStream::open(const stint_model *from, const Texts *texts) {
  model = from;
  stops = texts;
  stint_tokenizer_info info = {};
  info.size = sizeof info;
  if (stint_model_tokenizer(model, &info).code)
    return false;
  size_t longest = 0;
  for (uint32_t i = 0; i < stops->count; ++i)
    if (strlen(stops->items[i]) > longest)
      longest = strlen(stops->items[i]);
  reset();
  return pending.allocate(longest + info.decode_capacity + 16);
}

void TextStream::reset() {
  stream = {};
  held = ready = 0;
}

// Finds out what may be given out: all before a stop text, if one is there, else
// all before what may become one.
bool TextStream::release() {
  const uint8_t *begin = pending.data();
  size_t whole = held, part = held;
  for (uint32_t i = 0; i < stops->count; ++i) {
    const char *stop = stops->items[i];
    size_t length = strlen(stop);
    for (size_t at = 0; at < whole; ++at) {
      size_t common = held - at < length ? held - at : length;
      if (memcmp(begin + at, stop, common))
        continue;
      if (common == length)
        whole = at;
      else if (at < part)
        part = at;
    }
  }
  ready = whole < held ? whole : part;
  return whole < held;
}

bool TextStream::add(uint32_t id) {
  memmove(pending.data(), pending.data() + ready, held - ready);
  held -= ready;
  ready = 0;
  size_t done = 0;
  stint_status status = stint_model_decode(model, &stream, &id, 1, STINT_DECODE_SKIP_SPECIAL,
                                           reinterpret_cast<char *>(pending.data()), pending.size(), &done, &held);
  (void)status; // there is room for any token
  return release();
}

void TextStream::finish() {
  memmove(pending.data(), pending.data() + ready, held - ready);
  held -= ready;
  stint_status status =
      stint_model_decode_end(model, &stream, reinterpret_cast<char *>(pending.data()), pending.size(), &held);
  (void)status;
  ready = held;
}

void writeText(const char *text, size_t size) {
  static const bool terminal = isatty(1) == 1;
  for (size_t i = 0; i < size; ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    // U+0080 to U+009F are two bytes, of which the first may stay.
    control = control || (i && static_cast<unsigned char>(text[i - 1]) == 0xc2 && c < 0xa0);
    if (terminal && control)
      c = c >= 0x80 ? 0xbf : '?';
    putchar(c);
  }
  fflush(stdout);
}

} // namespace stint_run
