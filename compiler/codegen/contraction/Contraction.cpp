// The loops of a contraction kernel:
//
//   batch or group
//     block of rows
//       block of panels        (only if K has several blocks)
//         block of K           rows packed here, if they are
//           panel
//             register tile    K loop; after the last block the epilogue
#include "compiler/codegen/contraction/Contraction.h"
#include "compiler/codegen/contraction/Blocking.h"
#include "compiler/codegen/contraction/RowPacker.h"

#include "dialects/Graph/KernelGrid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace stint;
using namespace stint::codegen;

namespace {

constexpr int64_t kColumns = graph::kPanelColumns;
/// Cache lines that a tile prefetches at most.
constexpr int64_t kMostPrefetched = 32;

class ContractionGenerator {
public:
  ContractionGenerator(func::FuncOp source, const Problem &problem, const target::Variant &variant, ModuleOp into)
      : kernel(source, variant, into), emitter(kernel), problem(problem),
        blocking(Blocking::of(problem, kernel.symbols, variant)), packer(kernel, emitter, problem),
        accumulatorVector(vectorOf(problem.accumulator, kColumns)) {}

  int64_t run() {
    k = kernel.evaluate(problem.k);
    columns = kernel.evaluate(problem.columns);
    panelCount = kernel.evaluate(problem.columns.ceilDiv(kColumns));
    if (blocking.pack)
      packed = kernel.reserveScratch(blocking.rows * blocking.packedStride * problem.accumulatorBytes());
    int64_t partialPanels = blocking.oneBlock ? 1 : blocking.panels;
    partial = kernel.reserveScratch(partialPanels * partialStride());
    for (int64_t dim : problem.rowDims)
      rowExtents.push_back(kernel.evaluate(problem.type.getDim(dim)));
    for (int64_t dim : problem.batchDims)
      batchExtents.push_back(kernel.evaluate(problem.type.getDim(dim)));
    kernel.loop(kernel.begin(0), kernel.end(0), kernel.constant(1), [&](Value at) { emitBatch(at); });
    kernel.finish();
    return kernel.scratchBytes();
  }

private:
  /// A register tile's place: rows from `row` on, `b` where the panel's K
  /// steps begin, `sums` its accumulators in memory.
  struct Tile {
    Value row, count, b, firstK, steps, sums, isFirst;
  };

  /// Bytes of one panel's accumulators.
  int64_t partialStride() {
    return (blocking.oneBlock ? blocking.tiles.front() : blocking.rows) * kColumns * problem.accumulatorBytes();
  }

  /// Offset of a batch of `type` in elements, where dimensions of 1 are
  /// broadcast: its leading dimensions are aligned with the batch's last.
  Value batchOffset(graph::GraphTensorType type) {
    ArrayRef<AffineExpr> leading = type.getShape().drop_back(2);
    MemoryMap map = MemoryMap::of(type);
    Value offset = kernel.constant(0);
    size_t skip = batchCoordinates.size() - leading.size();
    for (size_t i = 0; i < leading.size(); ++i)
      if (!(leading[i] == 1))
        offset = kernel.add(offset, kernel.mul(batchCoordinates[skip + i], map.strides[i]));
    return offset;
  }

  void emitBatch(Value at) {
    batch = at;
    batchCoordinates = delinearize(kernel, batch, batchExtents);
    Value leftOffset = kernel.constant(0), rightOffset = kernel.constant(0);
    if (problem.conv()) {
      if (problem.grouped)
        leftOffset = kernel.mul(batch, kernel.evaluate(problem.rightType.getDim(2)));
      rightOffset = kernel.mul(kernel.mul(kernel.mul(batch, panelCount), k), kColumns);
    } else if (!problem.batchDims.empty()) {
      leftOffset = batchOffset(problem.leftType);
      rightOffset = batchOffset(problem.rightType);
    }
    left = right = Value();
    if (!Problem::isImmediate(problem.left))
      left = kernel.address(kernel.operandPointer(problem.left), leftOffset, problem.elementBytes());
    if (!Problem::isImmediate(problem.right))
      right = kernel.address(kernel.operandPointer(problem.right), rightOffset, problem.elementBytes());

    kernel.loop(kernel.begin(1), kernel.end(1), kernel.constant(blocking.rows), [&](Value first) {
      firstRow = first;
      lastRow = kernel.min(kernel.add(first, blocking.rows), kernel.end(1));
      if (blocking.oneBlock) {
        emitBlock(kernel.begin(2), kernel.end(2), kernel.constant(0), k, Value(), Value());
        return;
      }
      kernel.loop(kernel.begin(2), kernel.end(2), kernel.constant(blocking.panels), [&](Value panel) {
        Value lastPanel = kernel.min(kernel.add(panel, blocking.panels), kernel.end(2));
        // At least one block, so that K = 0 stores zeros.
        Value bound = kernel.max(k, kernel.constant(1));
        kernel.loop(kernel.constant(0), bound, kernel.constant(blocking.k), [&](Value firstK) {
          Value lastK = kernel.min(kernel.add(firstK, blocking.k), k);
          OpBuilder &builder = kernel.builder;
          Value isFirst =
              builder.create<arith::CmpIOp>(kernel.loc, arith::CmpIPredicate::eq, firstK, kernel.constant(0));
          Value isLast = builder.create<arith::CmpIOp>(kernel.loc, arith::CmpIPredicate::eq, lastK, k);
          emitBlock(panel, lastPanel, firstK, lastK, isFirst, isLast);
        });
      });
    });
  }

  /// Panels [first, last) of the block of rows, over K steps [firstK, lastK).
  /// `isFirst`, `isLast`: of K's blocks, null if there is one only.
  void emitBlock(Value first, Value last, Value firstK, Value lastK, Value isFirst, Value isLast) {
    if (blocking.pack)
      packer.pack(left, packed, blocking.packedStride, firstRow, lastRow, firstK, lastK, blocking.wholeRuns);
    kernel.loop(first, last, kernel.constant(1), [&](Value panel) {
      Value b;
      if (right)
        b = kernel.address(right, kernel.mul(kernel.add(kernel.mul(panel, k), firstK), kColumns),
                           problem.elementBytes());
      Value sums = partial;
      if (!blocking.oneBlock)
        sums = kernel.address(partial, kernel.mul(kernel.sub(panel, first), partialStride()), 1);
      kernel.loop(firstRow, lastRow, kernel.constant(blocking.tiles.front()), [&](Value row) {
        Value tileSums = sums;
        if (!blocking.oneBlock)
          tileSums = kernel.address(sums, kernel.mul(kernel.sub(row, firstRow), kColumns), problem.accumulatorBytes());
        Value count = kernel.min(kernel.sub(lastRow, row), kernel.constant(blocking.tiles.front()));
        emitTiles(row, count, b, firstK, kernel.sub(lastK, firstK), tileSums, isFirst);
        auto finish = [&] { emitEpilogue(panel, row, count, tileSums); };
        isLast ? branch(kernel, isLast, finish) : finish();
      });
    });
  }

  /// A tile of all rows, or the smallest that has `count` rows.
  void emitTiles(Value row, Value count, Value b, Value firstK, Value steps, Value sums, Value isFirst) {
    Tile tile = {row, count, b, firstK, steps, sums, isFirst};
    int64_t most = blocking.tiles.front();
    if (most == 1)
      return emitTile(1, true, tile);
    Value isFull = kernel.lessEqual(kernel.constant(most), count);
    branch(kernel, isFull, [&] { emitTile(most, true, tile); }, [&] { emitTail(0, tile); });
  }

  void emitTail(size_t number, const Tile &tile) {
    int64_t rows = blocking.tiles[number];
    if (number + 1 == blocking.tiles.size())
      return emitTile(rows, false, tile);
    branch(
        kernel, kernel.less(kernel.constant(blocking.tiles[number + 1]), tile.count),
        [&] { emitTile(rows, false, tile); }, [&] { emitTail(number + 1, tile); });
  }

  /// Accumulates `rows` rows, of which `tile.count` exist, all of them if
  /// `full`: the last one stands in for those that do not.
  void emitTile(int64_t rows, bool full, const Tile &tile) {
    OpBuilder &builder = kernel.builder;
    Location loc = kernel.loc;
    if (full)
      prefetch(tile);
    // One address and distances from it: constants where K is one.
    Value base, distance;
    int64_t bytes = blocking.pack ? problem.accumulatorBytes() : problem.elementBytes();
    if (blocking.pack) {
      distance = kernel.constant(blocking.packedStride);
      base = kernel.address(packed, kernel.mul(kernel.sub(tile.row, firstRow), distance), bytes);
    } else if (left) {
      distance = kernel.evaluate(problem.rowStride);
      base = kernel.address(left, kernel.add(kernel.mul(tile.row, distance), tile.firstK), bytes);
    }
    SmallVector<Value> a;
    for (int64_t i = 0; base && i < rows; ++i) {
      Value at = kernel.constant(i);
      if (!full && i > 0)
        at = kernel.min(at, kernel.sub(tile.count, kernel.constant(1)));
      a.push_back(kernel.address(base, kernel.mul(at, distance), bytes));
    }
    auto place = [&](int64_t i) {
      return kernel.address(tile.sums, kernel.constant(i * kColumns), problem.accumulatorBytes());
    };
    Value zero = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(accumulatorVector));
    SmallVector<Value> initial(rows, zero);
    if (tile.isFirst) {
      auto op = builder.create<scf::IfOp>(loc, SmallVector<Type>(rows, accumulatorVector), tile.isFirst, true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(op.thenBlock());
      builder.create<scf::YieldOp>(loc, initial);
      builder.setInsertionPointToEnd(op.elseBlock());
      for (int64_t i = 0; i < rows; ++i)
        initial[i] = kernel.load(place(i), accumulatorVector);
      builder.create<scf::YieldOp>(loc, initial);
      initial.assign(op.result_begin(), op.result_end());
    }
    ValueRange result =
        kernel.loop(kernel.constant(0), tile.steps, kernel.constant(1), initial, [&](Value at, ValueRange state) {
          Value columns = loadRight(tile.b, at);
          SmallVector<Value> next;
          for (int64_t i = 0; i < rows; ++i)
            next.push_back(multiplyAdd(loadLeft(base ? a[i] : Value(), at), columns, state[i]));
          return next;
        });
    for (int64_t i = 0; i < rows; ++i)
      kernel.store(result[i], place(i));
  }

  /// Brings a part of the next panel's K steps into the cache: all tiles of a
  /// block of rows together bring all of it.
  void prefetch(const Tile &tile) {
    int64_t tiles = blocking.rows / blocking.tiles.front(), line = 64;
    int64_t bytes = llvm::alignTo(llvm::divideCeil(blocking.k * kColumns * problem.elementBytes(), tiles), line);
    if (!tile.b || tiles < 2 || bytes > kMostPrefetched * line)
      return;
    Value at = kernel.div(kernel.sub(tile.row, firstRow), kernel.constant(blocking.tiles.front()));
    Value next = kernel.add(kernel.mul(at, bytes), kernel.mul(k, kColumns * problem.elementBytes()));
    for (int64_t offset = 0; offset < bytes; offset += line)
      kernel.builder.create<LLVM::Prefetch>(kernel.loc, kernel.address(tile.b, kernel.add(next, offset), 1),
                                            /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }

  /// Scalar constant of an operand that is none of the kernel's buffers.
  Value immediate(Value operand) {
    SmallVector<Index> indices(cast<graph::GraphTensorType>(operand.getType()).getRank(), Index{kernel.constant(0)});
    return emitter.emit(operand, indices, 1);
  }

  Value loadLeft(Value row, Value at) {
    Value scalar;
    if (!row)
      scalar = immediate(problem.left);
    else if (blocking.pack)
      scalar = kernel.load(kernel.address(row, at, problem.accumulatorBytes()), problem.accumulator);
    else
      scalar = emitter.fromMemory(
          kernel.load(kernel.address(row, at, problem.elementBytes()), memoryType(problem.element), /*mayAlias=*/false),
          problem.element);
    return kernel.builder.create<vector::BroadcastOp>(kernel.loc, accumulatorVector, scalar);
  }

  Value loadRight(Value panel, Value at) {
    if (!panel)
      return kernel.builder.create<vector::BroadcastOp>(kernel.loc, accumulatorVector, immediate(problem.right));
    Value pointer = kernel.address(panel, kernel.mul(at, kColumns), problem.elementBytes());
    Value value = kernel.load(pointer, vectorOf(memoryType(problem.element), kColumns), /*mayAlias=*/false);
    return emitter.fromMemory(value, problem.element);
  }

  Value multiplyAdd(Value a, Value b, Value sum) {
    OpBuilder &builder = kernel.builder;
    if (kernel.variant.hasFma)
      return builder.create<LLVM::FMAOp>(kernel.loc, a, b, sum);
    return builder.create<arith::AddFOp>(kernel.loc, sum, builder.create<arith::MulFOp>(kernel.loc, a, b));
  }

  /// The kernel's results for `count` rows from `row` on of a panel whose
  /// accumulators are at `sums`.
  void emitEpilogue(Value panel, Value row, Value count, Value sums) {
    Value firstColumn = kernel.mul(panel, kColumns);
    auto rows = [&](function_ref<void(ArrayRef<Value>)> columns) {
      kernel.loop(kernel.constant(0), count, kernel.constant(1), delinearize(kernel, row, rowExtents),
                  [&](Value i, ValueRange coordinates) {
                    rowSums = kernel.address(sums, kernel.mul(i, kColumns), problem.accumulatorBytes());
                    rowFirstColumn = channel(firstColumn);
                    columns(SmallVector<Value>(coordinates));
                    return advance(kernel, coordinates, rowExtents);
                  });
    };
    auto whole = [&] {
      rows([&](ArrayRef<Value> coordinates) { emitElements(coordinates, rowFirstColumn, kColumns, columnDivisor()); });
    };
    std::optional<int64_t> known = kernel.constantOf(columns);
    auto tail = [&] {
      rows([&](ArrayRef<Value> coordinates) {
        if (known) {
          int64_t rest = *known % kColumns;
          for (int64_t at = 0, width = kColumns / 2; width >= 1; width /= 2)
            if (rest & width) {
              emitElements(coordinates, kernel.add(rowFirstColumn, at), width, std::gcd(columnDivisor(), width));
              at += width;
            }
          return;
        }
        kernel.loop(kernel.constant(0), kernel.sub(columns, firstColumn), kernel.constant(1),
                    [&](Value lane) { emitElements(coordinates, kernel.add(rowFirstColumn, lane), 1, 1); });
      });
    };
    if (known && *known % kColumns == 0)
      return whole();
    if (known && *known < kColumns)
      return tail();
    branch(kernel, kernel.lessEqual(kernel.add(firstColumn, kColumns), columns), whole, tail);
  }

  /// Index in the result's column dimension of a column of the batch.
  Value channel(Value column) { return problem.grouped ? kernel.add(kernel.mul(batch, columns), column) : column; }
  /// What the first column of every panel is a multiple of, in the result.
  int64_t columnDivisor() {
    std::optional<int64_t> known = kernel.constantOf(columns);
    return !problem.grouped ? kColumns : known && *known > 0 ? std::gcd(*known, kColumns) : 1;
  }

  /// `width` elements of all results from `column` on.
  void emitElements(ArrayRef<Value> coordinates, Value column, int64_t width, int64_t divisor) {
    SmallVector<Index> indices(problem.type.getRank());
    for (auto [dim, at] : llvm::zip(problem.batchDims, batchCoordinates))
      indices[dim] = Index{at};
    for (auto [dim, at] : llvm::zip(problem.rowDims, coordinates))
      indices[dim] = Index{at};
    indices[problem.columnDim] = Index{column, width > 1 ? 1 : 0, divisor};
    Value sums = rowSums, first = rowFirstColumn;
    emitter.bind(problem.value, [this, sums, first](ArrayRef<Index> at, int64_t lanes) -> Value {
      Value offset = kernel.sub(at[problem.columnDim].base, first);
      return kernel.load(kernel.address(sums, offset, problem.accumulatorBytes()),
                         vectorOf(problem.accumulator, lanes));
    });
    SmallVector<Value> values;
    for (Value result : kernel.results())
      values.push_back(emitter.emit(result, indices, width));
    for (auto [number, value] : llvm::enumerate(values))
      emitter.store(number, indices, width, value);
  }

  KernelBuilder kernel;
  ElementEmitter emitter;
  const Problem &problem;
  Blocking blocking;
  RowPacker packer;
  Type accumulatorVector;

  // Of the whole kernel.
  Value k, columns, panelCount, packed, partial;
  SmallVector<Value> rowExtents, batchExtents;
  // Of the loops being emitted.
  Value batch, left, right, firstRow, lastRow, rowSums, rowFirstColumn;
  SmallVector<Value> batchCoordinates;
};

} // namespace

llvm::Expected<int64_t> codegen::lowerContraction(func::FuncOp kernel, const target::Variant &variant, ModuleOp into) {
  llvm::Expected<Problem> problem = Problem::of(kernel);
  if (!problem)
    return problem.takeError();
  return ContractionGenerator(kernel, *problem, variant, into).run();
}
