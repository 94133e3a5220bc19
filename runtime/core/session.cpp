// Creating sessions, and binding the application's memory to them.
#include "runtime/core/session.h"

#include "runtime/base/element_type.h"
#include "runtime/base/options.h"

#include <string.h>

using namespace stint;

namespace {

Status invalid(const char *text) { return failure(STINT_STATUS_INVALID_ARGUMENT, text); }

// The block is there: fills it in. Everything is written before it is read;
// the arena, scratch and ports are left as they are.
Status build(stint_model *model, const stint_session_options &options, const SessionPlan &plan, uint8_t *block,
             stint_session **result) {
  auto *session = reinterpret_cast<stint_session *>(block);
  memset(block, 0, plan.scratch); // all tables, not the memory behind them
  const Entry &entry = model->plan.entries[plan.entry];
  session->model = model;
  session->executor = plan.executor;
  session->device = plan.device;
  session->entry = &entry;
  session->facts = &model->facts[plan.entry];
  session->entryIndex = plan.entry;
  session->threads = plan.threads;
  session->bytes = plan.bytes;
  session->registers = reinterpret_cast<int64_t *>(block + plan.registers);
  session->maxima = reinterpret_cast<int64_t *>(block + plan.maxima);
  session->places = reinterpret_cast<Place *>(block + plan.buffers);
  session->ports = reinterpret_cast<PortState *>(block + plan.ports);
  session->arguments = reinterpret_cast<stint_kernel_buffer *>(block + plan.arguments);
  session->dims = reinterpret_cast<int64_t *>(block + plan.dims);
  session->records = reinterpret_cast<ThreadRecord *>(block + plan.records);
  session->scratch = block + plan.scratch;
  session->scratchStride = plan.scratchStride;
  session->state = block + plan.state;
  session->stateBytes = plan.stateBytes;

  STINT_TRY(declareMaxima(*model, options, session->maxima));
  limitLateSymbols(entry, entry.profiles[plan.profile], session->maxima, model->plan.symbols.size);
  bool known = evaluateAt(*model, entry, session->maxima, session->registers);
  bool bindAll = options.flags & STINT_SESSION_BIND_ALL;
  uint64_t at = plan.portMemory;
  uint32_t ports = entry.inputs.size + entry.outputs.size;
  for (uint32_t i = 0; i < ports && !bindAll; ++i) {
    uint64_t bytes = portCapacity(entry, i, session->maxima, known ? session->registers : nullptr);
    session->ports[i].own = {block + at, bytes};
    at += (bytes + 63) / 64 * 64;
  }

  const Profile &profile = entry.profiles[plan.profile];
  auto stateAt = [&](uint32_t index) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < index; ++i)
      offset += (entry.states[i].size + 63) / 64 * 64;
    return session->state + offset;
  };
  for (uint32_t i = 0; i < entry.buffers.size; ++i) {
    const Buffer &buffer = entry.buffers[i];
    Place place = {};
    if (buffer.kind == BufferKind::arena) {
      place = {block + plan.arena + profile.offsets[i], profile.capacities[i]};
    } else if (buffer.kind == BufferKind::state) {
      place = {stateAt(buffer.index), entry.states[buffer.index].size};
    } else if (buffer.kind == BufferKind::weight) {
      const Weight &weight = model->plan.weights[buffer.index];
      // Never written: the verifier lets no result be a weight.
      place = {const_cast<uint8_t *>(model->sections[weight.section]) + weight.offset, weight.size};
    }
    session->places[i] = place;
  }

  // Inputs of one possible shape have it from the start.
  for (uint32_t i = 0; i < entry.inputs.size; ++i) {
    PortState &port = session->ports[i];
    port.hasShape = true;
    for (uint32_t axis = 0; axis < entry.inputs[i].dims.size; ++axis) {
      stint_dim_info info{};
      info.size = sizeof(info);
      if (stint_model_input_dim(model, plan.entry, i, axis, &info).code != STINT_OK || info.lower != info.upper ||
          info.lower < 0)
        port.hasShape = false;
      port.dims[axis] = info.lower;
    }
  }
  stint_model_retain(model);
  stint_executor_retain(plan.executor);
  *result = session;
  return success();
}

Status create(stint_model *model, const stint_session_options *given, void *memory, size_t bytes, bool inCaller,
              stint_session **result) {
  if (!result)
    return invalid("no place for the session");
  *result = nullptr;
  if (!model)
    return invalid("no model");
  stint_session_options options;
  SessionPlan plan;
  STINT_TRY(readOptions(given, &options));
  STINT_TRY(planSession(*model, options, &plan));
  if (inCaller && (!memory || reinterpret_cast<uintptr_t>(memory) % 64 != 0))
    return invalid("the session's memory is not aligned to 64 bytes");
  if (inCaller && bytes < plan.bytes)
    return failure(STINT_STATUS_OUT_OF_MEMORY, "the session needs %b bytes, the caller gave %a",
                   static_cast<int64_t>(bytes), static_cast<int64_t>(plan.bytes));
  if (!inCaller)
    memory = platform::allocate(plan.bytes);
  if (!memory)
    return outOfMemory(plan.bytes);
  if (inCaller) // what platform::allocate gives is zeros already
    memset(static_cast<uint8_t *>(memory) + plan.state, 0, plan.stateBytes);
  Status status = build(model, options, plan, static_cast<uint8_t *>(memory), result);
  if (status.ok())
    (*result)->ownsMemory = !inCaller;
  else if (!inCaller)
    platform::free(memory, plan.bytes);
  return status;
}

// Rank, bounds and bytes of a shape that is given to an input.
Status setShape(stint_session *session, uint32_t index, uint32_t rank, const int64_t *dims, uint64_t *bytes) {
  STINT_TRY(usable(session));
  const Entry &entry = *session->entry;
  if (index >= entry.inputs.size)
    return failure(STINT_STATUS_NOT_FOUND, "the entry has no input %a", index);
  const Port &port = entry.inputs[index];
  Status status = success();
  if (rank != port.dims.size)
    status = failure(STINT_STATUS_SHAPE_MISMATCH, "%o was given %a dimensions, it has %b", rank, port.dims.size);
  else if (rank && !dims)
    status = invalid("%o was given no dimensions");
  for (uint32_t axis = 0; axis < rank && status.ok(); ++axis) {
    stint_dim_info info{};
    info.size = sizeof(info);
    stint_model_input_dim(session->model, session->entryIndex, index, axis, &info);
    int64_t lower = info.lower, upper = info.upper, declared = upper;
    if (info.symbol >= 0)
      declared = session->maxima[info.symbol];
    else if (lower != upper || lower < 0)
      continue; // checked by prepare
    if (lower == declared && dims[axis] != lower)
      status = failure(STINT_STATUS_SHAPE_MISMATCH, "a dimension of %o is %a, it must be %b", dims[axis], lower);
    else if (dims[axis] < lower)
      status = failure(STINT_STATUS_OUT_OF_RANGE, "a dimension of %o is %a, the least is %b", dims[axis], lower);
    else if (dims[axis] > upper)
      status = failure(STINT_STATUS_OUT_OF_RANGE,
                       "a dimension of %o is %a, the most is %b: compile with wider bounds (--dim)", dims[axis], upper);
    else if (dims[axis] > declared)
      status = failure(STINT_STATUS_OUT_OF_RANGE,
                       "a dimension of %o is %a, the most in this session is %b: declare larger maxima", dims[axis],
                       declared);
  }
  if (status.ok() && !tensorBytes(port.type, rank, dims, bytes))
    status = failure(STINT_STATUS_OVERFLOW, "the size of %o doesn't fit");
  status.value.entry = session->entryIndex;
  return status.about(STINT_OBJECT_INPUT, index);
}

void takeShape(stint_session *session, uint32_t input, uint32_t rank, const int64_t *dims) {
  PortState &port = session->ports[input];
  if (rank)
    memcpy(port.dims, dims, rank * sizeof(int64_t));
  port.hasShape = true;
  session->prepared = false;
}

Status bindInput(stint_session *session, uint32_t index, const void *data, uint64_t bytes, uint32_t rank,
                 const int64_t *dims) {
  uint64_t needed = 0;
  STINT_TRY(setShape(session, index, rank, dims, &needed));
  auto wrong = [&](stint_status_code code, const char *text) {
    Status status = failure(code, text, static_cast<int64_t>(bytes), static_cast<int64_t>(needed));
    status.value.entry = session->entryIndex;
    return status.about(STINT_OBJECT_INPUT, index);
  };
  if (bytes != needed)
    return wrong(STINT_STATUS_SHAPE_MISMATCH, "%o was given %a bytes, its shape takes %b");
  uint32_t alignment = elementAlignment(session->entry->inputs[index].type);
  if ((!data && bytes) || reinterpret_cast<uintptr_t>(data) % alignment != 0)
    return wrong(STINT_STATUS_INVALID_ARGUMENT, "%o was given no memory, or memory that isn't aligned to its "
                                                "elements");
  takeShape(session, index, rank, dims);
  // Never written: the verifier lets no result be an input.
  session->ports[index].bound = const_cast<void *>(data);
  session->ports[index].boundBytes = bytes;
  return success();
}

} // namespace

Status stint::usable(const stint_session *session) {
  if (!session)
    return invalid("no session");
  return session->generates ? invalid("the session belongs to a generator, which alone runs it") : success();
}

extern "C" {

stint_status stint_session_create(stint_model *model, const stint_session_options *options, stint_session **session) {
  return create(model, options, nullptr, 0, false, session).value;
}

stint_status stint_session_create_in(stint_model *model, const stint_session_options *options, void *memory,
                                     size_t bytes, stint_session **session) {
  return create(model, options, memory, bytes, true, session).value;
}

void stint_session_destroy(stint_session *session) {
  if (!session)
    return;
  if (session->generates) {
    session->abandoned = true;
    return;
  }
  stint_model *model = session->model;
  stint_executor *executor = session->executor;
  if (session->ownsMemory)
    platform::free(session, session->bytes);
  stint_executor_release(executor);
  stint_model_release(model);
}

stint_status stint_session_bind_input(stint_session *session, uint32_t input, const void *data, uint64_t bytes,
                                      uint32_t rank, const int64_t *dims) {
  return bindInput(session, input, data, bytes, rank, dims).value;
}

stint_status stint_session_set_input_shape(stint_session *session, uint32_t input, uint32_t rank, const int64_t *dims) {
  uint64_t bytes = 0;
  Status status = setShape(session, input, rank, dims, &bytes);
  if (!status.ok())
    return status.value;
  takeShape(session, input, rank, dims);
  session->ports[input].bound = nullptr;
  return success().value;
}

stint_status stint_session_bind_output(stint_session *session, uint32_t output, void *data, uint64_t bytes) {
  if (Status status = usable(session); !status.ok())
    return status.value;
  const Entry &entry = *session->entry;
  if (output >= entry.outputs.size)
    return failure(STINT_STATUS_NOT_FOUND, "the entry has no output %a", output).value;
  uint32_t alignment = elementAlignment(entry.outputs[output].type);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    Status status = invalid("the memory for %o isn't aligned to its elements").about(STINT_OBJECT_OUTPUT, output);
    status.value.entry = session->entryIndex;
    return status.value;
  }
  PortState &port = session->output(output);
  port.bound = data;
  port.boundBytes = data ? bytes : 0;
  session->prepared = false;
  return success().value;
}

stint_status stint_session_reset(stint_session *session) {
  if (Status status = usable(session); !status.ok())
    return status.value;
  if (session->ownsMemory)
    platform::clear(session->state, session->stateBytes, session->bytes);
  else
    memset(session->state, 0, session->stateBytes);
  return success().value;
}

stint_status stint_session_set_profile(stint_session *session, stint_profile_hook hook, void *user) {
  if (!session)
    return invalid("no session").value;
  session->hook = hook;
  session->hookUser = user;
  return success().value;
}

} // extern "C"
