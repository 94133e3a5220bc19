// Sizes that are computed while the model runs, for the rules of several files.
#ifndef STINT_COMPILER_IMPORT_OPS_MEASURED_H
#define STINT_COMPILER_IMPORT_OPS_MEASURED_H

#include "compiler/import/NodeContext.h"

namespace stint::import {

/// The elements of an operand of one dimension of known size, as i64 scalars;
/// or a report.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> scalarsOf(NodeContext &n, size_t input);

/// [start, start + size · step) of a dimension.
struct Interval {
  mlir::AffineExpr start, size;
};

/// Where a slice of a dimension of `size` begins and how long it is, as ONNX
/// clamps it, for ends that are known (`expr`) or i64 scalars (`value`).
struct End {
  mlir::AffineExpr expr;
  mlir::Value value;
};
Interval measuredSlice(NodeContext &n, int64_t axis, mlir::AffineExpr size, End start, End end, int64_t step);

/// Reshape, Expand, ConstantOfShape, Tile and Pad whose sizes are the operand
/// `input`, bounded by `--bound`.
mlir::LogicalResult measuredReshape(NodeContext &n, size_t input);
mlir::LogicalResult measuredExpand(NodeContext &n, size_t input);
mlir::FailureOr<llvm::SmallVector<mlir::AffineExpr>> measuredShape(NodeContext &n, size_t input);
mlir::LogicalResult measuredTile(NodeContext &n, size_t input);
mlir::FailureOr<mlir::Value> measuredPad(NodeContext &n, mlir::Value x, llvm::ArrayRef<mlir::Value> low,
                                         llvm::ArrayRef<mlir::Value> high, mlir::Value value);

} // namespace stint::import

#endif
