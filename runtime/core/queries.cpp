// What can be asked of an opened model. All of it is in the plan already.
#include "runtime/base/options.h"
#include "runtime/code/code.h"
#include "runtime/core/model.h"
#include "runtime/schema/version.h"

using namespace stint;

namespace {

const Entry *findEntry(const stint_model *model, uint32_t entry) {
  return model && entry < model->plan.entries.size ? &model->plan.entries[entry] : nullptr;
}

const Dispatch *findDispatch(const stint_model *model, uint32_t entry, uint32_t dispatch) {
  const Entry *found = findEntry(model, entry);
  return found && dispatch < found->dispatches.size ? &found->dispatches[dispatch] : nullptr;
}

const Port *findPort(const stint_model *model, uint32_t entry, uint32_t port, bool input) {
  const Entry *found = findEntry(model, entry);
  if (!found)
    return nullptr;
  Span<Port> ports = input ? found->inputs : found->outputs;
  return port < ports.size ? &ports[port] : nullptr;
}

Status notFound(const char *text, uint32_t index) { return failure(STINT_STATUS_NOT_FOUND, text, index); }

stint_status describePort(const Port *port, uint32_t index, stint_port_info *info) {
  if (!port)
    return notFound("there is no input or output %a", index).value;
  stint_port_info result = {0, port->name, port->type, port->dims.size};
  return writeInfo(result, info).value;
}

// A register at one of the bounds of all symbols, or -1.
int64_t atBound(Span<int64_t> registers, uint32_t reg) {
  return registers.empty() || registers[reg] < 0 ? -1 : registers[reg];
}

stint_status describeDim(const stint_model *model, uint32_t entry, const Port *port, uint32_t axis,
                         stint_dim_info *info) {
  if (!port || axis >= port->dims.size)
    return notFound("there is no dimension %a", axis).value;
  const Dim &dim = port->dims[axis];
  stint_dim_info result = {};
  if (dim.symbol >= 0) {
    const Symbol &symbol = model->plan.symbols[dim.symbol];
    result = {0, symbol.name, dim.symbol, symbol.lower, symbol.upper};
  } else {
    const EntryFacts &facts = model->facts[entry];
    result = {0, nullptr, -1, atBound(facts.lower, dim.reg), atBound(facts.upper, dim.reg)};
  }
  return writeInfo(result, info).value;
}

} // namespace

extern "C" {

const char *stint_version(void) { return STINT_VERSION_STRING; }

int64_t stint_clock_ns(void) { return platform::clock(); }

const char *stint_model_name(const stint_model *model) { return model ? model->plan.model : nullptr; }

const char *stint_model_producer(const stint_model *model) { return model ? model->plan.producer : nullptr; }

const uint8_t *stint_model_root_hash(const stint_model *model) {
  return model ? model->planFile.header.root_hash : nullptr;
}

uint32_t stint_model_entry_count(const stint_model *model) { return model ? model->plan.entries.size : 0; }

const char *stint_model_entry_name(const stint_model *model, uint32_t entry) {
  const Entry *found = findEntry(model, entry);
  return found ? found->name : nullptr;
}

uint32_t stint_model_symbol_count(const stint_model *model) { return model ? model->plan.symbols.size : 0; }

stint_status stint_model_symbol(const stint_model *model, uint32_t symbol, stint_symbol_info *info) {
  if (symbol >= stint_model_symbol_count(model))
    return notFound("there is no symbol %a", symbol).value;
  const Symbol &found = model->plan.symbols[symbol];
  stint_symbol_info result = {0, found.name, found.lower, found.upper};
  return writeInfo(result, info).value;
}

uint32_t stint_model_input_count(const stint_model *model, uint32_t entry) {
  const Entry *found = findEntry(model, entry);
  return found ? found->inputs.size : 0;
}

uint32_t stint_model_output_count(const stint_model *model, uint32_t entry) {
  const Entry *found = findEntry(model, entry);
  return found ? found->outputs.size : 0;
}

stint_status stint_model_input(const stint_model *model, uint32_t entry, uint32_t input, stint_port_info *info) {
  return describePort(findPort(model, entry, input, true), input, info);
}

stint_status stint_model_output(const stint_model *model, uint32_t entry, uint32_t output, stint_port_info *info) {
  return describePort(findPort(model, entry, output, false), output, info);
}

stint_status stint_model_input_dim(const stint_model *model, uint32_t entry, uint32_t input, uint32_t axis,
                                   stint_dim_info *info) {
  return describeDim(model, entry, findPort(model, entry, input, true), axis, info);
}

stint_status stint_model_output_dim(const stint_model *model, uint32_t entry, uint32_t output, uint32_t axis,
                                    stint_dim_info *info) {
  return describeDim(model, entry, findPort(model, entry, output, false), axis, info);
}

uint32_t stint_model_variant_count(const stint_model *model) { return model ? model->plan.variants.size : 0; }

stint_status stint_model_variant(const stint_model *model, uint32_t variant, stint_variant_info *info) {
  if (variant >= stint_model_variant_count(model))
    return notFound("there is no variant %a", variant).value;
  const Variant &found = model->plan.variants[variant];
  stint_variant_info result = {};
  result.name = found.name;
  result.machine = found.machine == 1 ? "x86_64" : found.machine == 2 ? "aarch64" : "none";
  result.available = variantAvailable(found, model->cpu);
  result.chosen = variant == model->variant;
  result.code_bytes = model->planFile.sections[found.section].size;
  result.scratch_bytes = found.scratch;
  return writeInfo(result, info).value;
}

uint32_t stint_model_dispatch_count(const stint_model *model, uint32_t entry) {
  const Entry *found = findEntry(model, entry);
  return found ? found->dispatches.size : 0;
}

const char *stint_model_dispatch_kernel(const stint_model *model, uint32_t entry, uint32_t dispatch) {
  const Dispatch *found = findDispatch(model, entry, dispatch);
  return found ? model->plan.kernels[found->kernel].name : nullptr;
}

uint32_t stint_model_dispatch_node_count(const stint_model *model, uint32_t entry, uint32_t dispatch) {
  const Dispatch *found = findDispatch(model, entry, dispatch);
  return found ? found->nodes.size : 0;
}

const char *stint_model_dispatch_node(const stint_model *model, uint32_t entry, uint32_t dispatch, uint32_t node) {
  const Dispatch *found = findDispatch(model, entry, dispatch);
  return found && node < found->nodes.size ? model->plan.nodes[found->nodes[node]] : nullptr;
}

} // extern "C"
