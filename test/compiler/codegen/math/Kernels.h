// Kernels that apply one function to arrays, compiled and linked per variant.
#ifndef STINT_TEST_COMPILER_CODEGEN_MATH_KERNELS_H
#define STINT_TEST_COMPILER_CODEGEN_MATH_KERNELS_H

#include "compiler/codegen/cpu/CpuBackend.h"
#include "test/compiler/codegen/math/Functions.h"

#include <map>

namespace stint::test {

/// Elements that a kernel computes at once. Arrays are multiples of all.
constexpr int64_t kWidths[] = {1, 16};

/// "exp_f32_w16": buffers are the arguments, then the result; a workgroup is
/// the elements [begin, end) of axis 0.
std::string kernelName(const Function &function, bool is32, int64_t width);

struct Kernels {
  codegen::LinkedCode code;
  /// Offset by name.
  std::map<std::string, uint64_t> entries;
};

/// All functions, types and widths.
Kernels compileKernels(const target::Variant &variant);

} // namespace stint::test

#endif
