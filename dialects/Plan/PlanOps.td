// Entries, buffers and work.
#ifndef STINT_DIALECTS_PLAN_PLANOPS_TD
#define STINT_DIALECTS_PLAN_PLANOPS_TD

include "dialects/Graph/GraphTypes.td"
include "dialects/Plan/PlanRegisterOps.td"
include "mlir/IR/SymbolInterfaces.td"

def Plan_EntryOp : Plan_Op<"entry", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "something a session can run (Entry)";
  let description = [{
    `profiles`, an array of `#plan.profile`, is written by the memory pass.
    Input ports are the `plan.input` operations in order, output ports the
    `plan.output` operations in order.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<ArrayAttr, "{}">:$profiles);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name)>];
  let hasVerifier = 1;
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The buffers in order: the position of one is its index in the plan.
    ::llvm::SmallVector<::mlir::Value> getBuffers();
  }];
}

class Plan_PortOp<string mnemonic, string opSummary> : Plan_Op<mnemonic> {
  let summary = opSummary;
  let description = [{
    `type` is row-major. `dims` has one register per dimension; a dimension
    whose expression in `type` is just a symbol is bound to that symbol
    (Dim.symbol), any other has Dim.symbol -1. `size` is in bytes.
  }];
  let arguments = (ins StrAttr:$name, Variadic<Plan_Register>:$dims, Plan_Register:$size,
                       TypeAttrOf<Graph_AnyTensor>:$type);
  let results = (outs Plan_Buffer:$buffer);
  let hasVerifier = 1;
  let assemblyFormat = "$name `dims` `(` $dims `)` `size` `(` $size `)` attr-dict `:` $type";
}
def Plan_InputOp : Plan_PortOp<"input", "an input port and its buffer (BufferKind.input)">;
def Plan_OutputOp : Plan_PortOp<"output", "an output port and its buffer (BufferKind.output)">;

def Plan_BufferOp : Plan_Op<"buffer"> {
  let summary = "a buffer in the arena (BufferKind.arena)";
  let description = [{
    `type` is the value's type with its layout: `size` (bytes) follows from
    it, and with the symbols' bounds its capacity.
  }];
  let arguments = (ins Plan_Register:$size, TypeAttrOf<Graph_AnyTensor>:$type);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "`size` `(` $size `)` attr-dict `:` $type";
}

def Plan_StateOp : Plan_Op<"state"> {
  let summary = "memory that a session keeps from run to run (State, BufferKind.state)";
  let description = "Zeros when the session begins. `type` is row-major and has a static shape.";
  let arguments = (ins StrAttr:$name, Plan_Register:$size, TypeAttrOf<Graph_AnyTensor>:$type);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$name `size` `(` $size `)` attr-dict `:` $type";
}

def Plan_WeightOp : Plan_Op<"weight"> {
  let summary = "a weight entry made from a recipe (BufferKind.weight)";
  let description = [{
    As `graph.weight`: the bytes at `extent`, then `steps`, then the layout of
    `type`. Entries with the same content are shared in the file.
  }];
  let arguments = (ins StrAttr:$name, Graph_ExtentAttr:$extent, ArrayAttr:$steps, Plan_Register:$size,
                       TypeAttrOf<Graph_AnyTensor>:$type);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$name $extent $steps `size` `(` $size `)` attr-dict `:` $type";
}

def Plan_ConstantOp : Plan_Op<"constant"> {
  let summary = "a small constant in the weights (BufferKind.weight)";
  let description = "As `graph.constant`; the bytes are arranged as the layout of `type` says.";
  let arguments = (ins ElementsAttr:$value, Plan_Register:$size, TypeAttrOf<Graph_AnyTensor>:$type);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$value `size` `(` $size `)` attr-dict `:` $type";
}

def Plan_DispatchOp : Plan_Op<"dispatch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel over its grid (Dispatch)";
  let description = [{
    `inputs` are read, `outputs` written: together the kernel's buffers, in
    the order of the kernel function's arguments and results. `dims` are the
    values of the kernel's symbols (its `graph.symbols`). `nodes` names the
    ONNX nodes the kernel computes, `flops` is how much arithmetic that is.

    `plan.dispatch @conv(%x, %w) -> (%y) dims(%n) grid(%a, %b, %c) tile(%d, %e, %f)`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Plan_Buffer>:$inputs, Variadic<Plan_Buffer>:$outputs,
                       Variadic<Plan_Register>:$dims, Variadic<Plan_Register>:$grid, Variadic<Plan_Register>:$tile,
                       Optional<Plan_Register>:$flops, DefaultValuedAttr<StrArrayAttr, "{}">:$nodes);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `->` `(` $outputs `)` `dims` `(` $dims `)` `grid` `(` $grid `)` `tile` `(` $tile `)`
    (`flops` `(` $flops^ `)`)? attr-dict
  }];
}

def Plan_CopyOp : Plan_Op<"copy"> {
  let summary = "copies bytes from one buffer to another (copy)";
  let description = "With `offset`, to that many bytes from the target's start (copy_at).";
  let arguments = (ins Plan_Buffer:$target, Plan_Buffer:$source, Plan_Register:$size, Optional<Plan_Register>:$offset);
  let assemblyFormat = "$target (`at` $offset^)? `,` $source `size` `(` $size `)` attr-dict";
}

// Blocks are flat, as in the file: a plan.if or plan.loop ends at its plan.end.

def Plan_IfOp : Plan_Op<"if"> {
  let summary = "runs what follows only if the register is not 0 (if_)";
  let arguments = (ins Plan_Register:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Plan_ElseOp : Plan_Op<"else"> {
  let summary = "begins what runs if the condition was 0 (else_)";
  let assemblyFormat = "attr-dict";
}

def Plan_LoopOp : Plan_Op<"loop"> {
  let summary = "runs what follows while the iteration is less than the limit (loop)";
  let description = [{
    `iteration`, a register of a symbol, is 0, 1, …; `limit` is read before
    every iteration, so that the body ends the loop by assigning 0 to it.
  }];
  let arguments = (ins Plan_Register:$iteration, Plan_Register:$limit);
  let assemblyFormat = "$iteration `below` $limit attr-dict";
}

def Plan_EndOp : Plan_Op<"end"> {
  let summary = "ends the innermost plan.if or plan.loop (end_)";
  let assemblyFormat = "attr-dict";
}

#endif
