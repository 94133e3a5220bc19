// Nothing is allocated once a session exists; and whichever call to the system
// fails while a model is opened, an executor and a session made, there is an
// error and nothing is left behind.
#include "failing.h"
#include "plan_builder.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

using namespace stint;
using namespace stint::test;

namespace {

enum class From { Path, Descriptor, Memory };

// A plan with constants besides code and weights, so that every kind of section
// is loaded.
std::vector<uint8_t> planFile() {
  auto plan = addPlan();
  plan->weights.push_back(std::make_unique<fb::WeightT>(*plan->weights[0]));
  plan->weights[1]->section = 2;
  std::vector<SectionBytes> sections = addSections();
  sections.push_back({STINT_SECTION_CONSTANTS, sections[1].bytes});
  return makeFile(packPlan(*plan), sections);
}

struct Plan {
  Plan() : bytes(planFile()), path(testing::TempDir() + "allocation-" + std::to_string(getpid()) + ".stint") {
    FILE *file = fopen(path.c_str(), "wb");
    EXPECT_EQ(fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    fclose(file);
  }
  ~Plan() { unlink(path.c_str()); }
  stint_status open(From from, int descriptor, stint_model **model) const {
    stint_model_options options = {};
    options.size = sizeof(options);
    options.verify = STINT_VERIFY_FIRST_USE;
    switch (from) {
    case From::Path:
      return stint_model_open_file(path.c_str(), &options, model);
    case From::Descriptor:
      return stint_model_open_fd(descriptor, 0, 0, &options, model);
    default:
      return stint_model_open_memory(bytes.data(), bytes.size(), &options, model);
    }
  }
  AlignedBytes bytes;
  std::string path;
};

// Everything an application does, to the end or to the first failure.
stint_status useEverything(const Plan &plan, From from, int descriptor) {
  stint_model *model = nullptr;
  stint_executor *executor = nullptr;
  stint_session *session = nullptr;
  stint_executor_options executor_options = {};
  executor_options.size = sizeof(executor_options);
  executor_options.threads = 3;
  int64_t n = 64;
  float x[64] = {}, z[64];
  stint_status status = plan.open(from, descriptor, &model);
  EXPECT_EQ(status.code == STINT_OK, model != nullptr);
  if (status.code == STINT_OK) {
    status = stint_executor_create(&executor_options, &executor);
    EXPECT_EQ(status.code == STINT_OK, executor != nullptr);
  }
  if (status.code == STINT_OK) {
    stint_session_options session_options = {};
    session_options.size = sizeof(session_options);
    session_options.executor = executor;
    status = stint_session_create(model, &session_options, &session);
    EXPECT_EQ(status.code == STINT_OK, session != nullptr);
  }
  if (status.code == STINT_OK) {
    EXPECT_OK(stint_session_bind_input(session, 0, x, 256, 1, &n));
    EXPECT_OK(stint_session_bind_input(session, 1, x, 256, 1, &n));
    EXPECT_OK(stint_session_bind_output(session, 0, z, 256));
    long before = systemCalls();
    for (int i = 0; i < 10; ++i)
      EXPECT_OK(stint_session_run(session, nullptr));
    n = 8;
    EXPECT_OK(stint_session_set_input_shape(session, 0, 1, &n));
    EXPECT_OK(stint_session_set_input_shape(session, 1, 1, &n));
    EXPECT_OK(stint_session_run(session, nullptr));
    EXPECT_EQ(systemCalls(), before) << "a session asked the system for something";
    EXPECT_EQ(z[63], 63.f);
  }
  stint_session_destroy(session);
  stint_executor_release(executor);
  stint_model_release(model);
  return status;
}

// Makes call 0, 1, 2, … fail until all succeed.
void failEach(From from, Fail how) {
  Plan plan;
  int descriptor = open(plan.path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  int failures = 0, survived = 0;
  for (long n = 0;; ++n) {
    long before = held();
    failAt(how, n);
    stint_status status = useEverything(plan, from, descriptor);
    bool failed = hasFailed();
    failAt(Fail::Never, 0);
    ASSERT_EQ(held(), before) << "something is left behind after call " << n << " failed";
    if (!failed) {
      EXPECT_OK(status);
      break;
    }
    // Code falls back from the sealed memory to another, and quotas of CPUs
    // that can't be read are none; all else is an error.
    if (status.code != STINT_OK) {
      EXPECT_TRUE(status.code == STINT_STATUS_OUT_OF_MEMORY || status.code == STINT_STATUS_IO) << text(status);
      ++failures;
    } else {
      ++survived;
    }
    ASSERT_LT(n, 1000);
  }
  close(descriptor);
  EXPECT_GT(failures, 4);
  if (how == Fail::One)
    EXPECT_GT(survived, 2);
}

} // namespace

TEST(Allocation, NoneAfterASessionExists) {
  Plan plan;
  failAt(Fail::Never, 0);
  EXPECT_OK(useEverything(plan, From::Memory, -1));
  EXPECT_GT(memoryCalls(), 4); // the counter counts
}

TEST(Allocation, AnyOneMayFail) {
  for (From from : {From::Path, From::Descriptor, From::Memory})
    failEach(from, Fail::One);
}

TEST(Allocation, AllMayFailFromAnyOneOn) {
  for (From from : {From::Path, From::Descriptor, From::Memory})
    failEach(from, Fail::AllFrom);
}
