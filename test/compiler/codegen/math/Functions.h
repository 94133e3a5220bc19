// The functions under test: what is emitted, what is true, how far they may be
// apart.
#ifndef STINT_TEST_COMPILER_CODEGEN_MATH_FUNCTIONS_H
#define STINT_TEST_COMPILER_CODEGEN_MATH_FUNCTIONS_H

#include "compiler/codegen/math/Math.h"

#include <ostream>
#include <string>
#include <vector>

namespace stint::test {

struct Function {
  const char *name;
  unsigned arguments;
  mlir::Value (*emit)(mlir::OpBuilder &, mlir::Location, const target::Variant &, mlir::ValueRange);
  /// The C library's, more precise than the type under test.
  double (*truth32)(double, double);
  long double (*truth64)(long double, long double);
  /// Bounds of Math.h, in units in the last place; 0: exact.
  double bound32, bound64;
};

const std::vector<Function> &functions();

/// For GoogleTest.
inline void PrintTo(const Function &function, std::ostream *out) { *out << function.name; }

} // namespace stint::test

#endif
