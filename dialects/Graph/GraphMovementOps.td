// Data movement: every result element is a copy of an operand's element.
// Lists of dimension expressions are affine maps `()[s0, …] -> (…)` over the
// module's symbols.
#ifndef STINT_DIALECTS_GRAPH_GRAPHMOVEMENTOPS_TD
#define STINT_DIALECTS_GRAPH_GRAPHMOVEMENTOPS_TD

include "dialects/Graph/GraphTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    From ONNX Reshape, Flatten, Squeeze, Unsqueeze. The result type gives the
    shape; the importer has resolved 0 and -1. Both sides have the same number
    of elements for every value of the symbols.
  }];
  let arguments = (ins Graph_AnyTensor:$input);
  let results = (outs Graph_AnyTensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Graph_TransposeOp : Graph_Op<"transpose", [Pure]> {
  let summary = "permutes dimensions";
  let description = "From ONNX Transpose. Result dimension `i` is operand dimension `permutation[i]`.";
  let arguments = (ins Graph_AnyTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Graph_BroadcastOp : Graph_Op<"broadcast", [Pure, Graph_Elementwise]> {
  let summary = "stretches dimensions of 1";
  let description = "From ONNX Expand and Tile. The operand broadcasts to the result type's shape.";
  let arguments = (ins Graph_AnyTensor:$input);
  let results = (outs Graph_AnyTensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Graph_SliceOp : Graph_Op<"slice", [Pure]> {
  let summary = "a strided box of the operand";
  let description = [{
    From ONNX Slice and Split. Result element `i` of a dimension is operand
    element `start + i · step`; steps may be negative. One start and one step
    per dimension; sizes are the result's shape. The importer has clamped all
    of them into range.
  }];
  let arguments = (ins Graph_AnyTensor:$input, AffineMapAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Graph_AnyTensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Graph_PadOp : Graph_Op<"pad", [Pure]> {
  let summary = "adds elements at the ends of dimensions";
  let description = [{
    From ONNX Pad. `low` has one expression per dimension, never negative
    (the importer slices for negative pads); the high side follows from the
    result's shape. `value`, rank 0, is given exactly for mode constant.
  }];
  let arguments = (ins Graph_AnyTensor:$input, Optional<Graph_AnyTensor>:$value, Graph_PadModeAttr:$mode, AffineMapAttr:$low);
  let results = (outs Graph_AnyTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$mode $input (`,` $value^)? attr-dict `:` functional-type(operands, results)";
}

def Graph_ConcatOp : Graph_Op<"concat", [Pure]> {
  let summary = "joins tensors along an axis";
  let description = "From ONNX Concat. One or more operands, equal but for `axis`, whose sizes add up.";
  let arguments = (ins Variadic<Graph_AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs Graph_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "int64_t":$axis)>];
  let hasVerifier = 1;
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
}

def Graph_GatherOp : Graph_Op<"gather", [Pure]> {
  let summary = "takes slices of an axis by index";
  let description = [{
    From ONNX Gather. Result shape: the operand's with `axis` replaced by the
    shape of `indices`. Negative indices count from the end; an index out of
    range is clamped into it (ONNX leaves it undefined), so that no input
    reads outside its buffer.
  }];
  let arguments = (ins Graph_AnyTensor:$input, Graph_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$indices, "int64_t":$axis)>];
  let hasVerifier = 1;
  let assemblyFormat = "$input `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Graph_GatherElementsOp : Graph_Op<"gather_elements", [Pure]> {
  let summary = "takes single elements along an axis by index";
  let description = [{
    From ONNX GatherElements. Result and `indices` have one shape; on `axis`
    the index replaces the coordinate. Indices as in `graph.gather`.
  }];
  let arguments = (ins Graph_AnyTensor:$input, Graph_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_AnyTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$input `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Graph_GatherNDOp : Graph_Op<"gather_nd", [Pure]> {
  let summary = "takes slices by index tuples";
  let description = [{
    From ONNX GatherND. `indices […, L]` holds tuples of L coordinates into the
    operand's dimensions `[batchDims, batchDims + L)`; the first `batchDims`
    dimensions are shared. Indices as in `graph.gather`.
  }];
  let arguments = (ins Graph_AnyTensor:$input, Graph_IndexTensor:$indices, I64Attr:$batchDims);
  let results = (outs Graph_AnyTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$input `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Graph_RelayoutOp : Graph_Op<"relayout", [Pure]> {
  let summary = "the same tensor arranged differently in memory";
  let description = "Inserted by the layout pass. Shape and element type stay; padding of a tiled layout is zero.";
  let arguments = (ins Graph_AnyTensor:$input);
  let results = (outs Graph_AnyTensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Graph_IotaOp : Graph_Op<"iota", [Pure]> {
  let summary = "counts along a dimension";
  let description = "Element value = its coordinate on `axis`. From ONNX Range, EyeLike, Trilu, OneHot.";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Graph_NumberTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Graph_DimensionsOp : Graph_Op<"dimensions", [Pure]> {
  let summary = "dimension expressions as a tensor";
  let description = [{
    A rank-1 i64 tensor with one element per expression of `values`: what
    remains of ONNX Shape and Size where the values are needed as data.
  }];
  let arguments = (ins AffineMapAttr:$values);
  let results = (outs Graph_IndexTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif
