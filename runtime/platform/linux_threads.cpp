// Linux: threads, sleeping and waking, the clock, how many CPUs there are.
#define _GNU_SOURCE 1
#include "runtime/platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// From linux/futex.h, which musl doesn't have.
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

namespace stint::platform {

static_assert(sizeof(pthread_t) <= sizeof(uint64_t), "fits a handle");

Status startThread(Thread *thread, void *(*entry)(void *), void *argument) {
  pthread_attr_t attributes;
  pthread_t handle;
  int error = pthread_attr_init(&attributes);
  if (error == 0) {
    pthread_attr_setstacksize(&attributes, threadStack);
    error = pthread_create(&handle, &attributes, entry, argument);
    pthread_attr_destroy(&attributes);
    if (error == EINVAL) // thread-local storage of the program is too large
      error = pthread_create(&handle, nullptr, entry, argument);
  }
  if (error != 0)
    return failure(STINT_STATUS_OUT_OF_MEMORY, "cannot start a thread (errno %a)", error);
  thread->handle = 0;
  memcpy(&thread->handle, &handle, sizeof(handle));
  return success();
}

void joinThread(Thread *thread) {
  pthread_t handle;
  memcpy(&handle, &thread->handle, sizeof(handle));
  pthread_join(handle, nullptr);
}

Status pinCaller(uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu < CPU_SETSIZE)
    CPU_SET(cpu, &set);
  if (cpu >= CPU_SETSIZE || sched_setaffinity(0, sizeof(set), &set) != 0)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "this process may not run on CPU %a", cpu);
  return success();
}

void park(std::atomic<uint32_t> *word, uint32_t expected) {
  static_assert(sizeof(std::atomic<uint32_t>) == 4, "a futex");
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void unpark(std::atomic<uint32_t> *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, nullptr, nullptr, 0);
}

int64_t clock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

namespace {

// Reads the start of a small file as a string; false if there is none.
bool readText(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t count = read(fd, text, size - 1);
  close(fd);
  text[count > 0 ? count : 0] = 0;
  return count > 0;
}

// A decimal number at *text, which is moved past it; -1 if there is none.
int64_t number(const char **text) {
  while (**text == ' ')
    ++*text;
  if (**text < '0' || **text > '9')
    return -1;
  int64_t value = 0;
  for (; **text >= '0' && **text <= '9'; ++*text)
    if (value < INT64_MAX / 10 - 9)
      value = value * 10 + (**text - '0');
  return value;
}

void lower(uint32_t *limit, int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0)
    return;
  int64_t cpus = (quota + period - 1) / period;
  if (cpus < *limit)
    *limit = static_cast<uint32_t>(cpus);
}

// cpu.max of the cgroup at `path` (v2) and of every one above it.
void applyQuotas(char *path, uint32_t *limit) {
  constexpr char root[] = "/sys/fs/cgroup";
  for (;;) {
    char file[512], text[64];
    size_t rootSize = sizeof(root) - 1, size = strlen(path);
    if (rootSize + size + sizeof("/cpu.max") > sizeof(file))
      return;
    memcpy(file, root, rootSize);
    memcpy(file + rootSize, path, size);
    memcpy(file + rootSize + size, "/cpu.max", sizeof("/cpu.max"));
    if (readText(file, text, sizeof(text))) {
      const char *at = text;
      int64_t quota = number(&at); // or "max"
      if (quota >= 0)
        lower(limit, quota, number(&at));
    }
    char *slash = strrchr(path, '/');
    if (!slash)
      return;
    *slash = 0;
  }
}

} // namespace

uint32_t usableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint32_t limit = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    int count = CPU_COUNT(&set);
    limit = count > 1 ? static_cast<uint32_t>(count) : 1;
  }
  char text[512];
  if (readText("/proc/self/cgroup", text, sizeof(text))) {
    char *path = strstr(text, "0::/");
    if (path) {
      path += 3;
      path[strcspn(path, "\n")] = 0;
      if (path[1] == 0)
        path[0] = 0;
      applyQuotas(path, &limit);
    }
  }
  char quota[64], period[64];
  if (readText("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota, sizeof(quota)) &&
      readText("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period, sizeof(period))) {
    const char *first = quota, *second = period;
    lower(&limit, number(&first), number(&second));
  }
  return limit;
}

} // namespace stint::platform
