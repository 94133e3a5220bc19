// What the rules of plain and of paged attention share.
#ifndef STINT_COMPILER_IMPORT_OPS_ATTENTIONS_H
#define STINT_COMPILER_IMPORT_OPS_ATTENTIONS_H

#include "compiler/import/NodeContext.h"

namespace stint::import {

/// Elements [start, start + size) along `axis`.
mlir::Value part(NodeContext &n, mlir::Value x, int64_t axis, mlir::AffineExpr start, mlir::AffineExpr size);

/// Rotates pairs of the last dimension of `x` [B, heads, S, H] by the angles
/// whose `cosine` and `sine` are [B or 1, S, R / 2]; the elements from R on stay.
mlir::FailureOr<mlir::Value> rotate(NodeContext &n, mlir::Value x, mlir::Value cosine, mlir::Value sine,
                                    bool interleaved);

/// Rows of a table [most, R / 2], operand `table`, at `positions` [B, S].
mlir::FailureOr<mlir::Value> anglesAt(NodeContext &n, size_t table, mlir::Value positions);

/// An optional pair of inputs is there, or isn't; or a report.
mlir::FailureOr<bool> pair(NodeContext &n, size_t first, size_t second);

} // namespace stint::import

#endif
