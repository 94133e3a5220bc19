// Rounding to a quantised type, for the rules of several files.
#ifndef STINT_COMPILER_IMPORT_OPS_QUANTISATION_H
#define STINT_COMPILER_IMPORT_OPS_QUANTISATION_H

#include "compiler/import/NodeContext.h"

namespace stint::import {

/// saturate(round(scaled) + zero): floats to an integer type of 8 or 16 bits.
/// `zero`, which may be null, broadcasts to `scaled`.
mlir::Value quantise(NodeContext &n, mlir::Value scaled, mlir::Value zero, mlir::Type type);

} // namespace stint::import

#endif
