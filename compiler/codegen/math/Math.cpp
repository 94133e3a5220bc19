// Which formula is behind which function.
#include "compiler/codegen/math/Math.h"

#include "compiler/codegen/math/Functions.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;

static math::Float emit(MathFunction function, math::Float x) {
  switch (function) {
  case MathFunction::exp:
    return math::exp(x);
  case MathFunction::log:
    return math::log(x);
  case MathFunction::sin:
    return math::sin(x);
  case MathFunction::cos:
    return math::cos(x);
  case MathFunction::tan:
    return math::tan(x);
  case MathFunction::asin:
    return math::asin(x);
  case MathFunction::acos:
    return math::acos(x);
  case MathFunction::atan:
    return math::atan(x);
  case MathFunction::sinh:
    return math::sinh(x);
  case MathFunction::cosh:
    return math::cosh(x);
  case MathFunction::tanh:
    return math::tanh(x);
  case MathFunction::asinh:
    return math::asinh(x);
  case MathFunction::acosh:
    return math::acosh(x);
  case MathFunction::atanh:
    return math::atanh(x);
  case MathFunction::erf:
    return math::erf(x);
  case MathFunction::sigmoid:
    return math::sigmoid(x);
  }
  llvm_unreachable("all functions are named above");
}

Value codegen::emitMath(MathFunction function, OpBuilder &builder, Location loc, const target::Variant &variant,
                        Value x) {
  math::Arith a(builder, loc, variant, x.getType());
  return emit(function, a.wrap(x)).value;
}

Value codegen::emitPow(OpBuilder &builder, Location loc, const target::Variant &variant, Value x, Value y) {
  math::Arith a(builder, loc, variant, x.getType());
  return math::pow(a.wrap(x), a.wrap(y)).value;
}
