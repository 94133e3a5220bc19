// Internal to codegen/math: each function on formulas, for both types.
// Bounds and special cases are stated in Math.h.
#ifndef STINT_COMPILER_CODEGEN_MATH_FUNCTIONS_H
#define STINT_COMPILER_CODEGEN_MATH_FUNCTIONS_H

#include "compiler/codegen/math/Expr.h"

namespace stint::codegen::math {

// Exp.cpp
Float exp(Float x);
Float sigmoid(Float x);
Float sinh(Float x);
Float cosh(Float x);
Float tanh(Float x);
/// exp(x + low) where |low| is far below |x|: f64 only.
Float expOfSum(Float x, Float low);

// Log.cpp
Float log(Float x);
Float asinh(Float x);
Float acosh(Float x);
Float atanh(Float x);

// Trig.cpp
Float sin(Float x);
Float cos(Float x);
Float tan(Float x);

// InverseTrig.cpp
Float asin(Float x);
Float acos(Float x);
Float atan(Float x);

// Erf.cpp
Float erf(Float x);

// Pow.cpp
Float pow(Float x, Float y);

} // namespace stint::codegen::math

#endif
