// Constants, weights, and the regions that become kernels.
#ifndef STINT_DIALECTS_GRAPH_GRAPHSTRUCTUREOPS_TD
#define STINT_DIALECTS_GRAPH_GRAPHSTRUCTUREOPS_TD

include "dialects/Graph/GraphTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike]> {
  let summary = "a small constant";
  let description = [{
    A splat of any static shape, or at most 64 elements. `value` is a dense
    attribute of the same shape and element type. Anything larger is a
    `graph.weight`. Splats are folded into kernels as immediates; others are
    operands, arranged as the result type's layout says when the plan is
    written.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::DenseElementsAttr":$value)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Graph_WeightOp : Graph_Op<"weight", [Pure]> {
  let summary = "a tensor read from the model's files by a recipe";
  let description = [{
    `extent` says where the bytes are; `steps` are applied in order; the
    result type's layout is applied last, when the plan is written. Nothing is
    read before that. `name` is the ONNX initializer's.
  }];
  let arguments = (ins StrAttr:$name, Graph_ExtentAttr:$extent, DefaultValuedAttr<ArrayAttr, "{}">:$steps);
  let results = (outs Graph_AnyTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$name $extent attr-dict `:` type($result)";
}

def Graph_KernelOp : Graph_Op<"kernel", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "operators that run as one dispatch";
  let description = [{
    Made by the fuse passes. The block has one argument per operand, of its
    type, and yields the results. `kind` names the generator; a contraction
    region holds exactly one matmul or (non-depthwise) conv, a leaf region
    exactly one leaf, all of whose results it yields.
    The schedule pass outlines the region into a function.
  }];
  let arguments = (ins Graph_KernelKindAttr:$kind, Variadic<Graph_AnyTensor>:$inputs);
  let results = (outs Variadic<Graph_AnyTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = "$kind `(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, results) $body";
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "ends a kernel region with its results";
  let arguments = (ins Variadic<Graph_AnyTensor>:$values);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Graph_CallOp : Graph_Op<"call", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs an outlined kernel";
  let description = [{
    Made by the schedule passes. The kernel is a private function with its own
    `graph.symbols`; its symbol `i` is the module's symbol `symbols[i]`. The
    operand and result types are the kernel's with these symbols put in.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Graph_AnyTensor>:$inputs, DenseI64ArrayAttr:$symbols);
  let results = (outs Variadic<Graph_AnyTensor>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` `symbols` $symbols attr-dict `:` functional-type($inputs, results)";
}

#endif
