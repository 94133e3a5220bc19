// State: memory of a session that is kept from run to run.
#include "plan_builder.h"

#include "gtest/gtest.h"
#include <cstdio>
#include <cstring>

using namespace stint::test;

namespace {

// z = x + s, then s = z: the session adds up.
std::unique_ptr<fb::PlanT> sumPlan(uint64_t stateBytes = 256) {
  std::unique_ptr<fb::PlanT> plan = addPlan();
  fb::EntryT &entry = *plan->entries[0];
  auto state = std::make_unique<fb::StateT>();
  state->name = "s";
  state->size = stateBytes;
  entry.states.push_back(std::move(state));
  entry.buffers.emplace_back(fb::BufferKind_state, 0, 2); // 5
  for (auto &profile : entry.profiles) {
    profile->offsets.push_back(0);
    profile->capacities.push_back(0);
  }
  entry.dispatches[0]->buffers = {0, 5, 4};
  entry.body = {instruction(fb::Opcode_dispatch, 0, 0, 0), instruction(fb::Opcode_copy, 2, 5, 4),
                instruction(fb::Opcode_copy, 2, 2, 4)};
  return plan;
}

// One run on x = [1, 1, 1]: the value of z, all of whose elements are equal.
float step(stint_session *session) {
  float x[3] = {1, 1, 1}, y[3] = {};
  int64_t n = 3;
  stint_tensor z = {};
  z.size = sizeof(z);
  EXPECT_EQ(stint_session_bind_input(session, 0, x, sizeof(x), 1, &n).code, STINT_OK);
  EXPECT_EQ(stint_session_bind_input(session, 1, y, sizeof(y), 1, &n).code, STINT_OK);
  EXPECT_EQ(stint_session_run(session, nullptr).code, STINT_OK);
  EXPECT_EQ(stint_session_output(session, 0, &z).code, STINT_OK);
  const float *values = static_cast<const float *>(z.data);
  EXPECT_EQ(values[0], values[2]);
  return values[0];
}

void check(stint_session *session) {
  EXPECT_EQ(step(session), 1);
  EXPECT_EQ(step(session), 2);
  EXPECT_EQ(step(session), 3);
  EXPECT_EQ(stint_session_reset(session).code, STINT_OK);
  EXPECT_EQ(step(session), 1);
}

// Pages of this process that are in memory.
long residentPages() {
  long all = 0, resident = 0;
  FILE *file = std::fopen("/proc/self/statm", "r");
  EXPECT_EQ(std::fscanf(file, "%ld %ld", &all, &resident), 2);
  std::fclose(file);
  return resident;
}

TEST(State, IsKeptFromRunToRun) {
  Opened opened(*sumPlan(), addSections());
  ASSERT_EQ(opened.status.code, STINT_OK);
  stint_session *session = nullptr, *other = nullptr;
  ASSERT_EQ(stint_session_create(opened.model, nullptr, &session).code, STINT_OK);
  ASSERT_EQ(stint_session_create(opened.model, nullptr, &other).code, STINT_OK);
  EXPECT_EQ(step(other), 1);
  check(session);
  EXPECT_EQ(step(other), 2) << "each session has its own";
  stint_session_destroy(other);
  stint_session_destroy(session);
}

TEST(State, BeginsAsZerosInMemoryOfTheCaller) {
  Opened opened(*sumPlan(), addSections());
  size_t bytes = 0;
  ASSERT_EQ(stint_session_size(opened.model, nullptr, &bytes).code, STINT_OK);
  AlignedBytes memory(std::vector<uint8_t>(bytes, 0xff));
  stint_session *session = nullptr;
  ASSERT_EQ(stint_session_create_in(opened.model, nullptr, memory.data(), memory.size(), &session).code, STINT_OK);
  check(session);
  stint_session_destroy(session);
}

TEST(State, TakesRealMemoryOnlyWhereItIsTouched) {
  Opened opened(*sumPlan(uint64_t(1) << 36), addSections());
  ASSERT_EQ(opened.status.code, STINT_OK);
  stint_memory_info info = {};
  info.size = sizeof(info);
  ASSERT_EQ(stint_model_memory(opened.model, nullptr, &info).code, STINT_OK);
  EXPECT_EQ(info.state, uint64_t(1) << 36);
  long before = residentPages();
  stint_session *session = nullptr;
  if (stint_session_create(opened.model, nullptr, &session).code != STINT_OK)
    GTEST_SKIP() << "this system reserves no 64 GiB";
  check(session);
  EXPECT_LT(residentPages() - before, 16384) << "64 MiB";
  stint_session_destroy(session);
}

} // namespace
