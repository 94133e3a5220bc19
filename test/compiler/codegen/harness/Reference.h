// What a kernel must compute: an interpreter of the graph dialect that is as
// plain as can be. Whole row-major tensors, one operator after the other, no
// code shared with the compiler.
//
// Floats are doubles. After each operator a value of type f32, f16 or bf16 is
// rounded to f32, as registers are; that makes +, -, *, /, sqrt and everything
// that only selects or compares exact. Sums and products over many elements
// are accumulated in double. graph.cast to f16 or bf16 and results of kernels
// are rounded to their type. Integers are exact, and wrap.
#ifndef STINT_TEST_COMPILER_CODEGEN_HARNESS_REFERENCE_H
#define STINT_TEST_COMPILER_CODEGEN_HARNESS_REFERENCE_H

#include "test/compiler/codegen/harness/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stint::test {

/// Results of an outlined kernel (or any function of graph operators) for
/// these values of its symbols and these operands.
std::vector<Tensor> reference(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> symbols,
                              llvm::ArrayRef<Tensor> operands);

} // namespace stint::test

#endif
