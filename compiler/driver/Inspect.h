// `stint inspect`: a plan file as text.
#ifndef STINT_COMPILER_DRIVER_INSPECT_H
#define STINT_COMPILER_DRIVER_INSPECT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace stint::driver {

/// Checks the file as the runtime does, then prints what is in it. Returns the
/// exit code; messages go to standard error.
int inspect(llvm::StringRef path, bool json, llvm::raw_ostream &os);

} // namespace stint::driver

#endif
