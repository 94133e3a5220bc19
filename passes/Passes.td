// Every pass of the compiler between import and code generation, in the order
// in which they run. One file a pass, one lit test a pass, one stem.
#ifndef STINT_PASSES_PASSES_TD
#define STINT_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyGraph : Pass<"stint-simplify-graph", "::mlir::ModuleOp"> {
  let summary = "canonical forms, common subexpressions, recipes instead of work on weights";
  let description = [{
    Only rewrites that give the same bits: `x * 1`, `pow(x, 2) = x * x`,
    reshape, transpose and cast of a weight become steps of its recipe, a
    transpose that moves only dimensions of 1 becomes a reshape. Equal
    operations are merged and unused ones removed.
  }];
}

def HoistConstants : Pass<"stint-hoist-constants", "::mlir::ModuleOp"> {
  let summary = "moves work whose operands are all constant into @constants";
  let description = [{
    Makes a function `@constants() -> (values…)` of every maximal subgraph
    that depends on weights and constants only; `@main`, and
    the functions of control flow, take the values as
    additional arguments marked `graph.constant_result = N` (result N). The driver
    compiles and runs the function and puts weights in place of the arguments.
    Broadcasts, iota, and values much larger than what they are made from stay
    where they are used.
  }];
}

def SinkConstants : Pass<"stint-sink-constants", "::mlir::ModuleOp"> {
  let summary = "functions of control flow read weights and constants themselves";
  let description = [{
    A weight or constant that a `graph.if` or `graph.loop` hands to its function
    is cloned into it; arguments that a function does not read are removed.
  }];
}

def SinkRows : Pass<"stint-sink-rows", "::mlir::ModuleOp"> {
  let summary = "a decoder's tokens stay apart; logits are computed for the wanted rows";
  let description = [{
    Of a module with `graph.decoder` only. Refuses operators that compute tokens
    from each other, and moves the gather of logit rows in front of everything
    that only logits are computed from.
  }];
}

def QuantiseActivations : Pass<"stint-quantise-activations", "::mlir::ModuleOp"> {
  let summary = "weights of 4 and 8 bits are multiplied with activations of 8 bits";
  let description = [{
    `block_matmul` of f32 becomes `quantise_rows`, which gives each row a scale
    for each block of the weights, and `block_matmul_int8`. Faster, and less
    exact: only where it is asked for.
  }];
}

def AssignLayouts : Pass<"stint-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "decides how every tensor lies in memory";
  let description = [{
    Channels-last around convolutions and pooling, panels for the right
    operands of contractions; whatever does not care follows its operands;
    transposes and reshapes become views where they can. Weights take the
    wanted layout in their type, other values get a `graph.relayout`. Inputs
    and outputs of the function are row-major.
  }];
}

def FuseContractions : Pass<"stint-fuse-contractions", "::mlir::ModuleOp"> {
  let summary = "a matmul or convolution with its elementwise consumers becomes one kernel";
}

def FuseLoopNests : Pass<"stint-fuse-loop-nests", "::mlir::ModuleOp"> {
  let summary = "everything else becomes loop-nest kernels";
  let description = [{
    Grows each kernel from its last operation towards producers that nothing
    else uses, as long as nothing expensive is computed twice. Reductions over
    the innermost dimension in memory join their consumers (softmax and layer
    norm are one kernel).
  }];
}

def OutlineKernels : Pass<"stint-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "kernel regions become private functions, equal ones shared";
}

def OrderKernels : Pass<"stint-order-kernels", "::mlir::ModuleOp"> {
  let summary = "orders kernel calls so that fewer bytes are alive at once";
  let description = [{
    Tries a greedy and a depth-first order beside the model's own, which stays
    unless one of them has a clearly lower peak at the symbols' upper bounds.
  }];
}

def BuildPlan : Pass<"stint-build-plan", "::mlir::ModuleOp"> {
  let summary = "the main function becomes a plan entry";
  let dependentDialects = ["::stint::plan::PlanDialect"];
}

def PlanMemory : Pass<"stint-plan-memory", "::mlir::ModuleOp"> {
  let summary = "places arena buffers: lifetimes, in-place results, offsets";
  let description = [{
    One profile per list of maxima in the module's `plan.profiles`, else one
    at the symbols' upper bounds. Several greedy orders are tried and the
    smallest arena kept.
  }];
  let dependentDialects = ["::stint::plan::PlanDialect"];
  let options = [
    Option<"effort", "effort", "uint64_t", "134217728", "pairs of buffers to look at while the arena is above its lower bound">,
    Option<"seed", "seed", "uint64_t", "0", "where the numbers of chance begin">
  ];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">,
    Statistic<"boundBytes", "lower-bound", "largest sum of bytes alive at once">
  ];
}

#endif
