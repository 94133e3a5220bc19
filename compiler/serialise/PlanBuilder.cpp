// The order of work follows the order of the file, with one knot: the plan
// comes first in it but holds where weights lie. So the room for the plan is
// measured first, on the same plan with as many hashes as there can be at
// most; then come code, constants and weights; the real plan, header and
// section table are written last.
#include "compiler/serialise/PlanBuilder.h"

#include "compiler/serialise/FileWriter.h"
#include "dialects/Graph/Decoder.h"
#include "dialects/Graph/KernelGrid.h"
#include "dialects/Graph/Shapes.h"
#include "runtime/schema/kernel_abi.h"
#include "runtime/schema/plan_file.h"
#include "runtime/schema/version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include "plan_generated.h"

using namespace mlir;
using namespace stint;
using namespace stint::serialise;

static llvm::Error problem(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

SmallVector<func::FuncOp> serialise::kernelsOf(ModuleOp module) {
  SmallVector<func::FuncOp> kernels;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(plan::kKindAttr))
      kernels.push_back(function);
  return kernels;
}

weights::Hash serialise::hashKernel(func::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.print(os, OpPrintingFlags().useLocalScope());
  os << "abi " << STINT_KERNEL_ABI_VERSION;
  return weights::hash(llvm::arrayRefFromStringRef(os.str()));
}

static plan::ElementType elementTypeOf(Type type) {
  using plan::ElementType;
  if (type.isF32())
    return ElementType::f32;
  if (type.isF64())
    return ElementType::f64;
  if (type.isF16())
    return ElementType::f16;
  if (type.isBF16())
    return ElementType::bf16;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementType::boolean;
  case 8:
    return isUnsigned ? ElementType::u8 : ElementType::i8;
  case 16:
    return isUnsigned ? ElementType::u16 : ElementType::i16;
  case 32:
    return isUnsigned ? ElementType::u32 : ElementType::i32;
  default:
    return isUnsigned ? ElementType::u64 : ElementType::i64;
  }
}

/// "row-major", or the layout as the graph dialect prints it.
static std::string layoutName(graph::GraphTensorType type) {
  auto layout = type.getLayout();
  if (!layout)
    return "row-major";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "order";
  for (int64_t dim : layout.getOrder())
    os << ' ' << dim;
  if (layout.isTiled())
    os << ", tile " << layout.getTiledDim() << " by " << layout.getTileSize();
  return text;
}

/// Integers that may serve as indices: their bytes are hashed whenever a plan
/// is opened.
static bool isIndexBearing(graph::GraphTensorType type) { return graph::isIndex(type.getElementType()); }

namespace {

/// Strings of the plan, each once.
class StringPool {
public:
  explicit StringPool(std::vector<std::string> &strings) : strings(strings) {}
  uint32_t operator()(llvm::StringRef text) {
    auto [entry, isNew] = numbers.try_emplace(text, strings.size());
    if (isNew)
      strings.push_back(text.str());
    return entry->second;
  }

private:
  std::vector<std::string> &strings;
  llvm::StringMap<uint32_t> numbers;
};

/// A weight to be written: a recipe, or bytes.
struct PendingWeight {
  std::optional<weights::Recipe> recipe;
  std::vector<uint8_t> bytes;
  bool constant;
  uint64_t size() const { return recipe ? recipe->size() : bytes.size(); }
};

class PlanTables {
public:
  explicit PlanTables(const PlanInput &input) : input(input), nodes(plan.nodes), messages(plan.messages) {}

  llvm::Error build();

  plan::PlanT plan;
  std::vector<PendingWeight> pending; // one per plan.weights

private:
  llvm::Error buildEntry(plan::EntryOp op);
  llvm::Error buildDecoder(DictionaryAttr attributes);
  llvm::Error addWeight(Operation *op);
  plan::Instruction instruction(Operation *op);
  uint32_t reg(Value value) { return registers.lookup(value); }
  uint32_t buffer(Value value) { return buffers.lookup(value); }
  static std::vector<uint32_t> collect(OperandRange values, const llvm::DenseMap<Value, uint32_t> &numbers) {
    std::vector<uint32_t> result;
    for (Value value : values)
      result.push_back(numbers.lookup(value));
    return result;
  }

  const PlanInput &input;
  StringPool nodes, messages;
  llvm::StringMap<uint32_t> kernelNumbers;
  llvm::DenseMap<Value, uint32_t> registers, buffers; // of the current entry
  llvm::DenseMap<Attribute, uint32_t> weightNumbers;  // equal recipes, without evaluating them
};

llvm::Error PlanTables::build() {
  plan.producer = "stint " STINT_VERSION_STRING;
  plan.model = input.model;
  graph::Symbols symbols = graph::Symbols::of(input.module);
  for (size_t i = 0; i < symbols.size(); ++i) {
    auto symbol = std::make_unique<plan::SymbolT>();
    symbol->name = symbols[i].getName().str();
    symbol->lower = symbols[i].getLower() * symbols[i].getStep();
    symbol->upper = symbols[i].getUpper() * symbols[i].getStep();
    plan.symbols.push_back(std::move(symbol));
  }
  for (func::FuncOp function : kernelsOf(input.module)) {
    kernelNumbers[function.getName()] = plan.kernels.size();
    auto kernel = std::make_unique<plan::KernelT>();
    kernel->name = function.getName().str();
    weights::Hash hash = hashKernel(function);
    kernel->hash.assign(hash.begin(), hash.end());
    // The operators in it, the last first: what it computes.
    for (Operation &op : llvm::reverse(function.getBody().front().without_terminator()))
      if (kernel->summary.size() < 80)
        kernel->summary += (kernel->summary.empty() ? "" : " ") + op.getName().stripDialect().str();
    plan.kernels.push_back(std::move(kernel));
  }
  for (auto entry : mlir::ModuleOp(input.module).getOps<plan::EntryOp>())
    if (llvm::Error error = buildEntry(entry))
      return error;
  if (auto attributes = mlir::ModuleOp(input.module)->getAttrOfType<DictionaryAttr>(graph::kDecoderAttr))
    if (llvm::Error error = buildDecoder(attributes))
      return error;
  for (auto [i, code] : llvm::enumerate(input.variants)) {
    auto variant = std::make_unique<plan::VariantT>();
    variant->name = code.variant.name;
    variant->machine = static_cast<plan::Machine>(code.variant.machine);
    variant->features = code.variant.featureIds;
    variant->kernel_abi = STINT_KERNEL_ABI_VERSION;
    variant->section = static_cast<uint32_t>(i);
    variant->entries = code.entries;
    variant->scratch = code.scratch;
    plan.variants.push_back(std::move(variant));
  }
  return llvm::Error::success();
}

/// The bytes of a constant as its layout arranges them.
static llvm::Expected<std::vector<uint8_t>> constantBytes(plan::ConstantOp op) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  auto type = cast<graph::GraphTensorType>(op.getType());
  if (!value)
    return problem("a constant's value is no dense attribute");
  int64_t size = graph::elementBytes(type.getElementType()), elements = value.getNumElements();
  std::vector<uint8_t> dense(elements * size);
  size_t at = 0;
  auto put = [&](const llvm::APInt &bits) {
    uint64_t word = bits.getZExtValue();
    std::memcpy(dense.data() + at, &word, size);
    at += size;
  };
  if (isa<FloatType>(value.getElementType()))
    for (const llvm::APFloat &element : value.getValues<llvm::APFloat>())
      put(element.bitcastToAPInt());
  else
    for (const llvm::APInt &element : value.getValues<llvm::APInt>())
      put(element);
  auto extent =
      graph::ExtentAttr::get(op.getContext(), 0, 0, dense.size(), type.getElementType(), type.getStaticShape());
  llvm::Expected<weights::Recipe> recipe =
      weights::Recipe::create(dense, extent, ArrayAttr::get(op.getContext(), {}), type);
  if (!recipe)
    return recipe.takeError();
  std::vector<uint8_t> result;
  recipe->evaluate([&](ArrayRef<uint8_t> bytes) { result.insert(result.end(), bytes.begin(), bytes.end()); });
  return result;
}

llvm::Error PlanTables::addWeight(Operation *op) {
  auto weight = std::make_unique<plan::WeightT>();
  PendingWeight todo;
  graph::GraphTensorType type;
  if (auto source = dyn_cast<plan::WeightOp>(op)) {
    graph::ExtentAttr extent = source.getExtent();
    type = cast<graph::GraphTensorType>(source.getType());
    if (extent.getFile() < 0 || extent.getFile() >= static_cast<int64_t>(input.files.size()))
      return problem("a weight lies in a file that is not there");
    ArrayRef<uint8_t> file = input.files[extent.getFile()];
    if (extent.getOffset() > file.size() || extent.getSize() > file.size() - extent.getOffset())
      return problem("weight '" + source.getName() + "' leaves its file");
    llvm::Expected<weights::Recipe> recipe =
        weights::Recipe::create(file.slice(extent.getOffset(), extent.getSize()), extent, source.getSteps(), type);
    if (!recipe)
      return problem("weight '" + source.getName() + "': " + llvm::toString(recipe.takeError()));
    todo.recipe = std::move(*recipe);
    weight->name = source.getName().str();
  } else {
    auto constant = cast<plan::ConstantOp>(op);
    type = cast<graph::GraphTensorType>(constant.getType());
    llvm::Expected<std::vector<uint8_t>> bytes = constantBytes(constant);
    if (!bytes)
      return bytes.takeError();
    todo.bytes = std::move(*bytes);
    weight->name = "constant " + std::to_string(plan.weights.size());
  }
  todo.constant = isIndexBearing(type);
  weight->size = todo.size();
  weight->layout = layoutName(type);
  weight->type = elementTypeOf(type.getElementType());
  plan.weights.push_back(std::move(weight));
  pending.push_back(std::move(todo));
  return llvm::Error::success();
}

plan::Instruction PlanTables::instruction(Operation *op) {
  using plan::Opcode;
  auto arithmetic = [&](Opcode opcode) {
    return plan::Instruction(opcode, reg(op->getResult(0)), reg(op->getOperand(0)), reg(op->getOperand(1)), 0);
  };
  return llvm::TypeSwitch<Operation *, plan::Instruction>(op)
      .Case([&](plan::ConstOp c) { return plan::Instruction(Opcode::const_i64, reg(c), 0, 0, c.getValue()); })
      .Case([&](plan::AddOp) { return arithmetic(Opcode::add); })
      .Case([&](plan::SubOp) { return arithmetic(Opcode::sub); })
      .Case([&](plan::MulOp) { return arithmetic(Opcode::mul); })
      .Case([&](plan::FloorDivOp) { return arithmetic(Opcode::floor_div); })
      .Case([&](plan::CeilDivOp) { return arithmetic(Opcode::ceil_div); })
      .Case([&](plan::ModOp) { return arithmetic(Opcode::mod); })
      .Case([&](plan::MinOp) { return arithmetic(Opcode::min); })
      .Case([&](plan::MaxOp) { return arithmetic(Opcode::max); })
      .Case([&](plan::EqualOp) { return arithmetic(Opcode::equal); })
      .Case([&](plan::LessOp) { return arithmetic(Opcode::less); })
      .Case([&](plan::LoadOp load) {
        return plan::Instruction(Opcode::load_i64, reg(load.getResult()), buffer(load.getBuffer()), 0, load.getIndex());
      })
      .Case([&](plan::CheckOp check) {
        return plan::Instruction(Opcode::check, 0, reg(check.getCondition()), 0, messages(check.getMessage()));
      })
      .Case([&](plan::CopyOp copy) {
        return plan::Instruction(copy.getOffset() ? Opcode::copy_at : Opcode::copy, reg(copy.getSize()),
                                 buffer(copy.getTarget()), buffer(copy.getSource()),
                                 copy.getOffset() ? reg(copy.getOffset()) : 0);
      })
      .Case([&](plan::AssignOp assign) {
        return plan::Instruction(Opcode::min, reg(assign.getTarget()), reg(assign.getValue()), reg(assign.getValue()),
                                 0);
      })
      .Case([&](plan::IfOp op) { return plan::Instruction(Opcode::if_, 0, reg(op.getCondition()), 0, 0); })
      .Case([&](plan::ElseOp) { return plan::Instruction(Opcode::else_, 0, 0, 0, 0); })
      .Case([&](plan::LoopOp op) {
        return plan::Instruction(Opcode::loop, reg(op.getIteration()), reg(op.getLimit()), 0, 0);
      })
      .Case([&](plan::EndOp) { return plan::Instruction(Opcode::end_, 0, 0, 0, 0); });
}

template <typename PortOp>
static std::unique_ptr<plan::PortT> portOf(const graph::Symbols &symbols, PortOp op, uint32_t buffer,
                                           std::vector<uint32_t> dims) {
  auto port = std::make_unique<plan::PortT>();
  auto type = cast<graph::GraphTensorType>(op.getType());
  port->name = op.getName().str();
  port->type = elementTypeOf(type.getElementType());
  port->buffer = buffer;
  for (auto [i, dim] : llvm::enumerate(dims))
    port->dims.emplace_back(static_cast<int32_t>(plan::symbolOf(symbols, type, i)), dim);
  return port;
}

llvm::Error PlanTables::buildEntry(plan::EntryOp op) {
  auto entry = std::make_unique<plan::EntryT>();
  entry->name = op.getSymName().str();
  registers.clear();
  buffers.clear();
  graph::Symbols symbols = graph::Symbols::of(input.module);
  uint32_t count = symbols.size();
  for (auto [i, value] : llvm::enumerate(op.getBuffers()))
    buffers[value] = i;
  Block &block = op.getBody().front();
  for (Operation &inner : block)
    if (auto symbol = dyn_cast<plan::SymbolOp>(inner))
      registers[symbol] = symbol.getNumber();
    else if (plan::isRegisterOp(&inner))
      registers[inner.getResult(0)] = count++;
  entry->register_count = count;

  bool inBody = false;
  for (Operation &inner : block) {
    if (isa<plan::SymbolOp>(inner))
      continue;
    if (auto port = dyn_cast<plan::InputOp>(inner)) {
      entry->buffers.emplace_back(plan::BufferKind::input, entry->inputs.size(), reg(port.getSize()));
      entry->inputs.push_back(portOf(symbols, port, buffer(port.getBuffer()), collect(port.getDims(), registers)));
    } else if (auto port = dyn_cast<plan::OutputOp>(inner)) {
      entry->buffers.emplace_back(plan::BufferKind::output, entry->outputs.size(), reg(port.getSize()));
      entry->outputs.push_back(portOf(symbols, port, buffer(port.getBuffer()), collect(port.getDims(), registers)));
    } else if (auto arena = dyn_cast<plan::BufferOp>(inner)) {
      entry->buffers.emplace_back(plan::BufferKind::arena, 0, reg(arena.getSize()));
    } else if (auto source = dyn_cast<plan::StateOp>(inner)) {
      entry->buffers.emplace_back(plan::BufferKind::state, entry->states.size(), reg(source.getSize()));
      auto state = std::make_unique<plan::StateT>();
      state->name = source.getName().str();
      auto type = cast<graph::GraphTensorType>(source.getType());
      state->size = symbols.upper(plan::byteSize(type));
      state->type = elementTypeOf(type.getElementType());
      for (AffineExpr extent : graph::memoryExtents(type))
        state->dims.push_back(symbols.upper(extent));
      entry->states.push_back(std::move(state));
    } else if (isa<plan::WeightOp, plan::ConstantOp>(inner)) {
      Attribute key = inner.getAttrDictionary(); // name, recipe and type
      auto [number, isNew] = weightNumbers.try_emplace(key, plan.weights.size());
      if (isNew)
        if (llvm::Error error = addWeight(&inner))
          return error;
      Value size =
          isa<plan::WeightOp>(inner) ? cast<plan::WeightOp>(inner).getSize() : cast<plan::ConstantOp>(inner).getSize();
      entry->buffers.emplace_back(plan::BufferKind::weight, number->second, reg(size));
    } else if (auto source = dyn_cast<plan::DispatchOp>(inner)) {
      inBody = true;
      auto dispatch = std::make_unique<plan::DispatchT>();
      dispatch->kernel = kernelNumbers.lookup(source.getKernel());
      dispatch->buffers = collect(source.getInputs(), buffers);
      std::vector<uint32_t> results = collect(source.getOutputs(), buffers);
      dispatch->buffers.insert(dispatch->buffers.end(), results.begin(), results.end());
      dispatch->result_count = results.size();
      dispatch->dims = collect(source.getDims(), registers);
      dispatch->grid = collect(source.getGrid(), registers);
      dispatch->tile = collect(source.getTile(), registers);
      if (source.getFlops())
        dispatch->flops_reg = reg(source.getFlops());
      for (auto node : source.getNodes().getAsRange<StringAttr>())
        dispatch->nodes.push_back(nodes(node));
      entry->body.emplace_back(plan::Opcode::dispatch, 0, entry->dispatches.size(), 0, 0);
      entry->dispatches.push_back(std::move(dispatch));
    } else {
      inBody |= plan::isWork(&inner);
      (inBody ? entry->body : entry->prologue).push_back(instruction(&inner));
    }
  }
  for (auto source : op.getProfiles().getAsRange<plan::ProfileAttr>()) {
    auto profile = std::make_unique<plan::ProfileT>();
    for (auto [i, most] : llvm::enumerate(source.getMaxima()))
      profile->maxima.push_back(most * symbols[i].getStep());
    profile->arena_size = source.getArenaSize();
    profile->lower_bound = source.getLowerBound();
    profile->offsets.assign(source.getOffsets().begin(), source.getOffsets().end());
    profile->capacities.assign(source.getCapacities().begin(), source.getCapacities().end());
    entry->profiles.push_back(std::move(profile));
  }
  plan.entries.push_back(std::move(entry));
  return llvm::Error::success();
}

llvm::Error PlanTables::buildDecoder(DictionaryAttr attributes) {
  auto decoder = std::make_unique<plan::DecoderT>();
  const plan::EntryT &entry = *plan.entries.front();
  bool found = true;
  auto number = [](const auto &ports, llvm::StringRef name, bool &found) -> uint32_t {
    for (auto [i, port] : llvm::enumerate(ports))
      if (port->name == name)
        return i;
    found = false;
    return 0;
  };
  auto text = [&](llvm::StringRef name) { return attributes.getAs<StringAttr>(name).getValue(); };
  auto integer = [&](llvm::StringRef name) {
    return static_cast<uint32_t>(attributes.getAs<IntegerAttr>(name).getInt());
  };
  decoder->token_ids = number(entry.inputs, text("token_ids"), found);
  decoder->positions = number(entry.inputs, graph::steptable::kPositions, found);
  decoder->sequences = number(entry.inputs, graph::steptable::kSequences, found);
  decoder->pages = number(entry.inputs, graph::steptable::kPages, found);
  decoder->rows = number(entry.inputs, graph::steptable::kRows, found);
  decoder->logits = number(entry.outputs, text("logits"), found);
  if (!found)
    return problem("the decoder lost an input of its step table");
  decoder->page_size = integer("page_size");
  decoder->page_count = integer("page_count");
  decoder->context = integer("context");
  decoder->model.assign(input.modelHash.begin(), input.modelHash.end());
  plan.decoder = std::move(decoder);
  return llvm::Error::success();
}

/// The bytes of the plan. Default values are written too, so that the size
/// depends on counts and strings alone.
static std::vector<uint8_t> pack(const plan::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  builder.ForceDefaults(true);
  plan::FinishPlanBuffer(builder, plan::Plan::Pack(builder, &plan));
  return std::vector<uint8_t>(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
}

constexpr uint64_t kHashBytes = 32;

} // namespace

static uint64_t hashBytes(uint64_t size) { return llvm::divideCeil(size, STINT_WEIGHT_CHUNK) * kHashBytes; }

static llvm::Expected<std::vector<uint8_t>> chunkHashes(FileWriter &file, uint64_t offset, uint64_t size) {
  std::vector<uint8_t> hashes, chunk;
  for (uint64_t done = 0; done < size; done += chunk.size()) {
    chunk.resize(std::min<uint64_t>(STINT_WEIGHT_CHUNK, size - done));
    if (llvm::Error error = file.read(offset + done, chunk))
      return std::move(error);
    weights::Hash hash = weights::hash(chunk);
    hashes.insert(hashes.end(), hash.begin(), hash.end());
  }
  return hashes;
}

llvm::Expected<PlanSizes>
serialise::writePlan(const PlanInput &input, llvm::StringRef path,
                     llvm::function_ref<bool(const PlanSizes &, llvm::StringRef file)> accept) {
  PlanTables builder(input);
  if (llvm::Error error = builder.build())
    return std::move(error);
  llvm::Expected<FileWriter> file = FileWriter::create(path);
  if (!file)
    return file.takeError();

  // Sections: code of each variant, then constants, then text, then weights.
  plan::PlanT &plan = builder.plan;
  SmallVector<std::pair<stint_section_kind, ArrayRef<uint8_t>>> texts;
  if (!input.tokenizer.empty())
    texts.push_back({STINT_SECTION_TOKENIZER, input.tokenizer});
  if (!input.chat.empty())
    texts.push_back({STINT_SECTION_CHAT, input.chat});
  for (auto [i, text] : llvm::enumerate(texts))
    if (plan.decoder)
      (text.first == STINT_SECTION_CHAT ? plan.decoder->chat : plan.decoder->tokenizer) = input.variants.size() + 1 + i;
  std::vector<stint_section> sections(input.variants.size() + texts.size() + 2);
  uint32_t constantsSection = input.variants.size(), weightsSection = sections.size() - 1;
  uint64_t most = 0;
  for (const PendingWeight &weight : builder.pending)
    most += llvm::alignTo(weight.size(), STINT_WEIGHT_ALIGNMENT);
  auto hashes = std::make_unique<plan::WeightHashesT>();
  hashes->section = weightsSection;
  hashes->hashes.resize(hashBytes(most));
  plan.weight_hashes.push_back(std::move(hashes));
  uint64_t planOffset = llvm::alignTo(sizeof(stint_file_header) + sections.size() * sizeof(stint_section), 16);
  uint64_t planRoom = pack(plan).size();
  uint64_t end = planOffset + planRoom;

  auto begin = [&](stint_section &section, stint_section_kind kind) {
    section = {};
    section.kind = kind;
    section.offset = end = llvm::alignTo(end, STINT_SECTION_ALIGNMENT);
  };
  auto append = [&](stint_section &section, stint_section_kind kind, ArrayRef<uint8_t> bytes) -> llvm::Error {
    begin(section, kind);
    weights::Hash hash = weights::hash(bytes);
    std::copy(hash.begin(), hash.end(), section.hash);
    section.size = bytes.size();
    end += bytes.size();
    return file->write(section.offset, bytes);
  };
  for (auto [i, code] : llvm::enumerate(input.variants)) {
    ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(code.bytes.data()), code.bytes.size());
    if (llvm::Error error = append(sections[i], STINT_SECTION_CODE, bytes))
      return std::move(error);
  }
  PlanSizes sizes;
  for (uint32_t number : {constantsSection, weightsSection}) {
    stint_section &section = sections[number];
    begin(section, number == constantsSection ? STINT_SECTION_CONSTANTS : STINT_SECTION_WEIGHTS);
    weights::WeightWriter writer;
    auto write = [&](uint64_t offset, ArrayRef<uint8_t> bytes) { return file->write(section.offset + offset, bytes); };
    for (auto [i, weight] : llvm::enumerate(builder.pending)) {
      if (weight.constant != (number == constantsSection))
        continue;
      llvm::Expected<uint64_t> offset =
          weight.recipe ? writer.add(*weight.recipe, write) : writer.add(weight.bytes, write);
      if (!offset)
        return offset.takeError();
      plan.weights[i]->section = number;
      plan.weights[i]->offset = *offset;
    }
    end += section.size = writer.size();
    sizes.sharedWeights += writer.shared();
    if (number == constantsSection)
      for (auto [i, text] : llvm::enumerate(texts))
        if (llvm::Error error = append(sections[constantsSection + 1 + i], text.first, text.second))
          return std::move(error);
  }
  sizes.constants = sections[constantsSection].size;
  sizes.weights = sections[weightsSection].size;
  {
    std::vector<uint8_t> constants(sizes.constants);
    if (llvm::Error error = file->read(sections[constantsSection].offset, constants))
      return std::move(error);
    weights::Hash hash = weights::hash(constants);
    std::copy(hash.begin(), hash.end(), sections[constantsSection].hash);
  }
  llvm::Expected<std::vector<uint8_t>> chunks = chunkHashes(*file, sections[weightsSection].offset, sizes.weights);
  if (!chunks)
    return chunks.takeError();
  plan.weight_hashes[0]->hashes = std::move(*chunks);

  std::vector<uint8_t> bytes = pack(plan);
  if (bytes.size() > planRoom)
    return problem("internal error: the plan outgrew its place in the file");
  stint_file_header header = {};
  std::memcpy(header.magic, STINT_FILE_MAGIC, sizeof(header.magic));
  header.format_major = STINT_PLAN_FORMAT_MAJOR;
  header.format_minor = STINT_PLAN_FORMAT_MINOR;
  header.section_count = sections.size();
  header.file_size = end;
  header.section_table_offset = sizeof(header);
  header.plan_offset = planOffset;
  header.plan_size = bytes.size();
  weights::Hash planHash = weights::hash(bytes);
  std::copy(planHash.begin(), planHash.end(), header.plan_hash);
  ArrayRef<uint8_t> table(reinterpret_cast<const uint8_t *>(sections.data()), sections.size() * sizeof(stint_section));
  std::vector<uint8_t> root(reinterpret_cast<const uint8_t *>(&header),
                            reinterpret_cast<const uint8_t *>(&header) + sizeof(header));
  root.insert(root.end(), table.begin(), table.end());
  weights::Hash rootHash = weights::hash(root);
  std::copy(rootHash.begin(), rootHash.end(), header.root_hash);
  ArrayRef<uint8_t> head(reinterpret_cast<const uint8_t *>(&header), sizeof(header));
  for (auto [offset, part] : {std::pair(uint64_t(0), head), std::pair(uint64_t(sizeof(header)), table),
                              std::pair(planOffset, ArrayRef<uint8_t>(bytes))})
    if (llvm::Error error = file->write(offset, part))
      return std::move(error);
  if (llvm::Error error = file->resize(end))
    return std::move(error);
  sizes.plan = bytes.size();
  sizes.file = end;
  if (accept(sizes, file->temporaryPath()))
    if (llvm::Error error = file->commit())
      return std::move(error);
  return sizes;
}
