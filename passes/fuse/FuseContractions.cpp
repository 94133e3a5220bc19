// Each float matmul and float convolution that is not depthwise takes the
// elementwise operations that follow it, as long as they have its shape and
// layout and their other operands do not depend on the kernel. Growth follows
// block order and stops at the first user that cannot join: the kernel takes
// the place of its last operation, and no user may come before that.
#include "passes/Passes.h"
#include "passes/fuse/KernelRegion.h"

namespace stint::passes {
#define GEN_PASS_DEF_FUSECONTRACTIONS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;
using passes::OpSet;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

/// Results a contraction may store: its value before and after an epilogue.
static constexpr size_t kMaxResults = 2;

static bool isContraction(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  return (isa<MatMulOp>(op) || (conv && !conv.isDepthwise())) && isFloat(tensorType(op->getResult(0)).getElementType());
}

static void fuse(Operation *contraction) {
  GraphTensorType type = tensorType(contraction->getResult(0));
  OpSet set;
  set.insert(contraction);
  for (Operation *op = contraction->getNextNode(); op; op = op->getNextNode()) {
    bool uses = llvm::any_of(op->getOperands(), [&](Value v) { return set.contains(v.getDefiningOp()); });
    if (!uses)
      continue;
    bool joins = passes::isElementwise(op) && set.size() < passes::kMaxBody &&
                 tensorType(op->getResult(0)).getShape() == type.getShape() &&
                 tensorType(op->getResult(0)).getLayout() == type.getLayout();
    if (!joins)
      break;
    OpSet grown = set;
    grown.insert(op);
    if (passes::operandsOf(grown).size() > passes::kMaxOperands)
      break;
    set.insert(op);
  }
  // Drop the end while the set would store too many of its values.
  while (passes::resultsOf(set).size() > kMaxResults)
    set.pop_back();
  Operation *last = set.back();
  passes::makeKernel(KernelKind::contraction, set, last);
}

namespace {
struct FuseContractions : passes::impl::FuseContractionsBase<FuseContractions> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr(plan::kKindAttr))
        continue;
      SmallVector<Operation *> contractions;
      for (Operation &op : function.getBody().front())
        if (isContraction(&op))
          contractions.push_back(&op);
      for (Operation *op : contractions)
        fuse(op);
    }
  }
};
} // namespace
