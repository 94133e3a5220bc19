// Strides, dilations and pads of convolutions and pooling, as attributes say
// them in all of ONNX's ways.
#ifndef STINT_COMPILER_IMPORT_WINDOWS_H
#define STINT_COMPILER_IMPORT_WINDOWS_H

#include "compiler/import/NodeContext.h"

namespace stint::import {

/// One value per spatial dimension.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, padLow, padHigh;
  /// Pads that vary with the input's size, as auto_pad asks for; empty, or one
  /// expression per spatial dimension. Their input is padded by itself first.
  llvm::SmallVector<mlir::AffineExpr> ownLow, ownHigh;
};

/// Reads strides, dilations, pads and auto_pad for a kernel over the spatial
/// dimensions (2 and up) of operand 0.
mlir::FailureOr<Window> readWindow(NodeContext &n, llvm::ArrayRef<int64_t> kernel);

/// `x` with the window's own pads, filled with `value` (rank 0).
mlir::Value padFirst(NodeContext &n, mlir::Value x, const Window &w, mlir::Value value);

/// Reports if the window does not fit into dimensions `dims` (padded) once.
mlir::LogicalResult checkWindow(NodeContext &n, const Window &w, llvm::ArrayRef<mlir::AffineExpr> dims);

} // namespace stint::import

#endif
