// The passes between import and code generation, in order.
#ifndef STINT_COMPILER_DRIVER_PIPELINE_H
#define STINT_COMPILER_DRIVER_PIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace stint::driver {

/// Stages of the pipeline; each takes the form the one before leaves.
void addGraphPasses(mlir::OpPassManager &passes);
void addLayoutPasses(mlir::OpPassManager &passes);
void addFusionPasses(mlir::OpPassManager &passes);
void addSchedulePasses(mlir::OpPassManager &passes);
void addPlanPasses(mlir::OpPassManager &passes);

} // namespace stint::driver

#endif
