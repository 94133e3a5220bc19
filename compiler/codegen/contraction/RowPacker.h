// Internal to codegen/contraction: rows of the left operand, copied to
// scratch.
#ifndef STINT_COMPILER_CODEGEN_CONTRACTION_ROWPACKER_H
#define STINT_COMPILER_CODEGEN_CONTRACTION_ROWPACKER_H

#include "compiler/codegen/contraction/Problem.h"

namespace stint::codegen {

/// Emits copies of the K steps [firstK, lastK) of rows of the left operand as
/// accumulator elements: a convolution's input positions in the order of the
/// weight's K dimensions, zeros outside the input.
class RowPacker {
public:
  RowPacker(KernelBuilder &kernel, ElementEmitter &emitter, const Problem &problem);

  /// `source` is where the batch's part of the left operand begins (null for
  /// a splat constant); rows [firstRow, lastRow) go to `destination`, `stride`
  /// elements apart. `wholeRuns`: the K steps are a whole number of runs.
  void pack(mlir::Value source, mlir::Value destination, int64_t stride, mlir::Value firstRow, mlir::Value lastRow,
            mlir::Value firstK, mlir::Value lastK, bool wholeRuns);

private:
  /// Part [from, to) of a run: elements [low, high) of the run exist and begin
  /// at `source`, others are zero.
  void copy(mlir::Value source, mlir::Value destination, mlir::Value from, mlir::Value to, mlir::Value low,
            mlir::Value high);
  void copyWhole(mlir::Value source, mlir::Value destination, mlir::Value from, mlir::Value to);
  void convRow(mlir::ValueRange coordinates, mlir::Value source, mlir::Value destination, mlir::Value firstK,
               mlir::Value lastK, bool wholeRuns);
  /// Calls `piece` for chunks of [from, to), vectors first.
  void chunks(mlir::Value from, mlir::Value to, llvm::function_ref<void(mlir::Value at, int64_t width)> piece);
  mlir::Value isBelow(mlir::Value value, mlir::Value limit);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value loadLeft(mlir::Value source, mlir::Value at, int64_t width);

  KernelBuilder &kernel;
  ElementEmitter &emitter;
  const Problem &problem;
  int64_t width;                             // elements of a vector copy
  llvm::SmallVector<mlir::Value> rowExtents; // of the result's row dimensions
};

} // namespace stint::codegen

#endif
