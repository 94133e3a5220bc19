// Many threads at once, for the thread sanitizer above all: sessions that share
// a model, opened, run, stopped and closed while others run.
#include "plan_builder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

using namespace stint::test;

namespace {

constexpr int callers = 4;

stint_executor *makeExecutor(uint32_t threads) {
  stint_executor_options options = {};
  options.size = sizeof(options);
  options.threads = threads;
  stint_executor *executor = nullptr;
  EXPECT_OK(stint_executor_create(&options, &executor));
  return executor;
}

stint_session *makeSession(stint_model *model, stint_executor *executor) {
  stint_session_options options = {};
  options.size = sizeof(options);
  options.executor = executor;
  stint_session *session = nullptr;
  EXPECT_OK(stint_session_create(model, &options, &session));
  return session;
}

// z = x + y + w over n elements; the numbers differ from caller to caller.
void runAdd(stint_session *session, int caller, int64_t n) {
  std::vector<float> x(static_cast<size_t>(n)), y(x.size()), z(x.size(), -1.f);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(caller);
    y[i] = static_cast<float>(2 * i);
  }
  EXPECT_OK(stint_session_bind_input(session, 0, x.data(), x.size() * 4, 1, &n));
  EXPECT_OK(stint_session_bind_input(session, 1, y.data(), y.size() * 4, 1, &n));
  EXPECT_OK(stint_session_bind_output(session, 0, z.data(), z.size() * 4));
  EXPECT_OK(stint_session_run(session, nullptr));
  for (size_t i = 0; i < z.size(); ++i)
    ASSERT_EQ(z[i], static_cast<float>(caller) + static_cast<float>(3 * i)) << i;
}

template <typename Work> void inThreads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back(work, i);
  for (std::thread &thread : threads)
    thread.join();
}

// A loop without an end over dispatches of `chain`.
std::unique_ptr<fb::PlanT> endlessPlan() {
  auto plan = addPlan();
  fb::EntryT &entry = *plan->entries[0];
  entry.dispatches[0]->kernel = 2;
  entry.dispatches[0]->buffers = {0, 2};
  entry.register_count = 8;
  entry.body = {instruction(fb::Opcode_const_i64, 6, 0, 0, INT64_MAX), instruction(fb::Opcode_loop, 7, 6, 0),
                instruction(fb::Opcode_dispatch, 0, 0, 0), instruction(fb::Opcode_end_, 0, 0, 0)};
  return plan;
}

} // namespace

// Weights are verified by whoever reads them first: all write the same marks.
TEST(Threads, SessionsComeAndGoOnOneModelAndExecutor) {
  stint_model_options options = {};
  options.size = sizeof(options);
  options.verify = STINT_VERIFY_FIRST_USE;
  Opened opened(*addPlan(), addSections(), &options);
  stint_executor *executor = makeExecutor(3);
  inThreads([&](int caller) {
    for (int round = 0; round < 30; ++round) {
      stint_session *session = makeSession(opened.model, executor);
      for (int64_t n : {1, 64, 9})
        runAdd(session, caller, n);
      stint_session_destroy(session);
    }
  });
  stint_executor_release(executor);
}

TEST(Threads, SessionsOnExecutorsOfTheirOwn) {
  Opened opened(*addPlan(), addSections());
  inThreads([&](int caller) {
    for (int round = 0; round < 10; ++round) {
      stint_executor *executor = makeExecutor(static_cast<uint32_t>(1 + (caller + round) % 3));
      stint_session *session = makeSession(opened.model, executor);
      stint_executor_release(executor); // the session keeps it
      for (int64_t n : {64, 33})
        runAdd(session, caller, n);
      stint_session_destroy(session);
    }
  });
}

// The last session takes the model with it, on whichever thread that is.
TEST(Threads, TheLastReferenceClosesTheModel) {
  AlignedBytes bytes(makeFile(packPlan(*addPlan()), addSections()));
  for (int round = 0; round < 20; ++round) {
    stint_model *model = nullptr;
    ASSERT_EQ(stint_model_open_memory(bytes.data(), bytes.size(), nullptr, &model).code, STINT_OK);
    stint_executor *executor = makeExecutor(2);
    stint_session *sessions[callers];
    for (stint_session *&session : sessions)
      session = makeSession(model, executor);
    stint_model_release(model);
    stint_executor_release(executor);
    inThreads([&](int caller) {
      runAdd(sessions[caller], caller, 64);
      stint_session_destroy(sessions[caller]);
    });
  }
}

// One is cancelled and one meets its deadline while two run on, all on one
// executor.
TEST(Threads, StoppingOneDoesNotDisturbOthers) {
  Opened endless(*endlessPlan(), addSections()), add(*addPlan(), addSections());
  stint_executor *executor = makeExecutor(3);
  int32_t cancel = 0;
  std::atomic<int> stopped{0};
  auto endlessly = [&](const stint_run_options &run) {
    stint_session *session = makeSession(endless.model, executor);
    std::vector<float> x(64, 1.f);
    int64_t n = 64;
    EXPECT_OK(stint_session_bind_input(session, 0, x.data(), 256, 1, &n));
    EXPECT_OK(stint_session_bind_input(session, 1, x.data(), 256, 1, &n));
    int32_t code = stint_session_run(session, &run).code;
    stint_session_destroy(session);
    ++stopped;
    return code;
  };
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
  });
  inThreads([&](int caller) {
    stint_run_options run = {};
    run.size = sizeof(run);
    if (caller == 0) {
      run.cancel = &cancel;
      EXPECT_EQ(endlessly(run), STINT_STATUS_CANCELLED);
    } else if (caller == 1) {
      run.deadline_ns = stint_clock_ns() + 30000000;
      EXPECT_EQ(endlessly(run), STINT_STATUS_DEADLINE);
    } else {
      stint_session *session = makeSession(add.model, executor);
      do
        runAdd(session, caller, 64);
      while (stopped < 2);
      stint_session_destroy(session);
    }
  });
  canceller.join();
  stint_executor_release(executor);
}

// Models are opened and closed while others run.
TEST(Threads, OpeningAndClosing) {
  AlignedBytes bytes(makeFile(packPlan(*addPlan()), addSections()));
  inThreads([&](int caller) {
    for (int round = 0; round < 10; ++round) {
      stint_model *model = nullptr;
      ASSERT_EQ(stint_model_open_memory(bytes.data(), bytes.size(), nullptr, &model).code, STINT_OK);
      stint_session *session = makeSession(model, nullptr);
      stint_model_release(model);
      runAdd(session, caller, 17);
      stint_session_destroy(session);
    }
  });
}
