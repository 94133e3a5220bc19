// The passes between import and code generation, in order.
#ifndef STINT_COMPILER_DRIVER_PIPELINE_H
#define STINT_COMPILER_DRIVER_PIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace stint::driver {

/// How hard memory is searched for.
struct MemorySearch {
  uint64_t effort = uint64_t(1) << 27; // pairs of buffers looked at
  uint64_t seed = 0;
};

/// Stages of the pipeline; each takes the form the one before leaves.
void addGraphPasses(mlir::OpPassManager &passes);
/// Only for `--activations int8`.
void addActivationPasses(mlir::OpPassManager &passes);
void addConstantPasses(mlir::OpPassManager &passes);
void addLayoutPasses(mlir::OpPassManager &passes);
void addFusionPasses(mlir::OpPassManager &passes);
void addSchedulePasses(mlir::OpPassManager &passes);
void addPlanPasses(mlir::OpPassManager &passes);
/// May run again on a plan that has memory already.
void addMemoryPasses(mlir::OpPassManager &passes, const MemorySearch &search);

} // namespace stint::driver

#endif
