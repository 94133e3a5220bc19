// The plan as the runtime holds it: plan.fbs decoded into plain structs.
//
// Scalars, structs and strings stay where they are in the (private, verified)
// copy of the flatbuffer; only tables become structs here. Field meanings are
// in plan.fbs. After verifyPlan every index below is in range, every
// instruction well-formed and every block closed: later code doesn't check
// again.
#ifndef STINT_RUNTIME_PLAN_PLAN_H
#define STINT_RUNTIME_PLAN_PLAN_H

#include "runtime/base/span.h"
#include "runtime/base/status.h"
#include "runtime/schema/plan_file.h"

#include <cstdint>

namespace stint {

class Pool;

enum class Opcode : uint8_t {
  constI64 = 0,
  add = 1,
  sub = 2,
  mul = 3,
  floorDiv = 4,
  ceilDiv = 5,
  mod = 6,
  min = 7,
  max = 8,
  equal = 9,
  less = 10,
  check = 11,
  dispatch = 32,
  copy = 33,
  loadI64 = 34,
  copyAt = 35,
  if_ = 48,
  else_ = 49,
  loop = 50,
  end = 51
};
constexpr uint32_t maxNesting = STINT_MAX_NESTING; // of if and loop

// The wire's structs, read in place on a little-endian machine.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "read in place");
struct Instruction {
  Opcode opcode;
  uint8_t padding[3];
  uint32_t dst, a, b;
  int64_t imm;
};
static_assert(sizeof(Instruction) == 24, "as in plan.fbs");

struct Dim {
  int32_t symbol;
  uint32_t reg;
};
static_assert(sizeof(Dim) == 8, "as in plan.fbs");

enum class BufferKind : uint8_t { arena, input, output, weight, state };
struct Buffer {
  BufferKind kind;
  uint8_t padding[3];
  uint32_t index, sizeReg;
};
static_assert(sizeof(Buffer) == 12, "as in plan.fbs");

struct Symbol {
  const char *name;
  int64_t lower, upper;
};

struct Port {
  const char *name;
  uint8_t type;
  Span<const Dim> dims;
  uint32_t buffer;
};

struct Profile {
  Span<const int64_t> maxima;
  uint64_t arenaSize;
  Span<const uint64_t> offsets, capacities;
  uint64_t lowerBound;
};

constexpr uint32_t noRegister = 0xffffffff;
struct Dispatch {
  uint32_t kernel;
  Span<const uint32_t> buffers;
  uint32_t resultCount;
  Span<const uint32_t> dims, grid, tile, nodes;
  uint32_t flopsReg;
};

struct State {
  const char *name;
  uint64_t size;
  uint8_t type;
  Span<const int64_t> dims;
};

struct Entry {
  const char *name;
  Span<Port> inputs, outputs;
  uint32_t registerCount;
  Span<const Buffer> buffers;
  Span<Profile> profiles;
  Span<Dispatch> dispatches;
  Span<const Instruction> prologue, body;
  Span<State> states;
};

struct Weight {
  const char *name;
  uint32_t section;
  uint64_t offset, size;
  const char *layout;
  uint8_t type;
};

struct WeightHashes {
  uint32_t section;
  Span<const uint8_t> hashes; // 32 bytes per STINT_WEIGHT_CHUNK
};

struct Kernel {
  const char *name;
  Span<const uint8_t> hash; // 32 bytes, or none
  const char *summary;
};

struct Variant {
  const char *name;
  uint8_t machine;
  Span<const uint16_t> features;
  uint32_t kernelAbi;
  uint32_t section;
  Span<const uint64_t> entries;
  uint64_t scratch;
};

// Indices of inputs (tokenIds … rows) and of an output of `entry`; sections.
struct Decoder {
  uint32_t entry, tokenIds, positions, sequences, pages, rows, logits;
  uint32_t pageSize, pageCount, context;
  uint32_t tokenizer, chat;
  Span<const uint8_t> model; // 32 bytes, or none before format 1.3
};
constexpr uint32_t noSection = 0xffffffff;

struct Plan {
  const char *producer, *model;
  Span<Symbol> symbols;
  Span<Entry> entries;
  Span<Weight> weights;
  Span<WeightHashes> weightHashes;
  Span<Kernel> kernels;
  Span<Variant> variants;
  Span<const char *> nodes, messages;
  Span<Decoder> decoder; // one, or none
};

// Decodes a flatbuffer of `size` bytes at `data` (aligned to 8, outlives the
// plan); structs come from `pool`.
Status decodePlan(const uint8_t *data, uint64_t size, Pool *pool, Plan *plan);

// Checks everything that wire.h can't: what the numbers mean. `sections` is
// the (already checked) section table.
Status verifyPlan(const Plan &plan, Span<const stint_section> sections);

// The parts of verifyPlan that look at one entry, and at what a decoder's step
// table is.
Status verifyEntry(const Plan &plan, const Entry &entry);
Status verifyDecoder(const Plan &plan, const Decoder &decoder, Span<const stint_section> sections);

} // namespace stint

#endif
