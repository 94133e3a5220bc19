// From the wire to structs: one function per table of plan.fbs, its fields in
// the order of the schema. Nothing is judged here but that it can be read.
#include "runtime/plan/plan.h"

#include "runtime/plan/pool.h"
#include "runtime/plan/wire.h"

namespace stint {
namespace {

struct Reader {
  Wire wire;
  Pool *pool;
  bool noMemory = false;

  using Table = Wire::Table;

  // Decodes each element of a vector of tables with `decode`.
  template <typename T> Span<T> each(const Table &table, uint32_t id, T (Reader::*decode)(const Table &)) {
    Wire::Tables tables = wire.tables(table, id);
    Span<T> result;
    if (!pool->array(tables.size, &result)) {
      noMemory = true;
      wire.fail();
    }
    for (uint32_t i = 0; i < result.size && !wire.bad(); ++i)
      result[i] = (this->*decode)(wire.element(tables, i));
    return result;
  }

  Span<const char *> strings(const Table &table, uint32_t id) {
    Wire::Tables tables = wire.tables(table, id);
    Span<const char *> result;
    if (!pool->array(tables.size, &result)) {
      noMemory = true;
      wire.fail();
    }
    for (uint32_t i = 0; i < result.size && !wire.bad(); ++i)
      result[i] = wire.stringElement(tables, i);
    return result;
  }

  // A table that may be absent, as a vector of one or none.
  template <typename T> Span<T> only(const Table &table, uint32_t id, T (Reader::*decode)(const Table &)) {
    Span<T> result;
    Wire::Table inner = wire.table(table, id);
    if (inner.position == 0)
      return result;
    if (!pool->array(1, &result)) {
      noMemory = true;
      wire.fail();
      return result;
    }
    result[0] = (this->*decode)(inner);
    return result;
  }

  Symbol symbol(const Table &t) {
    return {wire.string(t, 0), wire.scalar<int64_t>(t, 1, 0), wire.scalar<int64_t>(t, 2, 0)};
  }

  Port port(const Table &t) {
    return {wire.string(t, 0), wire.scalar<uint8_t>(t, 1, 0), wire.vector<Dim>(t, 2), wire.scalar<uint32_t>(t, 3, 0)};
  }

  Profile profile(const Table &t) {
    return {wire.vector<int64_t>(t, 0), wire.scalar<uint64_t>(t, 1, 0), wire.vector<uint64_t>(t, 2),
            wire.vector<uint64_t>(t, 3), wire.scalar<uint64_t>(t, 4, 0)};
  }

  Dispatch dispatch(const Table &t) {
    return {wire.scalar<uint32_t>(t, 0, 0), wire.vector<uint32_t>(t, 1),
            wire.scalar<uint32_t>(t, 2, 0), wire.vector<uint32_t>(t, 3),
            wire.vector<uint32_t>(t, 4),    wire.vector<uint32_t>(t, 5),
            wire.vector<uint32_t>(t, 6),    wire.scalar<uint32_t>(t, 7, noRegister)};
  }

  State state(const Table &t) {
    return {wire.string(t, 0), wire.scalar<uint64_t>(t, 1, 0), wire.scalar<uint8_t>(t, 2, 0),
            wire.vector<int64_t>(t, 3)};
  }

  Entry entry(const Table &t) {
    return {wire.string(t, 0),
            each(t, 1, &Reader::port),
            each(t, 2, &Reader::port),
            wire.scalar<uint32_t>(t, 3, 0),
            wire.vector<Buffer>(t, 4),
            each(t, 5, &Reader::profile),
            each(t, 6, &Reader::dispatch),
            wire.vector<Instruction>(t, 7),
            wire.vector<Instruction>(t, 8),
            each(t, 9, &Reader::state)};
  }

  Weight weight(const Table &t) {
    return {wire.string(t, 0),
            wire.scalar<uint32_t>(t, 1, 0),
            wire.scalar<uint64_t>(t, 2, 0),
            wire.scalar<uint64_t>(t, 3, 0),
            wire.string(t, 4),
            wire.scalar<uint8_t>(t, 5, 0)};
  }

  WeightHashes weightHashes(const Table &t) { return {wire.scalar<uint32_t>(t, 0, 0), wire.vector<uint8_t>(t, 1)}; }

  Kernel kernel(const Table &t) { return {wire.string(t, 0), wire.vector<uint8_t>(t, 1), wire.string(t, 2)}; }

  Variant variant(const Table &t) {
    return {wire.string(t, 0),
            wire.scalar<uint8_t>(t, 1, 0),
            wire.vector<uint16_t>(t, 2),
            wire.scalar<uint32_t>(t, 3, 0),
            wire.scalar<uint32_t>(t, 4, 0),
            wire.vector<uint64_t>(t, 5),
            wire.scalar<uint64_t>(t, 6, 0)};
  }

  Decoder decoder(const Table &t) {
    auto number = [&](uint32_t id) { return wire.scalar<uint32_t>(t, id, id < 10 ? 0 : noSection); };
    return {number(0),
            number(1),
            number(2),
            number(3),
            number(4),
            number(5),
            number(6),
            number(7),
            number(8),
            number(9),
            number(10),
            number(11),
            wire.vector<uint8_t>(t, 12)};
  }
};

} // namespace

Status decodePlan(const uint8_t *data, uint64_t size, Pool *pool, Plan *plan) {
  Reader d{Wire(data, size), pool};
  Wire::Table root = d.wire.root("STNT");
  *plan = {d.wire.string(root, 0),
           d.wire.string(root, 1),
           d.each(root, 2, &Reader::symbol),
           d.each(root, 3, &Reader::entry),
           d.each(root, 4, &Reader::weight),
           d.each(root, 5, &Reader::weightHashes),
           d.each(root, 6, &Reader::kernel),
           d.each(root, 7, &Reader::variant),
           d.strings(root, 8),
           d.strings(root, 9),
           d.only(root, 10, &Reader::decoder)};
  if (d.noMemory)
    return outOfMemory(size);
  if (d.wire.bad())
    return malformed("the plan is not a sound flatbuffer");
  return success();
}

} // namespace stint
