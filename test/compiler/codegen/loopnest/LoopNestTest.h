// What the tests of the loop-nest generator share.
#ifndef STINT_TEST_COMPILER_CODEGEN_LOOPNEST_LOOPNESTTEST_H
#define STINT_TEST_COMPILER_CODEGEN_LOOPNEST_LOOPNESTTEST_H

#include "compiler/codegen/loopnest/LoopNest.h"
#include "test/compiler/codegen/harness/Harness.h"
#include "test/compiler/codegen/loopnest/KernelText.h"

namespace stint::test {

using codegen::lowerLoopNest;

/// All kernels for one variant, samples of them for the others.
inline void check(const Suite &suite) {
  suite.check({"v3"});
  suite.check({"v2"}, 5);
  suite.check({"neon"}, 11);
  suite.check({"dotprod", "i8mm", "v4"}, 37);
}

} // namespace stint::test

#endif
