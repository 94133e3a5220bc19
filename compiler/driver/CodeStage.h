// From outlined kernels to machine code, for every variant.
#ifndef STINT_COMPILER_DRIVER_CODESTAGE_H
#define STINT_COMPILER_DRIVER_CODESTAGE_H

#include "compiler/codegen/cpu/CpuBackend.h"
#include "compiler/driver/Options.h"
#include "compiler/driver/Report.h"
#include "compiler/serialise/PlanBuilder.h"

namespace stint::driver {

/// Compiles and links all kernels of a planned module for each variant. Uses
/// two threads; the result does not depend on that. `time`, if given, is told
/// what each variant took, both threads together.
llvm::Expected<std::vector<serialise::VariantCode>>
generateCode(mlir::ModuleOp module, llvm::ArrayRef<target::Variant> variants, Stopwatch *time = nullptr);

/// All kernels of one variant as text: `emit` is Kernel, Llvm or Assembly.
llvm::Expected<std::string> kernelText(mlir::ModuleOp module, const target::Variant &variant, Emit emit);

/// All kernels of one variant as one ELF object, their functions' names behind
/// `prefix`. Sets `scratch`, the bytes a thread needs.
llvm::Expected<std::vector<char>> kernelObject(mlir::ModuleOp module, const target::Variant &variant,
                                               llvm::StringRef prefix, uint64_t &scratch);

} // namespace stint::driver

#endif
