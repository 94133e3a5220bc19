// Reductions over whole axes: loops in the operand's memory order. Where the
// operand's innermost dimension is reduced, a row is taken kRowLanes elements
// at a time into as many partial results, then 8 at a time, then singly; the
// order depends on nothing else, so that any width asked for gives the same
// bits.
#include "compiler/codegen/emitter/ElementEmitter.h"
#include "compiler/codegen/emitter/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;
using graph::ReduceKind;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

/// Partial results of a row: four registers of AVX2.
static int64_t rowLanes(Type registerType) { return registerType.getIntOrFloatBitWidth() == 64 ? 16 : 32; }

/// What a reduction starts from, as a register value of `type`.
static Value initial(Arithmetic &arith, ReduceKind kind, Type type, Type elementType) {
  switch (kind) {
  case ReduceKind::prod:
    return arith.constant(type, 1);
  case ReduceKind::max:
  case ReduceKind::argmax:
    return arith.lowest(type, elementType, /*highest=*/false);
  case ReduceKind::min:
  case ReduceKind::argmin:
    return arith.lowest(type, elementType, /*highest=*/true);
  default:
    return arith.constant(type, 0);
  }
}

static Value combine(Arithmetic &arith, ReduceKind kind, Value a, Value b, Type elementType) {
  switch (kind) {
  case ReduceKind::prod:
    return arith.mul(a, b, elementType);
  case ReduceKind::max:
    return arith.max(a, b, elementType);
  case ReduceKind::min:
    return arith.min(a, b, elementType);
  default:
    return arith.add(a, b, elementType);
  }
}

/// Halves a vector to `width` lanes.
static Value halveTo(KernelBuilder &kernel, Arithmetic &arith, ReduceKind kind, Value vector, int64_t width,
                     Type elementType) {
  OpBuilder &builder = kernel.builder;
  for (int64_t lanes = cast<VectorType>(vector.getType()).getNumElements(); lanes > width;) {
    lanes /= 2;
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      low.push_back(i);
      high.push_back(lanes + i);
    }
    Value a = builder.create<vector::ShuffleOp>(kernel.loc, vector, vector, low);
    Value b = builder.create<vector::ShuffleOp>(kernel.loc, vector, vector, high);
    vector = combine(arith, kind, a, b, elementType);
  }
  return width > 1 ? vector : builder.create<vector::ExtractOp>(kernel.loc, vector, ArrayRef<int64_t>{0}).getResult();
}

Value ElementEmitter::reduceRow(graph::ReduceOp op, SmallVector<Index> indices, int64_t axis, Value state) {
  Type element = tensorType(op.getInput()).getElementType(), registers = state.getType();
  Arithmetic arith(kernel.builder, kernel.loc, kernel.variant);
  ReduceKind kind = op.getKind();
  Value size = kernel.evaluate(tensorType(op.getInput()).getDim(axis)), done = kernel.constant(0);
  int64_t most = kernel.symbols.upper(tensorType(op.getInput()).getDim(axis));
  Value partial;
  for (int64_t width : {rowLanes(registers), int64_t(8)}) {
    if (most < width)
      continue;
    Type type = vectorOf(registers, width);
    Value start = partial ? halveTo(kernel, arith, kind, partial, width, element) : initial(arith, kind, type, element);
    Value end = kernel.sub(size, kernel.rem(size, kernel.constant(width)));
    partial = kernel.loop(done, end, kernel.constant(width), start, [&](Value iv, ValueRange states) {
      indices[axis] = {iv, 1, width};
      return SmallVector<Value>{combine(arith, kind, states[0], emit(op.getInput(), indices, width), element)};
    })[0];
    done = end;
  }
  if (partial)
    state = combine(arith, kind, state, halveTo(kernel, arith, kind, partial, 1, element), element);
  if (kernel.constantOf(done) && kernel.constantOf(size) && *kernel.constantOf(done) == *kernel.constantOf(size))
    return state;
  return kernel.loop(done, size, kernel.constant(1), state, [&](Value iv, ValueRange states) {
    indices[axis] = {iv};
    return SmallVector<Value>{combine(arith, kind, states[0], emit(op.getInput(), indices, 1), element)};
  })[0];
}

Value ElementEmitter::emitReduce(graph::ReduceOp op, ArrayRef<Index> indices, int64_t width) {
  if (op.getKind() == ReduceKind::argmax || op.getKind() == ReduceKind::argmin)
    return emitArgReduce(op, indices, width);
  GraphTensorType type = tensorType(op.getInput());
  Type element = type.getElementType(), registers = registerType(element);
  SmallVector<int64_t> axes; // outermost in memory first
  for (int64_t dim : type.getOrder())
    if (llvm::is_contained(op.getAxes(), dim) && !(type.getDim(dim) == 1))
      axes.push_back(dim);
  bool tiled = type.getLayout() && type.getLayout().isTiled();
  bool row = !axes.empty() && !tiled && axes.back() == type.getOrder().back();
  if (row && width > 1)
    return lanes(indices, width, element, [&](ArrayRef<Index> lane) { return emit(op.getResult(), lane, 1); });

  OpBuilder::InsertPoint saved = hoistFor(op, indices);
  Arithmetic arith(kernel.builder, kernel.loc, kernel.variant);
  SmallVector<Index> at(indices);
  std::function<Value(size_t, Value)> nest = [&](size_t level, Value state) -> Value {
    if (level == axes.size())
      return combine(arith, op.getKind(), state, emit(op.getInput(), at, width), element);
    if (row && level + 1 == axes.size())
      return reduceRow(op, at, axes[level], state);
    Value size = kernel.evaluate(type.getDim(axes[level]));
    return kernel.loop(kernel.constant(0), size, kernel.constant(1), state, [&](Value iv, ValueRange states) {
      at[axes[level]] = {iv};
      return SmallVector<Value>{nest(level + 1, states[0])};
    })[0];
  };
  Value result = nest(0, initial(arith, op.getKind(), vectorOf(registers, width), element));
  if (op.getKind() == ReduceKind::mean) {
    Value count = kernel.constant(1);
    for (int64_t axis : axes)
      count = kernel.mul(count, type.getDim(axis));
    // Of integers, an empty mean is 0.
    Type countType = isa<FloatType>(element) ? registers : element;
    result = arith.div(result, splat(arith.cast(count, kernel.builder.getI64Type(), countType), width), element);
  }
  kernel.builder.restoreInsertionPoint(saved);
  return result;
}

Value ElementEmitter::emitArgReduce(graph::ReduceOp op, ArrayRef<Index> indices, int64_t width) {
  GraphTensorType type = tensorType(op.getInput());
  Type element = type.getElementType();
  OpBuilder &builder = kernel.builder;
  int64_t axis = op.getAxes().front();
  bool wantMax = op.getKind() == ReduceKind::argmax, last = op.getSelectLast();
  OpBuilder::InsertPoint saved = hoistFor(op, indices);
  Arithmetic arith(builder, kernel.loc, kernel.variant);
  using P = graph::ComparePredicate;
  P predicate = wantMax ? (last ? P::ge : P::gt) : (last ? P::le : P::lt);
  Value best = initial(arith, op.getKind(), vectorOf(registerType(element), width), element);
  Value where = splat(kernel.constant(0), width);
  SmallVector<Index> at(indices);
  ValueRange state =
      kernel.loop(kernel.constant(0), kernel.evaluate(type.getDim(axis)), kernel.constant(1), ValueRange{best, where},
                  [&](Value iv, ValueRange states) {
                    at[axis] = {iv};
                    Value x = emit(op.getInput(), at, width);
                    Value better = arith.compare(predicate, x, states[0], element);
                    if (isa<FloatType>(element)) { // NaN beats every number
                      Value isNew = arith.isNaN(x);
                      if (!last) {
                        Value is =
                            builder.create<arith::CmpFOp>(kernel.loc, arith::CmpFPredicate::ORD, states[0], states[0]);
                        isNew = builder.create<arith::AndIOp>(kernel.loc, isNew, is);
                      }
                      better = builder.create<arith::OrIOp>(kernel.loc, better, isNew);
                    }
                    Value chosen = builder.create<arith::SelectOp>(kernel.loc, better, x, states[0]);
                    Value position = builder.create<arith::SelectOp>(kernel.loc, better, splat(iv, width), states[1]);
                    return SmallVector<Value>{chosen, position};
                  });
  builder.restoreInsertionPoint(saved);
  return state[1];
}
