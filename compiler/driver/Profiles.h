// Shape profiles: joint maxima of the dynamic dimensions, for each of which
// the plan holds an arena layout of its own. A session that declares smaller
// maxima takes the smallest that fits.
#ifndef STINT_COMPILER_DRIVER_PROFILES_H
#define STINT_COMPILER_DRIVER_PROFILES_H

#include "compiler/driver/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace stint::driver {

/// Writes the module's `plan.profiles`: one at the upper bounds; then those
/// asked for, or, if none are, some with every dimension at a half, a quarter…
/// of its bound. Errors say which name is not one of the model's.
llvm::Error addProfiles(mlir::ModuleOp module, llvm::ArrayRef<ProfileRequest> requests);

} // namespace stint::driver

#endif
