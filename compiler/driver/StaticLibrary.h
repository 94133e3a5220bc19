// `--emit static-library`: kernels as an archive that an application links,
// for systems where code must not be mapped at run time.
#ifndef STINT_COMPILER_DRIVER_STATICLIBRARY_H
#define STINT_COMPILER_DRIVER_STATICLIBRARY_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace stint::driver {

/// Writes the archive at `path`, and beside it a C header of the same name
/// ending in `.h` with the table that stint_model_options.static_kernels
/// takes.
llvm::Error writeStaticLibrary(mlir::ModuleOp module, llvm::ArrayRef<char> object, uint64_t scratch,
                               llvm::StringRef path);

} // namespace stint::driver

#endif
