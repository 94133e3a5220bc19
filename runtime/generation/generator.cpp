// Creating a generator, and its step; see generator.h.
#include "runtime/generation/generator.h"

#include "runtime/base/arithmetic.h"
#include "runtime/platform/platform.h"

#include <new>
#include <string.h>

using namespace stint;

namespace {

// Offsets in a generator's block.
struct Layout {
  uint64_t sequences, tokens, pages, states, holders, freePages;
  uint64_t ids, positions, owners, pageRows, rows, logits, parts;
  uint64_t candidates, counts, scratch;
};

bool layOut(const GeneratorPlan &plan, Layout *layout, uint64_t *bytes) {
  SizeSum sum;
  uint64_t pages = plan.limits.pagesPerSequence();
  sum.add(1, sizeof(stint_generator), 64);
  layout->sequences = sum.add(plan.sequenceLimit, sizeof(Sequence), 64);
  layout->tokens = sum.add(uint64_t(plan.sequenceLimit) * plan.limits.context, sizeof(uint32_t), 64);
  layout->pages = sum.add(plan.sequenceLimit * pages, sizeof(uint32_t), 64);
  layout->states = sum.add(plan.stateCount, sizeof(CacheState), 64);
  layout->holders = sum.add(plan.pageCount, sizeof(uint32_t), 64);
  layout->freePages = sum.add(plan.pageCount, sizeof(uint32_t), 64);
  layout->ids = sum.add(plan.step.tokens, sizeof(int64_t), 64);
  layout->positions = sum.add(plan.step.tokens, sizeof(int32_t), 64);
  layout->owners = sum.add(plan.step.tokens, sizeof(int32_t), 64);
  layout->pageRows = sum.add(plan.step.sequences * pages, sizeof(int32_t), 64);
  layout->rows = sum.add(plan.step.rows, sizeof(int32_t), 64);
  layout->logits = sum.add(uint64_t(plan.step.rows) * plan.limits.vocabulary, sizeof(float), 64);
  layout->parts = sum.add(plan.step.sequences, sizeof(StepPart), 64);
  layout->candidates = sum.add(plan.limits.vocabulary, sizeof(Sampler::Candidate), 64);
  layout->counts = sum.add(plan.limits.vocabulary, sizeof(uint32_t), 64);
  layout->scratch = sum.add(plan.scratchBytes, 1, 64);
  *bytes = sum.bytes();
  return sum.fits();
}

// Tells a sequence's consumer, and does as it says.
void deliver(stint_generator *generator, Sequence &sequence, int64_t token, uint32_t position) {
  if (!sequence.callback)
    return;
  stint_token_event event = {};
  event.size = sizeof(event);
  event.sequence = sequence.id;
  event.token = token;
  event.position = position;
  event.finish = sequence.finish;
  generator->inCallback = true; // see enter()
  int32_t answer = sequence.callback(sequence.user, &event);
  generator->inCallback = false;
  if (sequence.finish)
    return;
  sequence.paused = answer == STINT_NOT_NOW;
  if (answer == STINT_STOP)
    sequence.finish = STINT_FINISH_STOPPED;
  else if (answer != STINT_GO_ON && answer != STINT_NOT_NOW) {
    sequence.finish = STINT_FINISH_FAILED;
    sequence.status = failure(STINT_STATUS_INVALID_ARGUMENT, "the callback answered %a", answer).value;
  }
}

void takeToken(stint_generator *generator, Sequence &sequence, const float *logits, stint_step_info *info) {
  uint32_t token = 0;
  Status status = generator->sampler.choose(sequence.sampling, logits, {sequence.tokens, sequence.length},
                                            sequence.outputStart, &token);
  if (!status.ok()) {
    sequence.status = status.value;
    sequence.finish = STINT_FINISH_FAILED;
    deliver(generator, sequence, -1, sequence.length);
    return;
  }
  ++info->generated;
  sequence.tokens[sequence.length++] = token;
  for (uint32_t i = 0; i < sequence.stopCount; ++i)
    if (sequence.stopIds[i] == token)
      sequence.finish = STINT_FINISH_STOP_ID;
  generator->sequences.settle(&sequence);
  deliver(generator, sequence, token, sequence.length - 1);
}

} // namespace

Status stint::createGenerator(const GeneratorPlan &plan, stint_generator **result) {
  *result = nullptr;
  Layout layout;
  uint64_t bytes = 0;
  if (!layOut(plan, &layout, &bytes))
    return failure(STINT_STATUS_OVERFLOW, "the size of a generator doesn't fit");
  auto *block = static_cast<uint8_t *>(platform::allocate(bytes)); // zeros
  if (!block)
    return outOfMemory(bytes);
  auto at = [&](uint64_t offset) { return reinterpret_cast<uint32_t *>(block + offset); };
  auto atSigned = [&](uint64_t offset) { return reinterpret_cast<int32_t *>(block + offset); };
  auto *generator = new (block) stint_generator{};

  auto *slots = reinterpret_cast<Sequence *>(block + layout.sequences);
  for (uint32_t i = 0; i < plan.sequenceLimit; ++i) {
    slots[i].tokens = at(layout.tokens) + size_t(i) * plan.limits.context;
    slots[i].pages = at(layout.pages) + size_t(i) * plan.limits.pagesPerSequence();
  }
  auto *states = reinterpret_cast<CacheState *>(block + layout.states);
  generator->sequences =
      Sequences({slots, plan.sequenceLimit}, PagePool(at(layout.holders), at(layout.freePages), plan.pageCount),
                {states, plan.stateCount}, plan.limits);

  StepTable &table = generator->table;
  table.ids = block + layout.ids;
  table.narrowIds = plan.narrowIds;
  table.positions = atSigned(layout.positions);
  table.owners = atSigned(layout.owners);
  table.pages = atSigned(layout.pageRows);
  table.rows = atSigned(layout.rows);
  table.logits = reinterpret_cast<float *>(block + layout.logits);
  table.parts = reinterpret_cast<StepPart *>(block + layout.parts);
  table.limits = plan.step;
  table.pagesPerSequence = plan.limits.pagesPerSequence();
  generator->sampler = Sampler(reinterpret_cast<Sampler::Candidate *>(block + layout.candidates), at(layout.counts),
                               plan.limits.vocabulary);
  generator->scratch = block + layout.scratch;
  generator->runner = plan.runner;
  memcpy(generator->model, plan.model, sizeof(plan.model));
  generator->bytes = bytes;
  *result = generator;
  return success();
}

Status stint::stepGenerator(stint_generator *generator, const stint_run_options &options, stint_step_info *info) {
  StepTable &table = generator->table;
  // What ends for want of a page is told first.
  planStep(
      generator->sequences, table, &generator->turn,
      [](void *user, Sequence &sequence) {
        deliver(static_cast<stint_generator *>(user), sequence, -1, sequence.length);
      },
      generator);
  Status status = success();
  if (table.sequenceCount)
    status = generator->runner.run(generator->runner.user, table, options);
  if (!status.ok()) {
    for (uint32_t i = 0; i < table.sequenceCount; ++i)
      generator->sequences.giveBack(table.parts[i].sequence);
    return status;
  }
  info->tokens = table.tokenCount;
  info->sequences = table.sequenceCount;
  for (uint32_t i = 0, row = 0; i < table.sequenceCount; ++i) {
    const StepPart &part = table.parts[i];
    part.sequence->cached += part.count;
    if (part.last)
      takeToken(generator, *part.sequence, table.logits + size_t(row++) * generator->sequences.limits.vocabulary, info);
  }
  for (const Sequence &sequence : generator->sequences.slots)
    info->ready += sequence.ready();
  return success();
}
