// Inspect: see the header of that name.
#include "compiler/driver/Inspect.h"

#include "compiler/driver/Report.h"
#include "compiler/serialise/PlanReader.h"
#include "stint/stint.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace stint;
using namespace stint::driver;

namespace {

constexpr uint32_t kNoRegister = 0xffffffff;  // of a dispatch without FLOPs
constexpr uint64_t kThreadStack = 256 * 1024; // runtime/platform starts threads with that

std::string hex(ArrayRef<uint8_t> bytes) { return toHex(bytes, /*LowerCase=*/true); }

const char *machineName(plan::Machine machine) {
  return machine == plan::Machine::x86_64 ? "x86_64" : machine == plan::Machine::aarch64 ? "aarch64" : "none";
}

const char *sectionName(uint32_t kind) {
  switch (kind) {
  case STINT_SECTION_CODE:
    return "code";
  case STINT_SECTION_WEIGHTS:
    return "weights";
  case STINT_SECTION_CONSTANTS:
    return "constants";
  case STINT_SECTION_TOKENIZER:
    return "tokenizer";
  case STINT_SECTION_CHAT:
    return "chat";
  default:
    return "?";
  }
}

const char *bufferName(plan::BufferKind kind) {
  static const char *names[] = {"arena", "input", "output", "weight", "state"};
  auto i = static_cast<size_t>(kind);
  return i < std::size(names) ? names[i] : "?";
}

StringRef featureName(uint16_t id) {
  switch (id) {
#define STINT_CPU_FEATURE(id, machine, identifier, name)                                                               \
  case id:                                                                                                             \
    return name;
#include "runtime/schema/cpu_features.def"
  default:
    return "?";
  }
}

/// RAM of a session of entry `index` at the largest shapes, as the runtime
/// works it out.
RamContract contractOf(const stint_model *model, uint32_t index) {
  stint_session_options session = {};
  session.size = sizeof(session);
  session.device = "null"; // needs no code
  session.entry = index;
  stint_memory_info memory = {};
  memory.size = sizeof(memory);
  RamContract ram;
  if (stint_model_memory(model, &session, &memory).code != STINT_OK)
    return ram;
  ram.arena = memory.arena;
  ram.lowerBound = memory.lower_bound;
  ram.ports = memory.ports;
  ram.state = memory.state;
  ram.plan = memory.plan;
  ram.constants = memory.constants;
  ram.weights = memory.weights;
  ram.stack = kThreadStack;
  stint_variant_info variant = {};
  variant.size = sizeof(variant);
  for (uint32_t i = 0; stint_model_variant(model, i, &variant).code == STINT_OK; ++i) {
    ram.code = std::max(ram.code, variant.code_bytes);
    ram.scratch = std::max(ram.scratch, variant.scratch_bytes);
  }
  return ram;
}

/// The tokenizer of a plan, if there is one.
struct TextFacts {
  explicit TextFacts(const stint_model *model) {
    info.size = sizeof(info);
    present = stint_model_tokenizer(model, &info).code == STINT_OK;
    if (!present)
      return;
    kind = info.kind;
    for (uint32_t id : {info.bos_id, info.eos_id, info.turn_end_id})
      names.push_back(nameOf(model, id));
  }

  void print(raw_ostream &os) const {
    if (!present)
      return;
    os << formatv("tokenizer: {0}, {1} tokens, {2} of them special", kind, info.token_count, info.special_count);
    static const char *what[] = {"begins texts with", "ends texts with", "ends turns with"};
    for (auto [text, name] : zip(what, names))
      if (!name.empty())
        os << formatv(", {0} {1}", text, name);
    os << "\n" << (info.has_chat ? "chat template: yes\n" : "chat template: none\n");
  }

  json::Value json() const {
    if (!present)
      return nullptr;
    auto id = [](uint32_t id) { return id == STINT_NO_TOKEN ? json::Value(nullptr) : json::Value(int64_t(id)); };
    return json::Object{{"kind", kind},
                        {"tokens", int64_t(info.token_count)},
                        {"special", int64_t(info.special_count)},
                        {"bos", id(info.bos_id)},
                        {"eos", id(info.eos_id)},
                        {"turn_end", id(info.turn_end_id)},
                        {"chat", info.has_chat != 0}};
  }

private:
  /// "2 '<|im_end|>'", or nothing.
  static std::string nameOf(const stint_model *model, uint32_t id) {
    stint_token_info token = {};
    token.size = sizeof(token);
    if (stint_model_token(model, id, &token).code != STINT_OK)
      return "";
    return formatv("{0} '{1}'", id, StringRef(token.text, token.text_size));
  }

  bool present;
  stint_tokenizer_info info = {};
  std::string kind;
  SmallVector<std::string> names;
};

/// Prints one plan file.
class Printer {
public:
  Printer(const serialise::PlanContents &contents, ArrayRef<RamContract> contracts, const TextFacts &text,
          raw_ostream &os)
      : plan(contents.plan), contents(contents), contracts(contracts), text(text), os(os) {}

  void print() {
    os << formatv("{0}, made by {1}, format {2}.{3}\n", plan.model, plan.producer, contents.header.format_major,
                  contents.header.format_minor);
    os << "root hash " << hex(contents.header.root_hash) << "\n";
    os << formatv("file {0}, plan {1}\n", readableBytes(contents.header.file_size),
                  readableBytes(contents.header.plan_size));
    os << "sections:\n";
    for (auto [i, section] : enumerate(contents.sections))
      os << formatv("  {0}: {1,-9} at {2}, {3} bytes{4}\n", i, sectionName(section.kind), section.offset, section.size,
                    section.kind == STINT_SECTION_WEIGHTS ? "" : ", " + hex(section.hash).substr(0, 16));
    text.print(os);
    os << "variants, worst first:\n";
    for (const auto &variant : plan.variants) {
      os << formatv("  {0}: {1}, section {2}, {3} of scratch a thread, needs", variant->name,
                    machineName(variant->machine), variant->section, readableBytes(variant->scratch));
      for (uint16_t feature : variant->features)
        os << " " << featureName(feature);
      os << (variant->features.empty() ? " nothing\n" : "\n");
    }
    if (!plan.symbols.empty())
      os << "symbols:\n";
    for (auto [i, symbol] : enumerate(plan.symbols))
      os << formatv("  r{0} = {1} in {2}..{3}\n", i, symbol->name, symbol->lower, symbol->upper);
    for (auto [i, entry] : enumerate(plan.entries)) {
      printEntry(*entry);
      contracts[i].print(os);
    }
  }

private:
  void printPort(const char *what, const plan::PortT &port) {
    os << "  " << what << " " << port.name << " " << plan::EnumNameElementType(port.type) << " [";
    ListSeparator comma;
    for (const plan::Dim &dim : port.dims) {
      os << comma;
      if (dim.symbol() >= 0)
        os << plan.symbols[dim.symbol()]->name;
      else
        os << "r" << dim.reg();
    }
    os << "] buffer b" << port.buffer << "\n";
  }

  void printEntry(const plan::EntryT &entry) {
    os << formatv("entry {0}: {1} registers, {2} buffers, {3} dispatches\n", entry.name, entry.register_count,
                  entry.buffers.size(), entry.dispatches.size());
    for (const auto &port : entry.inputs)
      printPort("input ", *port);
    for (const auto &port : entry.outputs)
      printPort("output", *port);
    for (const auto &state : entry.states)
      os << formatv("  state  {0} {1} bytes\n", state->name, state->size);
    for (const auto &profile : entry.profiles) {
      os << "  memory for";
      for (auto [i, maximum] : enumerate(profile->maxima))
        os << " " << plan.symbols[i]->name << "<=" << maximum;
      os << formatv("{0} arena {1}, lower bound {2}\n", profile->maxima.empty() ? " fixed shapes:" : ":",
                    readableBytes(profile->arena_size), readableBytes(profile->lower_bound));
    }
    os << "  buffers:\n";
    for (auto [i, buffer] : enumerate(entry.buffers)) {
      os << formatv("    b{0}: {1}", i, bufferName(buffer.kind()));
      if (buffer.kind() == plan::BufferKind::arena) {
        ListSeparator comma(" |"); // one place in every memory layout
        for (const auto &profile : entry.profiles)
          os << comma << formatv(" at {0}, {1} bytes", profile->offsets[i], profile->capacities[i]);
      }
      if (buffer.kind() == plan::BufferKind::input || buffer.kind() == plan::BufferKind::output)
        os << " " << (buffer.kind() == plan::BufferKind::input ? entry.inputs : entry.outputs)[buffer.index()]->name;
      if (buffer.kind() == plan::BufferKind::weight) {
        const plan::WeightT &weight = *plan.weights[buffer.index()];
        os << formatv(" {0} {1}, section {2} at {3}, {4} bytes, {5}", weight.name,
                      plan::EnumNameElementType(weight.type), weight.section, weight.offset, weight.size,
                      weight.layout);
      }
      os << formatv(", size r{0}\n", buffer.size_reg());
    }
    printProgram("prologue", entry, entry.prologue);
    printProgram("body", entry, entry.body);
  }

  void printProgram(const char *name, const plan::EntryT &entry, ArrayRef<plan::Instruction> program) {
    using plan::Opcode;
    os << "  " << name << ":\n";
    for (const plan::Instruction &in : program) {
      os << "    ";
      switch (in.opcode()) {
      case Opcode::const_i64:
        os << formatv("r{0} = {1}\n", in.dst(), in.imm());
        break;
      case Opcode::dispatch:
        printDispatch(*entry.dispatches[in.a()]);
        break;
      case Opcode::copy:
        os << formatv("copy b{0} <- b{1}, r{2} bytes\n", in.a(), in.b(), in.dst());
        break;
      case Opcode::copy_at:
        os << formatv("copy b{0} from byte r{3} on <- b{1}, r{2} bytes\n", in.a(), in.b(), in.dst(), in.imm());
        break;
      case Opcode::load_i64:
        os << formatv("r{0} = b{1}[{2}]\n", in.dst(), in.a(), in.imm());
        break;
      case Opcode::check:
        os << formatv("check r{0}: {1}\n", in.a(), plan.messages[in.imm()]);
        break;
      case Opcode::if_:
        os << formatv("if r{0}\n", in.a());
        break;
      case Opcode::else_:
        os << "else\n";
        break;
      case Opcode::loop:
        os << formatv("loop r{0} < r{1}\n", in.dst(), in.a());
        break;
      case Opcode::end_:
        os << "end\n";
        break;
      default:
        os << formatv("r{0} = {1} r{2}, r{3}\n", in.dst(), plan::EnumNameOpcode(in.opcode()), in.a(), in.b());
      }
    }
  }

  void printDispatch(const plan::DispatchT &dispatch) {
    auto list = [&](const char *letter, ArrayRef<uint32_t> numbers) {
      ListSeparator comma;
      for (uint32_t number : numbers)
        os << comma << letter << number;
    };
    ArrayRef<uint32_t> buffers = dispatch.buffers;
    os << plan.kernels[dispatch.kernel]->name << "(";
    list("b", buffers.drop_back(dispatch.result_count));
    os << ") -> (";
    list("b", buffers.take_back(dispatch.result_count));
    os << ") dims (";
    list("r", dispatch.dims);
    os << ") grid (";
    list("r", dispatch.grid);
    os << ") tile (";
    list("r", dispatch.tile);
    os << ")";
    if (dispatch.flops_reg != kNoRegister)
      os << " flops r" << dispatch.flops_reg;
    ListSeparator comma;
    if (!dispatch.nodes.empty())
      os << "  // ";
    for (uint32_t node : dispatch.nodes)
      os << comma << plan.nodes[node];
    os << "\n";
  }

  const plan::PlanT &plan;
  const serialise::PlanContents &contents;
  ArrayRef<RamContract> contracts;
  const TextFacts &text;
  raw_ostream &os;
};

json::Array portsJson(const plan::PlanT &plan, ArrayRef<std::unique_ptr<plan::PortT>> ports) {
  json::Array result;
  for (const auto &port : ports) {
    json::Array dims;
    for (const plan::Dim &dim : port->dims)
      dims.push_back(dim.symbol() >= 0 ? json::Value(plan.symbols[dim.symbol()]->name) : json::Value(nullptr));
    result.push_back(json::Object{
        {"name", port->name}, {"type", plan::EnumNameElementType(port->type)}, {"symbols", std::move(dims)}});
  }
  return result;
}

json::Value toJson(const serialise::PlanContents &contents, ArrayRef<RamContract> contracts, const TextFacts &text) {
  const plan::PlanT &plan = contents.plan;
  auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  json::Array sections, variants, symbols, kernels, weights, entries;
  for (const stint_section &section : contents.sections)
    sections.push_back(json::Object{{"kind", sectionName(section.kind)},
                                    {"offset", number(section.offset)},
                                    {"size", number(section.size)},
                                    {"hash", hex(section.hash)}});
  for (const auto &variant : plan.variants) {
    json::Array features;
    for (uint16_t feature : variant->features)
      features.push_back(featureName(feature));
    variants.push_back(json::Object{{"name", variant->name},
                                    {"machine", machineName(variant->machine)},
                                    {"features", std::move(features)},
                                    {"section", variant->section},
                                    {"scratch", number(variant->scratch)}});
  }
  for (const auto &symbol : plan.symbols)
    symbols.push_back(json::Object{{"name", symbol->name}, {"lower", symbol->lower}, {"upper", symbol->upper}});
  for (const auto &kernel : plan.kernels)
    kernels.push_back(json::Object{{"name", kernel->name}, {"hash", hex(kernel->hash)}, {"summary", kernel->summary}});
  for (const auto &weight : plan.weights)
    weights.push_back(json::Object{{"name", weight->name},
                                   {"type", plan::EnumNameElementType(weight->type)},
                                   {"section", weight->section},
                                   {"offset", number(weight->offset)},
                                   {"size", number(weight->size)},
                                   {"layout", weight->layout}});
  for (auto [index, entry] : enumerate(plan.entries)) {
    json::Array dispatches, profiles, buffers, states;
    for (const auto &state : entry->states)
      states.push_back(json::Object{{"name", state->name}, {"size", number(state->size)}});
    for (const plan::Buffer &buffer : entry->buffers)
      buffers.push_back(json::Object{
          {"kind", bufferName(buffer.kind())}, {"index", buffer.index()}, {"size_register", buffer.size_reg()}});
    for (const auto &dispatch : entry->dispatches) {
      json::Array buffers(ArrayRef(dispatch->buffers)), nodes;
      for (uint32_t node : dispatch->nodes)
        nodes.push_back(plan.nodes[node]);
      dispatches.push_back(json::Object{{"kernel", plan.kernels[dispatch->kernel]->name},
                                        {"buffers", std::move(buffers)},
                                        {"states", std::move(states)},
                                        {"results", dispatch->result_count},
                                        {"nodes", std::move(nodes)}});
    }
    for (const auto &profile : entry->profiles) {
      json::Array offsets, capacities;
      for (auto [offset, capacity] : zip(profile->offsets, profile->capacities)) {
        offsets.push_back(number(offset));
        capacities.push_back(number(capacity));
      }
      profiles.push_back(json::Object{{"maxima", json::Array(ArrayRef(profile->maxima))},
                                      {"arena", number(profile->arena_size)},
                                      {"lower_bound", number(profile->lower_bound)},
                                      {"offsets", std::move(offsets)},
                                      {"capacities", std::move(capacities)}});
    }
    entries.push_back(json::Object{{"name", entry->name},
                                   {"inputs", portsJson(plan, entry->inputs)},
                                   {"outputs", portsJson(plan, entry->outputs)},
                                   {"buffers", std::move(buffers)},
                                   {"ram", contracts[index].json()},
                                   {"dispatches", std::move(dispatches)},
                                   {"profiles", std::move(profiles)}});
  }
  return json::Object{{"model", plan.model},
                      {"producer", plan.producer},
                      {"format", formatv("{0}.{1}", contents.header.format_major, contents.header.format_minor).str()},
                      {"root_hash", hex(contents.header.root_hash)},
                      {"file_bytes", number(contents.header.file_size)},
                      {"plan_bytes", number(contents.header.plan_size)},
                      {"sections", std::move(sections)},
                      {"tokenizer", text.json()},
                      {"variants", std::move(variants)},
                      {"symbols", std::move(symbols)},
                      {"kernels", std::move(kernels)},
                      {"weights", std::move(weights)},
                      {"entries", std::move(entries)}};
}

} // namespace

int driver::inspect(StringRef path, bool json, raw_ostream &os) {
  stint_model_options options = {};
  options.size = sizeof(options);
  options.variant = "none"; // any machine's plan can be looked at
  stint_model *model = nullptr;
  stint_status status = stint_model_open_file(path.str().c_str(), &options, &model);
  if (status.code != STINT_OK) {
    char text[512];
    stint_status_format(&status, nullptr, text, sizeof(text));
    errs() << "stint: '" << path << "': " << text << "\n";
    return status.code == STINT_STATUS_MALFORMED ? 4 : status.code == STINT_STATUS_UNSUPPORTED ? 3 : 1;
  }
  Expected<std::unique_ptr<serialise::PlanContents>> contents = serialise::readPlan(path);
  if (!contents) {
    stint_model_release(model);
    errs() << "stint: " << toString(contents.takeError()) << "\n";
    return 4;
  }
  SmallVector<RamContract> contracts;
  for (uint32_t i = 0; i < (*contents)->plan.entries.size(); ++i)
    contracts.push_back(contractOf(model, i));
  TextFacts text(model);
  stint_model_release(model);
  if (json)
    os << formatv("{0:2}\n", toJson(**contents, contracts, text));
  else
    Printer(**contents, contracts, text, os).print();
  return 0;
}
