// Running a session: shapes from inputs, then the body of the plan, one
// instruction after another. Every size is compared with the memory there is
// before a device sees it.
#include "runtime/base/arithmetic.h"
#include "runtime/base/element_type.h"
#include "runtime/base/options.h"
#include "runtime/core/machine.h"
#include "runtime/core/session.h"

#include <string.h>

using namespace stint;

namespace {

// Sets the symbols' registers from the inputs' shapes. A symbol that no input
// binds stands at the most it may be until the body sets it.
Status bindSymbols(stint_session &session) {
  const Entry &entry = *session.entry;
  Span<Symbol> symbols = session.model->plan.symbols;
  for (uint32_t i = 0; i < symbols.size; ++i)
    session.registers[i] = -1;
  for (uint32_t i = 0; i < entry.inputs.size; ++i) {
    const PortState &port = session.ports[i];
    if (!port.hasShape)
      return failure(STINT_STATUS_SHAPE_MISMATCH, "the shape of %o is not given").about(STINT_OBJECT_INPUT, i);
    for (uint32_t axis = 0; axis < entry.inputs[i].dims.size; ++axis) {
      int32_t symbol = entry.inputs[i].dims[axis].symbol;
      if (symbol < 0)
        continue;
      int64_t &value = session.registers[symbol];
      if (value >= 0 && value != port.dims[axis])
        return failure(STINT_STATUS_SHAPE_MISMATCH,
                       "a dimension of %o is %a, the same dimension elsewhere "
                       "is %b",
                       port.dims[axis], value)
            .about(STINT_OBJECT_INPUT, i);
      value = port.dims[axis];
    }
  }
  for (uint32_t i = 0; i < symbols.size; ++i)
    if (session.registers[i] < 0)
      session.registers[i] = session.maxima[i];
  return success();
}

// Finds the memory of inputs and outputs.
Status placePorts(stint_session &session) {
  const Entry &entry = *session.entry;
  for (uint32_t i = 0; i < entry.inputs.size; ++i) {
    const Port &input = entry.inputs[i];
    PortState &port = session.ports[i];
    int64_t dims[STINT_MAX_RANK];
    uint64_t bytes = 0;
    Status status = shapeOf(session, input, dims, &bytes);
    for (uint32_t axis = 0; axis < input.dims.size && status.ok(); ++axis)
      if (dims[axis] != port.dims[axis])
        status =
            failure(STINT_STATUS_SHAPE_MISMATCH, "a dimension of %o is %a, it must be %b", port.dims[axis], dims[axis]);
    if (status.ok() && !port.bound && bytes > port.own.capacity)
      status = failure(STINT_STATUS_OUT_OF_RANGE, "%o takes %a bytes, the session holds %b: bind it",
                       static_cast<int64_t>(bytes), static_cast<int64_t>(port.own.capacity));
    if (!status.ok())
      return status.about(STINT_OBJECT_INPUT, i);
    session.places[input.buffer] = port.bound ? Place{static_cast<uint8_t *>(port.bound), port.boundBytes} : port.own;
  }
  for (uint32_t i = 0; i < entry.outputs.size; ++i) {
    PortState &port = session.output(i);
    session.places[entry.outputs[i].buffer] =
        port.bound ? Place{static_cast<uint8_t *>(port.bound), port.boundBytes} : port.own;
  }
  return success();
}

// The bytes buffer `index` has now, from its register, if they fit its place.
Status sizeOf(const stint_session &session, uint32_t index, uint64_t *bytes) {
  const Buffer &buffer = session.entry->buffers[index];
  int64_t size = session.registers[buffer.sizeReg];
  uint64_t capacity = session.places[index].capacity;
  if (size >= 0 && static_cast<uint64_t>(size) <= capacity) {
    *bytes = static_cast<uint64_t>(size);
    return success();
  }
  auto has = static_cast<int64_t>(capacity);
  if (buffer.kind == BufferKind::output)
    return failure(STINT_STATUS_OUT_OF_RANGE, "%o takes %a bytes, its memory holds %b", size, has)
        .about(STINT_OBJECT_OUTPUT, buffer.index);
  return failure(STINT_STATUS_OUT_OF_RANGE, "%o takes %a bytes, %b were planned", size, has)
      .about(STINT_OBJECT_BUFFER, index);
}

// Runs one body; lives as long as the run.
class Run {
public:
  Run(stint_session &session, const StopSignal &stop)
      : session(session), plan(session.model->plan), entry(*session.entry), stop(stop) {}

  Status body();

private:
  Status dispatch(uint32_t index);
  Status verifyOperands(const Dispatch &dispatch);
  void report(uint32_t index, const Dispatch &dispatch);
  Status copy(const Instruction &in);
  Status loadI64(const Instruction &in);
  Status stopped();
  Status setRegister(uint32_t index, int64_t value);

  stint_session &session;
  const Plan &plan;
  const Entry &entry;
  const StopSignal &stop;
};

Status Run::stopped() {
  switch (stop.check()) {
  case STINT_STATUS_CANCELLED:
    return failure(STINT_STATUS_CANCELLED, "the run was cancelled");
  case STINT_STATUS_DEADLINE:
    return failure(STINT_STATUS_DEADLINE, "the run met its deadline");
  default:
    return success();
  }
}

// What a symbol came to that the model's data decide, and what to do about it.
Status outsideBounds(const Symbol &symbol, int64_t value, int64_t most) {
  if (value < symbol.lower)
    return failure(STINT_STATUS_OUT_OF_RANGE, "%o came to %a, the least is %b", value, symbol.lower);
  if (value <= symbol.upper)
    return failure(STINT_STATUS_OUT_OF_RANGE, "%o came to %a, the most in this session is %b: declare larger maxima",
                   value, most);
  // A loop's counter is "NODE.iteration"; "VALUE.AXIS" is what --bound calls it.
  const char *suffix = strrchr(symbol.name, '.');
  if (suffix && strcmp(suffix, ".iteration") == 0)
    return failure(STINT_STATUS_OUT_OF_RANGE,
                   "%o came to %a, the loop may run %b times: compile with a larger --bound of what it stacks", value,
                   most + 1);
  if (suffix && suffix[1] >= '0' && suffix[1] <= '9')
    return failure(STINT_STATUS_OUT_OF_RANGE, "%o came to %a, the most is %b: compile with a larger --bound", value,
                   most);
  return failure(STINT_STATUS_OUT_OF_RANGE, "%o came to %a, the most is %b", value, most);
}

// A register that the body writes; symbols stay inside their bounds, on which
// the memory layout and the kernels rest.
Status Run::setRegister(uint32_t index, int64_t value) {
  if (index < plan.symbols.size && (value < plan.symbols[index].lower || value > session.maxima[index]))
    return outsideBounds(plan.symbols[index], value, session.maxima[index]).about(STINT_OBJECT_SYMBOL, index);
  session.registers[index] = value;
  return success();
}

Status Run::verifyOperands(const Dispatch &dispatch) {
  for (uint32_t index : dispatch.buffers) {
    if (entry.buffers[index].kind != BufferKind::weight)
      continue;
    const Weight &weight = plan.weights[entry.buffers[index].index];
    if (session.model->planFile.sections[weight.section].kind == STINT_SECTION_WEIGHTS)
      STINT_TRY(session.model->verifyChunks(weight.section, weight.offset, weight.size));
  }
  return success();
}

Status Run::dispatch(uint32_t index) {
  const Dispatch &dispatch = entry.dispatches[index];
  for (uint32_t i = 0; i < dispatch.buffers.size; ++i) {
    uint32_t buffer = dispatch.buffers[i];
    session.arguments[i].data = session.places[buffer].data;
    STINT_TRY(sizeOf(session, buffer, &session.arguments[i].size));
  }
  for (uint32_t i = 0; i < dispatch.dims.size; ++i)
    session.dims[i] = session.registers[dispatch.dims[i]];
  if (session.model->verify == STINT_VERIFY_FIRST_USE)
    STINT_TRY(verifyOperands(dispatch));

  stint_dispatch arguments = {session.arguments, session.dims, dispatch.buffers.size, dispatch.dims.size};
  DispatchCall call = {};
  if (session.device->runsCode)
    call.kernel = session.model->kernels[dispatch.kernel];
  call.arguments = &arguments;
  for (int axis = 0; axis < 3; ++axis) {
    call.grid[axis] = session.registers[dispatch.grid[axis]];
    call.tile[axis] = session.registers[dispatch.tile[axis]];
  }
  call.executor = session.executor;
  call.threads = session.threads;
  call.scratch = session.scratch;
  call.scratchStride = session.scratchStride;
  call.scratchSize = session.model->scratch;
  call.stop = &stop;
  if (session.hook) {
    memset(session.records, 0, session.threads * sizeof(ThreadRecord));
    call.records = session.records;
  }
  Status status = session.device->dispatch(call);
  if (!status.ok())
    return status.about(STINT_OBJECT_DISPATCH, index);
  if (session.hook)
    report(index, dispatch);
  return success();
}

void Run::report(uint32_t index, const Dispatch &dispatch) {
  stint_profile_event event = {};
  event.size = sizeof(event);
  event.dispatch = index;
  event.kernel = plan.kernels[dispatch.kernel].name;
  for (uint32_t i = 0; i < dispatch.buffers.size; ++i)
    (i + dispatch.resultCount < dispatch.buffers.size ? event.bytes_read : event.bytes_written) +=
        session.arguments[i].size;
  event.flops = dispatch.flopsReg == noRegister ? -1 : session.registers[dispatch.flopsReg];
  for (uint32_t thread = 0; thread < session.threads; ++thread) {
    const ThreadRecord &record = session.records[thread];
    if (record.workgroups == 0)
      continue;
    event.thread = thread;
    event.begin_ns = record.begin;
    event.end_ns = record.end;
    event.workgroups = record.workgroups;
    session.hook(session.hookUser, &event);
  }
}

Status Run::copy(const Instruction &in) {
  uint64_t to = 0, from = 0;
  STINT_TRY(sizeOf(session, in.a, &to));
  STINT_TRY(sizeOf(session, in.b, &from));
  int64_t bytes = session.registers[in.dst], offset = in.opcode == Opcode::copyAt ? session.registers[in.imm] : 0;
  if (bytes < 0 || offset < 0 || !rangeFits(static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes), to) ||
      static_cast<uint64_t>(bytes) > from)
    return failure(STINT_STATUS_OUT_OF_RANGE, "a copy of %a bytes leaves buffer %b", bytes, in.a);
  return session.device->copy(session.places[in.a].data + offset, session.places[in.b].data,
                              static_cast<uint64_t>(bytes));
}

Status Run::loadI64(const Instruction &in) {
  uint64_t size = 0;
  STINT_TRY(sizeOf(session, in.a, &size));
  if (static_cast<uint64_t>(in.imm) >= size / sizeof(int64_t))
    return failure(STINT_STATUS_OUT_OF_RANGE, "element %a of a buffer of %b bytes is read", in.imm,
                   static_cast<int64_t>(size));
  STINT_TRY(session.device->finish());
  int64_t value = 0;
  memcpy(&value, session.places[in.a].data + in.imm * 8, sizeof(value));
  return setRegister(in.dst, value);
}

Status Run::body() {
  const uint32_t *targets = session.facts->targets.data;
  for (uint32_t at = 0; at < entry.body.size; ++at) {
    const Instruction &in = entry.body[at];
    Status status = success();
    switch (in.opcode) {
    case Opcode::dispatch:
      status = dispatch(in.a);
      break;
    case Opcode::copy:
    case Opcode::copyAt:
      status = copy(in);
      break;
    case Opcode::loadI64:
      status = loadI64(in);
      break;
    case Opcode::if_: // the instruction at the target is jumped over
      if (session.registers[in.a] == 0)
        at = targets[at];
      break;
    case Opcode::else_:
      at = targets[at];
      break;
    case Opcode::loop:
      status = setRegister(in.dst, 0);
      if (status.ok() && session.registers[in.a] <= 0)
        at = targets[at];
      break;
    case Opcode::end: {
      uint32_t opener = targets[at];
      if (opener == at)
        break;
      const Instruction &loop = entry.body[opener];
      status = stopped();
      int64_t next = session.registers[loop.dst];
      if (!status.ok() || next == INT64_MAX || next + 1 >= session.registers[loop.a])
        break;
      status = setRegister(loop.dst, next + 1);
      at = opener; // its body follows
      break;
    }
    default:
      status = executeRegister(plan, in, session.registers);
      if (status.ok() && in.opcode != Opcode::check && in.dst < plan.symbols.size)
        status = setRegister(in.dst, session.registers[in.dst]);
    }
    if (!status.ok())
      return status.value.object_kind == STINT_OBJECT_NONE ? status.about(STINT_OBJECT_INSTRUCTION, at) : status;
  }
  return session.device->finish();
}

Status inEntry(const stint_session *session, Status status) {
  if (session)
    status.value.entry = session->entryIndex;
  return status;
}

Status run(stint_session *session, const stint_run_options *given) {
  STINT_TRY(usable(session));
  stint_run_options options;
  STINT_TRY(readOptions(given, &options));
  StopSignal stop;
  stop.deadline = options.deadline_ns;
  stop.cancel = options.cancel;
  STINT_TRY(prepareSession(session));
  return Run(*session, stop).body();
}

} // namespace

Status stint::shapeOf(const stint_session &session, const Port &port, int64_t *dims, uint64_t *bytes) {
  for (uint32_t axis = 0; axis < port.dims.size; ++axis)
    dims[axis] = session.registers[port.dims[axis].reg];
  if (!tensorBytes(port.type, port.dims.size, dims, bytes))
    return failure(STINT_STATUS_OVERFLOW, "the size of %o doesn't fit");
  int64_t size = session.registers[session.entry->buffers[port.buffer].sizeReg];
  if (size < 0 || static_cast<uint64_t>(size) != *bytes)
    return malformed("the plan gives %o %a bytes, its shape takes %b", size, static_cast<int64_t>(*bytes));
  return success();
}

Status stint::prepareSession(stint_session *session) {
  session->prepared = false;
  memset(session->registers, 0, session->entry->registerCount * sizeof(int64_t));
  STINT_TRY(bindSymbols(*session));
  STINT_TRY(runPrologue(session->model->plan, *session->entry, session->registers));
  STINT_TRY(placePorts(*session));
  session->prepared = true;
  return success();
}

extern "C" {

stint_status stint_session_prepare(stint_session *session) {
  Status status = usable(session);
  return inEntry(session, status.ok() ? prepareSession(session) : status).value;
}

stint_status stint_session_run(stint_session *session, const stint_run_options *options) {
  return inEntry(session, run(session, options)).value;
}

stint_status stint_session_input(stint_session *session, uint32_t input, stint_tensor *tensor) {
  if (!session || input >= session->entry->inputs.size)
    return failure(STINT_STATUS_NOT_FOUND, "there is no input %a", input).value;
  const Port &port = session->entry->inputs[input];
  const PortState &state = session->ports[input];
  Status status = success();
  stint_tensor result{};
  if (!state.hasShape)
    status = failure(STINT_STATUS_SHAPE_MISMATCH, "the shape of %o is not given");
  else if (!tensorBytes(port.type, port.dims.size, state.dims, &result.bytes))
    status = failure(STINT_STATUS_OVERFLOW, "the size of %o doesn't fit");
  else if (!state.bound && result.bytes > state.own.capacity)
    status = failure(STINT_STATUS_OUT_OF_RANGE, "%o takes %a bytes, the session holds %b: bind it",
                     static_cast<int64_t>(result.bytes), static_cast<int64_t>(state.own.capacity));
  if (!status.ok())
    return inEntry(session, status.about(STINT_OBJECT_INPUT, input)).value;
  result.data = state.bound ? state.bound : state.own.data;
  result.type = port.type;
  result.rank = port.dims.size;
  memcpy(result.dims, state.dims, sizeof(result.dims));
  return writeInfo(result, tensor).value;
}

stint_status stint_session_output(stint_session *session, uint32_t output, stint_tensor *tensor) {
  if (!session || output >= session->entry->outputs.size)
    return failure(STINT_STATUS_NOT_FOUND, "there is no output %a", output).value;
  const Port &port = session->entry->outputs[output];
  stint_tensor result{};
  Status status = session->prepared
                      ? shapeOf(*session, port, result.dims, &result.bytes)
                      : failure(STINT_STATUS_SHAPE_MISMATCH, "the shape of %o is not known before prepare or run");
  if (!status.ok())
    return inEntry(session, status.about(STINT_OBJECT_OUTPUT, output)).value;
  PortState &state = session->output(output);
  result.data = state.bound ? state.bound : state.own.data;
  result.type = port.type;
  result.rank = port.dims.size;
  return writeInfo(result, tensor).value;
}

} // extern "C"
