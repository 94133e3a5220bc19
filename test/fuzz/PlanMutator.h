// Mutates plans as plans: through the official flatbuffers library, so that
// what comes out is a sound flatbuffer, and its hashes are right.
#ifndef STINT_TEST_FUZZ_PLANMUTATOR_H
#define STINT_TEST_FUZZ_PLANMUTATOR_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stint::fuzz {

/// Changes a compact plan (PlanFile.h) in place; returns its new size. One in
/// eight keeps hashes that are wrong.
size_t mutatePlan(uint8_t *data, size_t size, size_t limit, unsigned seed);

/// A plan to begin with: two dispatches over arena and weights, a symbol with
/// bounds, a branch, a loop, a copy and a value read from memory.
std::vector<uint8_t> firstPlan();

/// Another, with a decoder.
std::vector<uint8_t> decoderPlan();

} // namespace stint::fuzz

#endif
