// Kernels of one matmul or convolution and its elementwise epilogue.
//
// The right operand lies in panels of 16 columns. A register tile of a few
// rows and one panel accumulates over K; the epilogue is what the element
// emitter makes of the accumulators. Every result element is one chain over K
// in ascending order, whatever tile, block or workgroup computes it.
#ifndef STINT_COMPILER_CODEGEN_CONTRACTION_CONTRACTION_H
#define STINT_COMPILER_CODEGEN_CONTRACTION_CONTRACTION_H

#include "compiler/target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace stint::codegen {

/// Appends the kernel function of `kernel` (graph.kind = contraction) to
/// `into`. Returns the bytes of scratch a thread needs to run it, at the upper
/// bounds of its symbols. May run on several threads with different modules.
llvm::Expected<int64_t> lowerContraction(mlir::func::FuncOp kernel, const target::Variant &variant,
                                         mlir::ModuleOp into);

} // namespace stint::codegen

#endif
