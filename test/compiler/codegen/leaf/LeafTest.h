// What the tests of leaf kernels share.
#ifndef STINT_TEST_COMPILER_CODEGEN_LEAF_LEAFTEST_H
#define STINT_TEST_COMPILER_CODEGEN_LEAF_LEAFTEST_H

#include "compiler/codegen/leaf/LeafKernel.h"
#include "test/compiler/codegen/harness/Harness.h"

namespace stint::test {

using codegen::lowerLeaf;

/// A tensor type's text: dims as in "s0, 3", element as in "f32".
struct TypeText {
  std::string dims, element;
};

/// A kernel of one leaf over the symbols s0, s1 and s2, each in [0, 100000].
/// `rest` is what stands between operands and types: "params [1] leading 2".
/// `inPlace`: operand 0 may have the memory of result 0.
std::string leafText(const std::string &name, const std::vector<TypeText> &operands,
                     const std::vector<TypeText> &results, const std::string &rest, bool inPlace = false);

/// Of both families, the variants that can be run here.
std::vector<std::string> runnableVariants();

/// All cases on both families.
inline void check(const Suite &suite) {
  suite.check({"v3", "neon"});
  suite.check({"v2", "dotprod", "i8mm", "v4"}, 7);
}

} // namespace stint::test

#endif
