// Text for JSON: the one place that knows how a string is escaped.
#ifndef STINT_TOOLS_STINT_RUN_JSON_H
#define STINT_TOOLS_STINT_RUN_JSON_H

#include <cstddef>

namespace stint_run {

// Writes `text` as a JSON string, quotes included, zero-terminated and cut to
// fit `size` (at least 16). Bytes that aren't UTF-8 become U+FFFD. Returns
// `to`.
const char *jsonString(const char *text, char *to, size_t size);

} // namespace stint_run

#endif
