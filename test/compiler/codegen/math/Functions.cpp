// The table of functions, references, and the bounds that Math.h states.
#include "test/compiler/codegen/math/Functions.h"

#include <cmath>

using namespace stint;
using namespace stint::codegen;
using namespace stint::test;

namespace {

template <MathFunction F>
mlir::Value unary(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant,
                  mlir::ValueRange arguments) {
  return emitMath(F, builder, loc, variant, arguments[0]);
}
mlir::Value power(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant,
                  mlir::ValueRange arguments) {
  return emitPow(builder, loc, variant, arguments[0], arguments[1]);
}
mlir::Value remainder(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant,
                      mlir::ValueRange arguments) {
  return emitFmod(builder, loc, variant, arguments[0], arguments[1]);
}

template <typename T> T sigmoid(T x) {
  if (x > 0)
    return 1 / (1 + std::exp(-x));
  T e = std::exp(x);
  return e / (1 + e);
}

} // namespace

#define UNARY(function, truth, bound32, bound64)                                                                       \
  {#function,                                                                                                          \
   1,                                                                                                                  \
   unary<MathFunction::function>,                                                                                      \
   [](double x, double) -> double { return truth(x); },                                                                \
   [](long double x, long double) -> long double { return truth(x); },                                                 \
   bound32,                                                                                                            \
   bound64}

const std::vector<Function> &stint::test::functions() {
  static const std::vector<Function> table = {
      UNARY(exp, std::exp, 2, 2),
      UNARY(log, std::log, 2, 2),
      UNARY(sin, std::sin, 2, 2),
      UNARY(cos, std::cos, 2, 2),
      UNARY(tan, std::tan, 2, 2),
      UNARY(asin, std::asin, 2, 2),
      UNARY(acos, std::acos, 2, 2),
      UNARY(atan, std::atan, 2, 2),
      UNARY(sinh, std::sinh, 2, 2),
      UNARY(cosh, std::cosh, 2, 2),
      UNARY(tanh, std::tanh, 2, 3),
      UNARY(asinh, std::asinh, 2, 2),
      UNARY(acosh, std::acosh, 2, 3),
      UNARY(atanh, std::atanh, 2, 2),
      UNARY(erf, std::erf, 2, 2),
      UNARY(sigmoid, ::sigmoid, 2.3, 3),
      {"pow", 2, power, [](double x, double y) { return std::pow(x, y); },
       [](long double x, long double y) { return std::pow(x, y); }, 2, 2},
      {"fmod", 2, remainder, [](double x, double y) { return std::fmod(x, y); },
       [](long double x, long double y) { return std::fmod(x, y); }, 0, 0},
  };
  return table;
}
