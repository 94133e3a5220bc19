// A decoder without a plan, for tests of runtime/generation: what it keeps of a
// token is written through the step table's pages, and the logits are a hash of
// all that can be read through them. So any page mixed up, written too early or
// not copied changes what is generated.
#ifndef STINT_TEST_RUNTIME_FAKE_DECODER_H
#define STINT_TEST_RUNTIME_FAKE_DECODER_H

#include "runtime/generation/generator.h"

#include <functional>
#include <string>
#include <vector>

namespace stint::test {

struct FakeOptions {
  uint32_t vocabulary = 50, context = 40, pageSize = 4, pageCount = 32;
  uint32_t tokens = 8, sequences = 4, rows = 4; // in a step
  uint32_t sequenceLimit = 6;
  uint8_t model = 7;
};

class FakeDecoder {
public:
  using Options = FakeOptions;
  explicit FakeDecoder(const Options &options = {});
  ~FakeDecoder();
  FakeDecoder(const FakeDecoder &) = delete;
  FakeDecoder &operator=(const FakeDecoder &) = delete;

  stint_generator *get() const { return generator; }

  uint64_t add(const std::vector<uint32_t> &prompt, const stint_sequence_options *options = nullptr);
  // Steps until none is ready.
  void run();
  std::vector<uint32_t> tokens(uint64_t sequence) const;
  stint_sequence_info info(uint64_t sequence) const;
  stint_generator_info info() const;

  // What greedy generation comes to, without any cache.
  std::vector<uint32_t> expected(std::vector<uint32_t> tokens, uint32_t more) const;

  Options options;
  int runs = 0;
  std::vector<uint32_t> tokensOfRuns, rowsOfRuns;
  std::function<Status(const StepTable &)> before; // fails the run, or not
  std::function<void(const StepTable &)> after;    // changes the logits, or not

private:
  static Status run(void *user, const StepTable &table, const stint_run_options &options);
  Status compute(const StepTable &table);

  std::vector<float> memory[2];
  CacheState states[2];
  stint_generator *generator = nullptr;
};

// How a sequence is to be continued.
struct How {
  explicit How(uint32_t maxTokens = 0);
  stint_sequence_options options = {};
  stint_sampling sampling = {};
  operator const stint_sequence_options *() {
    options.sampling = &sampling;
    return &options;
  }
};

} // namespace stint::test

#endif
