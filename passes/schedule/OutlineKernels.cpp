// Every kernel region becomes a private function over its own symbols, named
// for what it computes; regions that print alike share one function.
#include "passes/Passes.h"

#include "dialects/Graph/Shapes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"

namespace stint::passes {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

/// What the kernel mainly does.
static std::string kernelName(KernelOp kernel) {
  std::string last = "kernel";
  StringRef main;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto conv = dyn_cast<ConvOp>(op))
      main = conv.isDepthwise() ? "depthwise_conv" : "conv";
    else if (isa<MatMulOp, WindowReduceOp, GatherOp, GatherElementsOp, GatherNDOp>(op))
      main = op.getName().stripDialect();
    else if (isa<ReduceOp>(op) && main.empty())
      main = "reduce";
    else if (auto leaf = dyn_cast<LeafOp>(op))
      main = leaf.getName();
    if (!isa<ConstantOp>(op))
      last = op.getName().stripDialect().str();
  }
  if (main == "reduce" && last != "reduce")
    return "row_" + last;
  return main.empty() ? last : main.str();
}

/// Module symbols that types and attributes of the region refer to, ascending.
static SmallVector<int64_t> usedSymbols(KernelOp kernel) {
  llvm::SmallBitVector used;
  auto see = [&](AffineExpr expr) {
    expr.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e)) {
        used.resize(std::max<size_t>(used.size(), symbol.getPosition() + 1));
        used.set(symbol.getPosition());
      }
    });
  };
  AttrTypeWalker walker;
  walker.addWalk([&](GraphTensorType type) { llvm::for_each(type.getShape(), see); });
  walker.addWalk([&](AffineMapAttr map) { llvm::for_each(map.getValue().getResults(), see); });
  for (Value input : kernel.getInputs())
    walker.walk(input.getType());
  kernel.getBody().walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
  });
  SmallVector<int64_t> numbers;
  for (unsigned number : used.set_bits())
    numbers.push_back(number);
  return numbers;
}

namespace {
struct OutlineKernels : passes::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<KernelOp> kernels;
    module.walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels)
      outline(module, kernel);
  }

  void outline(ModuleOp module, KernelOp kernel) {
    OpBuilder builder(module.getBodyRegion());
    Symbols symbols = Symbols::of(module);
    SmallVector<int64_t> numbers = usedSymbols(kernel);
    std::string name = kernelName(kernel);
    SmallVector<AffineExpr> renumbered(symbols.size());
    for (size_t i = 0; i < symbols.size(); ++i)
      renumbered[i] = builder.getAffineSymbolExpr(i);
    SmallVector<Attribute> own;
    for (auto [i, number] : llvm::enumerate(numbers)) {
      renumbered[number] = builder.getAffineSymbolExpr(i);
      // Names differ between equal kernels; bounds matter.
      SymbolAttr symbol = symbols[number];
      own.push_back(SymbolAttr::get(builder.getContext(), builder.getStringAttr("s" + Twine(i)), symbol.getLower(),
                                    symbol.getUpper()));
    }

    // Build the function beside the module's other operations.
    builder.setInsertionPointToEnd(module.getBody());
    auto function = builder.create<func::FuncOp>(
        kernel.getLoc(), "kernel", builder.getFunctionType(kernel.getInputs().getTypes(), kernel.getResultTypes()));
    function.setPrivate();
    function.getBody().takeBody(kernel.getBody());
    Operation *yield = function.getBody().front().getTerminator();
    builder.setInsertionPoint(yield);
    builder.create<func::ReturnOp>(kernel.getLoc(), yield->getOperands());
    yield->erase();

    AttrTypeReplacer replacer;
    replacer.addReplacement([&](GraphTensorType type) -> std::optional<Type> {
      auto shape = llvm::map_to_vector(type.getShape(), [&](AffineExpr e) { return e.replaceSymbols(renumbered); });
      return GraphTensorType::get(shape, type.getElementType(), type.getLayout());
    });
    replacer.addReplacement([&](AffineMapAttr map) -> std::optional<Attribute> {
      auto results =
          llvm::map_to_vector(map.getValue().getResults(), [&](AffineExpr e) { return e.replaceSymbols(renumbered); });
      return AffineMapAttr::get(symbolMap(results, map.getContext()));
    });
    replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    function->setAttr(plan::kKindAttr, kernel.getKindAttr());
    function->setAttr(kSymbolsAttr, builder.getArrayAttr(own));

    std::string text;
    llvm::raw_string_ostream stream(text);
    function.print(stream, OpPrintingFlags().useLocalScope());
    std::string &shared = functions[text];
    if (shared.empty()) {
      shared = name + "_" + std::to_string(functions.size() - 1);
      function.setName(shared);
    } else {
      function.erase();
    }
    builder.setInsertionPoint(kernel);
    auto call = builder.create<CallOp>(kernel.getLoc(), kernel.getResultTypes(), shared, kernel.getInputs(), numbers);
    kernel.replaceAllUsesWith(call.getOutputs());
    kernel.erase();
  }

  llvm::StringMap<std::string> functions;
};
} // namespace
