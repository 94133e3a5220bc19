// Mathematical functions as straight-line arithmetic that both kernel
// generators inline: no calls, no tables in memory, no branches (emitFmod
// has a loop).
//
// Arguments are f32, f64, or a vector<N> of either for any N; results have
// the argument's type. A lane's result is the same bits for every N and for a
// scalar. With and without `variant.hasFma` results may differ, both within
// the bounds below.
#ifndef STINT_COMPILER_CODEGEN_MATH_MATH_H
#define STINT_COMPILER_CODEGEN_MATH_MATH_H

#include "compiler/target/Target.h"

#include "mlir/IR/Builders.h"

namespace stint::codegen {

/// Functions of one floating point argument.
enum class MathFunction {
  exp,
  log,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  sigmoid // 1 / (1 + exp(-x))
};

mlir::Value emitMath(MathFunction function, mlir::OpBuilder &builder, mlir::Location loc,
                     const target::Variant &variant, mlir::Value x);

/// x to the power of y, with the special cases of C's pow.
mlir::Value emitPow(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant, mlir::Value x,
                    mlir::Value y);

/// C's fmod: exact, with the sign of x.
mlir::Value emitFmod(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant, mlir::Value x,
                     mlir::Value y);

} // namespace stint::codegen

#endif
