// The graph dialect: a model as value-semantics operators on tensors whose
// dimensions are expressions over declared symbols.
#ifndef STINT_DIALECTS_GRAPH_GRAPHDIALECT_TD
#define STINT_DIALECTS_GRAPH_GRAPHDIALECT_TD

include "mlir/IR/OpBase.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::stint::graph";
  let summary = "a model as orthogonal tensor operators with symbolic shapes";
  let description = [{
    What an ONNX model becomes after import: about seventy operators that do
    one thing each, on `!graph.tensor` values. ONNX's own operators and their
    versions are decomposed by the importer; no operator here knows about
    opsets. Every operation carries the location of the ONNX node it came from.

    The enclosing module declares its symbols in the attribute
    `graph.symbols`, an array of `#graph.symbol`; `s0`, `s1`, … in tensor
    types and affine maps are positions in that array.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits>;

#endif
