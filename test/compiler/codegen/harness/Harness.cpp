// Text -> kernel functions -> code -> jobs -> results, many kernels at a time.
#include "test/compiler/codegen/harness/Harness.h"

#include "dialects/Graph/GraphDialect.h"
#include "test/compiler/codegen/harness/Execute.h"
#include "test/compiler/codegen/harness/Jobs.h"
#include "test/compiler/codegen/harness/Layout.h"
#include "test/compiler/codegen/harness/Reference.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cstdlib>
#include <thread>

using namespace mlir;
using namespace stint;
using namespace stint::test;

static constexpr size_t kKernelsPerObject = 12;
static constexpr size_t kThreads = 2;

MLIRContext &stint::test::context() {
  static MLIRContext *instance = [] {
    llvm::sys::PrintStackTraceOnErrorSignal("");
    DialectRegistry registry;
    registry.insert<graph::GraphDialect, func::FuncDialect>();
    codegen::registerCpuBackend(registry);
    // A process that forks has no threads.
    bool threads = !getenv("STINT_ISOLATE");
    auto *context =
        new MLIRContext(registry, threads ? MLIRContext::Threading::ENABLED : MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    return context;
  }();
  return *instance;
}

namespace {
/// A kernel, from text to code.
struct Kernel {
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::string error;
  int64_t scratch = 0;
};
} // namespace

static Kernel parse(StringRef text, size_t number) {
  Kernel kernel;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) { kernel.error += diagnostic.str() + "; "; });
  kernel.module = parseSourceString<ModuleOp>(text, ParserConfig(&context()));
  if (!kernel.module) {
    kernel.error = "is no valid module: " + kernel.error;
    return kernel;
  }
  kernel.error.clear();
  auto functions = kernel.module->getOps<func::FuncOp>();
  kernel.function = *functions.begin();
  Builder builder(&context());
  if (!kernel.function->hasAttr(graph::kSymbolsAttr))
    kernel.function->setAttr(graph::kSymbolsAttr, builder.getArrayAttr({}));
  if (!kernel.function->hasAttr("graph.kind"))
    kernel.function->setAttr("graph.kind", graph::KernelKindAttr::get(&context(), graph::KernelKind::loopnest));
  kernel.function.setName("kernel_" + std::to_string(number));
  return kernel;
}

/// Lowers kernels into one module and compiles it; errors go to the kernels.
static std::vector<char> compileTogether(ArrayRef<Kernel *> kernels, const Lower &lower,
                                         const target::Variant &variant) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context()));
  size_t lowered = 0;
  for (Kernel *kernel : kernels) {
    std::string text;
    llvm::raw_string_ostream(text) << kernel->function;
    llvm::PrettyStackTraceString trace(text.c_str());
    llvm::Expected<int64_t> scratch = lower(kernel->function, variant, *module);
    if (scratch) {
      kernel->scratch = *scratch;
      ++lowered;
      continue;
    }
    kernel->error = "not lowered: " + llvm::toString(scratch.takeError());
    if (Operation *half = module->lookupSymbol(kernel->function.getName()))
      half->erase();
  }
  if (lowered == 0)
    return {};
  llvm::Expected<std::vector<char>> object = codegen::compileObject(*module, variant);
  if (object)
    return std::move(*object);
  std::string error = llvm::toString(object.takeError());
  if (kernels.size() == 1)
    kernels.front()->error = "not compiled: " + error;
  return {};
}

/// Objects of all kernels without an error: some kernels each, or single ones
/// where that fails.
static std::vector<std::vector<char>> compileAll(MutableArrayRef<Kernel> kernels, const Lower &lower,
                                                 const target::Variant &variant) {
  SmallVector<Kernel *> good;
  for (Kernel &kernel : kernels)
    if (kernel.error.empty())
      good.push_back(&kernel);
  ArrayRef<Kernel *> all = good;
  std::vector<ArrayRef<Kernel *>> pieces;
  for (size_t i = 0; i < all.size(); i += kKernelsPerObject)
    pieces.push_back(all.slice(i, std::min(kKernelsPerObject, all.size() - i)));
  std::vector<std::vector<std::vector<char>>> objects(pieces.size());
  auto work = [&](size_t piece) {
    std::vector<char> object = compileTogether(pieces[piece], lower, variant);
    if (!object.empty()) {
      objects[piece].push_back(std::move(object));
      return;
    }
    for (Kernel *kernel : pieces[piece])
      if (kernel->error.empty())
        if (std::vector<char> single = compileTogether(kernel, lower, variant); !single.empty())
          objects[piece].push_back(std::move(single));
  };
  std::atomic<size_t> next{0};
  auto loop = [&] {
    for (size_t i; (i = next++) < pieces.size();)
      work(i);
  };
  // The first piece alone: it loads what the others then only look up.
  if (!pieces.empty())
    work(next++);
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < kThreads && pieces.size() > 2; ++i)
    helpers.emplace_back(loop);
  loop();
  for (std::thread &helper : helpers)
    helper.join();
  std::vector<std::vector<char>> flat;
  for (auto &some : objects)
    for (auto &object : some)
      flat.push_back(std::move(object));
  return flat;
}

/// Compiles and links; `entries[i]` is kernel i's.
static codegen::LinkedCode link(MutableArrayRef<Kernel> kernels, const Lower &lower, const target::Variant &variant) {
  std::vector<std::vector<char>> objects = compileAll(kernels, lower, variant);
  std::vector<ArrayRef<char>> references(objects.begin(), objects.end());
  std::vector<std::string> names;
  for (Kernel &kernel : kernels)
    if (kernel.error.empty())
      names.push_back(kernel.function.getName().str());
  codegen::LinkedCode linked;
  if (names.empty())
    return linked;
  llvm::Expected<codegen::LinkedCode> code = codegen::linkVariant(references, names, variant);
  if (!code) {
    std::string error = "not linked: " + llvm::toString(code.takeError());
    for (Kernel &kernel : kernels)
      if (kernel.error.empty())
        kernel.error = error;
    return linked;
  }
  linked.bytes = std::move(code->bytes);
  auto entry = code->entries.begin();
  for (Kernel &kernel : kernels)
    linked.entries.push_back(kernel.error.empty() ? *entry++ : 0);
  return linked;
}

Compiled stint::test::compileKernels(ArrayRef<std::string> texts, const Lower &lower, const target::Variant &variant) {
  std::vector<Kernel> kernels;
  for (const std::string &text : texts)
    kernels.push_back(parse(text, kernels.size()));
  Compiled compiled;
  compiled.code = link(kernels, lower, variant);
  for (Kernel &kernel : kernels) {
    if (compiled.error.empty())
      compiled.error = kernel.error;
    compiled.scratch.push_back(kernel.scratch);
  }
  return compiled;
}

/// Operands that may share memory with results, by the kernel's attributes.
static std::map<unsigned, unsigned> inPlaceOf(func::FuncOp kernel) {
  std::map<unsigned, unsigned> map;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (auto result = kernel.getArgAttrOfType<IntegerAttr>(i, "graph.in_place"))
      map[i] = result.getInt();
  return map;
}

/// Every way in which a kernel is run.
static std::vector<std::pair<const char *, JobOptions>> waysToRun(func::FuncOp kernel) {
  std::vector<std::pair<const char *, JobOptions>> ways = {
      {"as planned", {Split::plan, kAtEnd, 0xFF, {}}},
      {"whole grid", {Split::whole, kOdd, 0x5A, {}}},
      {"finest grid", {Split::finest, kAtStart, 0x00, {}}},
  };
  if (auto inPlace = inPlaceOf(kernel); !inPlace.empty()) {
    ways.push_back({"in place", {Split::plan, kAtStart, 0xFF, inPlace}});
    ways.push_back({"in place, finest grid", {Split::finest, kOdd, 0x5A, inPlace}});
  }
  return ways;
}

static std::string mismatch(func::FuncOp kernel, const Case &test) {
  if (kernel.getNumArguments() != test.operands.size())
    return "wrong number of operands";
  for (auto [type, tensor] : llvm::zip_equal(kernel.getArgumentTypes(), test.operands)) {
    auto tensorType = cast<graph::GraphTensorType>(type);
    if (shapeOf(tensorType, test.symbols) != tensor.shape || elementOf(tensorType.getElementType()) != tensor.element)
      return "an operand is not of the kernel's type";
  }
  return "";
}

namespace {
/// The kernels of some cases, compiled; equal texts share one.
struct Program {
  std::vector<Kernel> kernels;
  std::vector<size_t> kernelOf; // by case
  codegen::LinkedCode code;

  Program(ArrayRef<Case> cases, const Lower &lower, const target::Variant &variant) {
    llvm::StringMap<size_t> numbers;
    for (const Case &test : cases) {
      auto [it, isNew] = numbers.try_emplace(test.text, kernels.size());
      if (isNew)
        kernels.push_back(parse(test.text, kernels.size()));
      kernelOf.push_back(it->second);
    }
    code = link(kernels, lower, variant);
  }
};
} // namespace

std::vector<test::Outcome> stint::test::compileCases(ArrayRef<Case> cases, const Lower &lower,
                                                     const target::Variant &variant) {
  Program program(cases, lower, variant);
  std::vector<test::Outcome> outcomes;
  for (size_t number : program.kernelOf)
    outcomes.push_back({program.kernels[number].error, {}});
  return outcomes;
}

std::vector<test::Outcome> stint::test::runCases(ArrayRef<Case> cases, const Lower &lower,
                                                 const target::Variant &variant) {
  Program program(cases, lower, variant);
  auto &[kernels, kernelOf, code] = program;
  std::vector<test::Outcome> outcomes(cases.size());
  std::vector<std::vector<char>> jobs;
  for (size_t i = 0; i < cases.size(); ++i) {
    Kernel &kernel = kernels[kernelOf[i]];
    std::string &error = outcomes[i].error;
    error = kernel.error.empty() ? mismatch(kernel.function, cases[i]) : kernel.error;
    if (error.empty())
      for (auto &[name, options] : waysToRun(kernel.function))
        jobs.push_back(makeJob(kernel.function, cases[i].symbols, cases[i].operands, code.entries[kernelOf[i]],
                               kernel.scratch, options));
  }
  std::string broke;
  std::vector<std::vector<char>> finished = runJobs(code, jobs, variant, broke);

  size_t next = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (!outcomes[i].error.empty())
      continue;
    func::FuncOp function = kernels[kernelOf[i]].function;
    for (auto &[name, options] : waysToRun(function)) {
      JobResult run = readOutcome(function, cases[i].symbols, finished[next++]);
      if (run.error.empty() && cases[i].clear)
        cases[i].clear(run.tensors);
      std::string &error = outcomes[i].error;
      if (!error.empty())
        continue;
      if (!run.error.empty())
        error = std::string(name) + ": " + run.error + (broke.empty() ? "" : " (" + broke + ")");
      else if (outcomes[i].results.empty())
        outcomes[i].results = std::move(run.tensors);
      else
        for (auto [first, other] : llvm::zip_equal(outcomes[i].results, run.tensors))
          if (error.empty() && first.bytes != other.bytes) {
            std::string difference = compare(other, first, {0, 0, true});
            error = "other bits when run '" + std::string(name) +
                    "': " + (difference.empty() ? "NaNs with other bits" : difference);
          }
    }
  }
  return outcomes;
}

test::Outcome stint::test::runKernel(std::string text, std::vector<int64_t> symbols, std::vector<Tensor> operands,
                                     const Lower &lower, StringRef variant) {
  Case test = {"kernel", std::move(text), std::move(symbols), std::move(operands), {}, {}};
  return runCases(test, lower, llvm::cantFail(target::lookup(variant)))[0];
}

test::Outcome stint::test::referenceOf(const Case &test) {
  Kernel kernel = parse(test.text, 0);
  test::Outcome outcome;
  outcome.error = kernel.error.empty() ? mismatch(kernel.function, test) : kernel.error;
  if (outcome.error.empty())
    outcome.results = reference(kernel.function, test.symbols, test.operands);
  if (outcome.error.empty() && test.clear)
    test.clear(outcome.results);
  return outcome;
}
