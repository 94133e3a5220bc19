// The register machine: arithmetic at its edges, structured control flow,
// data-dependent sizes, and messages of failed checks.
#include "plan_builder.h"

#include "runtime/core/machine.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace stint;
using namespace stint::test;

namespace {

constexpr int64_t least = INT64_MIN, most = INT64_MAX;

struct Sum {
  Opcode opcode;
  int64_t a, b;
  bool fits;
  int64_t result;
};

} // namespace

TEST(Machine, ArithmeticIsCheckedAndFloors) {
  const Sum sums[] = {
      {Opcode::add, most, 1, false, 0},    {Opcode::add, 2, 3, true, 5},        {Opcode::sub, least, 1, false, 0},
      {Opcode::sub, 2, 3, true, -1},       {Opcode::mul, most, 2, false, 0},    {Opcode::mul, -4, 3, true, -12},
      {Opcode::floorDiv, 7, 2, true, 3},   {Opcode::floorDiv, -7, 2, true, -4}, {Opcode::floorDiv, 7, -2, true, -4},
      {Opcode::floorDiv, -8, 2, true, -4}, {Opcode::floorDiv, 1, 0, false, 0},  {Opcode::floorDiv, least, -1, false, 0},
      {Opcode::ceilDiv, 7, 2, true, 4},    {Opcode::ceilDiv, -7, 2, true, -3},  {Opcode::ceilDiv, most, 1, true, most},
      {Opcode::ceilDiv, 7, 0, false, 0},   {Opcode::mod, -7, 4, true, 1},       {Opcode::mod, 7, 4, true, 3},
      {Opcode::mod, 7, 0, false, 0},       {Opcode::min, -1, 1, true, -1},      {Opcode::max, -1, 1, true, 1},
      {Opcode::equal, 3, 3, true, 1},      {Opcode::equal, 3, 4, true, 0},      {Opcode::less, 3, 4, true, 1},
      {Opcode::less, 4, 4, true, 0},
  };
  Plan plan = {};
  for (const Sum &sum : sums) {
    int64_t registers[3] = {sum.a, sum.b, 77};
    Instruction in = {sum.opcode, {}, 2, 0, 1, 0};
    Status status = executeRegister(plan, in, registers);
    EXPECT_EQ(status.ok(), sum.fits) << static_cast<int>(sum.opcode);
    EXPECT_EQ(registers[2], sum.fits ? sum.result : 77) << static_cast<int>(sum.opcode) << " " << sum.a << " " << sum.b;
  }
}

namespace {

// Runs a body on the addPlan with x = y = 1 and gives status and z.
struct Outcome {
  stint_status status = {};
  std::string message;
  std::vector<float> z;
};

Outcome runBody(int64_t n, std::vector<fb::Instruction> body, void (*change)(fb::PlanT &) = nullptr) {
  auto plan = addPlan();
  fb::EntryT &entry = *plan->entries[0];
  entry.register_count = 12;
  entry.body = std::move(body);
  if (change)
    change(*plan);
  Opened opened(*plan, addSections());
  EXPECT_OK(opened.status);
  Outcome outcome;
  stint_session *session = nullptr;
  EXPECT_OK(stint_session_create(opened.model, nullptr, &session));
  std::vector<float> ones(static_cast<size_t>(n), 1.f);
  outcome.z.assign(static_cast<size_t>(n), -1.f);
  auto bytes = static_cast<uint64_t>(n) * 4;
  EXPECT_OK(stint_session_bind_input(session, 0, ones.data(), bytes, 1, &n));
  EXPECT_OK(stint_session_bind_input(session, 1, ones.data(), bytes, 1, &n));
  EXPECT_OK(stint_session_bind_output(session, 0, outcome.z.data(), bytes));
  stint_run_options run = {};
  run.size = sizeof(run);
  run.deadline_ns = stint_clock_ns() + 10000000000;
  outcome.status = stint_session_run(session, &run);
  outcome.message = text(outcome.status, opened.model);
  stint_session_destroy(session);
  return outcome;
}

fb::Instruction constant(uint32_t dst, int64_t value) { return instruction(fb::Opcode_const_i64, dst, 0, 0, value); }

} // namespace

TEST(Program, IfAndElse) {
  for (int64_t n : {4, 5}) {
    // z = n even ? x : w
    Outcome outcome =
        runBody(n, {constant(6, 2), instruction(fb::Opcode_mod, 7, 0, 6), instruction(fb::Opcode_if_, 0, 7, 0),
                    instruction(fb::Opcode_copy, 2, 2, 3), instruction(fb::Opcode_else_, 0, 0, 0),
                    instruction(fb::Opcode_copy, 2, 2, 0), instruction(fb::Opcode_end_, 0, 0, 0)});
    EXPECT_OK(outcome.status);
    EXPECT_EQ(outcome.z[3], n % 2 ? 3.f : 1.f);
  }
}

TEST(Program, IfWithoutElse) {
  for (int64_t condition : {0, 1}) {
    Outcome outcome =
        runBody(4, {instruction(fb::Opcode_copy, 2, 2, 3), constant(6, condition), instruction(fb::Opcode_if_, 0, 6, 0),
                    instruction(fb::Opcode_copy, 2, 2, 0), instruction(fb::Opcode_end_, 0, 0, 0)});
    EXPECT_OK(outcome.status);
    EXPECT_EQ(outcome.z[3], condition ? 1.f : 3.f);
  }
}

TEST(Program, NestedLoops) {
  for (int64_t count : {0, 1, 5}) {
    // r8 counts the inner rounds: count * 3; a check compares.
    Outcome outcome =
        runBody(4, {constant(6, count), constant(8, 0), constant(9, 3), constant(3, 1),
                    instruction(fb::Opcode_loop, 7, 6, 0), instruction(fb::Opcode_loop, 10, 9, 0),
                    instruction(fb::Opcode_add, 8, 8, 3), instruction(fb::Opcode_end_, 0, 0, 0),
                    instruction(fb::Opcode_end_, 0, 0, 0), instruction(fb::Opcode_mul, 11, 6, 9),
                    instruction(fb::Opcode_equal, 11, 11, 8), instruction(fb::Opcode_check, 0, 11, 0, 0)});
    EXPECT_OK(outcome.status);
  }
}

TEST(Program, EndlessLoopMeetsItsDeadline) {
  auto plan = addPlan();
  plan->entries[0]->body = {constant(1, INT64_MAX), instruction(fb::Opcode_loop, 3, 1, 0),
                            instruction(fb::Opcode_end_, 0, 0, 0)};
  Opened opened(*plan, addSections());
  stint_session *session = nullptr;
  EXPECT_OK(stint_session_create(opened.model, nullptr, &session));
  int64_t n = 1;
  EXPECT_OK(stint_session_set_input_shape(session, 0, 1, &n));
  EXPECT_OK(stint_session_set_input_shape(session, 1, 1, &n));
  stint_run_options run = {};
  run.size = sizeof(run);
  run.deadline_ns = stint_clock_ns() + 20000000;
  EXPECT_EQ(stint_session_run(session, &run).code, STINT_STATUS_DEADLINE);
  stint_session_destroy(session);
}

TEST(Program, FailedCheckGivesThePlansMessage) {
  Outcome outcome = runBody(5, {constant(6, 0), instruction(fb::Opcode_check, 0, 6, 0, 0)});
  EXPECT_EQ(outcome.status.code, STINT_STATUS_SHAPE_MISMATCH);
  EXPECT_EQ(outcome.message, "n must be even (instruction 1)");
}

TEST(Program, KernelsNumberComesBackThroughLoad) {
  // Kernel "number" writes n to t; the body loads it and compares with n.
  Outcome outcome = runBody(4,
                            {instruction(fb::Opcode_dispatch, 0, 0, 0), instruction(fb::Opcode_load_i64, 6, 4, 0, 0),
                             instruction(fb::Opcode_equal, 7, 6, 0), instruction(fb::Opcode_check, 0, 7, 0, 0)},
                            [](fb::PlanT &plan) {
                              plan.entries[0]->dispatches[0]->kernel = 3;
                              plan.entries[0]->dispatches[0]->buffers = {4};
                              plan.entries[0]->dispatches[0]->grid = {3, 3, 3};
                            });
  EXPECT_OK(outcome.status);
}

TEST(Program, LoadsAndCopiesStayInside) {
  EXPECT_EQ(runBody(2, {instruction(fb::Opcode_load_i64, 6, 0, 0, 1)}).status.code, STINT_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(runBody(2, {constant(6, 12), instruction(fb::Opcode_copy, 6, 2, 0)}).status.code,
            STINT_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(runBody(2, {constant(6, -1), instruction(fb::Opcode_copy, 6, 2, 0)}).status.code,
            STINT_STATUS_OUT_OF_RANGE);
}

TEST(Program, SizesAboveTheLayoutAreRefused) {
  // t would have 1 TB.
  Outcome outcome = runBody(4, {constant(2, int64_t(1) << 40), instruction(fb::Opcode_dispatch, 0, 0, 0)});
  EXPECT_EQ(outcome.status.code, STINT_STATUS_OUT_OF_RANGE);
  // A symbol may not leave its bounds.
  outcome = runBody(4, {constant(0, 65)});
  EXPECT_EQ(outcome.status.code, STINT_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(outcome.message, "symbol \"n\" came to 65, the most is 64");
}

TEST(Program, BadGridsAreRefused) {
  for (int64_t tile : {int64_t(0), int64_t(-8), least})
    EXPECT_EQ(runBody(4, {constant(4, tile), instruction(fb::Opcode_dispatch, 0, 0, 0)}).status.code,
              STINT_STATUS_MALFORMED);
  Outcome outcome = runBody(4, {constant(3, most), instruction(fb::Opcode_dispatch, 0, 0, 0)}, [](fb::PlanT &plan) {
    plan.entries[0]->dispatches[0]->grid = {3, 3, 3};
    plan.entries[0]->dispatches[0]->tile = {4, 4, 4};
  });
  EXPECT_EQ(outcome.status.code, STINT_STATUS_MALFORMED);
}

TEST(Program, KernelFailureReachesTheCaller) {
  Outcome outcome = runBody(32, {instruction(fb::Opcode_dispatch, 0, 0, 0)}, [](fb::PlanT &plan) {
    plan.entries[0]->dispatches[0]->kernel = 1;
    plan.entries[0]->dispatches[0]->dims = {4}; // 8: workgroup 1
  });
  EXPECT_EQ(outcome.status.code, STINT_STATUS_KERNEL_FAILED);
  EXPECT_EQ(outcome.status.a, 7);
  EXPECT_EQ(outcome.message, "the kernel of dispatch \"fail\" returned 7");
}
