// `--emit`: the program after a stage, in place of a plan file.
#ifndef STINT_COMPILER_DRIVER_EMIT_H
#define STINT_COMPILER_DRIVER_EMIT_H

#include "compiler/driver/Options.h"
#include "compiler/target/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace stint::driver {

/// The module, or the kernels of all variants one after the other, as text.
llvm::Expected<std::string> textOf(mlir::ModuleOp module, llvm::ArrayRef<target::Variant> variants, Emit emit);

/// Writes an ELF object per variant: at `path` for one variant, with the
/// variant's name before the ending for each of several.
llvm::Error writeObjects(mlir::ModuleOp module, llvm::ArrayRef<target::Variant> variants, llvm::StringRef path);

} // namespace stint::driver

#endif
