// Status to text: fills the marks %o, %a, %b, %u of a static text into the
// caller's buffer. No printf: it would be most of a small binary.
#include "runtime/core/model.h"

using namespace stint;

namespace {

// Writes to a buffer that may be too small, counting what it would take.
struct Writer {
  char *buffer;
  size_t size, length = 0;

  void put(char c) {
    if (length + 1 < size)
      buffer[length] = c;
    ++length;
  }
  void put(const char *text) {
    for (; *text; ++text)
      put(*text);
  }
  void put(int64_t value) {
    if (value < 0)
      put('-');
    put(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  }
  void put(uint64_t rest) {
    char digits[20];
    int count = 0;
    do
      digits[count++] = static_cast<char>('0' + rest % 10);
    while (rest /= 10);
    while (count)
      put(digits[--count]);
  }
  void finish() {
    if (size)
      buffer[length < size ? length : size - 1] = 0;
  }
};

// By enum stint_object_kind.
const char *const kinds[] = {"it",      "input",   "output", "symbol", "dispatch",      "instruction", "buffer",
                             "section", "variant", "weight", "entry",  "memory layout", "kernel"};
constexpr int32_t kindCount = sizeof(kinds) / sizeof(kinds[0]);
static_assert(kindCount == STINT_OBJECT_KERNEL + 1, "one name per kind");

// The name of the object in the model; nullptr if it has none.
const char *nameOf(const stint_status &status, const stint_model &model) {
  const Plan &plan = model.plan;
  const Entry *entry = status.entry < plan.entries.size ? &plan.entries[status.entry] : nullptr;
  uint32_t i = status.object;
  switch (status.object_kind) {
  case STINT_OBJECT_INPUT:
    return entry && i < entry->inputs.size ? entry->inputs[i].name : nullptr;
  case STINT_OBJECT_OUTPUT:
    return entry && i < entry->outputs.size ? entry->outputs[i].name : nullptr;
  case STINT_OBJECT_SYMBOL:
    return i < plan.symbols.size ? plan.symbols[i].name : nullptr;
  case STINT_OBJECT_DISPATCH:
    return entry && i < entry->dispatches.size ? plan.kernels[entry->dispatches[i].kernel].name : nullptr;
  case STINT_OBJECT_VARIANT:
    return i < plan.variants.size ? plan.variants[i].name : nullptr;
  case STINT_OBJECT_WEIGHT:
    return i < plan.weights.size ? plan.weights[i].name : nullptr;
  case STINT_OBJECT_ENTRY:
    return i < plan.entries.size ? plan.entries[i].name : nullptr;
  case STINT_OBJECT_KERNEL:
    return i < plan.kernels.size ? plan.kernels[i].name : nullptr;
  default:
    return nullptr;
  }
}

void putObject(Writer &writer, const stint_status &status, const stint_model *model) {
  int32_t kind = status.object_kind;
  writer.put(kinds[kind > 0 && kind < kindCount ? kind : 0]);
  if (kind == STINT_OBJECT_NONE)
    return;
  const char *name = model ? nameOf(status, *model) : nullptr;
  if (name && *name) {
    writer.put(" \"");
    writer.put(name);
    writer.put('"');
  } else {
    writer.put(' ');
    writer.put(static_cast<int64_t>(status.object));
  }
}

} // namespace

extern "C" size_t stint_status_format(const stint_status *status, const stint_model *model, char *buffer, size_t size) {
  Writer writer{buffer, buffer ? size : 0};
  bool named = false;
  for (const char *at = status && status->text ? status->text : ""; *at; ++at) {
    char mark = *at == '%' ? at[1] : 0;
    if (mark == 'o') {
      putObject(writer, *status, model);
      named = true;
    } else if (mark == 'a' || mark == 'b') {
      writer.put(mark == 'a' ? status->a : status->b);
    } else if (mark == 'u') {
      writer.put(static_cast<uint64_t>(status->a));
    } else {
      writer.put(*at);
      continue;
    }
    ++at;
  }
  if (status && !named && status->object_kind != STINT_OBJECT_NONE) {
    writer.put(" (");
    putObject(writer, *status, model);
    writer.put(')');
  }
  writer.finish();
  return writer.length;
}
