// The memory contract: which layout of the plan a session takes, and where
// everything lies in its block.
#include "runtime/base/arithmetic.h"
#include "runtime/base/element_type.h"
#include "runtime/base/options.h"
#include "runtime/core/machine.h"
#include "runtime/core/session.h"

#include <string.h>

using namespace stint;

namespace {

// Memory that lives for one call.
class Temporary {
public:
  explicit Temporary(uint64_t bytes) : memory(platform::allocate(bytes)), bytes(bytes) {}
  ~Temporary() { platform::free(memory, bytes); }
  Temporary(const Temporary &) = delete;
  Temporary &operator=(const Temporary &) = delete;
  void *memory;

private:
  uint64_t bytes;
};

// True if a shape of an input gives the symbol its value.
bool givenByInput(const Entry &entry, uint32_t symbol) {
  for (const Port &input : entry.inputs)
    for (const Dim &dim : input.dims)
      if (dim.symbol == static_cast<int64_t>(symbol))
        return true;
  return false;
}

// The smallest arena whose maxima cover the declared ones.
Status chooseProfile(const Entry &entry, Span<Symbol> symbols, const int64_t *maxima, uint32_t *chosen) {
  bool found = false;
  for (uint32_t i = 0; i < entry.profiles.size; ++i) {
    const Profile &profile = entry.profiles[i];
    bool covers = true;
    for (uint32_t j = 0; j < symbols.size; ++j)
      covers = covers && (profile.maxima[j] >= maxima[j] || !givenByInput(entry, j));
    if (covers && (!found || profile.arenaSize < entry.profiles[*chosen].arenaSize)) {
      *chosen = i;
      found = true;
    }
  }
  return found ? success()
               : failure(STINT_STATUS_OUT_OF_RANGE,
                         "none of the plan's %a memory layouts covers the "
                         "declared maxima",
                         entry.profiles.size);
}

Status layOut(const stint_model &model, const Entry &entry, const int64_t *maxima, const int64_t *registers,
              bool bindAll, SessionPlan *plan) {
  const EntryFacts &facts = model.facts[plan->entry];
  const Profile &profile = entry.profiles[plan->profile];
  uint32_t ports = entry.inputs.size + entry.outputs.size;
  SizeSum sum;
  sum.add(1, sizeof(stint_session), 64);
  plan->registers = sum.add(entry.registerCount, sizeof(int64_t), 64);
  plan->maxima = sum.add(model.plan.symbols.size, sizeof(int64_t), 64);
  plan->buffers = sum.add(entry.buffers.size, sizeof(Place), 64);
  plan->ports = sum.add(ports, sizeof(PortState), 64);
  plan->arguments = sum.add(facts.maxBuffers, sizeof(stint_kernel_buffer), 64);
  plan->dims = sum.add(facts.maxDims, sizeof(int64_t), 64);
  plan->records = sum.add(plan->threads, sizeof(ThreadRecord), 64);
  // A line more than asked for keeps threads off each other's cache lines.
  uint64_t scratch = plan->device->runsCode ? model.scratch : 0;
  if (!checkedAlign(scratch, 128, &plan->scratchStride))
    return outOfMemory(scratch);
  plan->scratch = sum.add(plan->threads, plan->scratchStride, 64);
  plan->portMemory = sum.add(0, 0, 64);
  for (uint32_t i = 0; i < ports && !bindAll; ++i)
    sum.add(portCapacity(entry, i, maxima, registers), 1, 64);
  plan->portBytes = sum.bytes() - plan->portMemory;
  plan->state = sum.add(0, 0, 64);
  for (const State &state : entry.states)
    sum.add(state.size, 1, 64);
  plan->stateBytes = sum.bytes() - plan->state;
  plan->arena = sum.add(profile.arenaSize, 1, 64);
  uint64_t bytes = sum.bytes();
  if (!sum.fits() || !checkedAlign(bytes, 64, &bytes))
    return outOfMemory(sum.bytes());
  plan->bytes = bytes;
  return success();
}

} // namespace

Status stint::declareMaxima(const stint_model &model, const stint_session_options &options, int64_t *maxima) {
  Span<Symbol> symbols = model.plan.symbols;
  for (uint32_t i = 0; i < symbols.size; ++i)
    maxima[i] = symbols[i].upper;
  if (options.maximum_count && !options.maxima)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "a count of %a maxima without a list",
                   static_cast<int64_t>(options.maximum_count));
  for (size_t i = 0; i < options.maximum_count; ++i) {
    const stint_dim_maximum &wanted = options.maxima[i];
    bool found = false;
    for (uint32_t j = 0; j < symbols.size; ++j) {
      if (!wanted.symbol || strcmp(symbols[j].name, wanted.symbol) != 0)
        continue;
      found = true;
      if (wanted.value < symbols[j].lower || wanted.value > symbols[j].upper)
        return failure(STINT_STATUS_OUT_OF_RANGE,
                       wanted.value < symbols[j].lower ? "the maximum %a of %o is below its least, %b"
                                                       : "the maximum %a of %o is above its most, %b: compile "
                                                         "with wider bounds (--dim)",
                       wanted.value, wanted.value < symbols[j].lower ? symbols[j].lower : symbols[j].upper)
            .about(STINT_OBJECT_SYMBOL, j);
      maxima[j] = wanted.value;
    }
    if (!found)
      return failure(STINT_STATUS_NOT_FOUND, "maximum number %a names no dimension of the model",
                     static_cast<int64_t>(i));
  }
  return success();
}

void stint::limitLateSymbols(const Entry &entry, const Profile &profile, int64_t *maxima, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (profile.maxima[i] < maxima[i] && !givenByInput(entry, i))
      maxima[i] = profile.maxima[i];
}

uint64_t stint::portCapacity(const Entry &entry, uint32_t port, const int64_t *maxima, const int64_t *registers) {
  uint32_t inputs = entry.inputs.size;
  const Port &which = port < inputs ? entry.inputs[port] : entry.outputs[port - inputs];
  int64_t dims[STINT_MAX_RANK];
  for (uint32_t axis = 0; axis < which.dims.size; ++axis) {
    const Dim &dim = which.dims[axis];
    dims[axis] = dim.symbol >= 0 ? maxima[dim.symbol] : registers ? registers[dim.reg] : -1;
  }
  uint64_t bytes = 0;
  return tensorBytes(which.type, which.dims.size, dims, &bytes) ? bytes : 0;
}

bool stint::evaluateAt(const stint_model &model, const Entry &entry, const int64_t *symbols, int64_t *registers) {
  if (model.plan.symbols.size)
    memcpy(registers, symbols, model.plan.symbols.size * sizeof(int64_t));
  return runPrologue(model.plan, entry, registers, /*checked=*/false).ok();
}

Status stint::planSession(const stint_model &model, const stint_session_options &options, SessionPlan *plan) {
  *plan = SessionPlan();
  if (options.entry >= model.plan.entries.size)
    return failure(STINT_STATUS_NOT_FOUND, "the model has no entry %a", options.entry);
  const Entry &entry = model.plan.entries[options.entry];
  plan->entry = options.entry;
  plan->executor = options.executor;
  plan->threads = stint_executor_threads(options.executor);
  plan->device = findDevice(options.device ? options.device : "cpu");
  if (!plan->device)
    return failure(STINT_STATUS_NOT_FOUND, "there is no such device: \"cpu\" and \"null\" are");
  if (plan->device->runsCode && !model.plan.kernels.empty() && model.kernels.empty())
    return failure(STINT_STATUS_UNSUPPORTED, "the model was opened without code");

  SizeSum sum;
  uint64_t registersAt = sum.add(entry.registerCount, sizeof(int64_t), 8);
  uint64_t maximaAt = sum.add(model.plan.symbols.size, sizeof(int64_t), 8);
  Temporary temporary(sum.bytes());
  auto *base = static_cast<uint8_t *>(temporary.memory);
  if (!base)
    return outOfMemory(sum.bytes());
  auto *registers = reinterpret_cast<int64_t *>(base + registersAt);
  auto *maxima = reinterpret_cast<int64_t *>(base + maximaAt);
  STINT_TRY(declareMaxima(model, options, maxima));
  STINT_TRY(chooseProfile(entry, model.plan.symbols, maxima, &plan->profile));
  limitLateSymbols(entry, entry.profiles[plan->profile], maxima, model.plan.symbols.size);
  bool known = evaluateAt(model, entry, maxima, registers);
  return layOut(model, entry, maxima, known ? registers : nullptr, options.flags & STINT_SESSION_BIND_ALL, plan);
}

extern "C" {

stint_status stint_model_memory(const stint_model *model, const stint_session_options *given, stint_memory_info *info) {
  if (!model)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "no model").value;
  stint_session_options options;
  SessionPlan plan;
  Status status = readOptions(given, &options);
  if (status.ok())
    status = planSession(*model, options, &plan);
  if (!status.ok())
    return status.value;
  const Profile &profile = model->plan.entries[plan.entry].profiles[plan.profile];
  stint_memory_info result{};
  result.session = plan.bytes;
  result.arena = profile.arenaSize;
  result.scratch = plan.scratchStride * plan.threads;
  result.ports = plan.portBytes;
  result.state = plan.stateBytes;
  result.plan = model->planBytes;
  result.code = model->code.size;
  result.constants = model->constantBytes;
  result.text = model->textBytes;
  result.weights = model->weightBytes;
  result.lower_bound = profile.lowerBound;
  result.profile = plan.profile;
  result.threads = plan.threads;
  return writeInfo(result, info).value;
}

stint_status stint_session_size(const stint_model *model, const stint_session_options *given, size_t *bytes) {
  if (!model || !bytes)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "no model, or no place").value;
  stint_session_options options;
  SessionPlan plan;
  Status status = readOptions(given, &options);
  if (status.ok())
    status = planSession(*model, options, &plan);
  *bytes = status.ok() ? static_cast<size_t>(plan.bytes) : 0;
  return status.value;
}

} // extern "C"
