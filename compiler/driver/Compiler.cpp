// Compiler: see the header of that name.
#include "compiler/driver/Compiler.h"

#include "compiler/driver/CodeStage.h"
#include "compiler/driver/Emit.h"
#include "compiler/driver/FoldStage.h"
#include "compiler/driver/MemoryContract.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Profiles.h"
#include "compiler/driver/StaticLibrary.h"
#include "compiler/driver/TextStage.h"
#include "compiler/serialise/FileWriter.h"
#include "dialects/Graph/Decoder.h"
#include "dialects/Graph/GraphDialect.h"
#include "dialects/Graph/Locations.h"
#include "dialects/Graph/Shapes.h"
#include "dialects/Plan/PlanDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"

#include <mutex>

using namespace mlir;
using namespace stint;
using namespace stint::driver;
using import::Problem;

/// Constants are made in memory before they are written.
static constexpr double kMaxConstantBytes = double(1ull << 31);

namespace {

/// One compilation, from the file to the file.
class Compilation {
public:
  Compilation(const Options &options, import::Diagnostics &diagnostics, llvm::raw_ostream &text)
      : options(options), diagnostics(diagnostics), text(text), pool(llvm::hardware_concurrency(2)),
        context(MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) { return receive(diagnostic); }) {
    result.time.stage("start");
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
  bool readTexts();
  bool checkVocabulary();
  /// Adds passes to a pipeline.
  using Add = llvm::function_ref<void(OpPassManager &)>;
  bool passes(llvm::StringRef stage, Add add);
  bool runPasses(ModuleOp module, llvm::StringRef stage, Add add);
  bool fold();
  void leaveOutVariants();
  void planContract();
  void noteLostProfiles();
  bool checkConstants();
  void codeContract(ArrayRef<serialise::VariantCode> code);
  bool searchMemory();
  bool writeFile(std::vector<serialise::VariantCode> code);
  bool emitText();

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
  WeightFiles files;
  TextSections texts;
  Result result;
};

LogicalResult Compilation::receive(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return success(); // remarks and warnings of passes are for stint-opt
  llvm::SetVector<StringRef> nodes;
  graph::collectNodes(diagnostic.getLocation(), nodes);
  std::string what = diagnostic.str(), message;
  llvm::raw_string_ostream os(message);
  // What a pass says about bounds is for whoever gave them; anything else
  // should not have come this far.
  bool forUser = StringRef(what).contains("--dim");
  os << (forUser ? "" : "internal error: ") << what;
  if (!nodes.empty()) {
    os << (nodes.size() > 1 ? ", at nodes " : ", at node ");
    llvm::interleaveComma(ArrayRef(nodes.getArrayRef()).take_front(4), os);
    if (nodes.size() > 4)
      os << ", …";
  }
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

  if (!readModel() || !readTexts() || !passes("simplify", addGraphPasses) ||
      (options.int8Activations && !passes("activations", addActivationPasses)) || !fold())
    return false;
  if (options.emit == Emit::Graph)
    return emitText();
  leaveOutVariants();
  if (!passes("layouts", addLayoutPasses) || !passes("fusion", addFusionPasses) ||
      !passes("schedule", addSchedulePasses))
    return false;
  if (options.emit == Emit::Schedule)
    return emitText();
  MemorySearch search;
  search.seed = options.seed;
  if (!passes("plan", addPlanPasses))
    return false;
  if (llvm::Error error = addProfiles(*model.module, options.profiles)) {
    diagnostics.report(Problem::Usage, llvm::toString(std::move(error)));
    return false;
  }
  if (!passes("memory", [&](OpPassManager &passes) { addMemoryPasses(passes, search); }))
    return false;
  noteLostProfiles();
  planContract();
  if (!checkConstants() || !checkVocabulary())
    return false;
  if (options.onPlan)
    options.onPlan(*model.module);
  switch (options.emit) {
  case Emit::Nothing:
    return true;
  case Emit::Plan:
  case Emit::Kernel:
  case Emit::Llvm:
  case Emit::Assembly:
    return emitText();
  case Emit::Object:
    result.time.stage("kernels");
    return fail(writeObjects(*model.module, variants, options.output));
  case Emit::StaticLibrary:
    result.time.stage("kernels");
    return fail(writeStaticLibraries(*model.module, variants, options.output));
  default:
    break;
  }
  result.time.stage("kernels");
  auto code = generateCode(*model.module, variants, &result.time);
  if (!code)
    return fail(code.takeError());
  codeContract(*code);
  return writeFile(std::move(*code));
}

/// Variants for the sake of a leaf that the model doesn't have.
void Compilation::leaveOutVariants() {
  llvm::StringSet<> leaves;
  model.module->walk([&](graph::LeafOp leaf) { leaves.insert(leaf.getName()); });
  llvm::erase_if(variants, [&](const target::Variant &variant) {
    return !variant.onlyFor.empty() && !leaves.contains(variant.onlyFor);
  });
}

/// A tokenizer may not name tokens that the model gives no logits for.
bool Compilation::checkVocabulary() {
  auto decoder = (*model.module)->getAttrOfType<DictionaryAttr>(graph::kDecoderAttr);
  if (!decoder || texts.tokenizer.empty())
    return true;
  auto name = decoder.getAs<StringAttr>("logits");
  model.module->walk([&](plan::OutputOp output) {
    auto type = cast<graph::GraphTensorType>(output.getType());
    if (!name || output.getName() != name.getValue() || type.getRank() == 0)
      return;
    std::optional<int64_t> vocabulary = type.getStaticDim(type.getRank() - 1);
    if (!vocabulary || *vocabulary >= texts.tokenCount)
      return;
    diagnostics.report(Problem::Usage, "the tokenizer '" + texts.file + "' has " + std::to_string(texts.tokenCount) +
                                           " tokens, the model a vocabulary of " + std::to_string(*vocabulary) +
                                           ": it belongs to another model");
  });
  return diagnostics.ok();
}

/// The tokenizer and the chat template.
bool Compilation::readTexts() {
  // Text is what a decoder is for: its tokenizer is looked for.
  std::optional<TextSections> read =
      readText(options, /*lookBeside=*/(*model.module)->hasAttr(graph::kDecoderAttr), diagnostics);
  if (!read)
    return false;
  texts = std::move(*read);
  for (const std::string &warning : texts.warnings)
    result.warnings.push_back(warning);
  if (!texts.tokenizer.empty())
    result.note("tokenizer: '" + texts.file + "', " + std::to_string(texts.tokenCount) + " tokens" +
                (texts.chat.empty() ? "" : ", with a chat template"));
  return true;
}

bool Compilation::readModel() {
  result.time.stage("import");
  import::ImportOptions importOptions;
  importOptions.dims = options.dims;
  importOptions.otherDims = options.otherDims;
  importOptions.bounds = options.bounds;
  importOptions.states = options.states;
  importOptions.constants = options.constants;
  importOptions.decoder = options.decoder;
  model = import::importFile(options.input, importOptions, context, diagnostics);
  if (!model.decoderBlocker.empty())
    result.warnings.push_back("keys and values stay plain tensors: " + model.decoderBlocker);
  if (!model.module || !diagnostics.ok())
    return false;
  if (model.decoder)
    result.decoderTokens = model.decoder->tokens;
  if (failed(model.module->verify()))
    return false;
  return fail(files.open(*model.module, model.inlineData->bytes()));
}

bool Compilation::passes(llvm::StringRef stage, Add add) {
  result.time.stage(stage);
  return runPasses(*model.module, stage, add);
}

bool Compilation::runPasses(ModuleOp module, llvm::StringRef stage, Add add) {
  PassManager manager(&context);
  add(manager);
  if (succeeded(manager.run(module)))
    return true;
  if (diagnostics.ok())
    diagnostics.report(Problem::Failed, "internal error: the stage '" + stage + "' failed");
  return false;
}

/// Computes what depends on weights and constants alone.
bool Compilation::fold() {
  if (target::hostFamily().empty())
    return true; // a machine that can't run kernels leaves it to the device
  if (!passes("constants", addConstantPasses))
    return false;
  auto plan = [&](ModuleOp inner) {
    return runPasses(inner, "constants", [](OpPassManager &passes) {
      addLayoutPasses(passes);
      addFusionPasses(passes);
      addSchedulePasses(passes);
      addPlanPasses(passes);
      addMemoryPasses(passes, {});
    });
  };
  llvm::Expected<Folded> folded = foldConstants(*model.module, files, plan);
  if (folded) {
    if (folded->values)
      result.note(llvm::formatv("constants: {0} values, {1}, computed from {2} operators", folded->values,
                                readableBytes(folded->bytes), folded->operations));
    return true;
  }
  std::string message = llvm::toString(folded.takeError());
  if (!message.empty())
    diagnostics.report(Problem::Failed, message);
  return false;
}

void Compilation::codeContract(ArrayRef<serialise::VariantCode> code) {
  for (const serialise::VariantCode &variant : code) {
    result.ram.scratch = std::max(result.ram.scratch, variant.scratch);
    result.ram.code = std::max<uint64_t>(result.ram.code, variant.bytes.size());
    result.variants.push_back({variant.variant.name, variant.bytes.size()});
  }
}

void Compilation::planContract() {
  measurePlan(*model.module, result.ram);
  result.kernels = serialise::kernelsOf(*model.module).size();
  result.dispatches = 0;
  for (auto entry : model.module->getOps<plan::EntryOp>())
    result.dispatches += llvm::range_size(entry.getOps<plan::DispatchOp>());
}

/// The user asked for these memory layouts, and should know which are not there.
void Compilation::noteLostProfiles() {
  graph::Symbols symbols = graph::Symbols::of(*model.module);
  auto wanted = (*model.module)->getAttrOfType<ArrayAttr>(plan::kProfilesAttr);
  if (options.profiles.empty() || !wanted)
    return;
  for (auto maxima : wanted.getAsRange<DenseI64ArrayAttr>())
    for (auto entry : model.module->getOps<plan::EntryOp>()) {
      if (llvm::any_of(entry.getProfiles().getAsRange<plan::ProfileAttr>(),
                       [&](plan::ProfileAttr kept) { return kept.getMaxima() == maxima.asArrayRef(); }))
        continue;
      std::string text = "no memory layout of its own for";
      for (auto [i, most] : llvm::enumerate(maxima.asArrayRef()))
        text += (i ? ", " : " ") + symbols[i].getName().str() + "=" + std::to_string(most * symbols[i].getStep());
      result.warnings.push_back(text + ": it would save less than a tenth beside another that covers it");
    }
}

/// A constant is written as it is; one beyond any machine comes from a size in
/// the model that was never meant.
bool Compilation::checkConstants() {
  model.module->walk([&](plan::ConstantOp constant) {
    double bytes = graph::elementBytes(cast<graph::GraphTensorType>(constant.getType()).getElementType());
    for (int64_t dim : cast<ShapedType>(cast<TypedAttr>(constant.getValue()).getType()).getShape())
      bytes *= static_cast<double>(dim);
    if (bytes <= kMaxConstantBytes)
      return;
    llvm::SetVector<StringRef> nodes;
    graph::collectNodes(constant.getLoc(), nodes);
    diagnostics.report(Problem::Unsupported,
                       "the constant" + (nodes.empty() ? "" : " of node " + nodes.back().str()) + " takes " +
                           readableBytes(static_cast<uint64_t>(bytes)) +
                           ", more than a plan may hold: a smaller shape, or one that is given when the model runs");
  });
  return diagnostics.ok();
}

/// Another search for a smaller arena. Kernels need not be made again: what
/// they may do in place was decided before places were.
bool Compilation::searchMemory() {
  result.note("memory searched once more to fit --max-ram");
  MemorySearch search;
  search.seed = options.seed;
  search.effort <<= 5;
  if (!passes("memory", [&](OpPassManager &passes) { addMemoryPasses(passes, search); }))
    return false;
  planContract();
  return true;
}

bool Compilation::writeFile(std::vector<serialise::VariantCode> code) {
  serialise::PlanInput input;
  input.module = *model.module;
  input.model = llvm::sys::path::stem(options.input).str();
  input.files = files.contents();
  input.variants = std::move(code);
  input.tokenizer = texts.tokenizer;
  input.chat = texts.chat;
  if (model.decoder) {
    llvm::Expected<weights::Hash> hash = files.hashOf(options.input);
    if (!hash)
      return fail(hash.takeError());
    input.modelHash = *hash;
  }
  bool fits = true;
  // A file that the runtime does not accept, or that takes too much memory,
  // never gets its name.
  auto accept = [&](const serialise::PlanSizes &, llvm::StringRef file) {
    result.time.stage("check");
    if (llvm::Error error = measureFile(file, result.ram)) {
      diagnostics.report(Problem::Failed,
                         "internal error: the runtime refuses the plan: " + toString(std::move(error)));
      return false;
    }
    fits = !options.maxRam || result.ram.committed() <= *options.maxRam;
    return fits;
  };
  for (bool again : {false, true}) {
    result.time.stage("weights and file");
    auto sizes = serialise::writePlan(input, options.output, accept);
    if (!sizes)
      return fail(sizes.takeError());
    result.fileBytes = sizes->file;
    result.sharedWeights = sizes->sharedWeights;
    if (fits)
      return diagnostics.ok();
    uint64_t needed = result.ram.committed(), perfect = needed - result.ram.arena + result.ram.lowerBound;
    if (again || perfect > *options.maxRam)
      break;
    if (!searchMemory())
      return false;
  }
  result.overRam = diagnostics.ok();
  const char *lower = model.decoder ? "--context, --max-sequences or --kv-memory, or try --kv-type f16"
                      : graph::Symbols::of(*model.module).size() ? "the upper bounds given with --dim"
                                                                 : "";
  diagnostics.report(Problem::Failed, ramMessage(result.ram, *options.maxRam, tensorsAtPeak(*model.module), lower));
  return false;
}

bool Compilation::emitText() {
  result.time.stage("emit");
  auto all = textOf(*model.module, variants, options.emit);
  if (!all)
    return fail(all.takeError());
  if (!options.output.empty())
    return fail(serialise::writeFile(options.output, llvm::arrayRefFromStringRef(*all)));
  text << *all;
  text.flush();
  return true;
}

} // namespace

Result driver::compile(const Options &options, import::Diagnostics &diagnostics, llvm::raw_ostream &text) {
  size_t before = diagnostics.all().size();
  Result result = Compilation(options, diagnostics, text).run();
  // A decoder's step may take fewer tokens at once: its activations shrink.
  Options smaller = options;
  for (int64_t chunk = result.decoderTokens / 2; result.overRam && chunk && !options.decoder.chunk; chunk /= 2) {
    smaller.decoder.chunk = chunk;
    import::Diagnostics problems;
    Result attempt = Compilation(smaller, problems, text).run();
    if (!attempt.ok && attempt.decoderTokens == result.decoderTokens)
      break; // as many sequences as that
    if (attempt.ok)
      attempt.note("steps of " + std::to_string(chunk) + " tokens to fit --max-ram");
    if (!attempt.ok && !attempt.overRam)
      break;
    result = std::move(attempt);
    if (!result.ok)
      continue;
    diagnostics.forgetSince(before);
  }
  return result;
}
