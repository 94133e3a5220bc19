// One step: which sequences take part with how many tokens, and the step table
// that tells the plan (its inputs; see struct Decoder in runtime/plan/plan.h).
//
//   ids, positions, owners [tokens]     what is read; owner: a row of pages
//   pages [sequences, pagesPerSequence] rows without holes; noPage behind
//   rows [rows]                         tokens whose logits are wanted
//   logits [rows, vocabulary]           what comes back
#ifndef STINT_RUNTIME_GENERATION_STEP_H
#define STINT_RUNTIME_GENERATION_STEP_H

#include "runtime/generation/sequences.h"

namespace stint {

// The most there may be in a step.
struct StepLimits {
  uint32_t tokens, sequences, rows;
};

// Part of a step that one sequence has.
struct StepPart {
  Sequence *sequence;
  uint32_t count; // tokens
  bool last;      // the last of its tokens is read: its logits are a row
};

struct StepTable {
  void *ids; // i64, or i32 if narrow
  int32_t *positions, *owners, *pages, *rows;
  float *logits;
  StepPart *parts; // one for each row of pages
  StepLimits limits;
  uint32_t pagesPerSequence;
  bool narrowIds;
  uint32_t tokenCount, sequenceCount, rowCount; // of this step
};

// How a step is run: once, on a table; fills in the logits of its rows.
struct StepRunner {
  Status (*run)(void *user, const StepTable &table, const stint_run_options &options);
  void *user;
};

// Fills in the table for sequences that are ready: those with one token to come
// first, beginning behind place `*turn`, then prompts by age. One that has no
// page for its next token ends here (STINT_FINISH_CACHE), and `ended` is called.
void planStep(Sequences &sequences, StepTable &table, uint32_t *turn, void (*ended)(void *, Sequence &), void *user);

} // namespace stint

#endif
