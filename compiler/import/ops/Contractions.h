// Matrix products and convolutions of values, for the rules of several files.
#ifndef STINT_COMPILER_IMPORT_OPS_CONTRACTIONS_H
#define STINT_COMPILER_IMPORT_OPS_CONTRACTIONS_H

#include "compiler/import/NodeContext.h"

namespace stint::import {

/// numpy.matmul of two values of one element type, or a report.
mlir::FailureOr<mlir::Value> matmul(NodeContext &n, mlir::Value a, mlir::Value b);

/// Convolves `x` with `weight` [G·O, C, K…] as the node's attributes say (its
/// operand 0 has the shape of `x`), or reports.
mlir::FailureOr<mlir::Value> convolve(NodeContext &n, mlir::Value x, mlir::Value weight);

} // namespace stint::import

#endif
