// ONNX node names out of locations.
#include "dialects/Graph/Locations.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

void stint::graph::collectNodes(Location loc, llvm::SetVector<llvm::StringRef> &nodes) {
  if (auto name = dyn_cast<NameLoc>(loc))
    nodes.insert(name.getName());
  else if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      collectNodes(part, nodes);
}
