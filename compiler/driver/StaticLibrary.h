// `--emit static-library`: kernels as an archive that an application links,
// for systems where code must not be mapped at run time.
#ifndef STINT_COMPILER_DRIVER_STATICLIBRARY_H
#define STINT_COMPILER_DRIVER_STATICLIBRARY_H

#include "compiler/target/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace stint::driver {

/// Writes an archive with an object per variant, and beside it a C header of
/// the same name ending in `.h` with a table per variant, as
/// stint_model_options.static_kernels takes it. `path` is the archive if all
/// variants are of one family; for several, each gets one, with the family's
/// name before the ending. With one variant in an archive the table is
/// `stint_kernels`, with several `stint_kernels_<variant>`.
llvm::Error writeStaticLibraries(mlir::ModuleOp module, llvm::ArrayRef<target::Variant> variants, llvm::StringRef path);

} // namespace stint::driver

#endif
