// Internal to codegen/math: what an angle is reduced to.
#ifndef STINT_COMPILER_CODEGEN_MATH_REDUCE_H
#define STINT_COMPILER_CODEGEN_MATH_REDUCE_H

#include "compiler/codegen/math/Expr.h"

namespace stint::codegen::math {

/// x = k pi/2 + (r + low), |r| <= pi/4 and a little; NaN for infinities.
struct Reduced {
  /// The quadrant: k's last two bits are right, the others may be anything.
  Int k;
  Float r, low;
};

/// For x >= 0.
Reduced reduce(Float x);

} // namespace stint::codegen::math

#endif
