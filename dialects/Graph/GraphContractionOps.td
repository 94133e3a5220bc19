// Contractions: every result element is a sum of products over K.
#ifndef STINT_DIALECTS_GRAPH_GRAPHCONTRACTIONOPS_TD
#define STINT_DIALECTS_GRAPH_GRAPHCONTRACTIONOPS_TD

include "dialects/Graph/GraphTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_MatMulOp : Graph_Op<"matmul", [Pure]> {
  let summary = "batched matrix product";
  let description = [{
    `[…, M, K] · […, K, N] → […, M, N]`; batch dimensions are broadcast as in
    elementwise operators. Both ranks are at least 2 (the importer reshapes
    vectors). From ONNX MatMul and Gemm. One element type; floats accumulate
    in f32 (f64 in f64), integers wrap. After layout assignment `rhs` is laid
    out in panels.
  }];
  let arguments = (ins Graph_NumberTensor:$lhs, Graph_NumberTensor:$rhs);
  let results = (outs Graph_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs)>];
  let hasVerifier = 1;
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Graph_ConvOp : Graph_Op<"conv", [Pure]> {
  let summary = "convolution with groups, strides, dilation and zero padding";
  let description = [{
    `input [N, G·C, D…]`, `weight [G, O, C, K…]` → `[N, G·O, D'…]`, with one to
    five spatial dimensions and
    `D' = (D + padLow + padHigh - dilation·(K - 1) - 1) floordiv stride + 1`.
    Padded taps multiply by zero. From ONNX Conv (whose weight `[G·O, C, K…]`
    the importer reshapes), ConvInteger and QLinearConv; a bias is a separate
    `graph.add`. One element type; integers wrap.
    Attribute arrays have one value per spatial dimension.
  }];
  let arguments = (ins Graph_NumberTensor:$input, Graph_NumberTensor:$weight, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$padLow, DenseI64ArrayAttr:$padHigh);
  let results = (outs Graph_NumberTensor:$result);
  // Infers the result type.
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::llvm::ArrayRef<int64_t>":$strides,
    "::llvm::ArrayRef<int64_t>":$dilations, "::llvm::ArrayRef<int64_t>":$padLow, "::llvm::ArrayRef<int64_t>":$padHigh)>];
  let extraClassDeclaration = [{
    int64_t getSpatialRank() { return getStrides().size(); }
    /// A depthwise convolution: one input channel per group.
    bool isDepthwise();
  }];
  let hasVerifier = 1;
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
}

#endif
