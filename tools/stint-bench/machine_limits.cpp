// machine-limits: what this machine can do at best, as JSON: multiply-adds of f32
// (GFLOP/s; an FMA counts as two) and reading memory (GB/s), on one thread and on
// all that this process may use.
//
// usage: machine-limits [MILLISECONDS]   (for each of the four figures; 200)
//
// FMA: independent chains of vector FMAs in registers, as many as hide the
// latency. Reading: sums of a buffer much larger than the caches. Both keep the
// best of several short rounds, since other work on the machine only takes away.
// What a kernel reaches is to be compared with a figure of the same minute.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

#if defined(__clang__)
#pragma clang fp contract(fast)
#endif

// A register that the compiler must not look into.
#if defined(__x86_64__)
#define OPAQUE(v) __asm__ volatile("" : "+x"(v))
#else
#define OPAQUE(v) __asm__ volatile("" : "+w"(v))
#endif

// 12 chains: latency 4 times 2 or 3 units. A macro, not a template: each width
// is written inside a function that has the features. `a * x + y` contracts to
// FMA where there is one.
#define FMA_FUNCTION(name, bytes, features)                                                                            \
  features double name(int64_t steps) {                                                                                \
    typedef float V __attribute__((vector_size(bytes)));                                                               \
    V x = V{} + 0.999f, y = V{} + 0.001f;                                                                              \
    OPAQUE(x);                                                                                                         \
    OPAQUE(y);                                                                                                         \
    V a0 = {}, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0, a8 = a0, a9 = a0, aa = a0, ab = a0;      \
    for (int64_t i = 0; i < steps; ++i) {                                                                              \
      a0 = a0 * x + y, a1 = a1 * x + y, a2 = a2 * x + y, a3 = a3 * x + y;                                              \
      a4 = a4 * x + y, a5 = a5 * x + y, a6 = a6 * x + y, a7 = a7 * x + y;                                              \
      a8 = a8 * x + y, a9 = a9 * x + y, aa = aa * x + y, ab = ab * x + y;                                              \
      OPAQUE(a0);                                                                                                      \
      OPAQUE(a1);                                                                                                      \
      OPAQUE(a2);                                                                                                      \
      OPAQUE(a3);                                                                                                      \
      OPAQUE(a4);                                                                                                      \
      OPAQUE(a5);                                                                                                      \
      OPAQUE(a6);                                                                                                      \
      OPAQUE(a7);                                                                                                      \
      OPAQUE(a8);                                                                                                      \
      OPAQUE(a9);                                                                                                      \
      OPAQUE(aa);                                                                                                      \
      OPAQUE(ab);                                                                                                      \
    }                                                                                                                  \
    return 2.0 * 12 * (bytes / 4) * static_cast<double>(steps);                                                        \
  }

#if defined(__x86_64__)
FMA_FUNCTION(fma512, 64, __attribute__((target("avx512f"))))
FMA_FUNCTION(fma256, 32, __attribute__((target("avx2,fma"))))
#endif
FMA_FUNCTION(fma128, 16, )

typedef double (*FmaFunction)(int64_t);

FmaFunction chooseFma() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return fma512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return fma256;
#endif
  return fma128;
}

typedef uint64_t Words __attribute__((vector_size(16)));

// Reads `count` vectors; the sum keeps the loads. Wide enough for any machine:
// the memory is the limit, not the instructions.
uint64_t readAll(const Words *data, size_t count) {
  Words s0 = {}, s1 = {}, s2 = {}, s3 = {};
  for (size_t i = 0; i + 4 <= count; i += 4)
    s0 += data[i], s1 += data[i + 1], s2 += data[i + 2], s3 += data[i + 3];
  s0 += s1 + s2 + s3;
  return s0[0] + s0[1];
}

// Runs work(thread) on `threads` threads at once, again and again until
// `milliseconds` have passed; the best rate of a round, in units a second. The
// work returns how many units it did.
template <typename Work> double bestRate(unsigned threads, int milliseconds, Work work) {
  double best = 0;
  Clock::time_point end = Clock::now() + std::chrono::milliseconds(milliseconds);
  do {
    std::atomic<unsigned> ready{0};
    std::atomic<bool> go{false};
    std::vector<double> units(threads);
    std::vector<std::thread> others;
    auto run = [&](unsigned thread) {
      ++ready;
      while (!go.load())
        std::this_thread::yield();
      units[thread] = work(thread);
    };
    for (unsigned thread = 1; thread < threads; ++thread)
      others.emplace_back(run, thread);
    while (ready.load() + 1 < threads)
      std::this_thread::yield();
    Clock::time_point begin = Clock::now();
    go.store(true);
    units[0] = work(0);
    for (std::thread &other : others)
      other.join();
    double seconds = secondsSince(begin), sum = 0;
    for (double part : units)
      sum += part;
    if (sum / seconds > best)
      best = sum / seconds;
  } while (Clock::now() < end);
  return best;
}

unsigned usableThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return static_cast<unsigned>(CPU_COUNT(&set));
  return std::thread::hardware_concurrency();
}

} // namespace

int main(int count, char **arguments) {
  int milliseconds = count > 1 ? atoi(arguments[1]) : 200;
  if (count > 2 || milliseconds < 1 || milliseconds > 60000) {
    fprintf(stderr, "usage: machine-limits [MILLISECONDS]   (1 to 60000 for each figure; 200)\n");
    return 2;
  }
  unsigned threads = usableThreads();
  FmaFunction fma = chooseFma();
  auto flops = [&](unsigned) { return fma(400000); };
  double oneFma = bestRate(1, milliseconds, flops), allFma = bestRate(threads, milliseconds, flops);

  const size_t bytes = size_t(256) << 20;
  Words *buffer = static_cast<Words *>(malloc(bytes));
  if (!buffer) {
    fprintf(stderr, "machine-limits: out of memory\n");
    return 1;
  }
  memset(buffer, 1, bytes);
  auto reading = [&](unsigned among) {
    return [=](unsigned thread) {
      size_t part = bytes / sizeof(Words) / among;
      volatile uint64_t keep = readAll(buffer + part * thread, part);
      (void)keep;
      return static_cast<double>(part * sizeof(Words));
    };
  };
  double oneRead = bestRate(1, milliseconds, reading(1)), allRead = bestRate(threads, milliseconds, reading(threads));
  free(buffer);
  printf("{\"threads\": %u, \"fma_gflops_one\": %.1f, \"fma_gflops_all\": %.1f, \"read_gb_s_one\": %.2f, "
         "\"read_gb_s_all\": %.2f}\n",
         threads, oneFma * 1e-9, allFma * 1e-9, oneRead * 1e-9, allRead * 1e-9);
  return 0;
}
