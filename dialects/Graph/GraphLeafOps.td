// Irregular operators, computed by compiled C++.
#ifndef STINT_DIALECTS_GRAPH_GRAPHLEAFOPS_TD
#define STINT_DIALECTS_GRAPH_GRAPHLEAFOPS_TD

include "dialects/Graph/GraphTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_LeafOp : Graph_Op<"leaf", [Pure]> {
  let summary = "an operator that fits no kernel generator";
  let description = [{
    `name` is a row of Leaves.def; the source named there says what operands,
    results and parameters mean. From ONNX TopK, Scatter, GridSample and others
    of that kind. Operands and results are dense and row-major. The first
    `leading` dimensions of the tensor that the row names are computed apart
    from each other; with 0 the kernel is one piece. Whatever the values of
    the operands, a leaf stays inside its buffers: what it does with indices
    out of range its source says. A result may be scratch that nobody reads.
  }];
  let arguments = (ins StrAttr:$name, Variadic<Graph_AnyTensor>:$inputs,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$params,
                       DefaultValuedAttr<DenseF32ArrayAttr, "{}">:$fparams,
                       DefaultValuedAttr<I64Attr, "0">:$leading);
  let results = (outs Variadic<Graph_AnyTensor>:$outputs);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The tensor whose leading dimensions are the grid's units.
    GraphTensorType getUnitsType();
    /// Operand (a number) whose memory result 0 may take, or -1.
    int getInPlace();
    /// Name of the function that computes it.
    std::string getFunctionName();
  }];
  let assemblyFormat = [{
    $name `(` $inputs `)` (`params` $params^)? (`fparams` $fparams^)? (`leading` $leading^)? attr-dict
    `:` functional-type($inputs, results)
  }];
}

#endif
