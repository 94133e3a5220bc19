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
#include "compiler/codegen/contraction/Epilogue.h"
#include "compiler/codegen/contraction/RowPacker.h"

#include "dialects/Graph/KernelGrid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;

namespace {

constexpr int64_t kColumns = graph::kPanelColumns;
/// Cache lines that a tile prefetches at most.
constexpr int64_t kMostPrefetched = 32;
/// Tiles of so few rows wait for B rather than compute: they prefetch it, far
/// enough ahead that the next page is found in time.
constexpr int64_t kStreamingRows = 3, kPrefetchDistance = 4096;

class ContractionGenerator {
public:
  ContractionGenerator(func::FuncOp source, const Problem &problem, const target::Variant &variant, ModuleOp into)
      : kernel(source, variant, into), emitter(kernel), problem(problem),
        blocking(Blocking::of(problem, kernel.symbols, variant)), packer(kernel, emitter, problem),
        epilogue(kernel, emitter, problem), accumulatorVector(vectorOf(problem.accumulator, kColumns)) {}

  int64_t run() {
    k = kernel.evaluate(problem.k);
    panelCount = kernel.evaluate(problem.columns.ceilDiv(kColumns));
    if (blocking.pack)
      packed = kernel.reserveScratch(blocking.rows * blocking.packedStride * problem.accumulatorBytes());
    int64_t partialPanels = blocking.oneBlock ? 1 : blocking.panels;
    partial = kernel.reserveScratch(partialPanels * partialStride());
    kernel.loop(kernel.begin(0), kernel.end(0), kernel.constant(1), [&](Value at) { emitBatch(at); });
    kernel.finish();
    return kernel.scratchBytes();
  }

private:
  /// A register tile's place: rows from `row` on, `b` where the panel's K
  /// steps begin, `sums` its accumulators in memory.
  struct Tile {
    Value panel, row, count, b, firstK, steps, sums, isFirst, isLast;
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
    ArrayRef<Value> batchCoordinates = epilogue.batchCoordinates();
    size_t skip = batchCoordinates.size() - leading.size();
    for (size_t i = 0; i < leading.size(); ++i)
      if (!(leading[i] == 1))
        offset = kernel.add(offset, kernel.mul(batchCoordinates[skip + i], map.strides[i]));
    return offset;
  }

  void emitBatch(Value batch) {
    epilogue.enter(batch);
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
        emitTiles({panel, row, count, b, firstK, kernel.sub(lastK, firstK), tileSums, isFirst, isLast});
      });
    });
  }

  /// A tile of all rows, or the smallest that has `count` rows, and their
  /// results: where a full tile meets a full panel, straight from registers.
  void emitTiles(const Tile &tile) {
    OpBuilder &builder = kernel.builder;
    Type i1 = builder.getI1Type();
    int64_t most = blocking.tiles.front();
    auto flag = [&](bool value) -> Value { return builder.create<arith::ConstantIntOp>(kernel.loc, value, 1); };
    auto full = [&]() -> Value {
      SmallVector<Value> sums = emitTile(most, true, tile);
      auto inMemory = [&] {
        storeSums(sums, tile);
        return flag(true);
      };
      if (!epilogue.prefersRegisters())
        return inMemory();
      Value finishes = epilogue.isWhole(tile.panel);
      if (tile.isLast)
        finishes = finishes ? builder.create<arith::AndIOp>(kernel.loc, finishes, tile.isLast) : tile.isLast;
      auto inRegisters = [&] {
        epilogue.fromRegisters(tile.panel, tile.row, sums);
        return flag(false);
      };
      return finishes ? kernel.select(finishes, i1, inRegisters, inMemory) : inRegisters();
    };
    auto part = [&] {
      emitTail(0, tile);
      return flag(true);
    };
    Value isFull = kernel.lessEqual(kernel.constant(most), tile.count);
    Value remains = most == 1 ? full() : kernel.select(isFull, i1, full, part);
    if (tile.isLast)
      remains = builder.create<arith::AndIOp>(kernel.loc, remains, tile.isLast);
    branch(kernel, remains, [&] { epilogue.fromMemory(tile.panel, tile.row, tile.count, tile.sums); });
  }

  void emitTail(size_t number, const Tile &tile) {
    int64_t rows = blocking.tiles[number];
    if (number + 1 == blocking.tiles.size())
      return storeSums(emitTile(rows, false, tile), tile);
    branch(
        kernel, kernel.less(kernel.constant(blocking.tiles[number + 1]), tile.count),
        [&] { storeSums(emitTile(rows, false, tile), tile); }, [&] { emitTail(number + 1, tile); });
  }

  Value sumsOf(const Tile &tile, int64_t row) {
    return kernel.address(tile.sums, kernel.constant(row * kColumns), problem.accumulatorBytes());
  }
  void storeSums(ArrayRef<Value> sums, const Tile &tile) {
    for (auto [i, sum] : llvm::enumerate(sums))
      kernel.store(sum, sumsOf(tile, i));
  }

  /// Accumulates `rows` rows, of which `tile.count` exist, all of them if
  /// `full`: the last one stands in for those that do not.
  SmallVector<Value> emitTile(int64_t rows, bool full, const Tile &tile) {
    OpBuilder &builder = kernel.builder;
    Location loc = kernel.loc;
    if (full)
      prefetchNext(tile);
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
    Value zero = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(accumulatorVector));
    SmallVector<Value> initial(rows, zero);
    if (tile.isFirst) {
      auto op = builder.create<scf::IfOp>(loc, SmallVector<Type>(rows, accumulatorVector), tile.isFirst, true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(op.thenBlock());
      builder.create<scf::YieldOp>(loc, initial);
      builder.setInsertionPointToEnd(op.elseBlock());
      for (int64_t i = 0; i < rows; ++i)
        initial[i] = kernel.load(sumsOf(tile, i), accumulatorVector);
      builder.create<scf::YieldOp>(loc, initial);
      initial.assign(op.result_begin(), op.result_end());
    }
    // Steps along K: some at once, then single ones.
    Value at = kernel.constant(0);
    SmallVector<Value> state = initial;
    for (int64_t width = full ? blocking.unroll : 1; width >= 1; width = width > 1 ? 1 : 0) {
      Value end = tile.steps;
      if (width > 1)
        end = kernel.sub(end, kernel.rem(end, kernel.constant(width)));
      state = llvm::to_vector(kernel.loop(at, end, kernel.constant(width), state, [&](Value at, ValueRange state) {
        return accumulate(a, rows, tile.b, at, width, state);
      }));
      at = end;
    }
    return state;
  }

  /// Brings a part of the next panel's K steps into the cache: all tiles of a
  /// block of rows together bring all of it.
  void prefetchNext(const Tile &tile) {
    int64_t tiles = blocking.rows / blocking.tiles.front(), line = 64;
    int64_t bytes = llvm::alignTo(llvm::divideCeil(blocking.k * kColumns * problem.elementBytes(), tiles), line);
    if (!tile.b || tiles < 2 || bytes > kMostPrefetched * line)
      return;
    Value at = kernel.div(kernel.sub(tile.row, firstRow), kernel.constant(blocking.tiles.front()));
    Value next = kernel.add(kernel.mul(at, bytes), kernel.mul(k, kColumns * problem.elementBytes()));
    for (int64_t offset = 0; offset < bytes; offset += line)
      prefetch(tile.b, kernel.add(next, offset));
  }
  void prefetch(Value base, Value bytes) {
    kernel.builder.create<LLVM::Prefetch>(kernel.loc, kernel.address(base, bytes, 1), /*rw=*/0, /*hint=*/3,
                                          /*cache=*/1);
  }

  /// Scalar constant of an operand that is none of the kernel's buffers.
  Value immediate(Value operand) {
    SmallVector<Index> indices(cast<graph::GraphTensorType>(operand.getType()).getRank(), Index{kernel.constant(0)});
    return emitter.emit(operand, indices, 1);
  }

  /// `width` steps along K from `at` on, for rows at the pointers `a`.
  SmallVector<Value> accumulate(ArrayRef<Value> a, int64_t rows, Value b, Value at, int64_t width, ValueRange state) {
    SmallVector<Value> left, sums(state);
    for (int64_t i = 0; i < rows; ++i)
      left.push_back(loadLeft(a.empty() ? Value() : a[i], at, width));
    for (int64_t step = 0; step < width; ++step) {
      Value columns = loadRight(b, kernel.add(at, step));
      if (b && rows <= kStreamingRows)
        prefetch(b, kernel.add(kernel.mul(kernel.add(at, step), kColumns * problem.elementBytes()), kPrefetchDistance));
      for (int64_t i = 0; i < rows; ++i) {
        Value scalar = left[i];
        if (isa<VectorType>(scalar.getType()))
          scalar = kernel.builder.create<vector::ExtractOp>(kernel.loc, scalar, ArrayRef<int64_t>{step});
        scalar = kernel.builder.create<vector::BroadcastOp>(kernel.loc, accumulatorVector, scalar);
        sums[i] = multiplyAdd(scalar, columns, sums[i]);
      }
    }
    return sums;
  }

  /// `width` elements of a row of the left operand; one if all are the same.
  Value loadLeft(Value row, Value at, int64_t width) {
    if (!row)
      return immediate(problem.left);
    if (blocking.pack)
      return kernel.load(kernel.address(row, at, problem.accumulatorBytes()), vectorOf(problem.accumulator, width));
    Value value = kernel.load(kernel.address(row, at, problem.elementBytes()),
                              vectorOf(memoryType(problem.element), width), /*mayAlias=*/false);
    return emitter.fromMemory(value, problem.element);
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

  KernelBuilder kernel;
  ElementEmitter emitter;
  const Problem &problem;
  Blocking blocking;
  RowPacker packer;
  Epilogue epilogue;
  Type accumulatorVector;

  // Of the whole kernel.
  Value k, panelCount, packed, partial;
  // Of the loops being emitted.
  Value left, right, firstRow, lastRow;
};

} // namespace

llvm::Expected<int64_t> codegen::lowerContraction(func::FuncOp kernel, const target::Variant &variant, ModuleOp into) {
  llvm::Expected<Problem> problem = Problem::of(kernel);
  if (!problem)
    return problem.takeError();
  return ContractionGenerator(kernel, *problem, variant, into).run();
}
