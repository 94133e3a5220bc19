// A decoder's step: tokens stay apart from each other, and only the tokens
// whose logits are wanted go all the way.
//
// First every operator is looked at: it must compute each token from that token
// alone, but for the leaves of paged attention; the dimension `tokens` may move
// from axis to axis, but not mix. Then the gather of logit rows, the last
// operator, moves towards the front: what only logits are computed from is
// computed for the rows alone, up to the attention of the last layer, whose
// keys and values are needed of all tokens.
#include "passes/Passes.h"

#include "dialects/Graph/Decoder.h"
#include "dialects/Graph/Leaves.h"
#include "dialects/Graph/Locations.h"
#include "dialects/Graph/Shapes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace stint::passes {
#define GEN_PASS_DEF_SINKROWS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

namespace {
/// Where tokens are, and whether operators keep them apart.
class Tokens {
public:
  Tokens(const Symbols &symbols, AffineExpr tokens) : symbols(symbols), tokens(tokens) {}

  bool mentions(AffineExpr expr) const {
    bool found = false;
    expr.walk([&](AffineExpr e) { found |= e == tokens; });
    return found;
  }

  /// The axis that is `tokens`; -1 if none is; nullopt if it is only part of
  /// a dimension, or several are.
  std::optional<int64_t> axisOf(GraphTensorType type) const {
    int64_t axis = -1;
    for (auto [i, dim] : llvm::enumerate(type.getShape())) {
      if (!mentions(dim))
        continue;
      if (axis >= 0 || symbols.simplify(dim) != tokens)
        return std::nullopt;
      axis = i;
    }
    return axis;
  }
  std::optional<int64_t> axisOf(Value value) const { return axisOf(tensorType(value)); }
  bool has(Value value) const { return axisOf(value).value_or(0) >= 0; }

  /// Whether each token of the results comes from that token of the operands.
  bool areApart(Operation *op) const;

private:
  bool reshapeKeeps(GraphTensorType from, int64_t a, GraphTensorType to, int64_t b) const;
  bool leafKeeps(LeafOp leaf) const;

  const Symbols &symbols;
  AffineExpr tokens;
};
} // namespace

static AffineExpr product(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  AffineExpr all = getAffineConstantExpr(1, context);
  for (AffineExpr dim : dims)
    all = all * dim;
  return all;
}

/// As many elements in front of the tokens as before, and as many behind.
bool Tokens::reshapeKeeps(GraphTensorType from, int64_t a, GraphTensorType to, int64_t b) const {
  MLIRContext *context = from.getContext();
  auto equal = [&](ArrayRef<AffineExpr> x, ArrayRef<AffineExpr> y) {
    return symbols.equal(product(x, context), product(y, context)) == true;
  };
  return equal(from.getShape().take_front(a), to.getShape().take_front(b)) &&
         equal(from.getShape().drop_front(a + 1), to.getShape().drop_front(b + 1));
}

/// Leaves whose operands and results have tokens as their first dimension, if
/// at all.
bool Tokens::leafKeeps(LeafOp leaf) const {
  SmallVector<Value> values(leaf.getInputs());
  llvm::append_range(values, leaf.getOutputs());
  return findLeaf(leaf.getName())->has(Leaf::kApart) &&
         llvm::all_of(values, [&](Value value) { return *axisOf(value) <= 0; });
}

bool Tokens::areApart(Operation *op) const {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  bool any = false;
  for (Value value : values) {
    if (!axisOf(value))
      return false;
    any |= has(value);
  }
  if (auto dimensions = dyn_cast<DimensionsOp>(op))
    return llvm::none_of(dimensions.getValues().getResults(), [&](AffineExpr e) { return mentions(e); });
  if (!any)
    return !isa<BindOp, RequireOp, TrapOp, IfOp, LoopOp>(op);
  if (auto leaf = dyn_cast<LeafOp>(op))
    return leafKeeps(leaf);
  if (op->getNumResults() != 1 || !has(op->getResult(0)))
    return false;
  int64_t after = *axisOf(op->getResult(0)), before = op->getNumOperands() ? *axisOf(op->getOperand(0)) : -1;
  if (op->hasTrait<Elementwise>())
    return true;
  if (isa<TransposeOp>(op))
    return true;
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshapeKeeps(tensorType(reshape.getInput()), before, tensorType(reshape.getResult()), after);
  if (auto slice = dyn_cast<SliceOp>(op))
    return slice.getStarts().getResult(after) == 0 && slice.getSteps()[after] == 1;
  if (auto pad = dyn_cast<PadOp>(op))
    return pad.getLow().getResult(after) == 0;
  if (auto concat = dyn_cast<ConcatOp>(op))
    return static_cast<int64_t>(concat.getAxis()) != after;
  if (auto gather = dyn_cast<GatherOp>(op))
    return has(gather.getInput()) ? !has(gather.getIndices()) && static_cast<int64_t>(gather.getAxis()) != before
                                  : true;
  if (auto iota = dyn_cast<IotaOp>(op))
    return static_cast<int64_t>(iota.getAxis()) != after;
  if (auto matmul = dyn_cast<MatMulOp>(op)) {
    int64_t left = *axisOf(matmul.getLhs()), right = *axisOf(matmul.getRhs());
    return left != tensorType(matmul.getLhs()).getRank() - 1 &&
           (right < 0 || right != tensorType(matmul.getRhs()).getRank() - 2);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return !llvm::is_contained(reduce.getAxes(), before);
  return false;
}

namespace {
struct SinkRows : passes::impl::SinkRowsBase<SinkRows> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(kDecoderAttr))
      return;
    Symbols symbols = Symbols::of(module);
    AffineExpr tokens, rows;
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i].getName() == steptable::kTokenCount)
        tokens = getAffineSymbolExpr(i, &getContext());
      if (symbols[i].getName() == steptable::kRowCount)
        rows = getAffineSymbolExpr(i, &getContext());
    }
    if (!tokens || !rows)
      return; // one token only
    auto function = *module.getOps<func::FuncOp>().begin();
    Tokens where(symbols, tokens);
    GatherOp last = lastGather(function, where);
    if (!last)
      return signalPassFailure();
    for (Operation &op : function.getBody().front().without_terminator())
      if (&op != last && !where.areApart(&op)) {
        reportMixing(&op);
        return signalPassFailure();
      }
    sink(function, last, where, tokens, rows);
  }

  static void reportMixing(Operation *op) {
    llvm::SetVector<StringRef> nodes;
    collectNodes(op->getLoc(), nodes);
    mlir::emitError(op->getLoc()) << "computes tokens from each other (" << op->getName().getStringRef()
                                  << "), outside attention; a decoder's sequences then can't share a step: compile "
                                     "with --state none and --dim for every dimension";
  }

  /// What takes the rows of the logits.
  GatherOp lastGather(func::FuncOp function, const Tokens &where) {
    GatherOp found;
    function.walk([&](GatherOp gather) {
      auto indices = dyn_cast<BlockArgument>(gather.getIndices());
      if (indices && function.getArgAttrOfType<StringAttr>(indices.getArgNumber(), kNameAttr) == steptable::kRows &&
          where.has(gather.getInput()))
        found = gather;
    });
    if (!found)
      function.emitError() << "does not take rows of logits";
    return found;
  }

  void sink(func::FuncOp function, GatherOp last, const Tokens &where, AffineExpr tokens, AffineExpr rows) {
    // From the back: what nothing but rows is computed from.
    llvm::SetVector<Operation *> moving;
    for (Operation &op : llvm::reverse(function.getBody().front())) {
      if (op.getNumResults() == 0 || !llvm::all_of(op.getResults(), [&](Value v) { return where.has(v); }))
        continue;
      if (llvm::all_of(op.getUsers(), [&](Operation *user) { return user == last || moving.contains(user); }))
        moving.insert(&op);
    }
    OpBuilder builder(last);
    IRMapping map;
    auto ofRows = [&](GraphTensorType type) {
      return GraphTensorType::get(
          llvm::map_to_vector(type.getShape(), [&](AffineExpr e) { return e.replace(tokens, rows); }),
          type.getElementType(), type.getLayout());
    };
    auto take = [&](Value value) {
      if (Value known = map.lookupOrNull(value))
        return known;
      Value some = builder.create<GatherOp>(last.getLoc(), value, last.getIndices(), *where.axisOf(value)).getResult();
      map.map(value, some);
      return some;
    };
    for (Operation *op : llvm::reverse(moving)) {
      builder.setInsertionPoint(op);
      for (Value operand : op->getOperands())
        if (where.has(operand))
          take(operand);
      Operation *copy = builder.clone(*op, map);
      for (auto [before, after] : llvm::zip(op->getResults(), copy->getResults())) {
        after.setType(ofRows(tensorType(before)));
        map.map(before, after);
      }
    }
    if (Value result = map.lookupOrNull(last.getInput())) {
      last.replaceAllUsesWith(result);
      last.erase();
      for (Operation *op : moving)
        op->erase();
    }
  }
};
} // namespace
