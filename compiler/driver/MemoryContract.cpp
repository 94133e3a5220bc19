// MemoryContract: see the header of that name.
#include "compiler/driver/MemoryContract.h"

#include "dialects/Graph/Shapes.h"
#include "dialects/Plan/PlanDialect.h"
#include "stint/stint.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace stint;
using namespace stint::driver;
using graph::GraphTensorType;

void driver::measurePlan(ModuleOp module, RamContract &ram) {
  graph::Symbols symbols = graph::Symbols::of(module);
  ram.arena = ram.lowerBound = ram.ports = ram.state = 0;
  ram.stack = 256 << 10; // runtime/platform starts threads with that
  for (auto entry : module.getOps<plan::EntryOp>()) {
    for (auto profile : entry.getProfiles().getAsRange<plan::ProfileAttr>()) {
      ram.arena = std::max<uint64_t>(ram.arena, profile.getArenaSize());
      ram.lowerBound = std::max<uint64_t>(ram.lowerBound, profile.getLowerBound());
    }
    entry.walk([&](plan::StateOp state) {
      ram.state += llvm::alignTo(symbols.upper(plan::byteSize(cast<GraphTensorType>(state.getType()))), 64);
    });
    entry.walk([&](Operation *op) {
      if (auto type = isa<plan::InputOp, plan::OutputOp>(op) ? op->getAttrOfType<TypeAttr>("type") : TypeAttr())
        ram.ports += symbols.upper(plan::byteSize(cast<GraphTensorType>(type.getValue())));
    });
  }
}

llvm::Error driver::measureFile(llvm::StringRef file, RamContract &ram) {
  stint_model_options modelOptions = {};
  modelOptions.size = sizeof(modelOptions);
  modelOptions.variant = "none";
  stint_model *opened = nullptr;
  stint_session_options session = {};
  session.size = sizeof(session);
  session.device = "null"; // needs no code
  stint_memory_info memory = {};
  memory.size = sizeof(memory);
  stint_status status = stint_model_open_file(file.str().c_str(), &modelOptions, &opened);
  if (status.code == STINT_OK)
    status = stint_model_memory(opened, &session, &memory);
  char message[512] = "";
  if (status.code != STINT_OK)
    stint_status_format(&status, opened, message, sizeof(message));
  stint_model_release(opened);
  if (status.code != STINT_OK)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  ram.plan = memory.plan;
  ram.constants = memory.constants;
  ram.text = memory.text;
  ram.weights = memory.weights;
  return llvm::Error::success();
}

static std::string typeText(GraphTensorType type, const graph::Symbols &symbols) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.getElementType() << "[";
  llvm::interleaveComma(type.getShape(), os, [&](AffineExpr dim) { os << symbols.upper(dim); });
  os << "]";
  return os.str();
}

namespace {
/// An arena buffer in the order of work.
struct Lifetime {
  int64_t first = INT64_MAX, last = -1;
  uint64_t offset = 0, bytes = 0;
  plan::DispatchOp maker;
};
} // namespace

static std::vector<LiveTensor> tensorsAtPeak(plan::EntryOp entry, const graph::Symbols &symbols, uint64_t &peak) {
  llvm::MapVector<Value, Lifetime> lifetimes;
  auto profile = cast<plan::ProfileAttr>(*entry.getProfiles().begin());
  for (auto [i, buffer] : llvm::enumerate(entry.getBuffers()))
    if (buffer.getDefiningOp<plan::BufferOp>()) {
      lifetimes[buffer].offset = profile.getOffsets()[i];
      lifetimes[buffer].bytes = profile.getCapacities()[i];
    }
  int64_t items = 0;
  for (Operation &op : entry.getBody().front()) {
    if (!plan::isWork(&op))
      continue;
    for (Value operand : op.getOperands())
      if (auto found = lifetimes.find(operand); found != lifetimes.end()) {
        found->second.first = std::min(found->second.first, items);
        found->second.last = items;
      }
    if (auto dispatch = dyn_cast<plan::DispatchOp>(op))
      for (Value output : dispatch.getOutputs())
        if (auto found = lifetimes.find(output); found != lifetimes.end())
          found->second.maker = dispatch;
    ++items;
  }
  // Buffers that share memory in place count once.
  auto aliveAt = [&](int64_t at) {
    llvm::MapVector<uint64_t, std::pair<Value, const Lifetime *>> alive;
    for (auto &[buffer, lifetime] : lifetimes)
      if (lifetime.first <= at && at <= lifetime.last)
        alive.insert({lifetime.offset, {buffer, &lifetime}});
    return alive;
  };
  int64_t best = -1;
  for (int64_t at = 0; at < items; ++at) {
    uint64_t bytes = 0;
    for (auto &[offset, buffer] : aliveAt(at))
      bytes += buffer.second->bytes;
    if (bytes > peak) {
      peak = bytes;
      best = at;
    }
  }
  std::vector<LiveTensor> tensors;
  if (best < 0)
    return tensors;
  for (auto &[offset, buffer] : aliveAt(best)) {
    auto type = cast<GraphTensorType>(buffer.first.getDefiningOp<plan::BufferOp>().getType());
    LiveTensor tensor{"", typeText(type, symbols), buffer.second->bytes};
    if (plan::DispatchOp maker = buffer.second->maker) {
      ArrayAttr nodes = maker.getNodes();
      tensor.node = nodes.empty() ? maker.getKernel().str() : cast<StringAttr>(nodes[nodes.size() - 1]).str();
    }
    tensors.push_back(std::move(tensor));
  }
  llvm::sort(tensors, [](const LiveTensor &a, const LiveTensor &b) {
    return std::tie(b.bytes, a.node, a.type) < std::tie(a.bytes, b.node, b.type);
  });
  return tensors;
}

std::vector<LiveTensor> driver::tensorsAtPeak(ModuleOp module) {
  graph::Symbols symbols = graph::Symbols::of(module);
  std::vector<LiveTensor> result;
  uint64_t peak = 0;
  for (auto entry : module.getOps<plan::EntryOp>()) {
    if (entry.getProfiles().empty())
      continue;
    uint64_t before = peak;
    std::vector<LiveTensor> tensors = ::tensorsAtPeak(entry, symbols, peak);
    if (peak > before)
      result = std::move(tensors);
  }
  return result;
}

std::string driver::ramMessage(const RamContract &ram, uint64_t limit, llvm::ArrayRef<LiveTensor> atPeak,
                               llvm::StringRef whatToLower) {
  constexpr size_t kNamed = 3;
  std::string message;
  llvm::raw_string_ostream os(message);
  os << "--max-ram " << limit << ": a session needs " << ram.committed() << " bytes of RAM (" << ram.arena << " arena, "
     << ram.ports << " inputs and outputs, ";
  if (ram.state)
    os << ram.state << " state, ";
  os << ram.scratch << " scratch, " << ram.plan << " plan, " << ram.code << " code, " << ram.constants << " constants";
  if (ram.text)
    os << ", " << ram.text << " text";
  os << "). ";
  uint64_t least = ram.committed() - ram.arena + std::min(ram.arena, ram.lowerBound);
  if (least == ram.committed())
    os << "That is the least for these shapes";
  else
    os << "The least for these shapes would be " << least << ", with a perfect arena";
  if (!atPeak.empty()) {
    os << ". Most of the arena is taken by ";
    llvm::ListSeparator comma;
    for (const LiveTensor &tensor : atPeak.take_front(kNamed)) {
      os << comma << tensor.type;
      if (!tensor.node.empty())
        os << " of " << tensor.node;
      os << " (" << tensor.bytes << " bytes)";
    }
    if (atPeak.size() > kNamed)
      os << " and " << atPeak.size() - kNamed << " more alive at once";
  }
  os << ". ";
  if (whatToLower.empty())
    os << "Raise --max-ram";
  else
    os << "Lower " << whatToLower << ", or raise --max-ram";
  return os.str();
}
