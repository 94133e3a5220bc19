// See fake_decoder.h.
#include "fake_decoder.h"
#include "plan_builder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stint::test {

namespace {

constexpr uint32_t heads[2] = {2, 1}, headSize[2] = {3, 5};

// What state `s` keeps of a token.
float kept(uint32_t state, uint32_t head, uint32_t element, int64_t token, int64_t position) {
  return float(token * 64 + position) + float(state * 16 + head * 8 + element) / 64;
}

uint64_t mix(uint64_t hash, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  hash = (hash ^ bits) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

float logit(uint64_t hash, uint32_t token) {
  return float(mix(hash, float(token)) >> 40) / float(1 << 21) - 4; // in [-4, 4)
}

} // namespace

FakeDecoder::FakeDecoder(const Options &options) : options(options) {
  uint64_t bytes = 0;
  for (uint32_t s = 0; s < 2; ++s) {
    memory[s].resize(size_t(options.pageCount) * heads[s] * options.pageSize * headSize[s]);
    bool transposed = s == 0;
    states[s] = {
        reinterpret_cast<uint8_t *>(memory[s].data()), heads[s], headSize[s], STINT_F32, headSize[s] * 4, transposed};
    bytes = std::max<uint64_t>(bytes, headSize[s] * 4 * options.pageSize);
  }
  GeneratorPlan plan = {};
  plan.limits = {options.vocabulary, options.context, options.pageSize};
  plan.step = {options.tokens, options.sequences, options.rows};
  plan.pageCount = options.pageCount;
  plan.sequenceLimit = options.sequenceLimit;
  plan.stateCount = 2;
  plan.scratchBytes = bytes;
  plan.narrowIds = options.model % 2;
  memset(plan.model, options.model, sizeof(plan.model));
  plan.runner = {run, this};
  EXPECT_OK(createGenerator(plan, &generator).value);
  for (uint32_t s = 0; s < 2; ++s)
    generator->sequences.states[s] = states[s];
}

FakeDecoder::~FakeDecoder() { stint_generator_destroy(generator); }

Status FakeDecoder::run(void *user, const StepTable &table, const stint_run_options &) {
  return static_cast<FakeDecoder *>(user)->compute(table);
}

Status FakeDecoder::compute(const StepTable &table) {
  ++runs;
  tokensOfRuns.push_back(table.tokenCount);
  rowsOfRuns.push_back(table.rowCount);
  EXPECT_LE(table.tokenCount, options.tokens);
  EXPECT_LE(table.sequenceCount, options.sequences);
  EXPECT_LE(table.rowCount, options.rows);
  if (before) {
    Status status = before(table);
    if (!status.ok())
      return status;
  }
  auto at = [&](uint32_t s, int32_t owner, uint32_t head, uint32_t position, uint32_t element) -> float & {
    EXPECT_LT(uint32_t(owner), table.sequenceCount);
    uint32_t page = uint32_t(table.pages[owner * table.pagesPerSequence + position / options.pageSize]);
    EXPECT_LT(page, options.pageCount) << "position " << position;
    size_t at = (size_t(page) * heads[s] + head) * options.pageSize * headSize[s];
    position %= options.pageSize;
    return memory[s].at(
        at + (states[s].transposed ? element * options.pageSize + position : position * headSize[s] + element));
  };
  auto id = [&](uint32_t t) -> int64_t {
    return table.narrowIds ? static_cast<int32_t *>(table.ids)[t] : static_cast<int64_t *>(table.ids)[t];
  };
  for (uint32_t t = 0; t < table.tokenCount; ++t)
    for (uint32_t s = 0; s < 2; ++s)
      for (uint32_t head = 0; head < heads[s]; ++head)
        for (uint32_t i = 0; i < headSize[s]; ++i)
          at(s, table.owners[t], head, uint32_t(table.positions[t]), i) = kept(s, head, i, id(t), table.positions[t]);
  for (uint32_t row = 0; row < table.rowCount; ++row) {
    int32_t t = table.rows[row];
    uint64_t hash = 1;
    for (int32_t position = 0; position <= table.positions[t]; ++position)
      for (uint32_t s = 0; s < 2; ++s)
        for (uint32_t head = 0; head < heads[s]; ++head)
          for (uint32_t i = 0; i < headSize[s]; ++i)
            hash = mix(hash, at(s, table.owners[t], head, uint32_t(position), i));
    for (uint32_t token = 0; token < options.vocabulary; ++token)
      table.logits[row * options.vocabulary + token] = logit(hash, token);
  }
  if (after)
    after(table);
  return success();
}

std::vector<uint32_t> FakeDecoder::expected(std::vector<uint32_t> tokens, uint32_t more) const {
  for (; more; --more) {
    uint64_t hash = 1;
    for (size_t position = 0; position < tokens.size(); ++position)
      for (uint32_t s = 0; s < 2; ++s)
        for (uint32_t head = 0; head < heads[s]; ++head)
          for (uint32_t i = 0; i < headSize[s]; ++i)
            hash = mix(hash, kept(s, head, i, tokens[position], int64_t(position)));
    uint32_t best = 0;
    for (uint32_t token = 1; token < options.vocabulary; ++token)
      if (logit(hash, token) > logit(hash, best))
        best = token;
    tokens.push_back(best);
  }
  return tokens;
}

uint64_t FakeDecoder::add(const std::vector<uint32_t> &prompt, const stint_sequence_options *how) {
  uint64_t sequence = 0;
  EXPECT_OK(stint_sequence_add(generator, prompt.data(), prompt.size(), how, &sequence));
  return sequence;
}

void FakeDecoder::run() {
  stint_step_info step = {};
  step.size = sizeof(step);
  int steps = 0;
  do
    EXPECT_OK(stint_generator_step(generator, nullptr, &step));
  while (step.ready && ++steps < 10000);
  EXPECT_EQ(step.ready, 0u);
}

std::vector<uint32_t> FakeDecoder::tokens(uint64_t sequence) const {
  const uint32_t *tokens = nullptr;
  size_t count = 0;
  EXPECT_OK(stint_sequence_tokens(generator, sequence, &tokens, &count));
  return {tokens, tokens + count};
}

stint_sequence_info FakeDecoder::info(uint64_t sequence) const {
  stint_sequence_info info = {};
  info.size = sizeof(info);
  EXPECT_OK(stint_sequence_query(generator, sequence, &info));
  return info;
}

stint_generator_info FakeDecoder::info() const {
  stint_generator_info info = {};
  info.size = sizeof(info);
  EXPECT_OK(stint_generator_query(generator, &info));
  return info;
}

How::How(uint32_t maxTokens) {
  options.size = sizeof(options);
  options.max_tokens = maxTokens;
  sampling.size = sizeof(sampling);
}

} // namespace stint::test
