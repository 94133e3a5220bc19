// Movement operators: maps from an index of the result to an index of an
// operand. Where lanes may take different ways (the border of a pad, the seam
// of a concatenation, indices from memory) a vector that goes one way whole
// stays a vector, others are gathered lane by lane.
#include "compiler/codegen/emitter/ElementEmitter.h"
#include "compiler/codegen/emitter/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }
static Type elementType(Value value) { return tensorType(value).getElementType(); }

static bool isUniform(ArrayRef<Index> indices) {
  return llvm::all_of(indices, [](const Index &index) { return index.laneStride == 0; });
}

Value ElementEmitter::emitMovement(Operation *op, ArrayRef<Index> indices, int64_t width) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::ReshapeOp reshape) { return emitReshape(reshape, indices, width); })
      .Case([&](graph::TransposeOp transpose) {
        SmallVector<Index> from(indices.size());
        for (auto [i, d] : llvm::enumerate(transpose.getPermutation()))
          from[d] = indices[i];
        return emit(transpose.getInput(), from, width);
      })
      .Case([&](graph::SliceOp slice) {
        SmallVector<Index> from;
        ArrayRef<AffineExpr> starts = slice.getStarts().getResults();
        for (auto [d, index] : llvm::enumerate(indices)) {
          int64_t step = slice.getSteps()[d];
          if (starts[d] == 0 && step == 1)
            from.push_back(index);
          else
            from.push_back(
                {kernel.add(kernel.mul(index.base, step), kernel.evaluate(starts[d])), index.laneStride * step});
        }
        return emit(slice.getInput(), from, width);
      })
      .Case([&](graph::PadOp pad) { return emitPad(pad, indices, width); })
      .Case([&](graph::ConcatOp concat) { return emitConcat(concat, indices, width); })
      .Case<graph::GatherOp, graph::GatherElementsOp, graph::GatherNDOp>(
          [&](Operation *gather) { return emitGather(gather, indices, width); })
      .Case([&](graph::RelayoutOp relayout) { return emit(relayout.getInput(), indices, width); })
      .Case([&](graph::IotaOp iota) { return emitIota(iota, indices, width); })
      .Case([&](graph::DimensionsOp dimensions) { return emitDimensions(dimensions, indices, width); })
      .Default([](Operation *other) -> Value {
        llvm::errs() << "no element of " << other->getName() << "\n";
        llvm_unreachable("operator that no kernel holds");
      });
}

Value ElementEmitter::emitReshape(graph::ReshapeOp op, ArrayRef<Index> indices, int64_t width) {
  GraphTensorType to = tensorType(op.getResult()), from = tensorType(op.getInput());
  // Dimensions other than 1, in order: if they are the same, indices carry over.
  SmallVector<int64_t> toDims, fromDims;
  for (int64_t d = 0; d < to.getRank(); ++d)
    if (!(to.getDim(d) == 1))
      toDims.push_back(d);
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (!(from.getDim(d) == 1))
      fromDims.push_back(d);
  SmallVector<Index> source(from.getRank(), Index{kernel.constant(0), 0, 1 << 30});
  bool carries = toDims.size() == fromDims.size() && llvm::all_of(llvm::zip_equal(toDims, fromDims), [&](auto pair) {
                   return to.getDim(std::get<0>(pair)) == from.getDim(std::get<1>(pair));
                 });
  if (carries) {
    for (auto [t, f] : llvm::zip_equal(toDims, fromDims))
      source[f] = indices[t];
    return emit(op.getInput(), source, width);
  }
  if (width > 1)
    return lanes(indices, width, to.getElementType(),
                 [&](ArrayRef<Index> lane) { return emit(op.getResult(), lane, 1); });
  Value linear = kernel.constant(0);
  for (int64_t d = 0; d < to.getRank(); ++d)
    linear = kernel.add(kernel.mul(linear, to.getDim(d)), indices[d].base);
  for (int64_t d = from.getRank() - 1; d >= 0; --d) {
    Value size = kernel.evaluate(from.getDim(d));
    source[d] = {d == 0 ? linear : kernel.rem(linear, size)};
    linear = kernel.div(linear, size);
  }
  return emit(op.getInput(), source, 1);
}

Value ElementEmitter::emitPad(graph::PadOp op, ArrayRef<Index> indices, int64_t width) {
  GraphTensorType to = tensorType(op.getResult()), from = tensorType(op.getInput());
  Type registers = registerType(to.getElementType());
  ArrayRef<AffineExpr> low = op.getLow().getResults();
  auto isPadded = [&](int64_t d) { return !(low[d] == 0 && to.getDim(d) == from.getDim(d)); };
  // Where the element lies in the operand, and whether all lanes do.
  SmallVector<Index> source;
  Value inside;
  bool lanesVary = false;
  for (int64_t d = 0; d < to.getRank(); ++d) {
    if (!isPadded(d)) {
      source.push_back(indices[d]);
      continue;
    }
    Value base = kernel.sub(indices[d].base, kernel.evaluate(low[d]));
    source.push_back({base, indices[d].laneStride});
    int64_t span = indices[d].laneStride * (width - 1);
    lanesVary |= span != 0;
    Value first = span < 0 ? kernel.add(base, span) : base, last = span > 0 ? kernel.add(base, span) : base;
    Value here = kernel.builder.create<arith::AndIOp>(kernel.loc, kernel.lessEqual(kernel.constant(0), first),
                                                      kernel.less(last, kernel.evaluate(from.getDim(d))));
    inside = inside ? kernel.builder.create<arith::AndIOp>(kernel.loc, inside, here) : here;
  }
  if (!inside)
    return emit(op.getInput(), source, width);
  return kernel.select(
      inside, vectorOf(registers, width), [&] { return emit(op.getInput(), source, width); },
      [&]() -> Value {
        if (lanesVary)
          return lanes(indices, width, to.getElementType(),
                       [&](ArrayRef<Index> lane) { return emit(op.getResult(), lane, 1); });
        if (op.getMode() == graph::PadMode::constant)
          return splat(emit(op.getValue(), {}, 1), width);
        SmallVector<Index> mapped(source);
        for (int64_t d = 0; d < to.getRank(); ++d) {
          if (!isPadded(d))
            continue;
          Value size = kernel.evaluate(from.getDim(d)), at = source[d].base, one = kernel.constant(1);
          switch (op.getMode()) {
          case graph::PadMode::edge:
            at = kernel.max(kernel.min(at, kernel.sub(size, one)), kernel.constant(0));
            break;
          case graph::PadMode::wrap:
            at = kernel.mod(at, kernel.max(size, one));
            break;
          default: { // reflect: there and back again, the ends once
            Value period = kernel.max(kernel.mul(kernel.sub(size, one), 2), one);
            at = kernel.mod(at, period);
            at = kernel.min(at, kernel.sub(period, at));
            // A size of 1 has a period of 1: index 0.
            at = kernel.min(at, kernel.max(kernel.sub(size, one), kernel.constant(0)));
          }
          }
          mapped[d] = {at};
        }
        return emit(op.getInput(), mapped, width);
      });
}

/// A Concat of more operands finds the one it reads by halves.
static constexpr size_t kManyPieces = 8;

Value ElementEmitter::emitConcat(graph::ConcatOp op, ArrayRef<Index> indices, int64_t width) {
  int64_t axis = op.getAxis();
  Type element = elementType(op.getResult());
  const Index &along = indices[axis];
  int64_t span = along.laneStride * (width - 1);
  Value first = span < 0 ? kernel.add(along.base, span) : along.base;
  Value last = span > 0 ? kernel.add(along.base, span) : along.base;
  // Operands that may hold anything.
  SmallVector<std::pair<Value, AffineExpr>> pieces; // and where they begin
  AffineExpr begin = getAffineConstantExpr(0, op.getContext());
  for (Value input : op.getInputs()) {
    AffineExpr size = tensorType(input).getDim(axis);
    if (!(size == 0))
      pieces.push_back({input, begin});
    begin = kernel.symbols.simplify(begin + size);
  }
  auto piece = [&](size_t i) {
    SmallVector<Index> source(indices);
    source[axis].base = kernel.sub(along.base, kernel.evaluate(pieces[i].second));
    source[axis].divisor = 1;
    return emit(pieces[i].first, source, width);
  };
  // One index along the axis is looked for by halves: what comes after many
  // questions in a row takes LLVM quadratic time.
  std::function<Value(size_t, size_t)> within = [&](size_t begin, size_t end) -> Value {
    if (end - begin == 1)
      return piece(begin);
    size_t middle = begin + (end - begin) / 2;
    return kernel.select(
        kernel.less(along.base, kernel.evaluate(pieces[middle].second)), vectorOf(registerType(element), width),
        [&] { return within(begin, middle); }, [&] { return within(middle, end); });
  };
  if (span == 0 && pieces.size() > kManyPieces)
    return within(0, pieces.size());
  // Asks piece by piece whether the vector ends before the next begins.
  std::function<Value(size_t)> from = [&](size_t i) -> Value {
    bool isLast = i + 1 == pieces.size();
    if (isLast && span == 0)
      return piece(i);
    Value whole;
    if (!isLast)
      whole = kernel.less(last, kernel.evaluate(pieces[i + 1].second));
    if (span != 0 && i > 0) {
      Value begun = kernel.lessEqual(kernel.evaluate(pieces[i].second), first);
      whole = whole ? kernel.builder.create<arith::AndIOp>(kernel.loc, whole, begun).getResult() : begun;
    }
    if (!whole)
      return piece(i);
    return kernel.select(
        whole, vectorOf(registerType(element), width), [&] { return piece(i); },
        [&]() -> Value {
          if (!isLast)
            return from(i + 1);
          return lanes(indices, width, element, [&](ArrayRef<Index> lane) { return emit(op.getResult(), lane, 1); });
        });
  };
  return from(0);
}

/// An index from memory as a coordinate in [0, size).
static Value wrapIndex(KernelBuilder &kernel, Value index, Value size) {
  OpBuilder &builder = kernel.builder;
  if (!index.getType().isInteger(64))
    index = builder.create<arith::ExtSIOp>(kernel.loc, builder.getI64Type(), index);
  Value zero = kernel.constant(0);
  Value negative = builder.create<arith::CmpIOp>(kernel.loc, arith::CmpIPredicate::slt, index, zero);
  Value wrapped = builder.create<arith::AddIOp>(kernel.loc, index, size);
  index = builder.create<arith::SelectOp>(kernel.loc, negative, wrapped, index);
  Value last = kernel.sub(size, kernel.constant(1));
  index = builder.create<arith::MinSIOp>(kernel.loc, index, last);
  return builder.create<arith::MaxSIOp>(kernel.loc, index, zero);
}

Value ElementEmitter::emitGather(Operation *op, ArrayRef<Index> indices, int64_t width) {
  Value input = op->getOperand(0), table = op->getOperand(1);
  GraphTensorType from = tensorType(input), tableType = tensorType(table);
  Type element = from.getElementType();
  // Indices of the table's elements (the last dimension of a GatherND table
  // apart), the axes they stand for, and the operand's other coordinates.
  SmallVector<Index> at, source(from.getRank());
  int64_t firstAxis = 0, axes = 1;
  if (auto gather = dyn_cast<graph::GatherOp>(op)) {
    firstAxis = gather.getAxis();
    int64_t tableRank = tableType.getRank();
    at.assign(indices.begin() + firstAxis, indices.begin() + firstAxis + tableRank);
    for (int64_t d = 0; d < from.getRank(); ++d)
      if (d != firstAxis)
        source[d] = indices[d < firstAxis ? d : d - 1 + tableRank];
  } else if (auto gather = dyn_cast<graph::GatherElementsOp>(op)) {
    firstAxis = gather.getAxis();
    at.assign(indices.begin(), indices.end());
    source.assign(indices.begin(), indices.end());
  } else {
    firstAxis = cast<graph::GatherNDOp>(op).getBatchDims();
    int64_t tuples = tableType.getRank() - 1;
    axes = *tableType.getStaticDim(tuples);
    at.assign(indices.begin(), indices.begin() + tuples);
    for (int64_t d = 0; d < firstAxis; ++d)
      source[d] = indices[d];
    for (int64_t d = firstAxis + axes; d < from.getRank(); ++d)
      source[d] = indices[tuples + d - firstAxis - axes];
  }
  if (width > 1 && !isUniform(at))
    return lanes(indices, width, element, [&](ArrayRef<Index> lane) { return emit(op->getResult(0), lane, 1); });

  Value anyData; // the operand has elements on the axes
  for (int64_t i = 0; i < axes; ++i) {
    SmallVector<Index> where(at);
    if (isa<graph::GatherNDOp>(op))
      where.push_back({kernel.constant(i)});
    Value index = emit(table, where, 1), size = kernel.evaluate(from.getDim(firstAxis + i));
    OpBuilder::InsertPoint saved = kernel.hoist({index});
    source[firstAxis + i] = {wrapIndex(kernel, index, size)};
    kernel.builder.restoreInsertionPoint(saved);
    if (kernel.symbols.range(from.getDim(firstAxis + i)).lower > 0)
      continue;
    Value some = kernel.less(kernel.constant(0), size);
    anyData = anyData ? kernel.builder.create<arith::AndIOp>(kernel.loc, anyData, some).getResult() : some;
  }
  if (!anyData)
    return emit(input, source, width);
  Type type = vectorOf(registerType(element), width);
  return kernel.select(
      anyData, type, [&] { return emit(input, source, width); },
      [&] { return Arithmetic(kernel.builder, kernel.loc, kernel.variant).constant(type, 0); });
}

Value ElementEmitter::emitIota(graph::IotaOp op, ArrayRef<Index> indices, int64_t width) {
  const Index &index = indices[op.getAxis()];
  OpBuilder &builder = kernel.builder;
  OpBuilder::InsertPoint saved = kernel.hoist({index.base});
  Value position = splat(index.base, width);
  if (width > 1) {
    SmallVector<int64_t> steps;
    for (int64_t lane = 0; lane < width; ++lane)
      steps.push_back(lane * index.laneStride);
    Value offsets = builder.create<arith::ConstantOp>(
        kernel.loc, DenseElementsAttr::get(cast<VectorType>(position.getType()), ArrayRef<int64_t>(steps)));
    position = builder.create<arith::AddIOp>(kernel.loc, position, offsets);
  }
  Value value =
      Arithmetic(builder, kernel.loc, kernel.variant).cast(position, builder.getI64Type(), elementType(op.getResult()));
  builder.restoreInsertionPoint(saved);
  return value;
}

Value ElementEmitter::emitDimensions(graph::DimensionsOp op, ArrayRef<Index> indices, int64_t width) {
  Type element = elementType(op.getResult());
  if (width > 1)
    return lanes(indices, width, element, [&](ArrayRef<Index> lane) { return emit(op.getResult(), lane, 1); });
  OpBuilder &builder = kernel.builder;
  Value result = kernel.constant(0);
  for (auto [i, expr] : llvm::enumerate(op.getValues().getResults())) {
    Value here =
        builder.create<arith::CmpIOp>(kernel.loc, arith::CmpIPredicate::eq, indices[0].base, kernel.constant(i));
    result = builder.create<arith::SelectOp>(kernel.loc, here, kernel.evaluate(expr), result);
  }
  return Arithmetic(builder, kernel.loc, kernel.variant).cast(result, builder.getI64Type(), element);
}
