// Matrix products and convolutions of values, for the rules of several files.
#ifndef STINT_COMPILER_IMPORT_OPS_CONTRACTIONS_H
#define STINT_COMPILER_IMPORT_OPS_CONTRACTIONS_H

#include "compiler/import/Windows.h"

namespace stint::import {

/// numpy.matmul of two values of one element type, or a report.
mlir::FailureOr<mlir::Value> matmul(NodeContext &n, mlir::Value a, mlir::Value b);
/// A node whose weights packBlockedWeights has packed.
mlir::LogicalResult multiplyByBlocks(NodeContext &n, const Node::Blocks &blocks);

/// Convolves `x` with `weight` [G·O, C, K…] as the node's attributes say (its
/// operand 0 has the shape of `x`), or reports.
mlir::FailureOr<mlir::Value> convolve(NodeContext &n, mlir::Value x, mlir::Value weight);

/// The transposed convolution of x [N, G·C, D…] with a constant weight
/// [G·C, O, k…]: out = (in - 1)·stride + dilation·(kernel - 1) + 1 + extra - pads.
mlir::FailureOr<mlir::Value> convolveTransposed(NodeContext &n, mlir::Value x, mlir::Value weight, const Window &window,
                                                llvm::ArrayRef<int64_t> extra, int64_t group);

} // namespace stint::import

#endif
