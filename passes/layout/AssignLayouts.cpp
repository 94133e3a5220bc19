// One walk in program order: each operation asks its operands for the layouts
// it needs and gives its result the layout that costs nothing more.
//   conv, pooling      channels-last in and out
//   matmul             left and result row-major, right in panels
//   leaf               row-major in and out; tables of weights in panels
//   transpose, reshape a view of the operand as it lies, if there is one
//   all others         as the operand that lies like the result would
// Loop nests read any layout through strides, so only contractions, windows,
// reshapes and the function's results ever need a relayout.
#include "passes/Passes.h"
#include "passes/Views.h"

#include "dialects/Graph/KernelGrid.h"
#include "dialects/Graph/Leaves.h"
#include "mlir/IR/Builders.h"

namespace stint::passes {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

namespace {
class LayoutAssigner {
public:
  explicit LayoutAssigner(func::FuncOp function) : function(function), builder(function.getContext()) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      visit(&op);
    for (auto gather : function.getBody().front().getOps<GatherOp>())
      tie(gather);
    // Weights that every user asked for in another layout.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (isa<WeightOp, ConstantOp>(op) && op.use_empty())
        op.erase();
  }

private:
  LayoutAttr order(ArrayRef<int64_t> dims) { return LayoutAttr::get(builder.getContext(), dims); }

  LayoutAttr channelsLast(int64_t rank) {
    if (rank < 3)
      return {};
    SmallVector<int64_t> dims = {0};
    for (int64_t i = 2; i < rank; ++i)
      dims.push_back(i);
    dims.push_back(1);
    return order(dims);
  }

  /// The operand in `layout`: a weight read so, or a relayout, shared by all
  /// users that ask for the same.
  void require(Operation *op, unsigned number, LayoutAttr layout) {
    Value value = op->getOperand(number);
    GraphTensorType wanted = tensorType(value).withLayout(layout);
    if (value.getType() == wanted)
      return;
    Value &converted = conversions[{value, wanted.getLayout()}];
    if (!converted) {
      OpBuilder::InsertionGuard guard(builder);
      if (auto weight = value.getDefiningOp<WeightOp>()) {
        builder.setInsertionPointAfter(weight);
        converted = builder.create<WeightOp>(weight.getLoc(), wanted, weight.getNameAttr(), weight.getExtent(),
                                             weight.getSteps());
      } else if (auto constant = value.getDefiningOp<ConstantOp>()) {
        builder.setInsertionPointAfter(constant);
        converted = builder.create<ConstantOp>(constant.getLoc(), wanted, constant.getValue());
      } else {
        // Right where it is first needed; later users come after.
        builder.setInsertionPoint(op);
        Location loc = value.getDefiningOp() ? value.getLoc() : op->getLoc();
        converted = builder.create<RelayoutOp>(loc, wanted, value);
      }
    }
    op->setOperand(number, converted);
  }

  void setResults(Operation *op, LayoutAttr layout) {
    for (Value result : op->getResults())
      if (layout && static_cast<int64_t>(layout.getOrder().size()) == tensorType(result).getRank())
        result.setType(tensorType(result).withLayout(layout));
      else
        result.setType(tensorType(result).withLayout({}));
  }

  /// Layout of the first operand that has the result's shape, preferring
  /// computed values to weights and arranged ones to row-major. Tiled layouts
  /// stay with their contraction.
  LayoutAttr followOperands(Operation *op) {
    GraphTensorType result = tensorType(op->getResult(0));
    LayoutAttr best;
    int bestScore = 0;
    for (Value operand : op->getOperands()) {
      GraphTensorType type = tensorType(operand);
      if (type.getRank() != result.getRank() || (type.getLayout() && type.getLayout().isTiled()) ||
          isa_and_nonnull<WeightOp, ConstantOp>(operand.getDefiningOp()))
        continue;
      int score = 1 + (type.getShape() == result.getShape() ? 4 : 0) + (sameMemory(type, type.withLayout({})) ? 0 : 2);
      if (score > bestScore) {
        best = type.getLayout();
        bestScore = score;
      }
    }
    return best;
  }

  /// Weights beside a value of the same rank lie as it does.
  void weightsLike(Operation *op, LayoutAttr layout) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (layout && op->getOperand(i).getDefiningOp<WeightOp>() &&
          tensorType(op->getOperand(i)).getRank() == static_cast<int64_t>(layout.getOrder().size()) &&
          !sameMemory(tensorType(op->getOperand(i)), tensorType(op->getOperand(i)).withLayout(layout)))
        require(op, i, layout);
  }

  void visitConv(ConvOp op) {
    int64_t rank = tensorType(op.getResult()).getRank();
    require(op, 0, channelsLast(rank));
    SmallVector<int64_t> dims;
    if (op.isDepthwise()) {
      for (int64_t i = 1; i <= rank; ++i)
        dims.push_back(i);
      dims.push_back(0);
      require(op, 1, order(dims));
    } else if (!isFloat(tensorType(op.getResult()).getElementType())) {
      // A loop nest, whose vectors run along the output channels.
      dims = {0};
      for (int64_t i = 3; i <= rank; ++i)
        dims.push_back(i);
      dims.append({2, 1});
      require(op, 1, order(dims));
    } else {
      dims = {0, 1};
      for (int64_t i = 3; i <= rank; ++i)
        dims.push_back(i);
      dims.push_back(2);
      require(op, 1, LayoutAttr::get(builder.getContext(), dims, 1, kPanelColumns));
    }
    setResults(op, channelsLast(rank));
  }

  void visitMatMul(MatMulOp op) {
    require(op, 0, {});
    GraphTensorType rhs = tensorType(op.getRhs());
    if (isFloat(rhs.getElementType())) {
      int64_t rank = rhs.getRank();
      SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
      dims.append({rank - 1, rank - 2});
      require(op, 1, LayoutAttr::get(builder.getContext(), dims, rank - 1, kPanelColumns));
    } else {
      require(op, 1, {});
    }
    setResults(op, {});
  }

  void visitWindow(WindowReduceOp op) {
    int64_t rank = tensorType(op.getResult()).getRank();
    bool pooling = rank >= 3 && op.getWindow()[0] == 1 && op.getWindow()[1] == 1;
    LayoutAttr layout = pooling ? channelsLast(rank) : tensorType(op.getInput()).getLayout();
    require(op, 0, layout);
    setResults(op, layout);
  }

  void visit(Operation *op) {
    if (auto conv = dyn_cast<ConvOp>(op))
      return visitConv(conv);
    if (auto matmul = dyn_cast<MatMulOp>(op))
      return visitMatMul(matmul);
    if (auto window = dyn_cast<WindowReduceOp>(op))
      return visitWindow(window);
    if (isa<WeightOp, ConstantOp, IotaOp, DimensionsOp, RelayoutOp>(op))
      return;
    if (isa<func::ReturnOp, IfOp, LoopOp, BindOp, TrapOp, RequireOp>(op)) {
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        require(op, i, {});
      return setResults(op, {});
    }
    if (isa<TransposeOp, ReshapeOp>(op)) {
      GraphTensorType view = passes::viewType(op);
      if (!view) {
        require(op, 0, {});
        view = tensorType(op->getResult(0)).withLayout({});
      }
      op->getResult(0).setType(view);
      return;
    }
    if (auto leaf = dyn_cast<LeafOp>(op))
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        require(op, i,
                i > 0 && findLeaf(leaf.getName())->has(Leaf::kTables)
                    ? LayoutAttr::get(builder.getContext(), {0, 1}, 0, kPanelColumns)
                    : LayoutAttr());
    if (isa<GatherOp, GatherNDOp, LeafOp>(op))
      return setResults(op, {});
    LayoutAttr layout = followOperands(op);
    setResults(op, layout);
    weightsLike(op, layout);
  }

  /// A table whose rows are gathered lies like the matrix of its shape that is
  /// multiplied with: where both have the same values, as tied embeddings do, the
  /// plan's writer then finds the same bytes. A gathered row takes more lines of
  /// the cache, which is nothing beside a product that reads all of them.
  void tie(GatherOp gather) {
    constexpr int64_t kWorthIt = 16 << 10; // elements
    auto table = gather.getInput().getDefiningOp<WeightOp>();
    if (!table)
      return;
    GraphTensorType type = tensorType(table);
    if (type.getRank() != 2 || type.getLayout() || *type.getStaticDim(0) * *type.getStaticDim(1) < kWorthIt ||
        !llvm::all_of(table->getUsers(), [](Operation *user) { return isa<GatherOp>(user); }))
      return;
    for (auto matmul : function.getBody().front().getOps<MatMulOp>()) {
      GraphTensorType other = tensorType(matmul.getRhs());
      if (matmul.getRhs().getDefiningOp<WeightOp>() && other.getLayout() &&
          other.getElementType() == type.getElementType() && other.getShape().size() == 2 &&
          other.getDim(0) == type.getDim(1) && other.getDim(1) == type.getDim(0))
        return table.getResult().setType(
            type.withLayout(LayoutAttr::get(builder.getContext(), {0, 1}, 0, other.getLayout().getTileSize())));
    }
  }

  func::FuncOp function;
  OpBuilder builder;
  DenseMap<std::pair<Value, LayoutAttr>, Value> conversions;

  static bool sameMemory(GraphTensorType a, GraphTensorType b) { return passes::sameMemory(a, b); }
};

struct AssignLayouts : passes::impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(plan::kKindAttr))
        LayoutAssigner(function).run();
  }
};
} // namespace
