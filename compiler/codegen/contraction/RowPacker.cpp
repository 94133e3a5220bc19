// A row of a convolution is a sequence of runs: for each kernel position of
// the outer dimensions, the kernel's innermost dimension times the channels,
// which lie one after the other in a channels-last input. With groups or a
// dilated innermost dimension a run is one kernel position's channels.
#include "compiler/codegen/contraction/RowPacker.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;

/// Longest run that is copied without a loop, in vectors.
static constexpr int64_t kUnrolledVectors = 8;
/// Most runs of a row that are copied without a loop.
static constexpr int64_t kUnrolledRuns = 16;

RowPacker::RowPacker(KernelBuilder &kernel, ElementEmitter &emitter, const Problem &problem)
    : kernel(kernel), emitter(emitter), problem(problem),
      width(kernel.variant.lanes(problem.accumulator.getIntOrFloatBitWidth())) {
  for (int64_t dim : problem.rowDims)
    rowExtents.push_back(kernel.evaluate(problem.type.getDim(dim)));
}

Value RowPacker::loadLeft(Value source, Value at, int64_t width) {
  if (!source) {
    Index zero = {kernel.constant(0)};
    SmallVector<Index> indices(problem.leftType.getRank(), zero);
    return emitter.splat(emitter.emit(problem.left, indices, 1), width);
  }
  Value value = kernel.load(kernel.address(source, at, problem.elementBytes()),
                            vectorOf(memoryType(problem.element), width), /*mayAlias=*/false);
  return emitter.fromMemory(value, problem.element);
}

void RowPacker::chunks(Value from, Value to, function_ref<void(Value, int64_t)> piece) {
  auto first = kernel.constantOf(from), last = kernel.constantOf(to);
  if (first && last && *last - *first <= kUnrolledVectors * width) {
    for (int64_t at = *first; at < *last;) {
      int64_t step = width;
      while (step > *last - at)
        step /= 2;
      piece(kernel.constant(at), step);
      at += step;
    }
    return;
  }
  // Whole vectors, then elements.
  Value count = kernel.max(kernel.sub(to, from), kernel.constant(0));
  Value middle = kernel.add(from, kernel.mul(kernel.div(count, kernel.constant(width)), width));
  kernel.loop(from, middle, kernel.constant(width), [&](Value at) { piece(at, width); });
  if (first && last && (*last - *first) % width == 0)
    return;
  kernel.loop(middle, to, kernel.constant(1), [&](Value at) { piece(at, 1); });
}

void RowPacker::copyWhole(Value source, Value destination, Value from, Value to) {
  chunks(from, to, [&](Value at, int64_t lanes) {
    kernel.store(loadLeft(source, at, lanes), kernel.address(destination, at, problem.accumulatorBytes()));
  });
}

void RowPacker::copy(Value source, Value destination, Value from, Value to, Value low, Value high) {
  Value whole =
      kernel.builder.create<arith::AndIOp>(kernel.loc, kernel.lessEqual(low, from), kernel.lessEqual(to, high));
  branch(
      kernel, whole, [&] { copyWhole(source, destination, from, to); },
      [&] {
        Value first = kernel.min(kernel.max(low, from), to), last = kernel.max(kernel.min(high, to), first);
        auto zeros = [&](Value at, int64_t lanes) {
          Type type = vectorOf(problem.accumulator, lanes);
          Value zero = kernel.builder.create<arith::ConstantOp>(kernel.loc, kernel.builder.getZeroAttr(type));
          kernel.store(zero, kernel.address(destination, at, problem.accumulatorBytes()));
        };
        chunks(from, first, zeros);
        copyWhole(source, destination, first, last);
        chunks(last, to, zeros);
      });
}

/// 0 <= value < limit.
Value RowPacker::isBelow(Value value, Value limit) {
  return kernel.builder.create<arith::CmpIOp>(kernel.loc, arith::CmpIPredicate::ult, value, limit);
}

/// `a` and `b`; `a` may be null.
Value RowPacker::both(Value a, Value b) {
  return a ? Value(kernel.builder.create<arith::AndIOp>(kernel.loc, a, b)) : b;
}

void RowPacker::convRow(ValueRange coordinates, Value source, Value destination, Value firstK, Value lastK,
                        bool wholeRuns) {
  graph::ConvOp conv = problem.conv();
  int64_t spatial = conv.getSpatialRank();
  Value channels = kernel.evaluate(problem.rightType.getDim(2));
  Value allChannels = kernel.evaluate(problem.leftType.getDim(1));
  bool merged = !problem.grouped && conv.getDilations().back() == 1;
  SmallVector<Value> kernelExtents, inputExtents, positions;
  for (int64_t i = 0; i < spatial; ++i) {
    kernelExtents.push_back(kernel.evaluate(problem.rightType.getDim(i + 3)));
    inputExtents.push_back(kernel.evaluate(problem.leftType.getDim(i + 2)));
    positions.push_back(
        kernel.sub(kernel.mul(coordinates[i + 1], conv.getStrides()[i]), kernel.constant(conv.getPadLow()[i])));
  }
  Value runLength = merged ? kernel.mul(channels, kernelExtents.back()) : channels;
  // With K = 0 there is no run, but its length is still divided by.
  Value divisor = kernel.max(runLength, kernel.constant(1));
  Value firstRun = kernel.div(firstK, divisor);
  Value lastRun = kernel.div(kernel.add(lastK, kernel.sub(divisor, kernel.constant(1))), divisor);
  ArrayRef<Value> tapExtents = ArrayRef<Value>(kernelExtents).drop_back(merged ? 1 : 0);

  /// Copies the run that begins at an input position: `move(from, to, begin,
  /// end)` for the part of it that is wanted.
  auto moveRun = [&](Value run, Value position, function_ref<void(Value, Value, Value, Value)> move) {
    Value from = source;
    if (source)
      from = kernel.address(source, kernel.mul(position, allChannels), problem.elementBytes());
    Value runStart = kernel.mul(run, runLength);
    Value to = kernel.address(destination, kernel.sub(runStart, firstK), problem.accumulatorBytes());
    Value begin = kernel.constant(0), end = runLength;
    if (!wholeRuns) {
      begin = kernel.max(kernel.sub(firstK, runStart), begin);
      end = kernel.min(kernel.sub(lastK, runStart), end);
    }
    move(from, to, begin, end);
  };

  Value base = coordinates[0]; // in input positions
  for (int64_t i = 0; i < spatial; ++i)
    base = kernel.add(kernel.mul(base, inputExtents[i]), positions[i]);

  // The whole window lies in the input: nothing to compare.
  auto interior = [&] {
    auto one = [&](Value run) {
      SmallVector<Value> taps = delinearize(kernel, run, tapExtents);
      taps.resize(spatial, kernel.constant(0));
      Value distance = kernel.constant(0);
      for (int64_t i = 0; i < spatial; ++i)
        distance = kernel.add(kernel.mul(distance, inputExtents[i]), kernel.mul(taps[i], conv.getDilations()[i]));
      moveRun(run, kernel.add(base, distance),
              [&](Value from, Value to, Value begin, Value end) { copyWhole(from, to, begin, end); });
    };
    auto first = kernel.constantOf(firstRun), last = kernel.constantOf(lastRun);
    if (first && last && *last - *first <= kUnrolledRuns) {
      for (int64_t run = *first; run < *last; ++run)
        one(kernel.constant(run));
      return;
    }
    kernel.loop(firstRun, lastRun, kernel.constant(1), one);
  };
  auto border = [&] {
    kernel.loop(firstRun, lastRun, kernel.constant(1), [&](Value run) {
      SmallVector<Value> taps = delinearize(kernel, run, tapExtents);
      Value position = coordinates[0], inside; // inside: i1
      for (int64_t i = 0; i < spatial; ++i) {
        bool inRun = merged && i == spatial - 1;
        Value at = inRun ? positions[i] : kernel.add(positions[i], kernel.mul(taps[i], conv.getDilations()[i]));
        position = kernel.add(kernel.mul(position, inputExtents[i]), at);
        if (!inRun)
          inside = both(inside, isBelow(at, inputExtents[i]));
      }
      Value low = kernel.constant(0), high = runLength;
      if (merged) {
        Value at = positions.back(), zero = kernel.constant(0);
        low = kernel.mul(kernel.max(kernel.sub(zero, at), zero), channels);
        high = kernel.mul(kernel.sub(inputExtents.back(), at), channels);
      }
      if (inside)
        high = kernel.builder.create<arith::SelectOp>(kernel.loc, inside, high, kernel.constant(0));
      moveRun(run, position,
              [&](Value from, Value to, Value begin, Value end) { copy(from, to, begin, end, low, high); });
    });
  };

  Value isInterior;
  for (int64_t i = 0; i < spatial; ++i) {
    if (conv.getPadLow()[i] <= 0 && conv.getPadHigh()[i] <= 0)
      continue;
    Value last = kernel.mul(kernel.sub(kernelExtents[i], kernel.constant(1)), conv.getDilations()[i]);
    isInterior = both(isInterior, isBelow(positions[i], inputExtents[i]));
    isInterior = both(isInterior, isBelow(kernel.add(positions[i], last), inputExtents[i]));
  }
  isInterior ? branch(kernel, isInterior, interior, border) : interior();
}

void RowPacker::pack(Value source, Value destination, int64_t stride, Value firstRow, Value lastRow, Value firstK,
                     Value lastK, bool wholeRuns) {
  Value one = kernel.constant(1);
  auto target = [&](Value row) {
    return kernel.address(destination, kernel.mul(kernel.sub(row, firstRow), stride), problem.accumulatorBytes());
  };
  if (problem.plainRows) {
    Value rowStride = kernel.evaluate(problem.rowStride);
    kernel.loop(firstRow, lastRow, one, [&](Value row) {
      Value from = source;
      if (source)
        from = kernel.address(source, kernel.add(kernel.mul(row, rowStride), firstK), problem.elementBytes());
      copyWhole(from, target(row), kernel.constant(0), kernel.sub(lastK, firstK));
    });
    return;
  }
  SmallVector<Value> coordinates = delinearize(kernel, firstRow, rowExtents);
  kernel.loop(firstRow, lastRow, one, coordinates, [&](Value row, ValueRange state) {
    convRow(state, source, target(row), firstK, lastK, wholeRuns);
    return advance(kernel, state, rowExtents);
  });
}
