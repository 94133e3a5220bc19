// What must hold of one entry: ports, buffers, memory layouts, dispatches, and
// that prologue and body are well-formed, structured programs.
#include "runtime/plan/plan.h"

#include "runtime/base/arithmetic.h"

namespace stint {
namespace {

constexpr uint32_t maxRegisters = 1u << 20;

Status verifyPorts(const Plan &plan, const Entry &entry, Span<Port> ports, stint_object_kind kind) {
  BufferKind wanted = kind == STINT_OBJECT_INPUT ? BufferKind::input : BufferKind::output;
  for (uint32_t i = 0; i < ports.size; ++i) {
    const Port &port = ports[i];
    if (port.dims.size > STINT_MAX_RANK)
      return malformed("%o has rank %a, the most is %b", port.dims.size, STINT_MAX_RANK).about(kind, i);
    if (stint_type_bits(port.type) == 0)
      return failure(STINT_STATUS_UNSUPPORTED, "%o has element type %a, which this runtime can't hold", port.type)
          .about(kind, i);
    for (const Dim &dim : port.dims)
      if (dim.reg >= entry.registerCount || dim.symbol < -1 || dim.symbol >= int64_t(plan.symbols.size))
        return malformed("%o has a dimension of symbol %a in register %b", dim.symbol, dim.reg).about(kind, i);
    if (port.buffer >= entry.buffers.size || entry.buffers[port.buffer].kind != wanted ||
        entry.buffers[port.buffer].index != i)
      return malformed("%o is buffer %a, which is another's", port.buffer).about(kind, i);
  }
  return success();
}

Status verifyBuffers(const Plan &plan, const Entry &entry) {
  for (uint32_t i = 0; i < entry.buffers.size; ++i) {
    const Buffer &buffer = entry.buffers[i];
    bool known = true;
    uint32_t count = 0;
    switch (buffer.kind) {
    case BufferKind::arena:
      count = UINT32_MAX; // index means nothing here
      break;
    case BufferKind::input:
      count = entry.inputs.size;
      break;
    case BufferKind::output:
      count = entry.outputs.size;
      break;
    case BufferKind::weight:
      count = plan.weights.size;
      break;
    case BufferKind::state:
      count = entry.states.size;
      break;
    default:
      known = false;
    }
    if (!known)
      return failure(STINT_STATUS_UNSUPPORTED, "%o is of kind %a", static_cast<int64_t>(buffer.kind))
          .about(STINT_OBJECT_BUFFER, i);
    if (buffer.index >= count)
      return malformed("%o refers to number %a of %b", buffer.index, count).about(STINT_OBJECT_BUFFER, i);
    if (buffer.sizeReg >= entry.registerCount)
      return malformed("%o has its size in register %a of %b", buffer.sizeReg, entry.registerCount)
          .about(STINT_OBJECT_BUFFER, i);
  }
  return success();
}

Status verifyProfiles(const Plan &plan, const Entry &entry) {
  if (entry.profiles.empty())
    return malformed("the entry has no memory layout");
  for (uint32_t i = 0; i < entry.profiles.size; ++i) {
    const Profile &profile = entry.profiles[i];
    if (profile.maxima.size != plan.symbols.size || profile.offsets.size != entry.buffers.size ||
        profile.capacities.size != entry.buffers.size)
      return malformed("%o is for %a symbols and %b buffers", profile.maxima.size, profile.offsets.size)
          .about(STINT_OBJECT_PROFILE, i);
    if (profile.arenaSize > INT64_MAX)
      return malformed("%o wants an arena of %a bytes", static_cast<int64_t>(profile.arenaSize))
          .about(STINT_OBJECT_PROFILE, i);
    for (uint32_t j = 0; j < entry.buffers.size; ++j) {
      uint64_t offset = profile.offsets[j], size = profile.capacities[j];
      if (entry.buffers[j].kind == BufferKind::arena &&
          (offset % 64 != 0 || !rangeFits(offset, size, profile.arenaSize)))
        return malformed("%o puts buffer %a at %b, outside its arena", j, static_cast<int64_t>(offset))
            .about(STINT_OBJECT_PROFILE, i);
    }
  }
  return success();
}

bool below(Span<const uint32_t> indices, uint32_t limit) {
  for (uint32_t index : indices)
    if (index >= limit)
      return false;
  return true;
}

bool writable(const Entry &entry, uint32_t buffer) {
  BufferKind kind = entry.buffers[buffer].kind;
  return kind == BufferKind::arena || kind == BufferKind::output || kind == BufferKind::state;
}

Status verifyDispatches(const Plan &plan, const Entry &entry) {
  for (uint32_t i = 0; i < entry.dispatches.size; ++i) {
    const Dispatch &dispatch = entry.dispatches[i];
    auto wrong = [&](const char *text, int64_t a = 0, int64_t b = 0) {
      return malformed(text, a, b).about(STINT_OBJECT_DISPATCH, i);
    };
    if (dispatch.kernel >= plan.kernels.size)
      return wrong("%o runs kernel %a of %b", dispatch.kernel, plan.kernels.size);
    if (!below(dispatch.buffers, entry.buffers.size))
      return wrong("%o refers to a buffer that isn't there");
    if (dispatch.resultCount > dispatch.buffers.size)
      return wrong("%o has %a results among %b buffers", dispatch.resultCount, dispatch.buffers.size);
    uint32_t operands = dispatch.buffers.size - dispatch.resultCount;
    for (uint32_t j = operands; j < dispatch.buffers.size; ++j)
      if (!writable(entry, dispatch.buffers[j]))
        return wrong("%o writes buffer %a, which is read-only", dispatch.buffers[j]);
    if (dispatch.grid.size != 3 || dispatch.tile.size != 3)
      return wrong("%o has a grid of %a axes and a tile of %b", dispatch.grid.size, dispatch.tile.size);
    if (!below(dispatch.dims, entry.registerCount) || !below(dispatch.grid, entry.registerCount) ||
        !below(dispatch.tile, entry.registerCount) ||
        (dispatch.flopsReg != noRegister && dispatch.flopsReg >= entry.registerCount))
      return wrong("%o refers to a register that isn't there");
    if (!below(dispatch.nodes, plan.nodes.size))
      return wrong("%o refers to a node that isn't there");
  }
  return success();
}

// Structured control flow: every if and loop closed, else_ only inside an if
// and once, nesting bounded.
class Blocks {
public:
  bool open(Opcode opcode) {
    if (depth == maxNesting)
      return false;
    stack[depth++] = opcode;
    return true;
  }
  bool otherwise() {
    if (depth == 0 || stack[depth - 1] != Opcode::if_)
      return false;
    stack[depth - 1] = Opcode::else_;
    return true;
  }
  bool close() { return depth != 0 && depth-- != 0; }
  bool closed() const { return depth == 0; }

private:
  Opcode stack[maxNesting];
  uint32_t depth = 0;
};

Status verifyProgram(const Plan &plan, const Entry &entry, Span<const Instruction> program, bool isBody) {
  Blocks blocks;
  uint32_t registers = entry.registerCount, buffers = entry.buffers.size;
  for (uint32_t i = 0; i < program.size; ++i) {
    const Instruction &in = program[i];
    // Only the body may set a symbol, one that depends on data.
    bool good = isBody || (in.opcode <= Opcode::check && (in.opcode == Opcode::check || in.dst >= plan.symbols.size));
    switch (in.opcode) {
    case Opcode::constI64:
      good = good && in.dst < registers;
      break;
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul:
    case Opcode::floorDiv:
    case Opcode::ceilDiv:
    case Opcode::mod:
    case Opcode::min:
    case Opcode::max:
    case Opcode::equal:
    case Opcode::less:
      good = good && in.dst < registers && in.a < registers && in.b < registers;
      break;
    case Opcode::check:
      good = good && in.a < registers && in.imm >= 0 && in.imm < int64_t(plan.messages.size);
      break;
    case Opcode::dispatch:
      good = good && in.a < entry.dispatches.size;
      break;
    case Opcode::copy:
      good = good && in.a < buffers && in.b < buffers && in.dst < registers && writable(entry, in.a);
      break;
    case Opcode::copyAt:
      good = good && in.a < buffers && in.b < buffers && in.dst < registers && writable(entry, in.a) && in.imm >= 0 &&
             in.imm < int64_t(registers);
      break;
    case Opcode::loadI64:
      good = good && in.a < buffers && in.dst < registers && in.imm >= 0;
      break;
    case Opcode::if_:
      good = good && in.a < registers && blocks.open(in.opcode);
      break;
    case Opcode::else_:
      good = good && blocks.otherwise();
      break;
    case Opcode::loop:
      good = good && in.a < registers && in.dst < registers && blocks.open(in.opcode);
      break;
    case Opcode::end:
      good = good && blocks.close();
      break;
    default:
      good = false;
    }
    if (!good)
      return malformed(isBody ? "%o of the body (opcode %a) is not sound"
                              : "%o of the prologue (opcode %a) is not sound",
                       static_cast<int64_t>(in.opcode))
          .about(STINT_OBJECT_INSTRUCTION, i);
  }
  return blocks.closed() ? success() : malformed("a block of the body is never closed");
}

} // namespace

Status verifyEntry(const Plan &plan, const Entry &entry) {
  if (entry.registerCount < plan.symbols.size || entry.registerCount > maxRegisters)
    return malformed("the entry has %a registers for %b symbols", entry.registerCount, plan.symbols.size);
  STINT_TRY(verifyPorts(plan, entry, entry.inputs, STINT_OBJECT_INPUT));
  STINT_TRY(verifyPorts(plan, entry, entry.outputs, STINT_OBJECT_OUTPUT));
  STINT_TRY(verifyBuffers(plan, entry));
  STINT_TRY(verifyProfiles(plan, entry));
  STINT_TRY(verifyDispatches(plan, entry));
  STINT_TRY(verifyProgram(plan, entry, entry.prologue, false));
  return verifyProgram(plan, entry, entry.body, true);
}

} // namespace stint
