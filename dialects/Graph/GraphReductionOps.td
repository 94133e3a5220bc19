// Reductions over whole axes and over windows.
#ifndef STINT_DIALECTS_GRAPH_GRAPHREDUCTIONOPS_TD
#define STINT_DIALECTS_GRAPH_GRAPHREDUCTIONOPS_TD

include "dialects/Graph/GraphTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_ReduceOp : Graph_Op<"reduce", [Pure]> {
  let summary = "reduces whole axes to size 1";
  let description = [{
    From ONNX Reduce*, ArgMax, ArgMin, GlobalAveragePool, Softmax and the
    normalisations. `axes` are sorted and unique; the result keeps them with
    size 1. `max` and `min` propagate NaN. argmax and argmin take one axis and
    give i64; of equal elements the first wins, the last with `selectLast`.
    An empty axis gives sum 0, prod 1, max -inf (the lowest integer), min +inf,
    mean NaN. Booleans: max is any, min is all.
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_AnyTensor:$input, DenseI64ArrayAttr:$axes,
                       UnitAttr:$selectLast);
  let results = (outs Graph_AnyTensor:$result);
  // Infers the result type.
  let builders = [OpBuilder<(ins "ReduceKind":$kind, "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$axes,
                                 CArg<"bool", "false">:$selectLast)>];
  let hasVerifier = 1;
  let assemblyFormat = "$kind $input attr-dict `:` functional-type(operands, results)";
}

def Graph_WindowReduceOp : Graph_Op<"window_reduce", [Pure]> {
  let summary = "reduces a window that slides over every axis";
  let description = [{
    From ONNX MaxPool, AveragePool, LpPool, LRN. Attribute arrays have one
    value per dimension of the input (1, 1, 1, 0, 0 where nothing slides).
    `D' = (D + padLow + padHigh - dilation·(window - 1) - 1) floordiv stride + 1`,
    which ceil-mode pooling expresses by a larger padHigh.
    Taps outside the input are ignored; `mean` divides by the number of taps
    inside, or, with `countPadding = [low…, high…]` (per dimension), by the number
    of taps inside the input widened by that much. kind: sum, mean, max, min.
    The optional second result of max holds, as i64, the row-major index of the
    maximum in the input (the importer adjusts for ONNX's storage_order).
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_NumberTensor:$input, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$padLow,
                       DenseI64ArrayAttr:$padHigh, OptionalAttr<DenseI64ArrayAttr>:$countPadding);
  let results = (outs Graph_NumberTensor:$result, Optional<Graph_IndexTensor>:$indices);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The result's shape for these attributes.
    static ::llvm::SmallVector<::mlir::AffineExpr> inferShape(GraphTensorType input, ::llvm::ArrayRef<int64_t> window,
      ::llvm::ArrayRef<int64_t> strides, ::llvm::ArrayRef<int64_t> dilations, ::llvm::ArrayRef<int64_t> padLow,
      ::llvm::ArrayRef<int64_t> padHigh);
  }];
  let assemblyFormat = "$kind $input attr-dict `:` functional-type(operands, results)";
}

#endif
