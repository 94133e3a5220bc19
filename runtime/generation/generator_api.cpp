// The C API of generators and sequences: checks arguments, finds the sequence,
// and leaves the work to Sequences and stepGenerator.
#include "runtime/base/options.h"
#include "runtime/generation/generator.h"

using namespace stint;

namespace {

Status invalid(const char *text) { return failure(STINT_STATUS_INVALID_ARGUMENT, text); }

// May this call change something?
Status enter(const stint_generator *generator) {
  if (!generator)
    return invalid("no generator");
  return generator->inCallback ? invalid("a callback may only ask a generator, not change it") : success();
}

// The same, and finds the sequence.
Status enter(const stint_generator *generator, uint64_t id, Sequence **sequence) {
  STINT_TRY(enter(generator));
  return generator->sequences.find(id, sequence);
}

Status look(const stint_generator *generator, uint64_t id, Sequence **sequence) {
  return generator ? generator->sequences.find(id, sequence) : invalid("no generator");
}

// Calls make(&sequence) and gives its name away.
template <typename Function> Status makeSequence(const stint_generator *generator, uint64_t *id, Function make) {
  if (!id)
    return invalid("no place for the sequence's name");
  *id = 0;
  STINT_TRY(enter(generator));
  Sequence *sequence = nullptr;
  STINT_TRY(make(&sequence));
  *id = sequence->id;
  return success();
}

Status resume(stint_generator *generator, uint64_t id) {
  Sequence *sequence = nullptr;
  STINT_TRY(enter(generator, id, &sequence));
  if (sequence->finish && sequence->finish != STINT_FINISH_CACHE)
    return invalid("a sequence that has ended can't be resumed: append to it, or rewind it");
  sequence->finish = STINT_FINISH_NONE;
  sequence->paused = false;
  return success();
}

Status step(stint_generator *generator, const stint_run_options *given, stint_step_info *info) {
  stint_run_options options;
  stint_step_info result = {};
  STINT_TRY(enter(generator));
  STINT_TRY(readOptions(given, &options));
  STINT_TRY(stepGenerator(generator, options, &result));
  return info ? writeInfo(result, info) : success();
}

} // namespace

extern "C" {

stint_status stint_generator_query(const stint_generator *generator, stint_generator_info *info) {
  if (!generator)
    return invalid("no generator").value;
  const Sequences &sequences = generator->sequences;
  stint_generator_info result = {};
  result.bytes = generator->bytes;
  result.vocabulary = sequences.limits.vocabulary;
  result.context = sequences.limits.context;
  result.page_size = sequences.limits.pageSize;
  result.page_count = sequences.pool.size();
  result.max_tokens = generator->table.limits.tokens;
  result.max_sequences = generator->table.limits.sequences;
  result.sequence_limit = sequences.slots.size;
  for (const Sequence &sequence : sequences.slots)
    result.sequences += sequence.id != 0;
  result.free_pages = sequences.pool.available();
  return writeInfo(result, info).value;
}

stint_status stint_generator_step(stint_generator *generator, const stint_run_options *options, stint_step_info *info) {
  return step(generator, options, info).value;
}

stint_status stint_sequence_add(stint_generator *generator, const uint32_t *tokens, size_t count,
                                const stint_sequence_options *options, uint64_t *sequence) {
  return makeSequence(generator, sequence,
                      [&](Sequence **result) { return generator->sequences.add(tokens, count, options, result); })
      .value;
}

stint_status stint_sequence_append(stint_generator *generator, uint64_t id, const uint32_t *tokens, size_t count,
                                   uint32_t maxTokens) {
  Sequence *sequence = nullptr;
  Status status = enter(generator, id, &sequence);
  return status.ok() ? generator->sequences.append(sequence, tokens, count, maxTokens).value : status.value;
}

stint_status stint_sequence_fork(stint_generator *generator, uint64_t id, const stint_sequence_options *options,
                                 uint64_t *fork) {
  return makeSequence(generator, fork,
                      [&](Sequence **result) {
                        Sequence *sequence = nullptr;
                        STINT_TRY(generator->sequences.find(id, &sequence));
                        return generator->sequences.fork(*sequence, options, result);
                      })
      .value;
}

stint_status stint_sequence_rewind(stint_generator *generator, uint64_t id, size_t count) {
  Sequence *sequence = nullptr;
  Status status = enter(generator, id, &sequence);
  return status.ok() ? generator->sequences.rewind(sequence, count).value : status.value;
}

stint_status stint_sequence_resume(stint_generator *generator, uint64_t id) { return resume(generator, id).value; }

stint_status stint_sequence_cancel(stint_generator *generator, uint64_t id) {
  Sequence *sequence = nullptr;
  Status status = enter(generator, id, &sequence);
  if (status.ok() && !sequence->finish)
    sequence->finish = STINT_FINISH_CANCELLED;
  return status.value;
}

stint_status stint_sequence_remove(stint_generator *generator, uint64_t id) {
  Sequence *sequence = nullptr;
  Status status = enter(generator, id, &sequence);
  if (status.ok())
    generator->sequences.remove(sequence);
  return status.value;
}

stint_status stint_sequence_query(const stint_generator *generator, uint64_t id, stint_sequence_info *info) {
  Sequence *sequence = nullptr;
  Status status = look(generator, id, &sequence);
  if (!status.ok())
    return status.value;
  stint_sequence_info result = {};
  result.prompt_tokens = sequence->outputStart;
  result.generated_tokens = sequence->length - sequence->outputStart;
  result.cached_tokens = sequence->cached;
  result.pages = sequence->pageCount;
  result.finish = sequence->finish;
  result.paused = sequence->paused;
  result.status = sequence->status;
  return writeInfo(result, info).value;
}

stint_status stint_sequence_tokens(const stint_generator *generator, uint64_t id, const uint32_t **tokens,
                                   size_t *count) {
  if (!tokens || !count)
    return invalid("no place for the tokens").value;
  Sequence *sequence = nullptr;
  Status status = look(generator, id, &sequence);
  *tokens = status.ok() ? sequence->tokens : nullptr;
  *count = status.ok() ? sequence->length : 0;
  return status.value;
}

stint_status stint_sequence_save(const stint_generator *generator, uint64_t id, stint_write write, void *user) {
  Sequence *sequence = nullptr;
  Status status = write ? enter(generator, id, &sequence) : invalid("nothing to write a sequence with");
  if (!status.ok())
    return status.value;
  generator->inCallback = true; // what is written doesn't change meanwhile
  status = saveSequence(*generator, *sequence, write, user);
  generator->inCallback = false;
  return status.value;
}

stint_status stint_sequence_restore(stint_generator *generator, const void *data, size_t bytes,
                                    const stint_sequence_options *options, uint64_t *sequence) {
  return makeSequence(generator, sequence,
                      [&](Sequence **result) { return restoreSequence(generator, data, bytes, options, result); })
      .value;
}

} // extern "C"
