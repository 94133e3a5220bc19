// When data movement moves nothing: layouts that make reshape, transpose and
// relayout another name for the same bytes.
#ifndef STINT_PASSES_VIEWS_H
#define STINT_PASSES_VIEWS_H

#include "dialects/Graph/GraphDialect.h"

namespace stint::passes {

/// True if both types (of one shape) put every element at the same address;
/// the order of dimensions of size 1 does not matter.
bool sameMemory(graph::GraphTensorType a, graph::GraphTensorType b);

/// The type that makes `op` (reshape, transpose or relayout) a view of its
/// operand as it lies, or null.
graph::GraphTensorType viewType(mlir::Operation *op);

/// True if `op` is a reshape, transpose or relayout whose result lies in
/// memory exactly as its operand does.
bool isView(mlir::Operation *op);

/// The value whose bytes `value` names, through views.
mlir::Value sourceOf(mlir::Value value);

/// A reshape that only adds or removes dimensions of size 1.
bool onlyUnitDims(graph::ReshapeOp op);

} // namespace stint::passes

#endif
