// Sizes and names of element types, one row each.
#include "runtime/base/element_type.h"

#include "runtime/base/arithmetic.h"

namespace {
struct Row {
  const char *name;
  uint8_t bits;
};
// Indexed by enum stint_type.
constexpr Row rows[] = {
    {"?", 0},    {"f32", 32},   {"u8", 8},     {"i8", 8},       {"u16", 16},       {"i16", 16},   {"i32", 32},
    {"i64", 64}, {"string", 0}, {"bool", 8},   {"f16", 16},     {"f64", 64},       {"u32", 32},   {"u64", 64},
    {"c64", 64}, {"c128", 128}, {"bf16", 16},  {"f8e4m3fn", 8}, {"f8e4m3fnuz", 8}, {"f8e5m2", 8}, {"f8e5m2fnuz", 8},
    {"u4", 4},   {"i4", 4},     {"f4e2m1", 4}, {"f8e8m0", 8},   {"u2", 2},         {"i2", 2}};
constexpr int32_t rowCount = sizeof(rows) / sizeof(rows[0]);
static_assert(rowCount == STINT_I2 + 1, "one row per type");
} // namespace

extern "C" uint32_t stint_type_bits(int32_t type) { return type < 0 || type >= rowCount ? 0 : rows[type].bits; }

extern "C" const char *stint_type_name(int32_t type) { return type < 0 || type >= rowCount ? "?" : rows[type].name; }

bool stint::tensorBytes(int32_t type, uint32_t rank, const int64_t *dims, uint64_t *bytes) {
  uint64_t bits = stint_type_bits(type);
  bool empty = false;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (dims[axis] < 0)
      return false;
    empty |= dims[axis] == 0;
  }
  for (uint32_t axis = 0; axis < rank && !empty; ++axis)
    if (!checkedMul(bits, static_cast<uint64_t>(dims[axis]), &bits))
      return false;
  if (bits == 0 || !checkedAdd(bits, uint64_t(7), &bits))
    return false;
  *bytes = empty ? 0 : bits / 8;
  return true;
}
