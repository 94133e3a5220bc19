// Internal to codegen/cpu: MLIR kernels to an optimised llvm::Module.
#ifndef STINT_COMPILER_CODEGEN_CPU_LOWERTOLLVM_H
#define STINT_COMPILER_CODEGEN_CPU_LOWERTOLLVM_H

#include "compiler/target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace stint::codegen {

/// Rewrites `module` into the LLVM dialect.
mlir::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module);

/// A target machine for `variant`; aborts never: an LLVM built without the
/// target is an error.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const target::Variant &variant);

/// Translates a module in the LLVM dialect, links the leaf functions that it
/// calls, sets the attributes kernels need, and runs the project's own short
/// list of LLVM passes.
llvm::Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, const target::Variant &variant,
                                                        llvm::TargetMachine &machine, llvm::LLVMContext &context);

} // namespace stint::codegen

#endif
