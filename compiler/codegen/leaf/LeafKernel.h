// Kernels of kind leaf: one call of compiled C++.
#ifndef STINT_COMPILER_CODEGEN_LEAF_LEAFKERNEL_H
#define STINT_COMPILER_CODEGEN_LEAF_LEAFKERNEL_H

#include "compiler/target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace stint::codegen {

/// Appends the kernel to `into`, with a declaration of the leaf function; see
/// codegen::lowerKernel. The back end links the function's bitcode.
llvm::Expected<int64_t> lowerLeaf(mlir::func::FuncOp kernel, const target::Variant &variant, mlir::ModuleOp into);

} // namespace stint::codegen

#endif
