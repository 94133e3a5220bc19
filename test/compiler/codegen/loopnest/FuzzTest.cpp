// Random loop nests. STINT_FUZZ=n in the environment makes n kernels instead
// of the few of a normal run, STINT_FUZZ_SEED=s begins at another one.
#include "test/compiler/codegen/loopnest/Fuzzer.h"
#include "test/compiler/codegen/loopnest/LoopNestTest.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace stint::test;

namespace {

TEST(LoopNestFuzz, RandomKernels) {
  const char *wanted = getenv("STINT_FUZZ"), *first = getenv("STINT_FUZZ_SEED");
  int count = wanted ? atoi(wanted) : 60, seed = first ? atoi(first) : 0;
  for (int begin = 0; begin < count; begin += 300) {
    Suite suite(lowerLoopNest);
    for (int i = begin; i < std::min(count, begin + 300); ++i)
      Fuzzer(seed + i).addTo(suite, "fuzz " + std::to_string(seed + i));
    check(suite);
  }
}

} // namespace
