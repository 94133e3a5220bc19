// FoldStage: see the header of that name.
//
// @constants becomes the @main of a module of its own, which goes through the
// whole compiler into a plan file, and is run from there through libstint,
// each output right into the file that the folded weights lie in.
#include "compiler/driver/FoldStage.h"

#include "compiler/driver/CodeStage.h"
#include "dialects/Graph/Locations.h"
#include "stint/stint.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Signals.h"

using namespace mlir;
using namespace stint;
using namespace stint::driver;

static constexpr uint64_t kAlignment = 64;
/// Values of up to this many elements become graph.constant, which passes look
/// into, instead of graph.weight.
static constexpr int64_t kSmallElements = 64;

static llvm::Error problem(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// A module whose @main is `function`.
static OwningOpRef<ModuleOp> moduleOf(func::FuncOp function, ModuleOp parent) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(parent.getLoc());
  (*module)->setAttr(graph::kFilesAttr, parent->getAttr(graph::kFilesAttr));
  (*module)->setAttr(graph::kSymbolsAttr, ArrayAttr::get(parent.getContext(), {}));
  module->push_back(function.clone());
  cast<func::FuncOp>(module->getBody()->front()).setName("main");
  return module;
}

namespace {
/// The open plan of the constants.
class Run {
public:
  ~Run() {
    stint_session_destroy(session);
    stint_executor_release(executor);
    stint_model_release(model);
  }

  llvm::Error open(StringRef path, StringRef variant) {
    stint_model_options options = {};
    options.size = sizeof(options);
    std::string name = variant.str();
    options.variant = name.c_str();
    if (llvm::Error error = check(stint_model_open_file(path.str().c_str(), &options, &model)))
      return error;
    stint_executor_options executorOptions = {};
    executorOptions.size = sizeof(executorOptions);
    if (llvm::Error error = check(stint_executor_create(&executorOptions, &executor)))
      return error;
    stint_session_options sessionOptions = {};
    sessionOptions.size = sizeof(sessionOptions);
    sessionOptions.executor = executor;
    sessionOptions.flags = STINT_SESSION_BIND_ALL;
    if (llvm::Error error = check(stint_session_create(model, &sessionOptions, &session)))
      return error;
    return check(stint_session_prepare(session));
  }

  llvm::Expected<uint64_t> size(uint32_t output) {
    stint_tensor tensor = {};
    tensor.size = sizeof(tensor);
    if (llvm::Error error = check(stint_session_output(session, output, &tensor)))
      return std::move(error);
    return tensor.bytes;
  }

  llvm::Error bind(uint32_t output, llvm::MutableArrayRef<uint8_t> bytes) {
    return check(stint_session_bind_output(session, output, bytes.data(), bytes.size()));
  }

  llvm::Error run() { return check(stint_session_run(session, nullptr)); }

private:
  llvm::Error check(stint_status status) const {
    if (status.code == STINT_OK)
      return llvm::Error::success();
    char text[512];
    stint_status_format(&status, model, text, sizeof(text));
    return problem(llvm::Twine("computing the model's constants: ") + text);
  }

  stint_model *model = nullptr;
  stint_executor *executor = nullptr;
  stint_session *session = nullptr;
};
} // namespace

/// Compiles `module` for this machine and opens it.
static llvm::Error openCompiled(ModuleOp module, const WeightFiles &files, Run &run) {
  std::vector<target::Variant> variants = target::variantsOf("host");
  assert(!variants.empty() && "constants are hoisted only where they can be run");
  variants.resize(1);
  auto code = generateCode(module, variants);
  if (!code)
    return code.takeError();
  serialise::PlanInput input;
  input.module = module;
  input.model = "constants";
  input.files = files.contents();
  input.variants = std::move(*code);
  SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("stint-constants", "stint", path))
    return problem("cannot make a temporary file '" + path + "': " + error.message() + "; TMPDIR says where");
  llvm::sys::RemoveFileOnSignal(path);
  auto remove = llvm::make_scope_exit([&] {
    llvm::sys::fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
  });
  auto sizes = serialise::writePlan(input, path, [](const serialise::PlanSizes &, StringRef) { return true; });
  if (!sizes)
    return sizes.takeError();
  return run.open(path, variants[0].name);
}

/// Bytes as they lie in memory, as an attribute.
static DenseElementsAttr denseOf(graph::GraphTensorType type, ArrayRef<uint8_t> bytes) {
  auto shaped = RankedTensorType::get(type.getStaticShape(), type.getElementType());
  if (graph::isBool(type.getElementType())) {
    auto flags = llvm::map_to_vector(bytes, [](uint8_t byte) { return byte != 0; });
    return DenseElementsAttr::get(shaped, ArrayRef<bool>(flags));
  }
  return DenseElementsAttr::getFromRawBuffer(
      shaped, ArrayRef<char>(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
}

static bool isSplat(ArrayRef<uint8_t> bytes, size_t width) { return bytes.drop_back(width) == bytes.drop_front(width); }

/// A name for people: that of the ONNX node it comes from.
static std::string nameOf(Location loc, size_t number) {
  llvm::SetVector<StringRef> nodes;
  graph::collectNodes(loc, nodes);
  return nodes.empty() ? "folded " + std::to_string(number) : nodes.back().str();
}

llvm::Expected<Folded> driver::foldConstants(ModuleOp module, WeightFiles &files,
                                             llvm::function_ref<bool(ModuleOp)> plan) {
  Folded folded;
  auto constants = module.lookupSymbol<func::FuncOp>("constants");
  if (!constants)
    return folded;
  for (Operation &op : constants.getBody().front().without_terminator())
    folded.operations += !isa<graph::WeightOp, graph::ConstantOp>(op);
  OwningOpRef<ModuleOp> inner = moduleOf(constants, module);
  if (!plan(*inner))
    return problem("");
  Run run;
  if (llvm::Error error = openCompiled(*inner, files, run))
    return std::move(error);

  size_t count = folded.values = constants.getNumResults();
  SmallVector<std::pair<uint64_t, uint64_t>> places; // offset, size
  uint64_t end = 0;
  for (size_t i = 0; i < count; ++i) {
    llvm::Expected<uint64_t> size = run.size(i);
    if (!size)
      return size.takeError();
    places.push_back({end, *size});
    folded.bytes += *size;
    end = llvm::alignTo(end + *size, kAlignment);
  }
  int64_t file = files.contents().size();
  auto bytes = files.add(module, end);
  if (!bytes)
    return bytes.takeError();
  for (auto [i, place] : llvm::enumerate(places))
    if (llvm::Error error = run.bind(i, bytes->slice(place.first, place.second)))
      return std::move(error);
  if (llvm::Error error = run.run())
    return std::move(error);

  // Arguments that stand for constants become weights.
  auto putStored = [&](func::FuncOp function) {
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    for (unsigned i = function.getNumArguments(); i-- > 0;) {
      auto number = function.getArgAttrOfType<IntegerAttr>(i, graph::kConstantAttr);
      if (!number)
        continue;
      BlockArgument argument = function.getArgument(i);
      auto type = cast<graph::GraphTensorType>(argument.getType());
      auto [offset, size] = places[number.getInt()];
      ArrayRef<uint8_t> value = bytes->slice(offset, size);
      uint64_t width = graph::elementBytes(type.getElementType());
      Value stored;
      if (isSplat(value, width) && type.getRank() > 0) {
        auto shaped = RankedTensorType::get(type.getStaticShape(), type.getElementType());
        auto one = denseOf(graph::GraphTensorType::get({}, type.getElementType()), value.take_front(width));
        stored = builder.create<graph::ConstantOp>(argument.getLoc(),
                                                   DenseElementsAttr::get(shaped, *one.getValues<Attribute>().begin()));
      } else if (size <= kSmallElements * width) {
        stored = builder.create<graph::ConstantOp>(argument.getLoc(), denseOf(type, value));
      } else {
        auto extent = graph::ExtentAttr::get(module.getContext(), file, offset, size, type.getElementType(),
                                             type.getStaticShape());
        stored = builder.create<graph::WeightOp>(argument.getLoc(), type, nameOf(argument.getLoc(), number.getInt()),
                                                 extent, builder.getArrayAttr({}));
      }
      argument.replaceAllUsesWith(stored);
      function.eraseArgument(i);
    }
  };
  constants.erase();
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      putStored(function);
  return folded;
}
