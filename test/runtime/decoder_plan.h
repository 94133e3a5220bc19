// A plan with a decoder, for tests: the kernel `decode` of kernels.c.
#ifndef STINT_TEST_RUNTIME_DECODER_PLAN_H
#define STINT_TEST_RUNTIME_DECODER_PLAN_H

#include "plan_builder.h"

namespace stint::test {

struct DecoderShape {
  int64_t tokens = 8, sequences = 4, rows = 4; // in a step, at most
  int64_t context = 32, pageSize = 4, pageCount = 20, vocabulary = 50;
};

// Its sections are addSections().
std::unique_ptr<fb::PlanT> decoderPlan(const DecoderShape &shape = {});

// What it says after `tokens`.
std::vector<uint32_t> decoderSays(std::vector<uint32_t> tokens, uint32_t more, const DecoderShape &shape = {});

} // namespace stint::test

#endif
