// From an outlined kernel (a function of graph operators) to a function that
// machine code is made of.
#ifndef STINT_COMPILER_CODEGEN_CODEGEN_H
#define STINT_COMPILER_CODEGEN_CODEGEN_H

#include "compiler/target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace stint::codegen {

/// Appends `func.func @<name>(%dispatch: !llvm.ptr, %workgroup: !llvm.ptr) ->
/// i32` to `into` for the outlined kernel `kernel`, by the generator its
/// attribute `graph.kind` names. Returns the bytes of scratch a thread needs
/// to run it, at the upper bounds of its symbols.
llvm::Expected<int64_t> lowerKernel(mlir::func::FuncOp kernel, const target::Variant &variant, mlir::ModuleOp into);

} // namespace stint::codegen

#endif
