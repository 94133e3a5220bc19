// The linker puts the functions below between the runtime and the system
// (--wrap): they count allocations, and make the n-th one fail.
#include "plan_builder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <pthread.h>
#include <sys/mman.h>

using namespace stint;
using namespace stint::test;

static std::atomic<long> allocations{0};
static std::atomic<long> failAt{-1}; // this one from now fails

static bool fails() {
  ++allocations;
  return failAt >= 0 && failAt-- == 0;
}

extern "C" {
int __real_posix_memalign(void **, size_t, size_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
  return fails() ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  if (fails()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(at, size, protection, flags, fd, offset);
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *argument) {
  return fails() ? EAGAIN : __real_pthread_create(thread, attributes, entry, argument);
}
}

namespace {

// Everything an application does, to the end or to the first failure.
stint_status useEverything(const AlignedBytes &bytes) {
  stint_model *model = nullptr;
  stint_executor *executor = nullptr;
  stint_session *session = nullptr;
  stint_model_options options = {};
  options.size = sizeof(options);
  options.verify = STINT_VERIFY_FIRST_USE;
  stint_executor_options executor_options = {};
  executor_options.size = sizeof(executor_options);
  executor_options.threads = 3;
  int64_t n = 64;
  float x[64] = {}, z[64];
  stint_status status = stint_model_open_memory(bytes.data(), bytes.size(), &options, &model);
  if (status.code == STINT_OK)
    status = stint_executor_create(&executor_options, &executor);
  if (status.code == STINT_OK) {
    stint_session_options session_options = {};
    session_options.size = sizeof(session_options);
    session_options.executor = executor;
    status = stint_session_create(model, &session_options, &session);
  }
  if (status.code == STINT_OK) {
    EXPECT_OK(stint_session_bind_input(session, 0, x, 256, 1, &n));
    EXPECT_OK(stint_session_bind_input(session, 1, x, 256, 1, &n));
    EXPECT_OK(stint_session_bind_output(session, 0, z, 256));
    long before = allocations;
    for (int i = 0; i < 10; ++i)
      EXPECT_OK(stint_session_run(session, nullptr));
    n = 8;
    EXPECT_OK(stint_session_set_input_shape(session, 0, 1, &n));
    EXPECT_OK(stint_session_set_input_shape(session, 1, 1, &n));
    EXPECT_OK(stint_session_run(session, nullptr));
    EXPECT_EQ(allocations, before) << "a session allocated";
    EXPECT_EQ(z[63], 63.f);
  }
  stint_session_destroy(session);
  stint_executor_release(executor);
  stint_model_release(model);
  return status;
}

} // namespace

TEST(Allocation, NoneAfterASessionExists) {
  AlignedBytes bytes(makeFile(packPlan(*addPlan()), addSections()));
  long before = allocations;
  EXPECT_OK(useEverything(bytes));
  EXPECT_GT(allocations, before + 4); // the counter counts
}

TEST(Allocation, TheNthMayFail) {
  AlignedBytes bytes(makeFile(packPlan(*addPlan()), addSections()));
  int failures = 0;
  for (long n = 0;; ++n) {
    failAt = n;
    stint_status status = useEverything(bytes);
    bool reached = failAt < 0;
    failAt = -1;
    if (!reached) {
      EXPECT_OK(status);
      break;
    }
    // Code falls back from the sealed memory to another; all else is an error.
    if (status.code != STINT_OK) {
      EXPECT_TRUE(status.code == STINT_STATUS_OUT_OF_MEMORY || status.code == STINT_STATUS_IO) << text(status);
      ++failures;
    }
    ASSERT_LT(n, 1000);
  }
  EXPECT_GT(failures, 4);
}
