// A generator's steps as runs of a session: binds the step table to the inputs
// that the plan calls so (struct Decoder), and finds the pages in its states.
#include "runtime/base/element_type.h"
#include "runtime/base/options.h"
#include "runtime/core/session.h"
#include "runtime/generation/generator.h"
#include "runtime/platform/platform.h"

#include <string.h>

using namespace stint;

namespace {

constexpr uint32_t maxSequences = 65536; // of a generator

const Decoder *decoderOf(const stint_model *model) {
  return model && !model->plan.decoder.empty() ? &model->plan.decoder[0] : nullptr;
}

// The plan's symbols in the decoder's step table; verifyDecoder saw that they
// are symbols.
struct StepSymbols {
  int32_t tokens, sequences, rows;
  StepSymbols(const Decoder &decoder, const Entry &entry)
      : tokens(entry.inputs[decoder.tokenIds].dims[1].symbol), sequences(entry.inputs[decoder.pages].dims[0].symbol),
        rows(entry.inputs[decoder.rows].dims[0].symbol) {}
};

// The decoder's vocabulary; 0 where the plan has none that fits.
uint32_t vocabularyOf(const stint_model &model, const Decoder &decoder) {
  stint_dim_info dim = {};
  dim.size = sizeof(dim);
  stint_status status = stint_model_output_dim(&model, decoder.entry, decoder.logits, 1, &dim);
  return status.code == STINT_OK && dim.lower == dim.upper && dim.upper > 0 && dim.upper < INT32_MAX
             ? static_cast<uint32_t>(dim.upper)
             : 0;
}

uint32_t limitOf(int64_t value) { return value < INT32_MAX ? static_cast<uint32_t>(value) : INT32_MAX; }

// A state as pages of keys or values. Of a layer's two states the first holds
// keys, whose elements stand together for all positions of a page, the second
// values; where sizes tell otherwise, they are right.
Status readState(const State &state, uint32_t index, const Decoder &decoder, uint8_t *data, CacheState *result) {
  uint64_t bytes = 0;
  Span<const int64_t> dims = state.dims;
  auto pageSize = static_cast<int64_t>(decoder.pageSize);
  uint32_t bits = stint_type_bits(state.type);
  bool sound = dims.size == 4 && tensorBytes(state.type, 4, dims.data, &bytes) && bytes == state.size && bytes != 0 &&
               dims[0] == int64_t(decoder.pageCount) && (dims[2] == pageSize || dims[3] == pageSize) && bits % 8 == 0;
  bool transposed = sound && dims[3] == pageSize && (index % 2 == 0 || dims[2] != pageSize);
  int64_t size = !sound ? 0 : transposed ? dims[2] : dims[3];
  if (!sound || dims[1] > INT32_MAX || size > INT32_MAX / 16)
    return failure(STINT_STATUS_UNSUPPORTED, "state %a of the plan is not made of pages of keys or values", index);
  *result = {data,       static_cast<uint32_t>(dims[1]),           static_cast<uint32_t>(size),
             state.type, static_cast<uint32_t>(size) * (bits / 8), transposed};
  return success();
}

Status bind(stint_session *session, uint32_t input, const void *data, int64_t first, int64_t second = -1) {
  int64_t dims[2] = {first, second};
  uint32_t rank = second < 0 ? 1 : 2;
  uint64_t bytes = 0;
  if (!tensorBytes(session->entry->inputs[input].type, rank, dims, &bytes))
    return failure(STINT_STATUS_OVERFLOW, "the size of a step doesn't fit");
  return {stint_session_bind_input(session, input, data, bytes, rank, dims)};
}

// For the time of a step its session takes calls; otherwise the generator's
// alone, which come from here.
class Lent {
public:
  explicit Lent(stint_session *session) : session(session) { session->generates = false; }
  ~Lent() { session->generates = true; }
  Lent(const Lent &) = delete;
  Lent &operator=(const Lent &) = delete;

private:
  stint_session *session;
};

Status runSession(void *user, const StepTable &table, const stint_run_options &options) {
  auto *session = static_cast<stint_session *>(user);
  Lent lent(session);
  const Decoder &decoder = *decoderOf(session->model);
  STINT_TRY(bind(session, decoder.tokenIds, table.ids, 1, table.tokenCount));
  STINT_TRY(bind(session, decoder.positions, table.positions, table.tokenCount));
  STINT_TRY(bind(session, decoder.sequences, table.owners, table.tokenCount));
  STINT_TRY(bind(session, decoder.pages, table.pages, table.sequenceCount, table.pagesPerSequence));
  STINT_TRY(bind(session, decoder.rows, table.rows, table.rowCount));
  return {stint_session_run(session, &options)};
}

Status create(stint_session *session, const stint_generator_options *given, stint_generator **result) {
  if (!result)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "no place for the generator");
  *result = nullptr;
  if (!session)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "no session");
  stint_generator_options options;
  STINT_TRY(readOptions(given, &options));
  const Decoder *decoder = decoderOf(session->model);
  if (!decoder)
    return failure(STINT_STATUS_UNSUPPORTED, "the plan is no decoder: it doesn't continue tokens");
  if (session->entryIndex != decoder->entry)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "the session runs entry %a, the decoder is entry %b",
                   session->entryIndex, decoder->entry);
  if (session->generates)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "the session belongs to another generator");
  if (options.max_sequences > maxSequences)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "max_sequences is %a, the most is %b", options.max_sequences,
                   maxSequences);
  const Entry &entry = *session->entry;
  StepSymbols symbols(*decoder, entry);
  GeneratorPlan plan = {};
  plan.limits = {vocabularyOf(*session->model, *decoder), decoder->context, decoder->pageSize};
  plan.step = {limitOf(session->maxima[symbols.tokens]), limitOf(session->maxima[symbols.sequences]),
               limitOf(session->maxima[symbols.rows])};
  if (plan.step.sequences > plan.step.tokens) // each has a token
    plan.step.sequences = plan.step.tokens;
  if (plan.step.sequences > maxSequences)
    plan.step.sequences = maxSequences;
  if (plan.step.rows > plan.step.sequences) // each has a row at most
    plan.step.rows = plan.step.sequences;
  if (!plan.limits.vocabulary || !plan.step.tokens || !plan.step.sequences || !plan.step.rows)
    return failure(STINT_STATUS_OUT_OF_RANGE, "the session has no room for a token, a sequence and its logits");
  plan.pageCount = decoder->pageCount;
  plan.sequenceLimit = options.max_sequences ? options.max_sequences : plan.step.sequences;
  plan.stateCount = entry.states.size;
  for (const State &state : entry.states) // a head of it is smaller
    if (state.size / decoder->pageCount > plan.scratchBytes)
      plan.scratchBytes = state.size / decoder->pageCount;
  plan.narrowIds = entry.inputs[decoder->tokenIds].type == STINT_I32;
  memcpy(plan.model, decoder->model.empty() ? stint_model_root_hash(session->model) : decoder->model.data,
         sizeof(plan.model));
  plan.runner = {runSession, session};

  stint_generator *generator = nullptr;
  STINT_TRY(createGenerator(plan, &generator));
  uint8_t *at = session->state;
  Status status = success();
  for (uint32_t i = 0; i < entry.states.size && status.ok(); ++i) {
    status = readState(entry.states[i], i, *decoder, at, &generator->sequences.states[i]);
    at += (entry.states[i].size + 63) / 64 * 64;
  }
  if (status.ok())
    status.value = stint_session_bind_output(session, decoder->logits, generator->table.logits,
                                             uint64_t(plan.step.rows) * plan.limits.vocabulary * sizeof(float));
  if (!status.ok()) {
    stint_generator_destroy(generator);
    return status;
  }
  session->generates = true;
  generator->session = session;
  generator->logitsOutput = decoder->logits;
  *result = generator;
  return success();
}

} // namespace

extern "C" {

stint_status stint_model_decoder(const stint_model *model, stint_decoder_info *info) {
  const Decoder *decoder = decoderOf(model);
  if (!decoder)
    return failure(STINT_STATUS_NOT_FOUND, "the plan is no decoder: it doesn't continue tokens").value;
  const Entry &entry = model->plan.entries[decoder->entry];
  StepSymbols symbols(*decoder, entry);
  stint_decoder_info result = {};
  result.entry = decoder->entry;
  result.vocabulary = vocabularyOf(*model, *decoder);
  result.context = decoder->context;
  result.page_size = decoder->pageSize;
  result.page_count = decoder->pageCount;
  result.max_tokens = limitOf(model->plan.symbols[symbols.tokens].upper);
  result.max_sequences = limitOf(model->plan.symbols[symbols.sequences].upper);
  for (const State &state : entry.states)
    result.page_bytes += state.size / decoder->pageCount;
  return writeInfo(result, info).value;
}

stint_status stint_generator_create(stint_session *session, const stint_generator_options *options,
                                    stint_generator **generator) {
  return create(session, options, generator).value;
}

void stint_generator_destroy(stint_generator *generator) {
  if (!generator || generator->inCallback)
    return;
  if (stint_session *session = generator->session) {
    session->generates = false;
    (void)stint_session_bind_output(session, generator->logitsOutput, nullptr, 0); // they lie here
    if (session->abandoned)
      stint_session_destroy(session);
  }
  platform::free(generator, generator->bytes);
}

} // extern "C"
