// Mathematical functions as straight-line arithmetic that both kernel
// generators inline: no calls, no tables in memory, and no branches but for
// two loops over lanes, in emitFmod and in f64 sin, cos and tan beyond 2^20.
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

/// Functions of one floating point argument. Errors are at most 2 ulp of the
/// result; 2.3 for f32 sigmoid, 3 for f64 acosh, tanh and sigmoid. All arguments
/// count: sin, cos and tan are reduced exactly enough at any size. Denormal
/// arguments and results are kept; NaN gives NaN, and so do arguments outside
/// the domain.
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

/// x to the power of y, within 2 ulp, with the special cases of C's pow.
mlir::Value emitPow(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant, mlir::Value x,
                    mlir::Value y);

/// C's fmod: exact, with the sign of x.
mlir::Value emitFmod(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant, mlir::Value x,
                     mlir::Value y);

} // namespace stint::codegen

#endif
