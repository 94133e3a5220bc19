// Sequences, pages and steps, on a decoder without a plan (fake_decoder.h).
#include "failing.h"
#include "fake_decoder.h"
#include "plan_builder.h"

#include <gtest/gtest.h>

#include <random>

using namespace stint;
using namespace stint::test;

namespace {

using Tokens = std::vector<uint32_t>;

Tokens prompt(uint32_t length, uint32_t seed = 1) {
  std::mt19937 random(seed);
  Tokens tokens(length);
  for (uint32_t &token : tokens)
    token = random() % 50;
  return tokens;
}

// Answers that a consumer gives, one after the other, then STINT_GO_ON.
struct Consumer {
  std::vector<int32_t> answers;
  std::vector<int64_t> tokens;
  std::vector<int32_t> finishes;
  static int32_t take(void *user, const stint_token_event *event) {
    auto *self = static_cast<Consumer *>(user);
    self->tokens.push_back(event->token);
    self->finishes.push_back(event->finish);
    size_t at = self->tokens.size() - 1;
    return at < self->answers.size() ? self->answers[at] : STINT_GO_ON;
  }
  const stint_sequence_options *how(How *how) {
    how->options.on_token = take;
    how->options.user = this;
    return *how;
  }
};

void expectText(const stint_status &status, int32_t code, const char *wanted) {
  EXPECT_EQ(status.code, code);
  EXPECT_NE(text(status).find(wanted), std::string::npos) << text(status);
}

} // namespace

TEST(Generator, ContinuesAPrompt) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add({3, 1, 4}, How(5));
  decoder.run();
  EXPECT_EQ(decoder.tokens(sequence), decoder.expected({3, 1, 4}, 5));
  stint_sequence_info info = decoder.info(sequence);
  EXPECT_EQ(info.prompt_tokens, 3u);
  EXPECT_EQ(info.generated_tokens, 5u);
  EXPECT_EQ(info.cached_tokens, 7u);
  EXPECT_EQ(info.pages, 2u);
  EXPECT_EQ(info.finish, STINT_FINISH_MAX_TOKENS);
  EXPECT_EQ(decoder.tokensOfRuns, (Tokens{3, 1, 1, 1, 1}));
  EXPECT_EQ(decoder.info().free_pages, 30u);
  EXPECT_OK(stint_sequence_remove(decoder.get(), sequence));
  EXPECT_EQ(decoder.info().free_pages, 32u);
  EXPECT_EQ(decoder.info().sequences, 0u);
}

TEST(Generator, APromptIsReadInChunksAndAsksForOneRow) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add(prompt(21), How(2));
  decoder.run();
  EXPECT_EQ(decoder.tokensOfRuns, (Tokens{8, 8, 5, 1}));
  EXPECT_EQ(decoder.rowsOfRuns, (Tokens{0, 0, 1, 1}));
  EXPECT_EQ(decoder.tokens(sequence), decoder.expected(prompt(21), 2));
}

TEST(Generator, DecodesBeforeItReadsPrompts) {
  FakeDecoder decoder;
  decoder.add(prompt(2), How(30));
  stint_step_info step = {};
  step.size = sizeof(step);
  EXPECT_OK(stint_generator_step(decoder.get(), nullptr, &step));
  decoder.add(prompt(20, 2), How(1));
  decoder.add(prompt(9, 3), How(1));
  EXPECT_OK(stint_generator_step(decoder.get(), nullptr, &step));
  EXPECT_EQ(step.tokens, 8u); // 1 + 7
  EXPECT_EQ(step.sequences, 2u);
  EXPECT_EQ(step.generated, 1u);
  EXPECT_EQ(step.ready, 3u);
  EXPECT_OK(stint_generator_step(decoder.get(), nullptr, &step)); // 1 + 7
  EXPECT_OK(stint_generator_step(decoder.get(), nullptr, &step)); // 1 + 6 + 1
  EXPECT_EQ(step.sequences, 3u);
  EXPECT_EQ(step.generated, 2u);
  EXPECT_EQ(step.ready, 2u);
}

TEST(Generator, NothingReadyIsNoRun) {
  FakeDecoder decoder;
  stint_step_info step = {};
  step.size = sizeof(step);
  EXPECT_OK(stint_generator_step(decoder.get(), nullptr, &step));
  EXPECT_EQ(step.ready, 0u);
  EXPECT_EQ(decoder.runs, 0);
  EXPECT_OK(stint_generator_step(decoder.get(), nullptr, nullptr));
}

// What each generates doesn't depend on the others, on steps, pages or places.
TEST(Generator, SequencesDontDisturbEachOther) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    FakeOptions options;
    options.tokens = 1 + random() % 12;
    options.sequences = 1 + random() % 5;
    options.rows = 1 + random() % 5;
    options.pageSize = 1 + random() % 9;
    options.pageCount = 300;
    options.sequenceLimit = 1 + random() % 8;
    options.model = uint8_t(seed); // also: ids of 32 or of 64 bits
    FakeDecoder decoder(options);
    std::vector<std::pair<uint64_t, Tokens>> open;
    for (uint32_t left = 12; left || !open.empty();) {
      if (left && open.size() < options.sequenceLimit && random() % 2) {
        Tokens tokens = prompt(1 + random() % 30, random());
        open.emplace_back(decoder.add(tokens, How(1 + random() % 9)), tokens);
        --left;
      }
      EXPECT_OK(stint_generator_step(decoder.get(), nullptr, nullptr));
      for (size_t i = 0; i < open.size(); ++i) {
        stint_sequence_info info = decoder.info(open[i].first);
        if (!info.finish)
          continue;
        EXPECT_EQ(decoder.tokens(open[i].first), decoder.expected(open[i].second, info.generated_tokens));
        EXPECT_OK(stint_sequence_remove(decoder.get(), open[i].first));
        open.erase(open.begin() + long(i--));
      }
      ASSERT_LT(decoder.runs, 2000) << "somebody waits for ever";
    }
    EXPECT_EQ(decoder.info().free_pages, 300u);
  }
}

TEST(Generator, AllHaveTheirTurn) {
  FakeOptions options;
  options.tokens = 2;
  options.sequenceLimit = 5;
  FakeDecoder decoder(options);
  std::vector<uint64_t> sequences;
  for (uint32_t i = 0; i < 5; ++i)
    sequences.push_back(decoder.add({i}, How(30)));
  for (int i = 0; i < 50; ++i)
    EXPECT_OK(stint_generator_step(decoder.get(), nullptr, nullptr));
  for (uint64_t sequence : sequences)
    EXPECT_EQ(decoder.info(sequence).generated_tokens, 20u);
}

TEST(Generator, EndsWhereItShould) {
  FakeDecoder decoder;
  Tokens all = decoder.expected({3, 1, 4}, 6);
  // At a stop id, which is told.
  Consumer consumer;
  How how(20);
  how.options.stop_ids = &all[6];
  how.options.stop_count = 1;
  uint64_t stopped = decoder.add({3, 1, 4}, consumer.how(&how));
  // At the end of the context.
  Consumer other;
  How more(1000);
  uint64_t longest = decoder.add(prompt(30), other.how(&more));
  decoder.run();
  size_t length = size_t(std::find(all.begin() + 3, all.end(), all[6]) - all.begin()) + 1;
  EXPECT_EQ(decoder.tokens(stopped), Tokens(all.begin(), all.begin() + long(length)));
  EXPECT_EQ(decoder.info(stopped).finish, STINT_FINISH_STOP_ID);
  EXPECT_EQ(consumer.finishes.back(), STINT_FINISH_STOP_ID);
  EXPECT_EQ(consumer.tokens.back(), all[6]);
  EXPECT_EQ(consumer.tokens.size(), length - 3);
  EXPECT_EQ(decoder.info(longest).finish, STINT_FINISH_CONTEXT);
  EXPECT_EQ(decoder.tokens(longest), decoder.expected(prompt(30), 10));
  EXPECT_EQ(other.finishes, (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, STINT_FINISH_CONTEXT}));
}

TEST(Generator, GoesOnAfterAnAppend) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add({3, 1, 4}, How(4));
  decoder.run();
  Tokens first = decoder.expected({3, 1, 4}, 4), turn = {7, 8, 9};
  EXPECT_OK(stint_sequence_append(decoder.get(), sequence, turn.data(), turn.size(), 6));
  decoder.run();
  first.insert(first.end(), turn.begin(), turn.end());
  EXPECT_EQ(decoder.tokens(sequence), decoder.expected(first, 6));
  EXPECT_EQ(decoder.info(sequence).prompt_tokens, 10u);
  EXPECT_EQ(decoder.info(sequence).generated_tokens, 6u);
  Tokens tooMany(25);
  expectText(stint_sequence_append(decoder.get(), sequence, tooMany.data(), tooMany.size(), 6),
             STINT_STATUS_OUT_OF_RANGE, "25 tokens is longer than what is left of the context, room for 24");
  EXPECT_EQ(decoder.tokens(sequence).size(), 16u);
}

TEST(Generator, TheConsumerSaysWhen) {
  FakeDecoder decoder;
  Consumer pauses, stops;
  pauses.answers = {STINT_GO_ON, STINT_NOT_NOW, STINT_NOT_NOW};
  stops.answers = {STINT_GO_ON, STINT_GO_ON, STINT_STOP};
  How first(6), second(6);
  uint64_t paused = decoder.add({3, 1, 4}, pauses.how(&first));
  uint64_t stopped = decoder.add({5, 9}, stops.how(&second));
  decoder.run();
  EXPECT_TRUE(decoder.info(paused).paused);
  EXPECT_EQ(decoder.info(paused).generated_tokens, 2u);
  EXPECT_EQ(decoder.info(stopped).finish, STINT_FINISH_STOPPED);
  EXPECT_EQ(decoder.info(stopped).generated_tokens, 3u);
  expectText(stint_sequence_resume(decoder.get(), stopped), STINT_STATUS_INVALID_ARGUMENT, "has ended");
  EXPECT_OK(stint_sequence_resume(decoder.get(), paused));
  decoder.run();
  EXPECT_EQ(decoder.info(paused).generated_tokens, 3u);
  EXPECT_OK(stint_sequence_resume(decoder.get(), paused));
  decoder.run();
  EXPECT_EQ(decoder.tokens(paused), decoder.expected({3, 1, 4}, 6));
  EXPECT_EQ(pauses.tokens.size(), 6u);
}

TEST(Generator, ACallbackMayOnlyAsk) {
  FakeDecoder decoder;
  struct Inside {
    stint_generator *generator;
    int calls;
  } inside = {decoder.get(), 0};
  How how(2);
  how.options.user = &inside;
  how.options.on_token = [](void *user, const stint_token_event *event) -> int32_t {
    auto *self = static_cast<Inside *>(user);
    uint64_t other;
    ++self->calls;
    EXPECT_EQ(stint_generator_step(self->generator, nullptr, nullptr).code, STINT_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(stint_sequence_remove(self->generator, event->sequence).code, STINT_STATUS_INVALID_ARGUMENT);
    stint_generator_destroy(self->generator); // does nothing
    EXPECT_EQ(stint_sequence_fork(self->generator, event->sequence, nullptr, &other).code,
              STINT_STATUS_INVALID_ARGUMENT);
    stint_sequence_info info = {};
    info.size = sizeof(info);
    EXPECT_OK(stint_sequence_query(self->generator, event->sequence, &info));
    return STINT_GO_ON;
  };
  decoder.add({1}, how);
  decoder.run();
  EXPECT_EQ(inside.calls, 2);
}

TEST(Generator, AnAnswerThatIsNoneEndsItsSequence) {
  FakeDecoder decoder;
  Consumer consumer;
  consumer.answers = {STINT_GO_ON, 99};
  How how(6);
  uint64_t bad = decoder.add({3, 1, 4}, consumer.how(&how)), good = decoder.add({5, 9}, How(6));
  decoder.run();
  EXPECT_EQ(decoder.info(bad).finish, STINT_FINISH_FAILED);
  expectText(decoder.info(bad).status, STINT_STATUS_INVALID_ARGUMENT, "answered 99");
  EXPECT_EQ(decoder.tokens(good), decoder.expected({5, 9}, 6));
}

TEST(Generator, ForksShareUntilTheyWrite) {
  FakeDecoder decoder;
  uint64_t first = decoder.add(prompt(10), How(3));
  decoder.run(); // 12 of 13 tokens are cached, on 3 pages
  uint64_t forks[3];
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_OK(stint_sequence_fork(decoder.get(), first, How(6), &forks[i]));
    EXPECT_OK(stint_sequence_rewind(decoder.get(), forks[i], 11 + i % 2));
    Tokens other = {20 + i};
    EXPECT_OK(stint_sequence_append(decoder.get(), forks[i], other.data(), 1, 4));
  }
  EXPECT_EQ(decoder.info().free_pages, 29u) << "nothing is copied yet";
  EXPECT_OK(stint_sequence_append(decoder.get(), first, prompt(1).data(), 1, 5));
  Tokens before = decoder.tokens(first);
  decoder.run();
  EXPECT_EQ(decoder.tokens(first), decoder.expected(before, 5));
  Tokens base = decoder.expected(prompt(10), 3);
  for (uint32_t i = 0; i < 3; ++i) {
    Tokens wanted(base.begin(), base.begin() + 11 + i % 2);
    wanted.push_back(20 + i);
    EXPECT_EQ(decoder.tokens(forks[i]), decoder.expected(wanted, 4)) << i;
  }
  for (uint64_t sequence : {first, forks[0], forks[1], forks[2]})
    EXPECT_OK(stint_sequence_remove(decoder.get(), sequence));
  EXPECT_EQ(decoder.info().free_pages, 32u);
}

TEST(Generator, AForkWithoutOptionsGoesOnAlike) {
  FakeDecoder decoder;
  How how(9);
  how.sampling.temperature = 2;
  how.sampling.seed = 77;
  uint64_t first = decoder.add(prompt(6), how), fork = 0, other = 0;
  for (int i = 0; i < 3; ++i)
    EXPECT_OK(stint_generator_step(decoder.get(), nullptr, nullptr));
  EXPECT_OK(stint_sequence_fork(decoder.get(), first, nullptr, &fork));
  how.sampling.seed = 78;
  EXPECT_OK(stint_sequence_fork(decoder.get(), first, how, &other));
  decoder.run();
  EXPECT_EQ(decoder.tokens(fork), decoder.tokens(first));
  EXPECT_EQ(decoder.tokens(first).size(), 15u);
  EXPECT_EQ(decoder.tokens(other).size(), 18u);
  Tokens differs = decoder.tokens(other);
  EXPECT_NE(Tokens(differs.begin(), differs.begin() + 15), decoder.tokens(first));
}

TEST(Generator, RewindsAndGoesOn) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add(prompt(10), How(8));
  decoder.run();
  Tokens all = decoder.tokens(sequence);
  for (size_t count : {17u, 16u, 9u, 1u, 18u}) {
    EXPECT_OK(stint_sequence_rewind(decoder.get(), sequence, count));
    EXPECT_EQ(decoder.info(sequence).pages, (count - 1 + 3) / 4);
    decoder.run();
    Tokens kept(all.begin(), all.begin() + long(count));
    all = decoder.expected(kept, uint32_t(18 - count));
    EXPECT_EQ(decoder.tokens(sequence), all) << count;
  }
  expectText(stint_sequence_rewind(decoder.get(), sequence, 0), STINT_STATUS_OUT_OF_RANGE, "first 0");
  expectText(stint_sequence_rewind(decoder.get(), sequence, 19), STINT_STATUS_OUT_OF_RANGE, "18 tokens");
}

TEST(Generator, AFullCacheIsAnAnswer) {
  FakeOptions options;
  options.pageCount = 5; // 20 tokens
  FakeDecoder decoder(options);
  Consumer consumer;
  How how(30);
  uint64_t first = decoder.add(prompt(10, 1), consumer.how(&how)), second = decoder.add(prompt(9, 2), How(3));
  decoder.run();
  // 3 pages and 2: the second has three pages' worth of tokens at the end, or not.
  EXPECT_EQ(decoder.info().free_pages, 0u);
  stint_sequence_info info = decoder.info(first), other = decoder.info(second);
  EXPECT_TRUE(info.finish == STINT_FINISH_CACHE || other.finish == STINT_FINISH_CACHE);
  uint64_t full = info.finish == STINT_FINISH_CACHE ? first : second, gone = full == first ? second : first;
  EXPECT_EQ(full, first);
  EXPECT_EQ(consumer.tokens.back(), -1);
  EXPECT_EQ(consumer.finishes.back(), STINT_FINISH_CACHE);
  // Still nothing is free.
  EXPECT_OK(stint_sequence_resume(decoder.get(), full));
  decoder.run();
  EXPECT_EQ(decoder.info(full).finish, STINT_FINISH_CACHE);
  EXPECT_OK(stint_sequence_remove(decoder.get(), gone));
  EXPECT_OK(stint_sequence_resume(decoder.get(), full));
  decoder.run();
  info = decoder.info(first);
  EXPECT_EQ(info.finish, STINT_FINISH_CACHE) << "its own 20 tokens";
  EXPECT_EQ(info.cached_tokens, 20u);
  EXPECT_EQ(decoder.tokens(first), decoder.expected(prompt(10, 1), info.generated_tokens));
}

TEST(Generator, APromptThatFindsNoPageGoesOnLater) {
  FakeOptions options;
  options.pageCount = 6;
  FakeDecoder decoder(options);
  uint64_t first = decoder.add(prompt(12), How(1)), second = decoder.add(prompt(20, 2), How(2));
  decoder.run();
  EXPECT_EQ(decoder.info(second).finish, STINT_FINISH_CACHE);
  EXPECT_EQ(decoder.info(second).cached_tokens, 12u);
  EXPECT_OK(stint_sequence_remove(decoder.get(), first));
  EXPECT_OK(stint_sequence_resume(decoder.get(), second));
  decoder.run();
  EXPECT_EQ(decoder.tokens(second), decoder.expected(prompt(20, 2), 2));
}

TEST(Generator, ACopyThatFindsNoPageIsAnAnswerToo) {
  FakeOptions options;
  options.pageCount = 3;
  FakeDecoder decoder(options);
  uint64_t first = decoder.add(prompt(10), How(1)), fork = 0;
  decoder.run();
  EXPECT_OK(stint_sequence_fork(decoder.get(), first, How(1), &fork));
  decoder.run();
  EXPECT_EQ(decoder.info(fork).finish, STINT_FINISH_CACHE);
  EXPECT_OK(stint_sequence_remove(decoder.get(), first));
  EXPECT_OK(stint_sequence_resume(decoder.get(), fork));
  decoder.run();
  EXPECT_EQ(decoder.tokens(fork), decoder.expected(prompt(10), 2));
}

TEST(Generator, AFailedStepLosesNothing) {
  FakeDecoder decoder;
  uint64_t first = decoder.add(prompt(19), How(5)), second = decoder.add({1, 2}, How(7)), fork = 0;
  std::mt19937 random(3);
  decoder.before = [&](const StepTable &) {
    return random() % 3 ? failure(STINT_STATUS_CANCELLED, "the run was cancelled") : success();
  };
  int failures = 0;
  stint_step_info step = {};
  step.size = sizeof(step);
  auto pages = [&] {
    Tokens counts = {decoder.info().free_pages};
    for (uint64_t sequence : {first, second, fork})
      if (sequence)
        counts.push_back(decoder.info(sequence).pages);
    return counts;
  };
  do {
    Tokens before = pages();
    stint_status status = stint_generator_step(decoder.get(), nullptr, &step);
    failures += status.code == STINT_STATUS_CANCELLED;
    if (status.code)
      EXPECT_EQ(pages(), before); // copies of shared pages too
    if (failures == 9 && !fork)
      EXPECT_OK(stint_sequence_fork(decoder.get(), first, nullptr, &fork));
    ASSERT_LT(decoder.runs, 500);
  } while (step.ready || !fork);
  EXPECT_GT(failures, 9);
  EXPECT_EQ(decoder.tokens(first), decoder.expected(prompt(19), 5));
  EXPECT_EQ(decoder.tokens(fork), decoder.expected(prompt(19), 5));
  EXPECT_EQ(decoder.tokens(second), decoder.expected({1, 2}, 7));
}

TEST(Generator, LogitsThatAreNoNumbersEndTheirSequenceAlone) {
  FakeDecoder decoder;
  Consumer consumer;
  How how(9);
  uint64_t bad = decoder.add({1, 2, 3}, consumer.how(&how)), good = decoder.add({4, 5}, How(9));
  decoder.after = [&](const StepTable &table) {
    if (decoder.runs == 3)
      table.logits[17] = std::numeric_limits<float>::quiet_NaN();
  };
  decoder.run();
  EXPECT_EQ(decoder.info(bad).finish, STINT_FINISH_FAILED);
  EXPECT_EQ(decoder.info(bad).status.code, STINT_STATUS_KERNEL_FAILED);
  EXPECT_EQ(decoder.info(bad).generated_tokens, 2u);
  EXPECT_EQ(consumer.finishes.back(), STINT_FINISH_FAILED);
  EXPECT_EQ(decoder.tokens(good), decoder.expected({4, 5}, 9));
  // It can be taken back to where all was well.
  EXPECT_OK(stint_sequence_rewind(decoder.get(), bad, 3));
  decoder.run();
  EXPECT_EQ(decoder.tokens(bad), decoder.expected({1, 2, 3}, 9));
}

TEST(Generator, CancelledOnesKeepWhatTheyHave) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add(prompt(6), How(20));
  for (int i = 0; i < 4; ++i)
    EXPECT_OK(stint_generator_step(decoder.get(), nullptr, nullptr));
  EXPECT_OK(stint_sequence_cancel(decoder.get(), sequence));
  decoder.run();
  EXPECT_EQ(decoder.runs, 4);
  EXPECT_EQ(decoder.info(sequence).finish, STINT_FINISH_CANCELLED);
  EXPECT_EQ(decoder.tokens(sequence), decoder.expected(prompt(6), 4));
}

TEST(Generator, RefusesWhatIsWrong) {
  FakeDecoder decoder;
  uint64_t sequence = 5;
  stint_generator *generator = decoder.get();
  uint32_t one = 1, big = 50;
  auto add = [&](const Tokens &tokens, const stint_sequence_options *how = nullptr) {
    sequence = 5;
    stint_status status = stint_sequence_add(generator, tokens.data(), tokens.size(), how, &sequence);
    EXPECT_EQ(sequence, 0u);
    return status;
  };
  expectText(add({}), STINT_STATUS_INVALID_ARGUMENT, "the prompt is empty");
  expectText(add({1, 50}), STINT_STATUS_OUT_OF_RANGE, "the prompt holds id 50, the vocabulary has 50 tokens");
  expectText(add(Tokens(41)), STINT_STATUS_OUT_OF_RANGE, "prompt of 41 tokens is longer than the context");
  How how;
  how.options.stop_ids = &big;
  how.options.stop_count = 1;
  expectText(add({1}, how), STINT_STATUS_OUT_OF_RANGE, "stop id 50 is no token");
  how.options.stop_count = 33;
  expectText(add({1}, how), STINT_STATUS_INVALID_ARGUMENT, "33 stop ids");
  how = How();
  how.options.stop_count = 1;
  expectText(add({1}, how), STINT_STATUS_INVALID_ARGUMENT, "without a list");
  how = How();
  how.sampling.top_p = 2;
  expectText(add({1}, how), STINT_STATUS_INVALID_ARGUMENT, "top_p is not in (0, 1]");
  how.options.size = 1;
  expectText(add({1}, how), STINT_STATUS_INVALID_ARGUMENT, "size");
  expectText(stint_sequence_add(nullptr, &one, 1, nullptr, &sequence), STINT_STATUS_INVALID_ARGUMENT, "no generator");
  expectText(stint_sequence_add(generator, &one, 1, nullptr, nullptr), STINT_STATUS_INVALID_ARGUMENT, "name");
  expectText(stint_sequence_add(generator, nullptr, 1, nullptr, &sequence), STINT_STATUS_INVALID_ARGUMENT, "empty");
  EXPECT_EQ(decoder.info().sequences, 0u);
  for (int i = 0; i < 6; ++i)
    decoder.add({1});
  expectText(add({1}), STINT_STATUS_FULL, "6 sequences are open");
  expectText(stint_sequence_remove(generator, UINT64_MAX), STINT_STATUS_NOT_FOUND, "no sequence 18446744073709551615");
  expectText(stint_sequence_cancel(generator, 0), STINT_STATUS_NOT_FOUND, "no sequence 0");
  EXPECT_OK(stint_sequence_remove(generator, 3));
  expectText(stint_sequence_remove(generator, 3), STINT_STATUS_NOT_FOUND, "no sequence 3");
  uint64_t next = decoder.add({2});
  EXPECT_EQ(next, 7u) << "names are never used again";
}

TEST(Generator, NothingIsAllocatedAfterItWasCreated) {
  FakeDecoder decoder;
  How how(6);
  how.sampling.temperature = 1;
  how.sampling.top_p = 0.9;
  how.sampling.repetition_penalty = 1.2;
  uint32_t tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  uint64_t sequence = 0, fork = 0;
  // The decoder's own lists may grow.
  decoder.tokensOfRuns.reserve(100);
  decoder.rowsOfRuns.reserve(100);
  failAt(Fail::Never, 0);
  EXPECT_OK(stint_sequence_add(decoder.get(), tokens, 9, how, &sequence));
  for (int i = 0; i < 4; ++i)
    EXPECT_OK(stint_generator_step(decoder.get(), nullptr, nullptr));
  EXPECT_OK(stint_sequence_fork(decoder.get(), sequence, how, &fork));
  EXPECT_OK(stint_sequence_rewind(decoder.get(), sequence, 5));
  for (int i = 0; i < 12; ++i)
    EXPECT_OK(stint_generator_step(decoder.get(), nullptr, nullptr));
  EXPECT_OK(stint_sequence_save(decoder.get(), fork, [](void *, const void *, size_t) { return 0; }, nullptr));
  EXPECT_EQ(memoryCalls(), 0);
}
