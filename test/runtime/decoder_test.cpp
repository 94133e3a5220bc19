// Generators over a session: from a plan's bytes to tokens, through the C API
// alone.
#include "decoder_plan.h"
#include "stint/stint.hpp"

#include <gtest/gtest.h>

using namespace stint::test;

namespace {

using Tokens = std::vector<uint32_t>;

struct Running {
  explicit Running(const fb::PlanT &plan, uint32_t limit = 0, std::vector<stint_dim_maximum> maxima = {})
      : opened(plan, addSections()) {
    EXPECT_OK(opened.status);
    auto how = stint::sized<stint_session_options>();
    how.flags = STINT_SESSION_BIND_ALL;
    how.maxima = maxima.data();
    how.maximum_count = maxima.size();
    status = stint_session_create(opened.model, &how, session.out());
    EXPECT_OK(status);
    auto options = stint::sized<stint_generator_options>();
    options.max_sequences = limit;
    status = stint_generator_create(session.get(), &options, generator.out());
  }
  uint64_t add(const Tokens &prompt, uint32_t more) {
    auto how = stint::sized<stint_sequence_options>();
    how.max_tokens = more;
    uint64_t sequence = 0;
    EXPECT_OK(stint_sequence_add(generator.get(), prompt.data(), prompt.size(), &how, &sequence));
    return sequence;
  }
  void run(const stint_run_options *options = nullptr) {
    auto step = stint::sized<stint_step_info>();
    do {
      status = stint_generator_step(generator.get(), options, &step);
      if (status.code)
        return;
    } while (step.ready);
  }
  Tokens tokens(uint64_t sequence) {
    const uint32_t *tokens = nullptr;
    size_t count = 0;
    EXPECT_OK(stint_sequence_tokens(generator.get(), sequence, &tokens, &count));
    return {tokens, tokens + count};
  }

  Opened opened;
  stint::Session session;
  stint::Generator generator; // goes first
  stint_status status = {};
};

void expectRefused(const fb::PlanT &plan, const char *wanted) {
  Opened opened(plan, addSections());
  if (opened.status.code) {
    EXPECT_NE(text(opened.status).find(wanted), std::string::npos) << text(opened.status);
    return;
  }
  stint::Session session;
  stint::Generator generator;
  EXPECT_OK(stint_session_create(opened.model, nullptr, session.out()));
  stint_status status = stint_generator_create(session.get(), nullptr, generator.out());
  EXPECT_NE(status.code, STINT_OK);
  EXPECT_NE(text(status).find(wanted), std::string::npos) << text(status);
}

} // namespace

TEST(Decoder, SaysWhatItIs) {
  Running running(*decoderPlan());
  EXPECT_OK(running.status);
  auto info = stint::sized<stint_decoder_info>();
  EXPECT_OK(stint_model_decoder(running.opened.model, &info));
  EXPECT_EQ(info.entry, 0u);
  EXPECT_EQ(info.vocabulary, 50u);
  EXPECT_EQ(info.context, 32u);
  EXPECT_EQ(info.page_size, 4u);
  EXPECT_EQ(info.page_count, 20u);
  EXPECT_EQ(info.page_bytes, 16u);
  EXPECT_EQ(info.max_tokens, 8u);
  EXPECT_EQ(info.max_sequences, 4u);
  auto generator = stint::sized<stint_generator_info>();
  EXPECT_OK(stint_generator_query(running.generator.get(), &generator));
  EXPECT_EQ(generator.sequence_limit, 4u);
  EXPECT_GT(generator.bytes, 4u * 32 * 4);
}

TEST(Decoder, Generates) {
  DecoderShape shape;
  Running running(*decoderPlan(shape), 6);
  EXPECT_OK(running.status);
  Tokens prompts[] = {{7}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9}, {49, 49}, {0}, {8, 8, 8, 8, 8, 8, 8, 8}};
  uint64_t sequences[5];
  for (int i = 0; i < 5; ++i)
    sequences[i] = running.add(prompts[i], 6);
  running.run();
  EXPECT_OK(running.status);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(running.tokens(sequences[i]), decoderSays(prompts[i], 6)) << i;
}

TEST(Decoder, ASessionWithSmallerMaximaDoesAsMuchAtATime) {
  Running running(*decoderPlan(), 4, {{"tokens", 3}, {"sequences", 2}, {"logit_rows", 1}});
  EXPECT_OK(running.status);
  uint64_t first = running.add({1, 2, 3, 4, 5, 6, 7}, 6), second = running.add({5, 4}, 6), third = running.add({9}, 3);
  running.run();
  EXPECT_OK(running.status);
  EXPECT_EQ(running.tokens(first), decoderSays({1, 2, 3, 4, 5, 6, 7}, 6));
  EXPECT_EQ(running.tokens(second), decoderSays({5, 4}, 6));
  EXPECT_EQ(running.tokens(third), decoderSays({9}, 3));
}

TEST(Decoder, StopsWhenItIsTold) {
  Running running(*decoderPlan());
  uint64_t sequence = running.add({1, 2, 3}, 6);
  volatile int32_t cancel = 1;
  auto options = stint::sized<stint_run_options>();
  options.cancel = &cancel;
  running.run(&options);
  EXPECT_EQ(running.status.code, STINT_STATUS_CANCELLED);
  options.cancel = nullptr;
  options.deadline_ns = 1;
  running.run(&options);
  EXPECT_EQ(running.status.code, STINT_STATUS_DEADLINE);
  running.run();
  EXPECT_EQ(running.tokens(sequence), decoderSays({1, 2, 3}, 6));
}

TEST(Decoder, TheSessionIsFreeAgainAfterwards) {
  Running running(*decoderPlan());
  running.add({1, 2, 3}, 6);
  running.run();
  stint::Generator second;
  EXPECT_EQ(stint_generator_create(running.session.get(), nullptr, second.out()).code, STINT_STATUS_INVALID_ARGUMENT);
  running.generator = stint::Generator();
  EXPECT_OK(stint_generator_create(running.session.get(), nullptr, second.out()));
}

TEST(Decoder, ItsSessionIsTheGeneratorsAlone) {
  Running running(*decoderPlan());
  uint64_t sequence = running.add({1, 2, 3}, 6);
  stint_session *session = running.session.get();
  int64_t dims[2] = {1, 1};
  for (stint_status status :
       {stint_session_run(session, nullptr), stint_session_prepare(session), stint_session_reset(session),
        stint_session_bind_output(session, 0, nullptr, 0), stint_session_set_input_shape(session, 0, 2, dims)})
    EXPECT_NE(text(status).find("belongs to a generator"), std::string::npos) << text(status);
  running.session = stint::Session(); // waits for the generator
  running.run();
  EXPECT_EQ(running.tokens(sequence), decoderSays({1, 2, 3}, 6));
}

TEST(Decoder, PlansThatAreNoneAreRefused) {
  expectRefused(*addPlan(), "the plan is no decoder");
  auto info = stint::sized<stint_decoder_info>();
  Opened opened(*addPlan(), addSections());
  EXPECT_EQ(stint_model_decoder(opened.model, &info).code, STINT_STATUS_NOT_FOUND);
  EXPECT_EQ(stint_model_decoder(nullptr, &info).code, STINT_STATUS_NOT_FOUND);
  stint_generator *generator = nullptr;
  EXPECT_EQ(stint_generator_create(nullptr, nullptr, &generator).code, STINT_STATUS_INVALID_ARGUMENT);

  auto plan = decoderPlan();
  plan->entries[0]->states[0]->dims = {20, 1, 2, 2};
  expectRefused(*plan, "state 0 of the plan is not made of pages");
  plan->entries[0]->states[0]->dims = {20, 4};
  expectRefused(*plan, "state 0 of the plan is not made of pages");
  plan->entries[0]->states[0]->dims = {20, 1, 4, -1};
  expectRefused(*plan, "state 0 of the plan is not made of pages");
  plan->entries[0]->states[0]->dims = {};
  expectRefused(*plan, "state 0 of the plan is not made of pages");
  plan = decoderPlan();
  plan->decoder->page_count = 19;
  expectRefused(*plan, "not made of 19 pages");
  plan = decoderPlan();
  plan->decoder->context = 33;
  expectRefused(*plan, "page table does not fit");
}

TEST(Decoder, StateMovesToAnotherSession) {
  Running first(*decoderPlan()), second(*decoderPlan());
  first.add({9, 9, 9, 9, 9}, 1);
  uint64_t sequence = first.add({3, 1, 4}, 6), restored = 0;
  first.run();
  std::string bytes;
  EXPECT_OK(stint_sequence_save(
      first.generator.get(), sequence,
      [](void *user, const void *data, size_t size) {
        static_cast<std::string *>(user)->append(static_cast<const char *>(data), size);
        return 0;
      },
      &bytes));
  auto how = stint::sized<stint_sequence_options>();
  how.max_tokens = 5;
  EXPECT_OK(stint_sequence_restore(second.generator.get(), bytes.data(), bytes.size(), &how, &restored));
  second.run();
  EXPECT_EQ(second.tokens(restored), decoderSays({3, 1, 4}, 11));
  // A plan that differs in anything is another model.
  DecoderShape shape;
  shape.context = 28;
  Running other(*decoderPlan(shape));
  EXPECT_EQ(stint_sequence_restore(other.generator.get(), bytes.data(), bytes.size(), &how, &restored).code,
            STINT_STATUS_UNSUPPORTED);
}
