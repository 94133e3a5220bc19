// Dimensions of different operands that must be equal, brought to one form.
#ifndef STINT_COMPILER_IMPORT_OPS_DIMENSIONS_H
#define STINT_COMPILER_IMPORT_OPS_DIMENSIONS_H

#include "compiler/import/NodeContext.h"

namespace stint::import {

/// `x` with dimension `d` written as `size`; null where the two are never
/// equal. Checked while the model runs where they may be.
inline mlir::Value withDim(NodeContext &n, mlir::Value x, int64_t d, mlir::AffineExpr size) {
  llvm::SmallVector<mlir::AffineExpr> shape(NodeContext::typeOf(x).getShape());
  if (!n.assumeEqual(shape[d], size))
    return {};
  shape[d] = size;
  return n.reshape(x, shape);
}

} // namespace stint::import

#endif
