// The checks behind wire.h: every position is tested before it is read.
#include "runtime/plan/wire.h"

namespace stint {

Wire::Wire(const uint8_t *data, uint64_t size) : data(data), size(size), budget(size * 16) {
  // References are 32 bits wide.
  if (size < 8 || size > 0x7fffffff)
    failed = true;
}

bool Wire::pay(uint64_t cost) {
  if (cost > budget)
    failed = true;
  else
    budget -= cost;
  return !failed;
}

Wire::Table Wire::root(const char identifier[4]) {
  if (failed || memcmp(data + 4, identifier, 4) != 0) {
    failed = true;
    return {};
  }
  return tableAt(follow(0));
}

uint32_t Wire::follow(uint32_t position) {
  if (!inside(position, 4) || position % 4 != 0) {
    failed = true;
    return 0;
  }
  uint64_t target = uint64_t(position) + load<uint32_t>(position);
  if (target == position || !inside(target, 4) || target % 4 != 0) {
    failed = true;
    return 0;
  }
  return static_cast<uint32_t>(target);
}

Wire::Table Wire::tableAt(uint32_t position) {
  if (failed || !pay(16))
    return {};
  Table table;
  int64_t vtable = int64_t(position) - load<int32_t>(position);
  if (vtable < 0 || vtable % 2 != 0 || !inside(static_cast<uint64_t>(vtable), 4)) {
    failed = true;
    return {};
  }
  table.position = position;
  table.vtable = static_cast<uint32_t>(vtable);
  table.vtableSize = load<uint16_t>(table.vtable);
  table.size = load<uint16_t>(table.vtable + 2);
  if (table.vtableSize < 4 || table.vtableSize % 2 != 0 || !inside(table.vtable, table.vtableSize) || table.size < 4 ||
      !inside(position, table.size)) {
    failed = true;
    return {};
  }
  return table;
}

uint32_t Wire::field(const Table &table, uint32_t id, uint32_t bytes, uint32_t alignment) {
  uint32_t slot = 4 + 2 * id;
  if (failed || table.position == 0 || slot + 2 > table.vtableSize)
    return 0;
  uint32_t offset = load<uint16_t>(table.vtable + slot);
  if (offset == 0)
    return 0;
  uint32_t position = table.position + offset;
  if (offset < 4 || offset > table.size || bytes > table.size - offset || position % alignment != 0) {
    failed = true;
    return 0;
  }
  return position;
}

uint32_t Wire::vectorBody(uint32_t position, uint32_t elementSize, uint32_t alignment, uint32_t *count) {
  uint32_t target = follow(position);
  if (failed)
    return 0;
  *count = load<uint32_t>(target);
  uint64_t bytes = uint64_t(*count) * elementSize;
  if (!inside(uint64_t(target) + 4, bytes) || (target + 4) % alignment != 0) {
    failed = true;
    return 0;
  }
  return pay(8 + bytes) ? target + 4 : 0;
}

uint32_t Wire::vectorAt(const Table &table, uint32_t id, uint32_t elementSize, uint32_t alignment, uint32_t *count) {
  uint32_t position = field(table, id, 4, 4);
  return position ? vectorBody(position, elementSize, alignment, count) : 0;
}

const char *Wire::stringAt(uint32_t position) {
  uint32_t count = 0;
  uint32_t start = vectorBody(position, 1, 1, &count);
  if (failed)
    return "";
  if (!inside(uint64_t(start) + count, 1) || data[start + count] != 0 || memchr(data + start, 0, count)) {
    failed = true;
    return "";
  }
  return reinterpret_cast<const char *>(data + start);
}

const char *Wire::string(const Table &table, uint32_t id) {
  uint32_t position = field(table, id, 4, 4);
  return position ? stringAt(position) : "";
}

Wire::Table Wire::table(const Table &table, uint32_t id) {
  uint32_t position = field(table, id, 4, 4);
  return position ? tableAt(follow(position)) : Table{};
}

Wire::Tables Wire::tables(const Table &table, uint32_t id) {
  Tables result;
  result.position = vectorAt(table, id, 4, 4, &result.size);
  if (failed || result.position == 0)
    return {};
  return result;
}

Wire::Table Wire::element(const Tables &tables, uint32_t index) {
  if (failed || index >= tables.size)
    return {};
  return tableAt(follow(tables.position + 4 * index));
}

const char *Wire::stringElement(const Tables &strings, uint32_t index) {
  if (failed || index >= strings.size)
    return "";
  return stringAt(strings.position + 4 * index);
}

} // namespace stint
