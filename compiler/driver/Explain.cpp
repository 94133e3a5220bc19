// Explain: see the header of that name.
//
// The model is imported for what can't be compiled. If everything can, it goes
// through the compiler up to the plan, which says how each node runs.
#include "compiler/driver/Explain.h"

#include "compiler/driver/Compiler.h"
#include "dialects/Graph/Shapes.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace stint;
using namespace stint::driver;

// Bounds that dynamic dimensions without --dim are given: wide enough that
// nothing is taken for fixed.
static constexpr import::DimBounds kAnyDim = {1, 4096};

namespace {
/// How the nodes of one operator run. A node of several kernels counts for the
/// heaviest of them.
struct Runs {
  int64_t contractions = 0, loopNests = 0, others = 0;
  double flops = 0; // at the upper bounds, of kernels that begin with it
};

/// What the plan says.
struct Facts {
  bool known = false;
  llvm::StringMap<Runs> runs; // by operator
  double flops = 0;
  int64_t dispatches = 0;
  uint64_t weights = 0, arena = 0, lowerBound = 0, state = 0;
};
} // namespace

static std::string fullName(const import::OperatorUse &use) {
  return use.domain.empty() ? use.opType : use.domain + "." + use.opType;
}

/// The value of a register with every symbol at its upper bound.
static double atUpper(mlir::Value reg, const graph::Symbols &symbols) {
  if (!reg)
    return 0;
  mlir::Operation *op = reg.getDefiningOp();
  if (auto constant = mlir::dyn_cast<plan::ConstOp>(op))
    return static_cast<double>(constant.getValue());
  if (auto symbol = mlir::dyn_cast<plan::SymbolOp>(op))
    return static_cast<double>(symbols[symbol.getNumber()].getUpper() * symbols[symbol.getNumber()].getStep());
  if (op->getNumOperands() != 2)
    return 0;
  double a = atUpper(op->getOperand(0), symbols), b = atUpper(op->getOperand(1), symbols);
  if (mlir::isa<plan::AddOp>(op))
    return a + b;
  if (mlir::isa<plan::MulOp>(op))
    return a * b;
  if (mlir::isa<plan::FloorDivOp>(op))
    return b != 0 ? std::floor(a / b) : 0;
  if (mlir::isa<plan::CeilDivOp>(op))
    return b != 0 ? std::ceil(a / b) : 0;
  if (mlir::isa<plan::ModOp>(op))
    return b != 0 ? a - std::floor(a / b) * b : 0;
  return 0;
}

/// "Conv" of "conv1 (Conv)".
static llvm::StringRef operatorOf(llvm::StringRef node) {
  size_t open = node.rfind('(');
  return open == llvm::StringRef::npos ? node : node.substr(open + 1).drop_back(node.ends_with(")") ? 1 : 0);
}

static void readPlan(mlir::ModuleOp module, Facts &facts) {
  graph::Symbols symbols = graph::Symbols::of(module);
  llvm::MapVector<llvm::StringRef, int> weightOf; // node, 2 contraction, 1 other, 0 loop nest
  for (auto entry : module.getOps<plan::EntryOp>()) {
    entry.walk([&](plan::DispatchOp dispatch) {
      ++facts.dispatches;
      auto kernel = module.lookupSymbol<mlir::func::FuncOp>(dispatch.getKernel());
      auto kind = kernel->getAttrOfType<graph::KernelKindAttr>(plan::kKindAttr).getValue();
      double flops = atUpper(dispatch.getFlops(), symbols);
      facts.flops += flops;
      bool first = true;
      for (auto node : dispatch.getNodes().getAsRange<mlir::StringAttr>()) {
        int &heaviest = weightOf.insert({node.getValue(), 0}).first->second;
        heaviest = std::max(heaviest, kind == graph::KernelKind::contraction ? 2
                                      : kind == graph::KernelKind::loopnest  ? 0
                                                                             : 1);
        if (first)
          facts.runs[operatorOf(node.getValue())].flops += flops;
        first = false;
      }
    });
    for (auto profile : entry.getProfiles().getAsRange<plan::ProfileAttr>()) {
      facts.arena = std::max<uint64_t>(facts.arena, profile.getArenaSize());
      facts.lowerBound = std::max<uint64_t>(facts.lowerBound, profile.getLowerBound());
    }
    llvm::DenseSet<mlir::Attribute> seen;
    entry.walk([&](mlir::Operation *op) {
      if (mlir::isa<plan::WeightOp, plan::ConstantOp>(op) && seen.insert(op->getAttrDictionary()).second)
        facts.weights += symbols.upper(
            plan::byteSize(mlir::cast<graph::GraphTensorType>(op->getAttrOfType<mlir::TypeAttr>("type").getValue())));
      if (auto state = mlir::dyn_cast<plan::StateOp>(op))
        facts.state += symbols.upper(plan::byteSize(mlir::cast<graph::GraphTensorType>(state.getType())));
    });
  }
  for (auto [node, heaviest] : weightOf) {
    Runs &runs = facts.runs[operatorOf(node)];
    ++(heaviest == 2 ? runs.contractions : heaviest == 1 ? runs.others : runs.loopNests);
  }
  facts.known = true;
}

/// "12 contraction, 3 loop nest, 1 none"
static std::string howItRuns(const import::OperatorUse &use, const Facts &facts) {
  Runs runs = facts.runs.lookup(use.opType);
  std::string text;
  auto add = [&](int64_t count, llvm::StringRef what) {
    if (count > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what.str();
  };
  add(runs.contractions, "contraction");
  add(runs.loopNests, "loop nest");
  add(runs.others, "leaf");
  // Nodes of function bodies and unrolled loops may run more often than they
  // are written.
  add(use.count - runs.contractions - runs.loopNests - runs.others, "no kernel");
  return text;
}

static bool allBounded(const import::ImportedModel &model, const Options &options) {
  return llvm::all_of(model.dynamicDims,
                      [&](const import::DynamicDim &dim) { return options.dims.count(dim.name) != 0; });
}

static void printJson(const import::ImportedModel &model, const Facts &facts, const import::Diagnostics &diagnostics,
                      const Options &options, llvm::raw_ostream &os) {
  llvm::json::Array operators, dims, nodes, problems;
  bool bounded = allBounded(model, options);
  for (const import::OperatorUse &use : model.operators) {
    llvm::json::Object object{{"domain", use.domain},
                              {"operator", use.opType},
                              {"version", use.version},
                              {"count", use.count},
                              {"unsupported", use.unsupported}};
    if (facts.known) {
      Runs runs = facts.runs.lookup(use.opType);
      object["contraction"] = runs.contractions;
      object["loop_nest"] = runs.loopNests;
      object["leaf"] = runs.others;
      if (bounded)
        object["flops"] = runs.flops;
    }
    operators.push_back(std::move(object));
  }
  for (const import::UnsupportedNode &node : diagnostics.unsupported())
    nodes.push_back(llvm::json::Object{{"domain", node.domain},
                                       {"operator", node.opType},
                                       {"version", node.version},
                                       {"node", node.name},
                                       {"types", node.types},
                                       {"why", node.why}});
  for (const import::DynamicDim &dim : model.dynamicDims) {
    llvm::json::Object object{{"name", dim.name}, {"where", dim.where}};
    if (auto bounds = options.dims.find(dim.name); bounds != options.dims.end()) {
      object["lower"] = bounds->second.lower;
      object["upper"] = bounds->second.upper;
      object["step"] = bounds->second.step;
    }
    dims.push_back(std::move(object));
  }
  for (const import::Diagnostics::Entry &entry : diagnostics.all())
    if (entry.problem != import::Problem::Unsupported)
      problems.push_back(entry.message);
  llvm::json::Object root{
      {"model", options.input},          {"supported", diagnostics.ok()},         {"operators", std::move(operators)},
      {"unsupported", std::move(nodes)}, {"dynamic_dimensions", std::move(dims)}, {"problems", std::move(problems)}};
  if (facts.known) {
    root["dispatches"] = facts.dispatches;
    root["weight_bytes"] = static_cast<int64_t>(facts.weights);
    root["state_bytes"] = static_cast<int64_t>(facts.state);
    if (bounded) {
      root["flops"] = facts.flops;
      root["arena_bytes"] = static_cast<int64_t>(facts.arena);
      root["arena_lower_bound"] = static_cast<int64_t>(facts.lowerBound);
    }
  }
  os << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(root)));
}

static void printText(const import::ImportedModel &model, const Facts &facts, const import::Diagnostics &diagnostics,
                      const Options &options, llvm::raw_ostream &os) {
  int64_t total = 0, unsupported = 0;
  for (const import::OperatorUse &use : model.operators) {
    total += use.count;
    unsupported += use.unsupported;
  }
  bool bounded = allBounded(model, options);
  os << llvm::formatv("{0}: {1} nodes of {2} operators", options.input, total, model.operators.size());
  if (unsupported)
    os << llvm::formatv(", {0} nodes are not supported", unsupported);
  os << "\n";
  os << llvm::formatv("  {0,-32} {1,6} {2,6} {3,12}  {4}\n", "operator", "opset", "nodes",
                      facts.known && bounded ? "MFLOP" : "", "runs as");
  for (const import::OperatorUse &use : model.operators) {
    std::string mflop;
    if (double flops = facts.runs.lookup(use.opType).flops; facts.known && bounded && flops > 0)
      mflop = llvm::formatv("{0:f3}", flops / 1e6);
    os << llvm::formatv("  {0,-32} {1,6} {2,6} {3,12}  ", fullName(use), use.version, use.count, mflop);
    if (use.unsupported)
      os << llvm::formatv("unsupported: {0}\n", use.unsupported);
    else
      os << (facts.known ? howItRuns(use, facts) : "supported") << "\n";
  }
  if (!model.dynamicDims.empty())
    os << "dynamic dimensions:\n";
  for (const import::DynamicDim &dim : model.dynamicDims) {
    os << "  " << dim.name << " (" << dim.where << "): ";
    if (auto bounds = options.dims.find(dim.name); bounds != options.dims.end())
      os << bounds->second.lower << ".." << bounds->second.upper
         << (bounds->second.step > 1 ? ", multiples of " + std::to_string(bounds->second.step) : "") << "\n";
    else
      os << "compile needs --dim " << dim.name << "=N or " << dim.name << "=LO..HI\n";
  }
  if (facts.known) {
    os << llvm::formatv("weights {0}", readableBytes(facts.weights));
    if (facts.state)
      os << llvm::formatv(", state {0}", readableBytes(facts.state));
    if (bounded)
      os << llvm::formatv("; at the upper bounds: {0:f3} GFLOP in {1} dispatches, arena {2} (lower bound {3})\n",
                          facts.flops / 1e9, facts.dispatches, readableBytes(facts.arena),
                          readableBytes(facts.lowerBound));
    else
      os << llvm::formatv("; {0} dispatches; FLOPs and arena: give every dynamic dimension its bounds\n",
                          facts.dispatches);
  }
  if (!diagnostics.ok())
    os << "problems:\n";
  for (const import::Diagnostics::Entry &entry : diagnostics.all())
    os << "  " << entry.message << "\n";
}

int driver::explain(const Options &options, bool json, llvm::raw_ostream &os, import::Diagnostics &diagnostics) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  import::ImportOptions importOptions;
  importOptions.dims = options.dims;
  importOptions.bounds = options.bounds;
  importOptions.states = options.states;
  importOptions.constants = options.constants;
  importOptions.otherDims = kAnyDim;
  import::ImportedModel model = import::importFile(options.input, importOptions, context, diagnostics);
  if (model.operators.empty() && !diagnostics.ok()) {
    // Nothing was read that could be explained.
    diagnostics.print(llvm::errs());
    return diagnostics.exitCode();
  }
  Facts facts;
  if (diagnostics.ok()) {
    Options planned = options;
    planned.emit = Emit::Nothing;
    planned.otherDims = kAnyDim;
    planned.onPlan = [&](mlir::ModuleOp module) { readPlan(module, facts); };
    import::Diagnostics problems;
    compile(planned, problems, os);
    // Without bounds of its user's, a plan may be larger than any memory: that
    // is no problem of the model.
    if (allBounded(model, options))
      for (const import::Diagnostics::Entry &entry : problems.all())
        diagnostics.report(entry.problem, entry.message);
  }
  if (json)
    printJson(model, facts, diagnostics, options, os);
  else
    printText(model, facts, diagnostics, options, os);
  return diagnostics.exitCode();
}
