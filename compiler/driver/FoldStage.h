// Constant subgraphs are computed at compile time, by the kernels that would
// have computed them on the device: compiled for the worst variant of this
// machine's family, so that the bytes don't depend on which machine compiles.
#ifndef STINT_COMPILER_DRIVER_FOLDSTAGE_H
#define STINT_COMPILER_DRIVER_FOLDSTAGE_H

#include "compiler/driver/WeightFiles.h"

namespace stint::driver {

struct Folded {
  size_t values = 0, operations = 0;
  uint64_t bytes = 0;
};

/// Runs `@constants` of the module (see HoistConstants), if there is one, puts
/// weights and constants in place of the arguments of `@main` that stand for
/// its results, and erases it. `plan` takes a module from the graph dialect to
/// planned memory; if it fails it has reported why, and the answer is an error
/// without text.
llvm::Expected<Folded> foldConstants(mlir::ModuleOp module, WeightFiles &files,
                                     llvm::function_ref<bool(mlir::ModuleOp)> plan);

} // namespace stint::driver

#endif
