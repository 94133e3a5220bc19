// What a contraction kernel computes, read off its operation and layouts.
#include "compiler/codegen/contraction/Problem.h"

#include "dialects/Graph/KernelGrid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

static llvm::Error internalError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "internal error: " + message);
}

static LogicalResult isReadable(Value operand) {
  if (isa<BlockArgument>(operand))
    return success();
  auto constant = operand.getDefiningOp<graph::ConstantOp>();
  return success(constant && constant.getValue().isSplat());
}

/// [0, 2, …, 1] of `rank` dimensions; the identity for rank 2.
static bool isChannelsLast(GraphTensorType type) {
  SmallVector<int64_t> order = type.getOrder();
  for (int64_t i = 1; i + 1 < type.getRank(); ++i)
    if (order[i] != i + 1)
      return false;
  return order[0] == 0 && order.back() == 1 && !(type.getLayout() && type.getLayout().isTiled());
}

/// The right operand's panels: `outer` dimensions, blocks of `columnDim`, the
/// K dimensions in order, and 16 columns.
static bool isPanels(GraphTensorType type, ArrayRef<int64_t> order, int64_t columnDim) {
  graph::LayoutAttr layout = type.getLayout();
  return layout && layout.isTiled() && layout.getTiledDim() == columnDim &&
         layout.getTileSize() == graph::kPanelColumns && layout.getOrder() == order;
}

static llvm::Error readMatMul(graph::MatMulOp op, Problem &problem) {
  GraphTensorType left = problem.leftType, right = problem.rightType, type = problem.type;
  MLIRContext *context = type.getContext();
  int64_t rank = right.getRank();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  order.append({rank - 1, rank - 2});
  if (!left.isRowMajor() || !(isPanels(right, order, rank - 1) || Problem::isImmediate(problem.right)))
    return internalError("operands of matmul in unknown layouts");
  bool batched = llvm::any_of(right.getShape().drop_back(2), [](AffineExpr e) { return !(e == 1); });
  problem.batches = problem.rows = getAffineConstantExpr(1, context);
  for (int64_t i = 0; i < type.getRank() - 2; ++i) {
    (batched ? problem.batchDims : problem.rowDims).push_back(i);
    AffineExpr &product = batched ? problem.batches : problem.rows;
    product = product * type.getDim(i);
  }
  problem.rowDims.push_back(type.getRank() - 2);
  problem.rows = problem.rows * type.getDim(type.getRank() - 2);
  problem.columnDim = type.getRank() - 1;
  problem.columns = type.getShape().back();
  problem.k = left.getShape().back();
  problem.plainRows = true;
  problem.rowStride = problem.k;
  return llvm::Error::success();
}

static llvm::Error readConv(graph::ConvOp op, Problem &problem) {
  GraphTensorType weight = problem.rightType, type = problem.type;
  int64_t spatial = op.getSpatialRank();
  SmallVector<int64_t> order = {0, 1};
  for (int64_t i = 0; i < spatial; ++i)
    order.push_back(i + 3);
  order.push_back(2);
  if (!isChannelsLast(problem.leftType) || !(isPanels(weight, order, 1) || Problem::isImmediate(problem.right)))
    return internalError("operands of conv in unknown layouts");
  problem.grouped = !(weight.getDim(0) == 1);
  problem.batches = weight.getDim(0);
  problem.columns = weight.getDim(1);
  problem.columnDim = 1;
  problem.k = weight.getDim(2);
  problem.rows = type.getDim(0);
  problem.rowDims.push_back(0);
  problem.plainRows = true;
  problem.rowStride = problem.leftType.getDim(1);
  for (int64_t i = 0; i < spatial; ++i) {
    problem.rowDims.push_back(i + 2);
    problem.rows = problem.rows * type.getDim(i + 2);
    problem.k = problem.k * weight.getDim(i + 3);
    problem.plainRows &=
        weight.getDim(i + 3) == 1 && op.getStrides()[i] == 1 && op.getPadLow()[i] == 0 && op.getPadHigh()[i] == 0;
  }
  return llvm::Error::success();
}

llvm::Expected<Problem> Problem::of(func::FuncOp kernel) {
  Problem problem = {};
  for (Operation &op : kernel.getBody().front()) {
    if (!isa<graph::MatMulOp, graph::ConvOp>(op))
      continue;
    if (problem.op)
      return internalError("a contraction kernel with two contractions");
    problem.op = &op;
  }
  if (!problem.op)
    return internalError("a contraction kernel without a contraction");
  problem.value = problem.op->getResult(0);
  problem.left = problem.op->getOperand(0);
  problem.right = problem.op->getOperand(1);
  problem.leftType = tensorType(problem.left);
  problem.rightType = tensorType(problem.right);
  problem.type = tensorType(problem.value);
  problem.element = problem.type.getElementType();
  if (!isa<FloatType>(problem.element))
    return internalError("a contraction of integers is a loop nest");
  problem.accumulator = registerType(problem.element);
  if (failed(isReadable(problem.left)) || failed(isReadable(problem.right)))
    return internalError("a contraction's operand is computed in its kernel");
  auto matmul = dyn_cast<graph::MatMulOp>(problem.op);
  if (llvm::Error error = matmul ? readMatMul(matmul, problem) : readConv(problem.conv(), problem))
    return std::move(error);
  for (Value result : kernel.getBody().front().getTerminator()->getOperands())
    if (tensorType(result).getShape() != problem.type.getShape())
      return internalError("results of a contraction kernel differ in shape");
  return problem;
}

// Emission helpers.

SmallVector<Value> codegen::delinearize(KernelBuilder &kernel, Value index, ArrayRef<Value> extents) {
  SmallVector<Value> coordinates(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    coordinates[i] = i == 0 ? index : kernel.rem(index, extents[i]);
    if (i > 0)
      index = kernel.div(index, extents[i]);
  }
  return coordinates;
}

SmallVector<Value> codegen::advance(KernelBuilder &kernel, ValueRange coordinates, ArrayRef<Value> extents) {
  SmallVector<Value> next(coordinates);
  Value carry; // i1, null means always
  for (size_t i = extents.size(); i-- > 0;) {
    OpBuilder &builder = kernel.builder;
    Value step = carry ? builder.create<arith::ExtUIOp>(kernel.loc, builder.getI64Type(), carry) : kernel.constant(1);
    Value sum = kernel.add(coordinates[i], step);
    if (i == 0) {
      next[i] = sum;
      break;
    }
    Value wraps = builder.create<arith::CmpIOp>(kernel.loc, arith::CmpIPredicate::eq, sum, extents[i]);
    next[i] = builder.create<arith::SelectOp>(kernel.loc, wraps, kernel.constant(0), sum);
    carry = wraps;
  }
  return next;
}

void codegen::branch(KernelBuilder &kernel, Value condition, function_ref<void()> then,
                     function_ref<void()> otherwise) {
  OpBuilder &builder = kernel.builder;
  auto op = builder.create<scf::IfOp>(kernel.loc, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  auto fill = [&](Block *block, function_ref<void()> make) {
    block->getTerminator()->erase();
    builder.setInsertionPointToEnd(block);
    make();
    builder.create<scf::YieldOp>(kernel.loc);
  };
  fill(op.thenBlock(), then);
  if (otherwise)
    fill(op.elseBlock(), otherwise);
}
