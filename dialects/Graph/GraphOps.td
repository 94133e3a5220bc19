// All operators of the graph dialect, by family.
include "dialects/Graph/GraphElementwiseOps.td"
include "dialects/Graph/GraphContractionOps.td"
include "dialects/Graph/GraphReductionOps.td"
include "dialects/Graph/GraphMovementOps.td"
include "dialects/Graph/GraphLeafOps.td"
include "dialects/Graph/GraphStructureOps.td"
include "dialects/Graph/GraphControlOps.td"
