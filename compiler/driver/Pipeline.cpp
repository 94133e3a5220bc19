// Pipeline: see the header of that name.
#include "compiler/driver/Pipeline.h"

#include "passes/Passes.h"

using namespace stint;

// The model as ONNX meant it, in as few operators as possible.
void driver::addGraphPasses(mlir::OpPassManager &passes) {
  // Branches and loop bodies read weights themselves.
  passes.addPass(passes::createSinkConstants());
  // Canonical forms, common subexpressions; work on weights becomes steps of
  // their recipes.
  passes.addPass(passes::createSimplifyGraph());
  // A decoder's logits are computed for the tokens that they are wanted of.
  passes.addPass(passes::createSinkRows());
}

// Less exact where the user says so.
void driver::addActivationPasses(mlir::OpPassManager &passes) {
  // What weights of 4 and 8 bits are multiplied with becomes integers.
  passes.addPass(passes::createQuantiseActivations());
  // Products of one value share them.
  passes.addPass(passes::createSimplifyGraph());
}

// What depends on the model alone, and not on its inputs.
void driver::addConstantPasses(mlir::OpPassManager &passes) {
  // It becomes a function of its own, which FoldStage compiles and runs.
  passes.addPass(passes::createHoistConstants());
}

// Where every element of every tensor lies in memory.
void driver::addLayoutPasses(mlir::OpPassManager &passes) {
  // Folded constants are weights now: branches and loop bodies read them
  // themselves, work on them becomes steps of recipes.
  passes.addPass(passes::createSinkConstants());
  passes.addPass(passes::createSimplifyGraph());
  // Channels-last around convolutions, panels for what contractions multiply
  // by; other values follow their operands.
  passes.addPass(passes::createAssignLayouts());
  // Relayouts that meet cancel.
  passes.addPass(passes::createSimplifyGraph());
}

// Which operators run together.
void driver::addFusionPasses(mlir::OpPassManager &passes) {
  // A matmul or convolution takes its elementwise consumers along: they are
  // computed on the accumulators.
  passes.addPass(passes::createFuseContractions());
  // Everything else becomes loop nests, as large as nothing is computed twice.
  passes.addPass(passes::createFuseLoopNests());
}

// From regions to functions: what will be machine code is apart from the order
// in which it runs.
void driver::addSchedulePasses(mlir::OpPassManager &passes) {
  // Equal kernels share one function.
  passes.addPass(passes::createOutlineKernels());
  // The order in which they run leaves as few bytes alive at once as it can.
  passes.addPass(passes::createOrderKernels());
}

// From tensors to buffers and registers.
void driver::addPlanPasses(mlir::OpPassManager &passes) {
  // Sizes, shapes and grids become registers, calls become dispatches.
  passes.addPass(passes::createBuildPlan());
}

// From buffers to memory, for every shape profile.
void driver::addMemoryPasses(mlir::OpPassManager &passes, const MemorySearch &search) {
  // Buffers get their places in the arena.
  passes.addPass(passes::createPlanMemory({search.effort, search.seed}));
}
