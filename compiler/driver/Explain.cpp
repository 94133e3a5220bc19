// Explain: see the header of that name.
//
// The model is imported for what can't be compiled. If everything can, it goes
// through the compiler up to the plan, which says how each node runs. Bounds
// that are not given are assumed, and told apart from those that are.
#include "compiler/driver/Explain.h"

#include "compiler/driver/Compiler.h"
#include "compiler/import/Decoder.h"
#include "compiler/import/OnnxReader.h"
#include "dialects/Graph/Shapes.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <set>

using namespace stint;
using namespace stint::driver;

// Bounds that dynamic dimensions without --dim are given: wide enough that
// nothing is taken for fixed.
static constexpr import::DimBounds kAnyDim = {1, 4096};
/// The same where some operator needs more than a few elements.
static constexpr import::DimBounds kLargeDim = {1024, 4096};
/// What data may decide at most, without --bound, and of how many dimensions.
static constexpr int64_t kAnyBound = 4096;
static constexpr int kMostAssumed = 256;

namespace {
/// What explain assumed so as to go on, and why.
struct Assumptions {
  import::DimBounds otherDims = kAnyDim;
  std::vector<std::string> tooSmall; // problems that larger lower bounds solve
  std::vector<std::string> bounds;   // "VALUE.AXIS", each without its --bound
};

/// A dimension that data decide.
struct DataDim {
  std::string name; // as --bound calls it
  int64_t most;
};

/// How the nodes of one operator run. A node of several kernels counts for the
/// heaviest of them.
struct Runs {
  int64_t contractions = 0, loopNests = 0, others = 0;
  double flops = 0; // at the upper bounds, of kernels that begin with it
};

/// Nodes of a graph and of those inside, by domain and operator.
using NodeCounts = std::map<std::pair<std::string, std::string>, int64_t>;

/// What the plan says, and the nodes of the file that did not come that far.
struct Facts {
  bool known = false;
  llvm::StringMap<Runs> runs; // by operator
  double flops = 0;
  int64_t dispatches = 0;
  uint64_t weights = 0, arena = 0, lowerBound = 0, state = 0;
  NodeCounts unused;

  int64_t unusedOf(const import::OperatorUse &use) const {
    auto found = unused.find({use.domain, use.opType});
    return found == unused.end() ? 0 : std::max<int64_t>(found->second, 0);
  }
};
} // namespace

static std::string fullName(const import::OperatorUse &use) {
  return use.domain.empty() ? use.opType : use.domain + "." + use.opType;
}

static std::string counted(int64_t count, llvm::StringRef what) {
  return (llvm::Twine(count) + " " + what + (count == 1 ? "" : "s")).str();
}

/// The VALUE.AXIS of each "--bound VALUE.AXIS=N" that a message asks for.
static llvm::SmallVector<llvm::StringRef> boundsAskedFor(llvm::StringRef message) {
  constexpr llvm::StringLiteral kOption = "--bound ";
  llvm::SmallVector<llvm::StringRef> keys;
  for (size_t at = message.find(kOption); at != llvm::StringRef::npos; at = message.find(kOption, at + 1)) {
    auto [key, rest] = message.substr(at + kOption.size()).split("=N");
    if (!rest.data() || key.contains(kOption) || !llvm::isDigit(key.empty() ? ' ' : key.back()))
      continue;
    keys.push_back(key);
  }
  return keys;
}

/// Imports with assumptions in place of bounds that are not given, which are
/// added to `options` and listed.
static import::ImportedModel importAssuming(const std::string &path, import::ImportOptions &options,
                                            mlir::MLIRContext &context, import::Diagnostics &diagnostics,
                                            Assumptions &assumed) {
  options.otherDims = assumed.otherDims;
  for (;;) {
    import::ImportedModel model = import::importFile(path, options, context, diagnostics);
    bool more = false, allUnsupported = !diagnostics.ok();
    for (const import::Diagnostics::Entry &entry : diagnostics.all()) {
      allUnsupported &= entry.problem == import::Problem::Unsupported;
      if (entry.problem == import::Problem::Usage && assumed.bounds.size() < kMostAssumed)
        for (llvm::StringRef key : boundsAskedFor(entry.message))
          if (options.bounds.try_emplace(key, kAnyBound).second) {
            assumed.bounds.push_back(key.str());
            more = true;
          }
    }
    if (more) {
      diagnostics = import::Diagnostics();
      continue;
    }
    bool open = llvm::any_of(model.dynamicDims, [&](const auto &dim) { return !options.dims.count(dim.name); });
    if (!allUnsupported || !open)
      return model;
    import::ImportOptions larger = options;
    larger.otherDims = kLargeDim;
    import::Diagnostics problems;
    import::ImportedModel other = import::importFile(path, larger, context, problems);
    if (!problems.ok())
      return model;
    for (const import::Diagnostics::Entry &entry : diagnostics.all())
      assumed.tooSmall.push_back(entry.message);
    assumed.otherDims = kLargeDim;
    diagnostics = import::Diagnostics();
    return other;
  }
}

/// The dimensions of the module that data decide.
static std::vector<DataDim> dataDims(const import::ImportedModel &model) {
  std::vector<DataDim> dims;
  if (!model.module)
    return dims;
  graph::Symbols symbols = graph::Symbols::of(*model.module);
  for (size_t i = 0; i < symbols.size(); ++i) {
    llvm::StringRef name = symbols[i].getName(), axis = name.rsplit('.').second;
    bool given = llvm::any_of(model.dynamicDims, [&](const auto &dim) { return dim.name == name; });
    unsigned number;
    if (!given && !axis.getAsInteger(10, number)) // others are counters and flags
      dims.push_back({name.str(), symbols[i].getUpper()});
  }
  return dims;
}

/// Nodes of a graph and of those inside.
static void countNodes(const import::Graph &graph, NodeCounts &counts) {
  for (const import::Node &node : graph.nodes) {
    ++counts[{node.domain, node.opType}];
    for (const import::NodeAttribute &attribute : node.attributes)
      if (attribute.graph)
        countNodes(*attribute.graph, counts);
  }
}

/// The nodes of the file that were not imported, by operator: those that no
/// output depends on, and those of branches never taken. Operators that have
/// only such become uses without a version.
static void findUnused(const Options &options, import::ImportedModel &model, Facts &facts) {
  import::Diagnostics ignored;
  std::unique_ptr<import::Model> file = import::readModel(options.input, ignored);
  if (!file)
    return;
  countNodes(file->graph, facts.unused);
  for (const import::Function &function : file->functions)
    facts.unused.erase({function.domain, function.name}); // its nodes are counted
  std::set<std::pair<std::string, std::string>> used;
  // Attention with a past is written in another way; the step table's nodes are
  // in no file.
  llvm::erase_if(model.operators, [&](const import::OperatorUse &use) {
    return model.decoder && use.domain == import::kDecoderDomain && use.opType != import::kPagedAttention;
  });
  for (const import::OperatorUse &use : model.operators)
    if (model.decoder && use.domain == import::kDecoderDomain && use.opType == import::kPagedAttention)
      for (auto name : {std::pair("", "Attention"), std::pair("com.microsoft", "GroupQueryAttention")})
        facts.unused.erase({name.first, name.second});
  for (const import::OperatorUse &use : model.operators) {
    facts.unused[{use.domain, use.opType}] -= use.count;
    used.insert({use.domain, use.opType});
  }
  for (const auto &[name, left] : facts.unused)
    if (left > 0 && !used.count(name))
      model.operators.push_back({name.first, name.second, 0, 0, 0});
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

/// "12 contraction, 3 loop nest, 1 no kernel, 4 not used"
static std::string howItRuns(const import::OperatorUse &use, const Facts &facts) {
  Runs runs = facts.runs.lookup(use.opType);
  std::string text;
  auto add = [&](int64_t count, llvm::StringRef what) {
    if (count > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what.str();
  };
  if (facts.known) {
    add(runs.contractions, "contraction");
    add(runs.loopNests, "loop nest");
    add(runs.others, "leaf");
    // Nodes of function bodies and unrolled loops may run more often than they
    // are written.
    add(use.count - runs.contractions - runs.loopNests - runs.others, "no kernel");
  } else if (use.unsupported) {
    text = "unsupported: " + std::to_string(use.unsupported);
  } else if (use.count) {
    text = "supported";
  }
  add(facts.unusedOf(use), facts.known ? "not used" : "not looked at");
  return text;
}

static bool allBounded(const import::ImportedModel &model, const Options &options, const Assumptions &assumed) {
  return assumed.bounds.empty() && llvm::all_of(model.dynamicDims, [&](const import::DynamicDim &dim) {
           return options.dims.count(dim.name) != 0;
         });
}

static void printJson(const import::ImportedModel &model, const Facts &facts, const import::Diagnostics &diagnostics,
                      const Options &options, const Assumptions &assumed, llvm::raw_ostream &os) {
  llvm::json::Array operators, dims, nodes, problems;
  bool bounded = allBounded(model, options, assumed);
  for (const import::OperatorUse &use : model.operators) {
    llvm::json::Object object{{"domain", use.domain},
                              {"operator", use.opType},
                              {"version", use.version},
                              {"count", use.count},
                              {"unsupported", use.unsupported}};
    object["unused"] = facts.unusedOf(use);
    if (facts.known && use.version) {
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
  llvm::json::Array decided, tooSmall;
  for (const DataDim &dim : dataDims(model)) {
    llvm::json::Object object{{"name", dim.name}};
    if (!llvm::is_contained(assumed.bounds, dim.name))
      object["upper"] = dim.most;
    decided.push_back(std::move(object));
  }
  for (const std::string &message : assumed.tooSmall)
    tooSmall.push_back(message);
  llvm::json::Object root{{"data_dependent_dimensions", std::move(decided)},
                          {"missing_bounds", llvm::json::Array(assumed.bounds)},
                          {"needs_larger_dimensions", std::move(tooSmall)},
                          {"model", options.input},
                          {"supported", diagnostics.ok()},
                          {"operators", std::move(operators)},
                          {"unsupported", std::move(nodes)},
                          {"dynamic_dimensions", std::move(dims)},
                          {"problems", std::move(problems)}};
  if (const auto &decoder = model.decoder)
    root["decoder"] = llvm::json::Object{{"state_level", 2},
                                         {"layers", decoder->layers},
                                         {"context", decoder->context},
                                         {"sequences", decoder->sequences},
                                         {"tokens", decoder->tokens},
                                         {"page_size", decoder->pageSize},
                                         {"page_count", decoder->pageCount},
                                         {"page_bytes", decoder->pageBytes}};
  else if (!model.decoderBlocker.empty())
    root["decoder"] = llvm::json::Object{{"state_level", 0}, {"blocked_by", model.decoderBlocker}};
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
                      const Options &options, const Assumptions &assumed, llvm::raw_ostream &os) {
  int64_t total = 0, unsupported = 0;
  for (const import::OperatorUse &use : model.operators) {
    total += use.count + facts.unusedOf(use);
    unsupported += use.unsupported;
  }
  bool bounded = allBounded(model, options, assumed);
  llvm::StringSet<> names;
  for (const import::OperatorUse &use : model.operators)
    names.insert(fullName(use));
  os << options.input << ": " << counted(total, "node") << " of " << counted(names.size(), "operator");
  if (unsupported)
    os << ", " << counted(unsupported, "node") << (unsupported == 1 ? " is" : " are") << " not supported";
  os << "\n";
  os << llvm::formatv("  {0,-32} {1,6} {2,6} {3,12}  {4}\n", "operator", "opset", "nodes",
                      facts.known && bounded ? "MFLOP" : "", "runs as");
  for (const import::OperatorUse &use : model.operators) {
    std::string mflop;
    if (double flops = facts.runs.lookup(use.opType).flops; facts.known && bounded && use.version && flops > 0)
      mflop = llvm::formatv("{0:f3}", flops / 1e6);
    os << llvm::formatv("  {0,-32} {1,6} {2,6} {3,12}  ", fullName(use), use.version ? std::to_string(use.version) : "",
                        use.count + facts.unusedOf(use), mflop)
       << howItRuns(use, facts) << "\n";
  }
  if (facts.known && llvm::any_of(model.operators, [&](const auto &use) {
        return llvm::StringRef(howItRuns(use, facts)).contains("no kernel");
      }))
    os << "no kernel: folded when compiling, or only a view of other memory\n";
  if (llvm::any_of(model.operators, [&](const auto &use) { return facts.unusedOf(use) > 0; }))
    os << (facts.known ? "not used: " : "not looked at: what it reads is not supported, ")
       << "no output depends on it, it is in a branch that is never taken, or packed weights stand for it\n";
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
  if (const auto &decoder = model.decoder)
    os << llvm::formatv("text decoder of {0} layers, state at level 2: {1} pages of {2} positions, {3} each; context "
                        "{4}, {5} at once, {6} tokens a step\n",
                        decoder->layers, decoder->pageCount, decoder->pageSize, readableBytes(decoder->pageBytes),
                        decoder->context, counted(decoder->sequences, "sequence"), decoder->tokens);
  else if (!model.decoderBlocker.empty())
    os << "text decoder, state at level 0 (past and present are tensors): " << model.decoderBlocker << "\n";
  for (const std::string &message : assumed.tooSmall)
    os << "  give lower bounds that are large enough: with small ones, " << message << "\n";
  std::vector<DataDim> decided = dataDims(model);
  if (!decided.empty() || !assumed.bounds.empty())
    os << "dimensions that data decide:\n";
  for (const DataDim &dim : decided)
    if (!llvm::is_contained(assumed.bounds, dim.name))
      os << "  " << dim.name << ": at most " << dim.most << (options.bounds.count(dim.name) ? ", as --bound says" : "")
         << (bounded || options.bounds.count(dim.name) ? "" : " with the bounds assumed here") << "\n";
  for (const std::string &name : assumed.bounds)
    os << "  " << name << ": compile needs --bound " << name << "=N\n";
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
    os << (bounded
               ? "problems:\n"
               : "problems, with dimensions that have no bounds taken to be 1..4096; give them theirs to be sure:\n");
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
  importOptions.decoder = options.decoder;
  Assumptions assumed;
  import::ImportedModel model = importAssuming(options.input, importOptions, context, diagnostics, assumed);
  if (model.operators.empty() && !diagnostics.ok()) {
    // Nothing was read that could be explained.
    diagnostics.print(llvm::errs());
    return diagnostics.exitCode();
  }
  Facts facts;
  if (llvm::all_of(diagnostics.all(), [](const auto &entry) { return entry.problem == import::Problem::Unsupported; }))
    findUnused(options, model, facts);
  if (diagnostics.ok()) {
    Options planned = options;
    planned.emit = Emit::Nothing;
    planned.otherDims = assumed.otherDims;
    planned.bounds = importOptions.bounds;
    planned.onPlan = [&](mlir::ModuleOp module) { readPlan(module, facts); };
    import::Diagnostics problems;
    compile(planned, problems, os);
    // Without bounds of its user's, a plan may be larger than any memory: that
    // is no problem of the model.
    if (allBounded(model, options, assumed))
      for (const import::Diagnostics::Entry &entry : problems.all())
        diagnostics.report(entry.problem, entry.message);
  }
  Options bounded = options;
  for (const import::DynamicDim &dim : model.dynamicDims)
    if (model.decoder && dim.bounds)
      bounded.dims[dim.name] = *dim.bounds;
  if (json)
    printJson(model, facts, diagnostics, bounded, assumed, os);
  else
    printText(model, facts, diagnostics, bounded, assumed, os);
  return diagnostics.exitCode();
}
