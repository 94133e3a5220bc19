// Chooses the next token from logits, in the order that stint_sampling tells
// (stint/stint.h). Allocates nothing: a sampler works in memory given to it.
//
// All arithmetic is its own, so that every machine draws the same token from
// the same logits.
#ifndef STINT_RUNTIME_GENERATION_SAMPLER_H
#define STINT_RUNTIME_GENERATION_SAMPLER_H

#include "runtime/base/span.h"
#include "runtime/base/status.h"

namespace stint {

// Fills in defaults and refuses what is no number or out of range, by name.
Status readSampling(const stint_sampling *given, uint32_t vocabulary, stint_sampling *sampling);

class Sampler {
public:
  // A token that may follow: its logit, or how likely it is.
  struct Candidate {
    float value;
    uint32_t id;
  };

  // `candidates` and `counts` have one element for each token; counts are zeros.
  Sampler() = default;
  Sampler(Candidate *candidates, uint32_t *counts, uint32_t vocabulary)
      : candidates(candidates), counts(counts), vocabulary(vocabulary) {}

  // `history`: tokens of the sequence, those from `outputStart` on its output.
  // Fails if a logit is NaN or +infinity, or if no token may follow.
  Status choose(const stint_sampling &sampling, const float *logits, Span<const uint32_t> history, uint32_t outputStart,
                uint32_t *token);

private:
  Status collect(const stint_sampling &sampling, const float *logits);
  uint32_t drawFromAll(const stint_sampling &sampling, float most, double draw);
  uint32_t drawFromLikeliest(const stint_sampling &sampling, float most, double draw);

  Candidate *candidates = nullptr;
  uint32_t *counts = nullptr;
  uint32_t vocabulary = 0;
  uint32_t size = 0; // candidates there are now
};

// e^x for x <= 0, to about one part in 10^15; 0 below -700.
double expOfNegative(double x);

} // namespace stint

#endif
