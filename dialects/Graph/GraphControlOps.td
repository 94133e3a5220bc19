// Control flow, and symbols that get their value while the model runs.
#ifndef STINT_DIALECTS_GRAPH_GRAPHCONTROLOPS_TD
#define STINT_DIALECTS_GRAPH_GRAPHCONTROLOPS_TD

include "dialects/Graph/GraphTypes.td"
include "mlir/IR/SymbolInterfaces.td"

def Graph_BindOp : Graph_Op<"bind"> {
  let summary = "gives a symbol its value while the model runs";
  let description = [{
    The value is the first element of `source` (i64, row-major), or `value`, an
    expression over symbols that have one. A symbol has one bind, except that
    the two branches of a `graph.if` may each bind one, and the body of a
    `graph.loop` binds those that change from one iteration to the next; such
    binds, with `value`, stand at the end of their function. Whatever names
    the symbol runs after the bind. A value outside the symbol's bounds ends
    the run with an error.
  }];
  let arguments = (ins I64Attr:$symbol, Optional<Graph_AnyTensor>:$source, OptionalAttr<AffineMapAttr>:$value);
  let hasVerifier = 1;
  let assemblyFormat = "$symbol (`from` $source^ `:` type($source))? (`to` $value^)? attr-dict";
}

def Graph_TrapOp : Graph_Op<"trap"> {
  let summary = "ends the run with a message";
  let description = "What a branch comes to that no run with these shapes can take without an error.";
  let arguments = (ins StrAttr:$message);
  let assemblyFormat = "$message attr-dict";
}

def Graph_RequireOp : Graph_Op<"require"> {
  let summary = "ends the run unless two dimensions are equal";
  let description = [{
    What the model takes for granted and the symbols' bounds do not imply:
    both results of `sides` have one value. Checked before the run begins, or
    where the operation stands if it is in a branch or its symbols get their
    values while the model runs.
  }];
  let arguments = (ins AffineMapAttr:$sides, StrAttr:$message);
  let hasVerifier = 1;
  let assemblyFormat = "$sides $message attr-dict";
}

class Graph_ControlOp<string mnemonic>
    : Graph_Op<mnemonic, [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Graph_IfOp : Graph_ControlOp<"if"> {
  let summary = "runs one of two functions";
  let description = [{
    ONNX If. `condition` is one i64 element: not 0 runs `thenFunction` on
    `thenInputs`, 0 runs `elseFunction` on `elseInputs`. Both are private
    functions of the module, over the module's symbols, used here only. Their
    results have the element types and ranks of the operation's; where a
    dimension of a result is a symbol that the branches bind, each branch says
    so with `graph.bind`.
  }];
  let arguments = (ins Graph_AnyTensor:$condition, Variadic<Graph_AnyTensor>:$thenInputs,
                       Variadic<Graph_AnyTensor>:$elseInputs, FlatSymbolRefAttr:$thenFunction,
                       FlatSymbolRefAttr:$elseFunction);
  let results = (outs Variadic<Graph_AnyTensor>:$outputs);
  let assemblyFormat = [{
    $condition `then` $thenFunction `(` $thenInputs `)` `else` $elseFunction `(` $elseInputs `)` attr-dict
    `:` functional-type(operands, results)
  }];
}

def Graph_LoopOp : Graph_ControlOp<"loop"> {
  let summary = "runs a function again and again";
  let description = [{
    ONNX Loop. `body` is a private function, used here only, on the carried
    values and then `captures`. It returns an i64 element that says whether to
    go on (only if `conditional`), the new carried values, and one value per
    scan output. The operation's results are the last carried values, then the
    scan outputs: what the iterations returned, stacked along a new first
    dimension.

    The number of iterations is at most `trips` (an expression), or the first
    element of `tripCount`; with neither, there is no such limit. `condition`,
    if it is there, is one i64 element: 0 runs nothing.

    In the body, symbol `iteration` is 0, 1, … Afterwards, symbol `count`, if it
    is not -1, is how many iterations ran. `carried` are symbols in the carried
    values' types that change from one iteration to the next: they begin as
    `carriedInits`, and the body binds them.
  }];
  let arguments = (ins Optional<Graph_AnyTensor>:$tripCount, Optional<Graph_AnyTensor>:$condition,
                       Variadic<Graph_AnyTensor>:$inits, Variadic<Graph_AnyTensor>:$captures,
                       FlatSymbolRefAttr:$body, OptionalAttr<AffineMapAttr>:$trips, I64Attr:$iteration,
                       DefaultValuedAttr<I64Attr, "-1">:$count, DefaultValuedAttr<BoolAttr, "false">:$conditional,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$carried,
                       OptionalAttr<AffineMapAttr>:$carriedInits);
  let results = (outs Variadic<Graph_AnyTensor>:$outputs);
  let assemblyFormat = [{
    $body `iteration` $iteration (`trips` $trips^)? (`trip_count` $tripCount^)? (`if` $condition^)?
    `inits` `(` $inits `)` `captures` `(` $captures `)` attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::mlir::ResultRange getFinals() { return getOutputs().take_front(getInits().size()); }
    ::mlir::ResultRange getScans() { return getOutputs().drop_front(getInits().size()); }
  }];
}

#endif
