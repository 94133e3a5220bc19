// Where an operation comes from: locations are NameLocs of ONNX nodes, fused
// when operations are.
#ifndef STINT_DIALECTS_GRAPH_LOCATIONS_H
#define STINT_DIALECTS_GRAPH_LOCATIONS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"

namespace stint::graph {

/// Adds the names of the ONNX nodes in `loc`, in order. They live as long as
/// the context.
void collectNodes(mlir::Location loc, llvm::SetVector<llvm::StringRef> &nodes);

} // namespace stint::graph

#endif
