// `stint explain`: what of a model can be compiled, all of it at once.
#ifndef STINT_COMPILER_DRIVER_EXPLAIN_H
#define STINT_COMPILER_DRIVER_EXPLAIN_H

#include "compiler/driver/Options.h"
#include "compiler/import/Diagnostics.h"

namespace stint::driver {

/// Prints every operator with its count, how its nodes run or what is wrong with
/// them, every dynamic dimension, FLOPs, weights and the arena. Returns the exit
/// code.
int explain(const Options &options, bool json, llvm::raw_ostream &os, import::Diagnostics &diagnostics);

} // namespace stint::driver

#endif
