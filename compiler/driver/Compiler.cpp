// Compiler: see the header of that name.
#include "compiler/driver/Compiler.h"

#include "compiler/driver/CodeStage.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/StaticLibrary.h"
#include "compiler/serialise/FileWriter.h"
#include "dialects/Graph/Locations.h"
#include "dialects/Graph/Shapes.h"
#include "dialects/Plan/PlanDialect.h"
#include "stint/stint.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"

#include <mutex>

using namespace mlir;
using namespace stint;
using namespace stint::driver;
using import::Problem;

namespace {

/// One compilation, from the file to the file.
class Compilation {
public:
  Compilation(const Options &options, import::Diagnostics &diagnostics, llvm::raw_ostream &text)
      : options(options), diagnostics(diagnostics), text(text), pool(llvm::hardware_concurrency(2)),
        context(MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) { return receive(diagnostic); }) {
    context.setThreadPool(pool);
    DialectRegistry registry;
    registry.insert<graph::GraphDialect, plan::PlanDialect>();
    codegen::registerCpuBackend(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  Result run() {
    result.ok = work() && diagnostics.ok();
    result.time.stop();
    return std::move(result);
  }

private:
  bool work();
  bool readModel();
  bool passes(llvm::StringRef stage, void (*add)(OpPassManager &));
  bool mapFiles();
  void planContract();
  void codeContract(ArrayRef<serialise::VariantCode> code);
  bool runtimeContract(llvm::StringRef file);
  bool withinRam();
  bool writeFile(std::vector<serialise::VariantCode> code);
  bool emitText();
  bool emitObjects();
  bool write(llvm::StringRef path, llvm::StringRef bytes);

  /// What MLIR says becomes what a user can read.
  LogicalResult receive(Diagnostic &diagnostic);
  bool fail(llvm::Error error) {
    if (!error)
      return true;
    diagnostics.report(Problem::Failed, llvm::toString(std::move(error)));
    return false;
  }

  const Options &options;
  import::Diagnostics &diagnostics;
  llvm::raw_ostream &text;
  llvm::DefaultThreadPool pool;
  MLIRContext context;
  std::mutex mutex;
  ScopedDiagnosticHandler handler;
  import::ImportedModel model;
  std::vector<target::Variant> variants;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers; // files of weights
  std::vector<ArrayRef<uint8_t>> files;
  Result result;
};

LogicalResult Compilation::receive(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return success(); // remarks and warnings of passes are for stint-opt
  llvm::SetVector<StringRef> nodes;
  graph::collectNodes(diagnostic.getLocation(), nodes);
  std::string message;
  llvm::raw_string_ostream os(message);
  os << "internal error";
  if (!nodes.empty()) {
    os << (nodes.size() > 1 ? " at nodes " : " at node ");
    llvm::interleaveComma(ArrayRef(nodes.getArrayRef()).take_front(4), os);
    if (nodes.size() > 4)
      os << ", …";
  }
  os << ": " << diagnostic.str();
  std::lock_guard<std::mutex> lock(mutex);
  diagnostics.report(Problem::Failed, os.str());
  return success();
}

bool Compilation::work() {
  llvm::Expected<std::vector<target::Variant>> resolved =
      target::resolve(options.targets, options.cpu, options.features);
  if (!resolved) {
    diagnostics.report(Problem::Usage, llvm::toString(resolved.takeError()));
    return false;
  }
  variants = std::move(*resolved);

  if (!readModel() || !passes("simplify", addGraphPasses))
    return false;
  if (options.emit == Emit::Graph)
    return emitText();
  if (!passes("layouts", addLayoutPasses) || !passes("fusion", addFusionPasses) ||
      !passes("schedule", addSchedulePasses))
    return false;
  if (options.emit == Emit::Schedule)
    return emitText();
  if (!passes("plan and memory", addPlanPasses))
    return false;
  planContract();
  switch (options.emit) {
  case Emit::Plan:
  case Emit::Kernel:
  case Emit::Llvm:
  case Emit::Assembly:
    return emitText();
  case Emit::Object:
  case Emit::StaticLibrary:
    return emitObjects();
  default:
    break;
  }
  result.time.stage("kernels");
  auto code = generateCode(*model.module, variants);
  if (!code)
    return fail(code.takeError());
  codeContract(*code);
  return mapFiles() && writeFile(std::move(*code));
}

bool Compilation::readModel() {
  result.time.stage("import");
  import::ImportOptions importOptions;
  importOptions.dims = options.dims;
  model = import::importFile(options.input, importOptions, context, diagnostics);
  if (!model.module || !diagnostics.ok())
    return false;
  return succeeded(model.module->verify());
}

bool Compilation::passes(llvm::StringRef stage, void (*add)(OpPassManager &)) {
  result.time.stage(stage);
  PassManager manager(&context);
  add(manager);
  if (succeeded(manager.run(*model.module)))
    return true;
  if (diagnostics.ok())
    diagnostics.report(Problem::Failed, "internal error: the stage '" + stage + "' failed");
  return false;
}

/// The files that weights lie in, mapped.
bool Compilation::mapFiles() {
  for (auto path : (*model.module)->getAttrOfType<ArrayAttr>(graph::kFilesAttr).getAsRange<StringAttr>()) {
    if (path == import::InlineData::kPath) {
      files.push_back(model.inlineData->bytes());
      continue;
    }
    auto buffer = llvm::MemoryBuffer::getFile(path.getValue(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer) {
      diagnostics.report(Problem::Failed, "cannot read '" + path.str() + "': " + buffer.getError().message());
      return false;
    }
    StringRef bytes = (*buffer)->getBuffer();
    files.push_back(llvm::arrayRefFromStringRef(bytes));
    buffers.push_back(std::move(*buffer));
  }
  return true;
}

/// What the plan says about memory.
void Compilation::planContract() {
  graph::Symbols symbols = graph::Symbols::of(*model.module);
  result.kernels = serialise::kernelsOf(*model.module).size();
  result.ram.stack = 256 << 10; // runtime/platform starts threads with that
  for (auto entry : model.module->getOps<plan::EntryOp>()) {
    for (auto profile : entry.getProfiles().getAsRange<plan::ProfileAttr>()) {
      result.ram.arena = std::max<uint64_t>(result.ram.arena, profile.getArenaSize());
      result.ram.lowerBound = std::max<uint64_t>(result.ram.lowerBound, profile.getLowerBound());
    }
    entry.walk([&](Operation *op) {
      auto size = [&](Type type) {
        return static_cast<uint64_t>(symbols.upper(plan::byteSize(cast<graph::GraphTensorType>(type))));
      };
      if (auto input = dyn_cast<plan::InputOp>(op))
        result.ram.ports += size(input.getType());
      else if (auto output = dyn_cast<plan::OutputOp>(op))
        result.ram.ports += size(output.getType());
      result.dispatches += isa<plan::DispatchOp>(op);
    });
  }
}

void Compilation::codeContract(ArrayRef<serialise::VariantCode> code) {
  for (const serialise::VariantCode &variant : code) {
    result.ram.scratch = std::max(result.ram.scratch, variant.scratch);
    result.ram.code = std::max<uint64_t>(result.ram.code, variant.bytes.size());
    result.variants.push_back({variant.variant.name, variant.bytes.size()});
  }
}

/// Opens the finished file as a device would, code aside: what the runtime does
/// not accept never gets its name, and the runtime says what it will take.
bool Compilation::runtimeContract(llvm::StringRef file) {
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
  if (status.code != STINT_OK) {
    char message[512];
    stint_status_format(&status, opened, message, sizeof(message));
    diagnostics.report(Problem::Failed, llvm::Twine("internal error: the runtime refuses the plan: ") + message);
  }
  stint_model_release(opened);
  result.ram.plan = memory.plan;
  result.ram.constants = memory.constants;
  result.ram.weights = memory.weights;
  return status.code == STINT_OK;
}

bool Compilation::withinRam() {
  uint64_t needed = result.ram.committed();
  if (!options.maxRam || needed <= *options.maxRam)
    return true;
  std::string message;
  llvm::raw_string_ostream os(message);
  os << "--max-ram " << *options.maxRam << ": a session needs " << needed << " bytes of RAM (" << result.ram.arena
     << " arena, " << result.ram.ports << " inputs and outputs, " << result.ram.scratch << " scratch, "
     << result.ram.plan << " plan, " << result.ram.code << " code, " << result.ram.constants
     << " constants); no arena could be smaller than " << result.ram.lowerBound
     << ". Lower the upper bounds given with --dim, or raise --max-ram";
  diagnostics.report(Problem::Failed, os.str());
  return false;
}

bool Compilation::writeFile(std::vector<serialise::VariantCode> code) {
  result.time.stage("weights and file");
  serialise::PlanInput input;
  input.module = *model.module;
  input.model = llvm::sys::path::stem(options.input).str();
  input.files = files;
  input.variants = std::move(code);
  auto sizes = serialise::writePlan(input, options.output, [&](const serialise::PlanSizes &, llvm::StringRef file) {
    return runtimeContract(file) && withinRam();
  });
  if (!sizes)
    return fail(sizes.takeError());
  result.fileBytes = sizes->file;
  result.sharedWeights = sizes->sharedWeights;
  return diagnostics.ok();
}

bool Compilation::write(llvm::StringRef path, llvm::StringRef bytes) {
  if (path.empty()) {
    text << bytes;
    text.flush();
    return true;
  }
  return fail(serialise::writeFile(path, llvm::arrayRefFromStringRef(bytes)));
}

bool Compilation::emitText() {
  result.time.stage("emit");
  std::string all;
  llvm::raw_string_ostream os(all);
  if (options.emit == Emit::Graph || options.emit == Emit::Schedule || options.emit == Emit::Plan) {
    model.module->print(os);
    os << "\n";
    return write(options.output, os.str());
  }
  StringRef comment = options.emit == Emit::Kernel ? "//" : options.emit == Emit::Llvm ? ";" : "#";
  for (const target::Variant &variant : variants) {
    auto variantText = kernelText(*model.module, variant, options.emit);
    if (!variantText)
      return fail(variantText.takeError());
    os << comment << " variant " << variant.name << " of " << variant.family << "\n" << *variantText;
  }
  return write(options.output, os.str());
}

/// `--emit object`: OUT for one variant, OUT with the variant's name before
/// its ending for each of several. `--emit static-library`: the first variant.
bool Compilation::emitObjects() {
  result.time.stage("kernels");
  if (options.emit == Emit::StaticLibrary && variants.size() > 1) {
    std::string names;
    for (const target::Variant &variant : variants)
      names += (names.empty() ? "" : ", ") + variant.name;
    diagnostics.report(Problem::Usage,
                       "--emit static-library makes the code of one variant: choose it with --cpu (" + names + ")");
    return false;
  }
  for (const target::Variant &variant : variants) {
    uint64_t scratch = 0;
    auto object = kernelObject(*model.module, variant, scratch);
    if (!object)
      return fail(object.takeError());
    if (options.emit == Emit::StaticLibrary)
      return fail(writeStaticLibrary(*model.module, *object, scratch, options.output));
    SmallString<256> path(options.output);
    if (variants.size() > 1)
      llvm::sys::path::replace_extension(path, Twine(variant.name) + llvm::sys::path::extension(options.output));
    if (!write(path, StringRef(object->data(), object->size())))
      return false;
  }
  return true;
}

} // namespace

Result driver::compile(const Options &options, import::Diagnostics &diagnostics, llvm::raw_ostream &text) {
  return Compilation(options, diagnostics, text).run();
}
