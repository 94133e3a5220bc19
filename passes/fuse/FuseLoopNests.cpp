// Loop-nest kernels. Operations are visited from the last to the first; each
// that is not in a kernel yet becomes the root of one and takes producers in,
// as long as
//   * nothing outside the kernel uses the producer,
//   * the producer is evaluated about once per element of its own: through
//     elementwise users, or through movement that repeats nothing,
//   * what it costs stays: an expensive function is evaluated once, a cheap
//     one at most a few times, a reduction once per row.
// A row is the innermost dimension of the root in memory. A reduction over
// exactly that dimension may feed operations of the full shape: generators
// compute it once per row. Softmax and layer norm become one kernel so.
//
// A leaf is a kernel of its own.
//
// Contexts count how often an operation is evaluated: the root's own loop is
// one, the loop of each reduction another.
#include "passes/Passes.h"
#include "passes/Views.h"
#include "passes/fuse/KernelRegion.h"

namespace stint::passes {
#define GEN_PASS_DEF_FUSELOOPNESTS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;
using passes::OpSet;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

/// Times a cheap operation may be evaluated per element.
static constexpr size_t kMaxContexts = 4;

static bool isExpensive(Operation *op) {
  return !isa<AddOp, SubOp, MulOp, DivOp, NegOp, AbsOp, MinOp, MaxOp, CastOp, CompareOp, SelectOp, AndOp, OrOp, XorOp,
              NotOp, ReciprocalOp, BitAndOp, BitOrOp, BitXorOp, BitNotOp, SignOp, FloorOp, CeilOp, RoundOp, SqrtOp>(op);
}
static bool isSource(Operation *op) { return isa<IotaOp, DimensionsOp>(op); }
static bool isFixed(Operation *op) {
  return isa<KernelOp, WeightOp, ConstantOp, BindOp, TrapOp, RequireOp, IfOp, LoopOp>(op);
}
/// Many operand elements per result element, or data-dependent addresses.
static bool isHeavy(Operation *op) {
  return isa<WindowReduceOp, ConvOp, MatMulOp, GatherOp, GatherElementsOp, GatherNDOp>(op);
}
static bool isMovement(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return passes::onlyUnitDims(reshape);
  return isa<TransposeOp, RelayoutOp, SliceOp, BroadcastOp>(op);
}

namespace {
/// How an operation of the kernel is reached from the root.
struct Place {
  bool aligned = false;                 // same index as the root's
  bool row = false;                     // one value per row of `frame`
  ArrayRef<AffineExpr> frame;           // full shape around, empty: rows unknown
  int64_t rowDim = -1;                  // dimension of `frame` that rows run along
  SmallVector<Operation *, 4> contexts; // loops it is evaluated in; null: the root's
};

class KernelGrower {
public:
  explicit KernelGrower(Operation *root) : root(root) {
    GraphTensorType type = tensorType(root->getResult(0));
    Place place;
    place.aligned = true;
    place.frame = type.getShape();
    place.rowDim = type.getRank() > 0 && !isTiled(type) ? type.getOrder().back() : -1;
    place.contexts = {nullptr};
    places[root] = place;
    set.insert(root);
  }

  OpSet grow() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < set.size(); ++i)
        for (Value operand : set[i]->getOperands())
          if (Operation *producer = operand.getDefiningOp(); producer && tryAdd(producer))
            changed = true;
    }
    pruneViews();
    return set;
  }

private:
  static bool isTiled(GraphTensorType type) { return type.getLayout() && type.getLayout().isTiled(); }

  bool tryAdd(Operation *producer) {
    if (set.contains(producer) || isFixed(producer) || producer->getBlock() != root->getBlock() ||
        producer->getNumResults() != 1 || set.size() >= passes::kMaxBody)
      return false;
    Place place;
    bool first = true;
    for (OpOperand &use : producer->getResult(0).getUses()) {
      if (!set.contains(use.getOwner()))
        return false;
      std::optional<Place> through = placeThrough(use, producer);
      if (!through)
        return false;
      if (first) {
        place = *through;
        first = false;
        continue;
      }
      if (place.row != through->row)
        return false;
      place.aligned &= through->aligned;
      if (place.frame != through->frame || place.rowDim != through->rowDim)
        place.rowDim = -1;
      for (Operation *context : through->contexts)
        if (!llvm::is_contained(place.contexts, context))
          place.contexts.push_back(context);
    }
    if (!mayJoin(producer, place))
      return false;
    OpSet grown = set;
    grown.insert(producer);
    if (passes::operandsOf(grown).size() > passes::kMaxOperands)
      return false;
    set.insert(producer);
    places[producer] = place;
    hasHeavy |= isHeavy(producer);
    return true;
  }

  /// Where an operand stands, seen from one of its uses; nullopt: it must
  /// stay outside.
  std::optional<Place> placeThrough(OpOperand &use, Operation *producer) {
    Operation *user = use.getOwner();
    Place place = places[user];
    ArrayRef<AffineExpr> shape = tensorType(use.get()).getShape();
    if (isSource(producer))
      return place;
    if (passes::isElementwise(user)) {
      if (shape == tensorType(user->getResult(0)).getShape())
        return place;
      // One value per row.
      if (place.row || place.rowDim < 0 || !isRowOf(shape, place))
        return std::nullopt;
      place.row = true;
      place.aligned = false;
      return place;
    }
    if (auto reduce = dyn_cast<ReduceOp>(user)) {
      if (!place.row) {
        // The reduction's own loop: rows inside it only where they are the
        // root's rows too.
        bool innermost = place.aligned && reduce.getAxes().size() == 1 && place.rowDim == reduce.getAxes().front();
        place.rowDim = innermost ? place.rowDim : -1;
        place.frame = shape;
      }
      place.row = false;
      place.aligned = false;
      place.contexts = {user};
      return place;
    }
    if (isMovement(user)) {
      if (place.row || isa<BroadcastOp>(user))
        return std::nullopt;
      place.aligned = false;
      place.rowDim = -1;
      for (Operation *&context : place.contexts)
        context = user;
      return place;
    }
    if (isa<GatherOp>(user) && use.getOperandNumber() == 1 && !isExpensive(producer)) {
      place = Place();
      place.contexts = {user};
      return place;
    }
    return std::nullopt;
  }

  static bool isRowOf(ArrayRef<AffineExpr> shape, const Place &place) {
    if (shape.size() != place.frame.size())
      return false;
    for (size_t d = 0; d < shape.size(); ++d)
      if (static_cast<int64_t>(d) == place.rowDim ? !(shape[d] == 1) : shape[d] != place.frame[d])
        return false;
    return true;
  }

  bool mayJoin(Operation *producer, const Place &place) {
    if (isSource(producer))
      return true;
    if (auto reduce = dyn_cast<ReduceOp>(producer)) {
      if (place.row)
        return reduce.getAxes().size() == 1 && reduce.getAxes().front() == place.rowDim &&
               tensorType(reduce.getInput()).getShape() == place.frame;
      return place.aligned && place.contexts.size() == 1;
    }
    if (isHeavy(producer))
      return place.aligned && !place.row && !hasHeavy && !isHeavy(root) && place.contexts.size() == 1 &&
             tensorType(producer->getResult(0)).getLayout() == tensorType(root->getResult(0)).getLayout();
    if (passes::isElementwise(producer)) {
      if (place.row)
        return dependsOnReduction(producer, 6);
      if (place.contexts.size() > 1 && isExpensive(producer))
        return dependsOnReduction(producer, 3);
      return place.contexts.size() <= kMaxContexts;
    }
    return isMovement(producer) && !place.row;
  }

  static bool dependsOnReduction(Operation *op, int depth) {
    if (isa<ReduceOp>(op))
      return true;
    if (depth == 0 || !passes::isElementwise(op))
      return false;
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return operand.getDefiningOp() && dependsOnReduction(operand.getDefiningOp(), depth - 1);
    });
  }

  /// A view at the edge of the kernel costs nothing outside and an index map
  /// inside.
  void pruneViews() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *op : set)
        if (op != root && passes::isView(op) && !set.contains(op->getOperand(0).getDefiningOp())) {
          set.remove(op);
          changed = true;
          break;
        }
    }
  }

  Operation *root;
  OpSet set;
  DenseMap<Operation *, Place> places;
  bool hasHeavy = false;
};

struct FuseLoopNests : passes::impl::FuseLoopNestsBase<FuseLoopNests> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(plan::kKindAttr))
        run(function.getBody().front());
  }

  void run(Block &block) {
    copySources(block);
    for (Operation *op = &block.back(); op;) {
      Operation *previous = op->getPrevNode();
      if (isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>() && op->use_empty()) {
        op->erase();
      } else if (isa<LeafOp>(op)) {
        OpSet alone;
        alone.insert(op);
        previous = passes::makeKernel(KernelKind::leaf, alone, op)->getPrevNode();
      } else if (!isFixed(op) && !op->hasTrait<OpTrait::IsTerminator>() && !passes::isView(op)) {
        OpSet set = KernelGrower(op).grow();
        previous = passes::makeKernel(KernelKind::loopnest, set, op)->getPrevNode();
      }
      op = previous;
    }
  }

  /// Operations without operands are copied to each user: they cost nothing
  /// inside a kernel.
  void copySources(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!isSource(&op))
        continue;
      for (OpOperand &use : llvm::make_early_inc_range(op.getUses()))
        if (!op.hasOneUse()) {
          OpBuilder builder(&op);
          use.set(builder.clone(op)->getResult(0));
        }
    }
  }
};
} // namespace
