// The loop-nest generator: kernels that compute each element of their results
// on its own.
#ifndef STINT_COMPILER_CODEGEN_LOOPNEST_LOOPNEST_H
#define STINT_COMPILER_CODEGEN_LOOPNEST_LOOPNEST_H

#include "compiler/target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace stint::codegen {

/// See lowerKernel in Codegen.h: for kernels of kind `loopnest`.
llvm::Expected<int64_t> lowerLoopNest(mlir::func::FuncOp kernel, const target::Variant &variant, mlir::ModuleOp into);

} // namespace stint::codegen

#endif
