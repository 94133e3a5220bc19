// Internal to codegen/contraction: matmul and convolution in common terms.
//
// Per batch (a batch of the right operand, or a group of channels) a matrix
// product of `rows` x `k` by `k` x `columns`. Rows are positions in the
// dimensions `rowDims` of the result, columns lie in its `columnDim`.
#ifndef STINT_COMPILER_CODEGEN_CONTRACTION_PROBLEM_H
#define STINT_COMPILER_CODEGEN_CONTRACTION_PROBLEM_H

#include "compiler/codegen/emitter/ElementEmitter.h"

#include "llvm/Support/Error.h"

namespace stint::codegen {

struct Problem {
  mlir::Operation *op;
  mlir::Value value;       // the contraction's graph value
  mlir::Value left, right; // its operands, graph values
  graph::GraphTensorType leftType, rightType, type;
  mlir::Type element;     // of all three
  mlir::Type accumulator; // f32 or f64
  mlir::AffineExpr batches, rows, columns, k;
  /// Dimensions of the result, outermost first. A group has no dimension of
  /// its own: then batchDims is empty and columns of batch b begin at
  /// b * columns.
  llvm::SmallVector<int64_t> batchDims, rowDims;
  int64_t columnDim;
  bool grouped = false;

  /// Rows of the left operand lie in memory one after the other, `rowStride`
  /// elements apart, each with its k elements in order.
  bool plainRows = false;
  mlir::AffineExpr rowStride;

  /// Fails on what no pass of this compiler makes.
  static llvm::Expected<Problem> of(mlir::func::FuncOp kernel);

  graph::ConvOp conv() const { return llvm::dyn_cast<graph::ConvOp>(op); }
  int64_t elementBytes() const { return graph::elementBytes(element); }
  int64_t accumulatorBytes() const { return accumulator.getIntOrFloatBitWidth() / 8; }
  /// Operand is a splat constant in the kernel's body, not a buffer.
  static bool isImmediate(mlir::Value operand) { return !llvm::isa<mlir::BlockArgument>(operand); }
};

/// Splits `index` into coordinates of dimensions with these extents, the last
/// one fastest.
llvm::SmallVector<mlir::Value> delinearize(KernelBuilder &kernel, mlir::Value index,
                                           llvm::ArrayRef<mlir::Value> extents);
/// The coordinates after `coordinates`.
llvm::SmallVector<mlir::Value> advance(KernelBuilder &kernel, mlir::ValueRange coordinates,
                                       llvm::ArrayRef<mlir::Value> extents);
/// scf.if without results.
void branch(KernelBuilder &kernel, mlir::Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);

} // namespace stint::codegen

#endif
