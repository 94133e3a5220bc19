// The sampler: its order, ties, limits, and that what is drawn has the probability it
// should have.
#include "plan_builder.h"
#include "runtime/generation/random.h"
#include "runtime/generation/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

using namespace stint;
using namespace stint::test;

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const double nan64 = std::numeric_limits<double>::quiet_NaN();

struct Tester {
  explicit Tester(std::vector<float> logits)
      : logits(std::move(logits)), candidates(this->logits.size()), counts(this->logits.size()) {
    sampling.size = sizeof(sampling);
  }

  Status tryChoose(uint32_t *token, uint32_t position = 0) {
    stint_sampling checked;
    Status status = readSampling(&sampling, uint32_t(logits.size()), &checked);
    if (!status.ok())
      return status;
    Sampler sampler(candidates.data(), counts.data(), uint32_t(logits.size()));
    std::vector<uint32_t> padded = history;
    if (padded.empty())
      padded.resize(position); // the position is what the history's length says
    status = sampler.choose(checked, logits.data(), {padded.data(), uint32_t(padded.size())}, outputStart, token);
    for (uint32_t count : counts)
      EXPECT_EQ(count, 0u) << "left behind";
    return status;
  }
  uint32_t choose(uint32_t position = 0) {
    uint32_t token = 0xffffffff;
    EXPECT_OK(tryChoose(&token, position).value);
    return token;
  }
  // How often each token comes, of `draws`.
  std::map<uint32_t, double> frequencies(uint32_t draws) {
    std::map<uint32_t, double> result;
    for (uint32_t i = 0; i < draws; ++i) {
      sampling.stream = i;
      result[choose()] += 1.0 / draws;
    }
    return result;
  }

  std::vector<float> logits;
  std::vector<Sampler::Candidate> candidates;
  std::vector<uint32_t> counts, history;
  uint32_t outputStart = 0;
  stint_sampling sampling = {};
};

std::vector<double> softmax(const std::vector<float> &logits, double temperature) {
  std::vector<double> result;
  double total = 0;
  for (float logit : logits)
    total += result.emplace_back(std::exp(logit / temperature));
  for (double &value : result)
    value /= total;
  return result;
}

} // namespace

// The vectors of Random123's kat_vectors.
TEST(Sampler, PhiloxIsPhilox) {
  auto expect = [](PhiloxBlock got, PhiloxBlock wanted) {
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(got.word[i], wanted.word[i]);
  };
  expect(philox({{0, 0, 0, 0}}, 0, 0), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect(philox({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u), {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Sampler, ExponentialIsExact) {
  for (double x = 0; x > -710; x -= 0.0917)
    EXPECT_NEAR(expOfNegative(x) / std::exp(x), x > -700 ? 1 : 0, 4e-15) << x;
  EXPECT_EQ(expOfNegative(0), 1);
  EXPECT_EQ(expOfNegative(-INFINITY), 0);
}

TEST(Sampler, GreedyTakesTheLowestOfTheLikeliest) {
  Tester tester({1, 3, 2, 3, -infinity});
  EXPECT_EQ(tester.choose(), 1u);
  tester.sampling.temperature = 2;
  tester.sampling.top_k = 1;
  EXPECT_EQ(tester.choose(), 1u);
  tester.logits = {-infinity, -infinity, -1e38f, -infinity, -infinity};
  EXPECT_EQ(tester.choose(), 2u);
}

TEST(Sampler, ADrawIsAFunctionOfSeedStreamAndPosition) {
  Tester tester(std::vector<float>(1000, 0.5f));
  tester.sampling.temperature = 1;
  tester.sampling.seed = 5;
  uint32_t first = tester.choose(3), second = tester.choose(4);
  EXPECT_EQ(tester.choose(3), first);
  EXPECT_NE(first, second);
  tester.sampling.stream = 1;
  EXPECT_NE(tester.choose(3), first);
  tester.sampling.stream = 0;
  tester.sampling.seed = uint64_t(5) << 32;
  EXPECT_NE(tester.choose(3), first);
}

TEST(Sampler, DrawsAsLikelyAsTheTokensAre) {
  const std::vector<float> logits = {0.5f, 2, -1, 2, 1.5f, -infinity, 0};
  for (double temperature : {0.5, 1.0, 3.0}) {
    Tester tester(logits);
    tester.sampling.temperature = temperature;
    std::vector<double> wanted = softmax(logits, temperature);
    auto all = tester.frequencies(20000);
    tester.sampling.min_p = 1e-9; // another way to the same end
    auto sorted = tester.frequencies(20000);
    for (uint32_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(all[i], wanted[i], 0.015) << i;
      EXPECT_NEAR(sorted[i], wanted[i], 0.015) << i;
    }
    EXPECT_EQ(all[5] + sorted[5], 0);
  }
}

TEST(Sampler, TopKThenTopPThenMinP) {
  // Probabilities 0.4, 0.3, 0.2, 0.06, 0.04.
  std::vector<float> logits;
  for (double p : {0.2, 0.4, 0.06, 0.3, 0.04})
    logits.push_back(float(std::log(p)));
  auto survivors = [&](uint32_t k, double p, double min) {
    Tester tester(logits);
    tester.sampling.temperature = 1;
    tester.sampling.top_k = k;
    tester.sampling.top_p = p;
    tester.sampling.min_p = min;
    std::string result;
    for (auto [token, frequency] : tester.frequencies(4000))
      result += char('0' + token);
    return result;
  };
  EXPECT_EQ(survivors(0, 0, 0), "01234");
  EXPECT_EQ(survivors(3, 0, 0), "013");
  EXPECT_EQ(survivors(99, 0, 0), "01234");
  EXPECT_EQ(survivors(0, 0.65, 0), "13");
  EXPECT_EQ(survivors(0, 0.75, 0), "013");
  EXPECT_EQ(survivors(0, 1e-300, 0), "1");
  EXPECT_EQ(survivors(2, 0.5, 0), "1") << "0.4 of 0.7 is more than half: top-p is of what top-k left";
  EXPECT_EQ(survivors(0, 0.5, 0), "13");
  EXPECT_EQ(survivors(0, 0, 0.4), "013");
  EXPECT_EQ(survivors(0, 0, 1), "1");
  EXPECT_EQ(survivors(2, 0.99, 0.9), "1");
}

TEST(Sampler, TopKTakesTheLowestOfEquals) {
  Tester tester({1, 1, 1, 1});
  tester.sampling.temperature = 1;
  tester.sampling.top_k = 2;
  auto got = tester.frequencies(1000);
  EXPECT_EQ(got.size(), 2u);
  EXPECT_EQ(got.rbegin()->first, 1u);
}

TEST(Sampler, RepetitionPenaltyIsOverPromptAndOutput) {
  Tester tester({2, 1.9f, -1, -1.05f});
  tester.history = {0, 2, 2};
  tester.outputStart = 3;
  tester.sampling.repetition_penalty = 1.1;
  EXPECT_EQ(tester.choose(), 1u); // 2 / 1.1 < 1.9
  tester.sampling.repetition_penalty = 1.04;
  EXPECT_EQ(tester.choose(), 0u);
  tester.logits = {-3, -3, -1, -1.05f};
  EXPECT_EQ(tester.choose(), 2u); // -1.04
  tester.sampling.repetition_penalty = 1.1;
  EXPECT_EQ(tester.choose(), 3u); // times 1.1 once, however often it was there
}

TEST(Sampler, PresenceAndFrequencyAreOverTheOutputAlone) {
  Tester tester({2, 1.5f, 1.2f});
  tester.history = {0, 0, 1, 1, 0};
  tester.outputStart = 2; // 1 twice, 0 once
  tester.sampling.presence_penalty = 0.4;
  EXPECT_EQ(tester.choose(), 0u); // 1.6, 1.1, 1.2
  tester.sampling.presence_penalty = 0.9;
  EXPECT_EQ(tester.choose(), 2u); // 1.1, 0.6, 1.2
  tester.sampling.presence_penalty = 0;
  tester.sampling.frequency_penalty = -1;
  EXPECT_EQ(tester.choose(), 1u); // 3, 3.5, 1.2
  tester.outputStart = 5;
  EXPECT_EQ(tester.choose(), 0u);
}

TEST(Sampler, PenaltiesThatOverflowStayNumbers) {
  Tester tester({1e38f, 2e38f, -1e38f});
  tester.history = {0, 2};
  tester.sampling.repetition_penalty = 1e-300;
  EXPECT_EQ(tester.choose(), 0u);
  tester.sampling.repetition_penalty = 1e300;
  EXPECT_EQ(tester.choose(), 1u);
  tester.history = {0, 1, 2};
  tester.sampling.temperature = 1e-300;
  EXPECT_EQ(tester.choose(), 0u) << "both are nearly 0: the likelier";
}

TEST(Sampler, OnlyWhatIsAllowedFollows) {
  std::vector<float> logits(40, 0);
  logits[3] = 9;
  uint32_t allowed[2] = {1u << 31, 1u << 5};
  Tester tester(logits);
  tester.sampling.allowed = allowed;
  EXPECT_EQ(tester.choose(), 31u);
  tester.sampling.temperature = 1;
  auto got = tester.frequencies(200);
  EXPECT_EQ(got.size(), 2u);
  EXPECT_EQ(got.count(31) + got.count(37), 2u);
  allowed[0] = allowed[1] = 0;
  uint32_t token;
  EXPECT_EQ(tester.tryChoose(&token).value.code, STINT_STATUS_OUT_OF_RANGE);
}

TEST(Sampler, LogitsThatAreNoNumbersAreAnError) {
  for (float bad : {float(nan64), -float(nan64), infinity})
    for (double temperature : {0.0, 1.0}) {
      Tester tester({1, 2, bad, 0});
      tester.history = {1};
      tester.sampling.temperature = temperature;
      tester.sampling.repetition_penalty = 2;
      uint32_t token = 0;
      Status status = tester.tryChoose(&token);
      EXPECT_EQ(status.value.code, STINT_STATUS_KERNEL_FAILED);
      EXPECT_EQ(text(status.value), "the model's logit of token 2 is not a number");
    }
  Tester tester({-infinity, -infinity});
  uint32_t token = 0;
  EXPECT_EQ(text(tester.tryChoose(&token).value), "no token may follow: all 2 are ruled out");
}

TEST(Sampler, RefusesWhatIsOutOfRangeByName) {
  struct Row {
    double stint_sampling::*field;
    const char *name;
    std::vector<double> bad, good;
  };
  const double inf = infinity;
  const Row rows[] = {
      {&stint_sampling::temperature, "temperature", {nan64, inf, -0.1}, {0, 1e-300, 1e300}},
      {&stint_sampling::top_p, "top_p", {nan64, -0.5, 1.0001, inf}, {0, 1, 1e-9}},
      {&stint_sampling::min_p, "min_p", {nan64, -0.5, 1.0001}, {0, 1}},
      {&stint_sampling::repetition_penalty, "repetition_penalty", {nan64, -1, inf}, {0, 1.1, 0.5}},
      {&stint_sampling::presence_penalty, "presence_penalty", {nan64, inf, -1e7}, {-2, 2}},
      {&stint_sampling::frequency_penalty, "frequency_penalty", {nan64, -inf, 1e7}, {-2, 2}},
  };
  for (const Row &row : rows) {
    for (bool good : {false, true})
      for (double value : good ? row.good : row.bad) {
        stint_sampling given = {}, read;
        given.size = sizeof(given);
        given.*row.field = value;
        Status status = readSampling(&given, 10, &read);
        EXPECT_EQ(status.ok(), good) << row.name << " = " << value;
        if (!good) {
          EXPECT_EQ(status.value.code, STINT_STATUS_INVALID_ARGUMENT);
          EXPECT_EQ(text(status.value).rfind(row.name, 0), 0u) << text(status.value);
        }
      }
  }
}
