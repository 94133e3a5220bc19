// Internal to codegen/contraction: from accumulators to the kernel's results.
#ifndef STINT_COMPILER_CODEGEN_CONTRACTION_EPILOGUE_H
#define STINT_COMPILER_CODEGEN_CONTRACTION_EPILOGUE_H

#include "compiler/codegen/contraction/Problem.h"

namespace stint::codegen {

/// Emits the kernel's results for rows of one panel, as what the element
/// emitter makes of the contraction's values there.
class Epilogue {
public:
  Epilogue(KernelBuilder &kernel, ElementEmitter &emitter, const Problem &problem);

  /// What follows is emitted for this batch.
  void enter(mlir::Value batch);
  llvm::ArrayRef<mlir::Value> batchCoordinates() const { return batchIndices; }

  /// `count` rows from `row` on whose accumulators lie at `sums`, 16 a row.
  void fromMemory(mlir::Value panel, mlir::Value row, mlir::Value count, mlir::Value sums);
  /// Rows from `row` on of a panel without padding, accumulators in registers.
  void fromRegisters(mlir::Value panel, mlir::Value row, llvm::ArrayRef<mlir::Value> sums);
  /// True if fromRegisters is better than a way through memory.
  bool prefersRegisters() const { return cheap; }
  /// An i1: no column of the panel is padding. Null: never any.
  mlir::Value isWhole(mlir::Value panel);

private:
  using Provider = ElementEmitter::Provider;
  /// Coordinates of a row, and of the row after one.
  llvm::SmallVector<mlir::Value> locate(mlir::Value row);
  llvm::SmallVector<mlir::Value> next(mlir::ValueRange coordinates);
  /// True if every tensor that is touched lies so that a row's number is as
  /// good as its coordinates.
  bool rowsAreNested();
  void elements(mlir::ValueRange coordinates, mlir::Value column, int64_t width, int64_t divisor, Provider sums);
  mlir::Value firstColumn(mlir::Value panel);
  int64_t columnDivisor();

  KernelBuilder &kernel;
  ElementEmitter &emitter;
  const Problem &problem;
  /// Dimensions of the result that `coordinates` are for.
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<mlir::Value> extents, batchExtents, batchIndices;
  mlir::Value columns, batch;
  bool cheap;
};

} // namespace stint::codegen

#endif
