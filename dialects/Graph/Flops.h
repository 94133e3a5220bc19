// How much arithmetic a kernel does.
#ifndef STINT_DIALECTS_GRAPH_FLOPS_H
#define STINT_DIALECTS_GRAPH_FLOPS_H

#include "dialects/Graph/GraphDialect.h"

namespace stint::graph {

/// Arithmetic operations of a kernel's body, as an expression over its symbols:
/// two for a multiply-add, one for any other function of an element, a
/// comparison or selection included; one per element that is reduced; none for
/// moving data. Padding counts as data. Null where it cannot be told from the
/// shapes (leaf kernels).
mlir::AffineExpr flopsOf(mlir::Block &body);

} // namespace stint::graph

#endif
