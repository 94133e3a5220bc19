// A generator: sequences, a step table, a sampler, and what runs a step. All of
// it lies in one block, laid out when the generator is created.
#ifndef STINT_RUNTIME_GENERATION_GENERATOR_H
#define STINT_RUNTIME_GENERATION_GENERATOR_H

#include "runtime/generation/sampler.h"
#include "runtime/generation/step.h"

namespace stint {

// What a generator is made for.
struct GeneratorPlan {
  SequenceLimits limits;
  StepLimits step;
  uint32_t pageCount, sequenceLimit;
  uint32_t stateCount;   // of the cache; the creator fills them in
  uint64_t scratchBytes; // what a head keeps on a page, at most
  bool narrowIds;        // the plan's token ids are i32
  uint8_t model[32];     // Decoder.model
  StepRunner runner;
};

// Its states (Sequences::states) are still to be set.
Status createGenerator(const GeneratorPlan &plan, stint_generator **result);

// One run for all that are ready, and a token for each whose logits came out.
Status stepGenerator(stint_generator *generator, const stint_run_options &options, stint_step_info *info);

// sequence_file.cpp
Status saveSequence(const stint_generator &generator, const Sequence &sequence, stint_write write, void *user);
Status restoreSequence(stint_generator *generator, const void *data, size_t bytes,
                       const stint_sequence_options *options, Sequence **result);

} // namespace stint

struct stint_generator {
  stint::Sequences sequences;
  stint::StepTable table;
  stint::Sampler sampler;
  stint::StepRunner runner;
  uint8_t model[32];
  uint8_t *scratch; // a head's part of a page, for saveSequence
  uint32_t turn;    // see planStep
  // A callback is running, of a step or of saveSequence.
  mutable bool inCallback;
  uint64_t bytes;
  // Where the runner is a session (decoder.cpp), null otherwise.
  stint_session *session;
  uint32_t logitsOutput;
};

#endif
