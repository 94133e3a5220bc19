// Executors: the same bits for any number of threads, stopping early, sharing,
// the application's own threads, and the floating-point state.
#include "plan_builder.h"

#include "runtime/threads/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace stint;
using namespace stint::test;

namespace {

struct Executor {
  explicit Executor(uint32_t threads) {
    stint_executor_options options = {};
    options.size = sizeof(options);
    options.threads = threads;
    EXPECT_OK(stint_executor_create(&options, &executor));
  }
  ~Executor() { stint_executor_release(executor); }
  stint_executor *executor = nullptr;
};

// x -> kernel -> z over 64 elements in workgroups of `tile`.
std::unique_ptr<fb::PlanT> unaryPlan(uint32_t kernel, int64_t tile) {
  auto plan = addPlan();
  fb::EntryT &entry = *plan->entries[0];
  entry.prologue[3] = instruction(fb::Opcode_const_i64, 4, 0, 0, tile);
  entry.dispatches[0]->kernel = kernel;
  entry.dispatches[0]->buffers = {0, 2};
  entry.body.resize(1);
  return plan;
}

std::vector<float> runUnary(stint_model *model, stint_executor *executor, const std::vector<float> &x, int times = 1) {
  stint_session_options options = {};
  options.size = sizeof(options);
  options.executor = executor;
  stint_session *session = nullptr;
  EXPECT_OK(stint_session_create(model, &options, &session));
  std::vector<float> z(x.size(), -1.f);
  auto n = static_cast<int64_t>(x.size());
  EXPECT_OK(stint_session_bind_input(session, 0, x.data(), x.size() * 4, 1, &n));
  EXPECT_OK(stint_session_bind_input(session, 1, x.data(), x.size() * 4, 1, &n));
  EXPECT_OK(stint_session_bind_output(session, 0, z.data(), z.size() * 4));
  for (int i = 0; i < times; ++i)
    EXPECT_OK(stint_session_run(session, nullptr));
  stint_session_destroy(session);
  return z;
}

std::vector<float> someNumbers() {
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i)) * 1000.f;
  return x;
}

} // namespace

TEST(Executor, AnyNumberOfThreadsGivesTheSameBits) {
  Opened opened(*unaryPlan(2, 3), addSections());
  std::vector<float> x = someNumbers();
  std::vector<float> expected = runUnary(opened.model, nullptr, x);
  for (uint32_t threads = 1; threads <= 8; ++threads) {
    Executor executor(threads);
    EXPECT_EQ(stint_executor_threads(executor.executor), threads);
    for (int round = 0; round < 20; ++round) {
      std::vector<float> z = runUnary(opened.model, executor.executor, x);
      ASSERT_EQ(memcmp(z.data(), expected.data(), z.size() * 4), 0) << threads;
    }
  }
}

TEST(Executor, EveryIndexRunsOnceManyTimes) {
  for (uint32_t threads : {2u, 3u, 8u}) {
    Executor executor(threads);
    for (int round = 0; round < 3000; ++round) {
      std::atomic<uint32_t> seen{0};
      uint32_t count = 1 + static_cast<uint32_t>(round) % threads;
      parallel(
          executor.executor, count,
          [](void *argument, uint32_t index) {
            static_cast<std::atomic<uint32_t> *>(argument)->fetch_add(1u << index);
          },
          &seen);
      ASSERT_EQ(seen.load(), (1u << count) - 1);
      if (round % 1000 == 0) // let them park
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

TEST(Executor, SessionsShareOneAtTheSameTime) {
  Opened opened(*unaryPlan(2, 3), addSections());
  std::vector<float> x = someNumbers();
  std::vector<float> expected = runUnary(opened.model, nullptr, x);
  Executor executor(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      std::vector<float> z = runUnary(opened.model, executor.executor, x, 50);
      wrong += memcmp(z.data(), expected.data(), z.size() * 4) != 0;
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Executor, TheApplicationsOwnThreads) {
  stint_executor_options options = {};
  options.size = sizeof(options);
  options.threads = 4;
  std::atomic<int> calls{0};
  options.parallel_for_user = &calls;
  options.parallel_for = [](void *user, uint32_t count, void (*task)(void *, uint32_t), void *argument) {
    ++*static_cast<std::atomic<int> *>(user);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i)
      threads.emplace_back(task, argument, i);
    for (std::thread &thread : threads)
      thread.join();
  };
  stint_executor *executor = nullptr;
  EXPECT_OK(stint_executor_create(&options, &executor));
  Opened opened(*unaryPlan(2, 3), addSections());
  std::vector<float> x = someNumbers();
  std::vector<float> z = runUnary(opened.model, executor, x);
  std::vector<float> expected = runUnary(opened.model, nullptr, x);
  EXPECT_EQ(memcmp(z.data(), expected.data(), z.size() * 4), 0);
  EXPECT_EQ(calls, 1);
  stint_executor_release(executor);
}

TEST(Executor, CancelStopsARunInProgress) {
  // A loop of a great many dispatches, cancelled from another thread.
  for (uint32_t threads : {1u, 4u}) {
    auto plan = unaryPlan(2, 3);
    fb::EntryT &entry = *plan->entries[0];
    entry.register_count = 8;
    entry.body = {instruction(fb::Opcode_const_i64, 6, 0, 0, INT64_MAX), instruction(fb::Opcode_loop, 7, 6, 0),
                  instruction(fb::Opcode_dispatch, 0, 0, 0), instruction(fb::Opcode_end_, 0, 0, 0)};
    Opened opened(*plan, addSections());
    Executor executor(threads);
    stint_session_options options = {};
    options.size = sizeof(options);
    options.executor = executor.executor;
    stint_session *session = nullptr;
    EXPECT_OK(stint_session_create(opened.model, &options, &session));
    int64_t n = 64;
    std::vector<float> x(64, 1.f);
    EXPECT_OK(stint_session_bind_input(session, 0, x.data(), 256, 1, &n));
    EXPECT_OK(stint_session_bind_input(session, 1, x.data(), 256, 1, &n));
    int32_t cancel = 0;
    stint_run_options run = {};
    run.size = sizeof(run);
    run.cancel = &cancel;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
    });
    EXPECT_EQ(stint_session_run(session, &run).code, STINT_STATUS_CANCELLED);
    canceller.join();
    run.cancel = nullptr;
    run.deadline_ns = stint_clock_ns() + 20000000;
    EXPECT_EQ(stint_session_run(session, &run).code, STINT_STATUS_DEADLINE);
    EXPECT_LT(stint_clock_ns() - run.deadline_ns, 1000000000);
    stint_session_destroy(session);
  }
}

#if defined(__x86_64__)
TEST(Executor, FloatingPointStateIsSetAndRestored) {
  Opened opened(*unaryPlan(4, 8), addSections());
  // Half the least normal number is a denormal: zero if they are flushed.
  std::vector<float> x(64, std::numeric_limits<float>::min());
  for (uint32_t threads : {1u, 4u}) {
    Executor executor(threads);
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040 | 0x2000); // flush, and round down
    std::vector<float> z = runUnary(opened.model, executor.executor, x);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after & 0xffc0, (before | 0x8040 | 0x2000) & 0xffc0);
    for (float value : z) {
      uint32_t bits;
      memcpy(&bits, &value, 4);
      ASSERT_EQ(bits, 0x00400000u);
    }
  }
}
#endif

TEST(Executor, BadOptionsAreRefused) {
  stint_executor *executor = nullptr;
  stint_executor_options options = {};
  options.size = sizeof(options);
  options.threads = 1000;
  EXPECT_EQ(stint_executor_create(&options, &executor).code, STINT_STATUS_INVALID_ARGUMENT);
  options.threads = 2;
  uint32_t cpus[2] = {0, 1000};
  options.cpus = cpus;
  options.cpu_count = 2;
  EXPECT_EQ(stint_executor_create(&options, &executor).code, STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(executor, nullptr);
  options.cpu_count = 1; // every worker on CPU 0
  EXPECT_OK(stint_executor_create(&options, &executor));
  stint_executor_release(executor);
}
