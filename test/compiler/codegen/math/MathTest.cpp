// Every function against the C library, in the next wider type: a sweep of
// f32 bit patterns a prime apart, points of f64, special values. Scalars and
// vectors must agree to the bit.
// STINT_MATH_STRIDE=1 takes all f32 there are, STINT_MATH_POINTS=N more f64.
#include "test/compiler/codegen/harness/Execute.h"
#include "test/compiler/codegen/harness/Jobs.h"
#include "test/compiler/codegen/math/Kernels.h"
#include "test/compiler/codegen/math/Points.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <thread>

using namespace stint;
using namespace stint::test;

namespace {

constexpr size_t kChunk = 1 << 15;

/// A variant that this machine runs, its kernels in executable memory.
struct Native {
  target::Variant variant;
  Kernels kernels;
  const char *code;

  template <typename T>
  void run(const Function &function, int64_t width, std::vector<T> &x, std::vector<T> &y, std::vector<T> &out) const {
    std::vector<stint_kernel_buffer> buffers = {{x.data(), x.size() * sizeof(T)}};
    if (function.arguments == 2)
      buffers.push_back({y.data(), y.size() * sizeof(T)});
    buffers.push_back({out.data(), out.size() * sizeof(T)});
    stint_dispatch dispatch = {buffers.data(), nullptr, static_cast<uint32_t>(buffers.size()), 0};
    stint_workgroup workgroup = {{0, 0, 0}, {static_cast<int64_t>(x.size()), 1, 1}, nullptr, 0};
    uint64_t entry = kernels.entries.at(kernelName(function, Traits<T>::is32, width));
    reinterpret_cast<stint_kernel>(const_cast<char *>(code) + entry)(&dispatch, &workgroup);
  }
};

/// Compiled once for all tests.
const std::vector<Native> &natives() {
  static const std::vector<Native> all = [] {
    std::vector<Native> list;
    for (const target::Variant &variant : target::variantsOf("host"))
      if (whyNotRunnable(variant).empty()) {
        Native native{variant, compileKernels(variant), nullptr};
        native.code = mapCode(native.kernels.code.bytes.data(), native.kernels.code.bytes.size());
        list.push_back(std::move(native));
      }
    return list;
  }();
  return all;
}

/// The worst of many points.
template <typename T> struct Worst {
  double distance = -1;
  T x = 0, y = 0, got = 0;
  void take(const Worst &other) {
    if (other.distance > distance)
      *this = other;
  }
};

/// What a chunk of points came to, per native variant.
template <typename T> struct Found {
  std::vector<Worst<T>> worst;
  std::vector<std::string> differences; // between widths
};

template <typename T> std::string text(T value) {
  char buffer[64];
  snprintf(buffer, sizeof buffer, "%.17g (%a)", static_cast<double>(value), static_cast<double>(value));
  return buffer;
}

/// Runs the points on every variant. x (and y) are multiples of all widths.
template <typename T> void measure(const Function &function, std::vector<T> &x, std::vector<T> &y, Found<T> &found) {
  std::vector<typename Traits<T>::Truth> truth(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    truth[i] = Traits<T>::truth(function, x[i], y[i]);
  found.worst.resize(natives().size());
  std::vector<T> scalar(x.size()), wide(x.size());
  for (size_t n = 0; n < natives().size(); ++n) {
    const Native &native = natives()[n];
    native.run(function, 1, x, y, scalar);
    for (int64_t width : kWidths) {
      if (width == 1)
        continue;
      native.run(function, width, x, y, wide);
      for (size_t i = 0; i < x.size(); ++i)
        if (!same(scalar[i], wide[i]) && found.differences.size() < 3)
          found.differences.push_back(native.variant.name + " at " + text(x[i]) + ": " + text(scalar[i]) + ", width " +
                                      std::to_string(width) + ": " + text(wide[i]));
    }
    for (size_t i = 0; i < x.size(); ++i) {
      double d = distance<T>(scalar[i], truth[i]);
      if (d > found.worst[n].distance)
        found.worst[n] = {d, x[i], y[i], scalar[i]};
    }
  }
}

/// Measures points 0 to count - 1 on all processors.
template <typename T>
void sweep(const Function &function, uint64_t count, llvm::function_ref<Point<T>(uint64_t)> point) {
  ASSERT_FALSE(natives().empty());
  count = (count + 63) / 64 * 64;
  Found<T> all;
  all.worst.resize(natives().size());
  uint64_t next = 0;
  std::mutex mutex;
  auto work = [&] {
    Found<T> mine;
    std::vector<T> x, y;
    while (true) {
      uint64_t begin, end;
      {
        std::lock_guard<std::mutex> lock(mutex);
        begin = next, end = next = std::min(count, next + kChunk);
      }
      if (begin == end)
        break;
      x.clear(), y.clear();
      for (uint64_t i = begin; i < end; ++i) {
        Point<T> p = point(i);
        x.push_back(p.x), y.push_back(p.y);
      }
      Found<T> found;
      measure(function, x, y, found);
      std::lock_guard<std::mutex> lock(mutex);
      for (size_t n = 0; n < all.worst.size(); ++n)
        all.worst[n].take(found.worst[n]);
      all.differences.insert(all.differences.end(), found.differences.begin(), found.differences.end());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  for (size_t n = 0; n < all.worst.size(); ++n) {
    const Worst<T> &worst = all.worst[n];
    printf("  %s %s %s: %.3f ulp at %s", function.name, Traits<T>::is32 ? "f32" : "f64",
           natives()[n].variant.name.c_str(), worst.distance, text(worst.x).c_str());
    if (function.arguments == 2)
      printf(", %s", text(worst.y).c_str());
    printf("\n");
    EXPECT_LE(worst.distance, Traits<T>::bound(function)) << "result " << text(worst.got);
  }
  for (size_t i = 0; i < std::min<size_t>(3, all.differences.size()); ++i)
    ADD_FAILURE() << all.differences[i];
}

uint64_t setting(const char *name, uint64_t usual) {
  const char *text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : usual;
}

struct Math : testing::TestWithParam<Function> {};

TEST_P(Math, SingleBits) {
  const Function &function = GetParam();
  uint64_t step = setting("STINT_MATH_STRIDE", 4001);
  if (function.arguments == 1)
    sweep<float>(function, (uint64_t(1) << 32) / step + 1,
                 [step](uint64_t i) { return Point<float>{fromBits<float>(static_cast<uint32_t>(i * step)), 0}; });
  else if (function.name == std::string("pow"))
    sweep<float>(function, 500000, powPoint<float>);
  else
    sweep<float>(function, 300000, fmodPoint<float>);
}

TEST_P(Math, DoublePoints) {
  const Function &function = GetParam();
  uint64_t points = setting("STINT_MATH_POINTS", 250000);
  if (function.arguments == 1)
    sweep<double>(function, points, [](uint64_t i) { return Point<double>{anyArgument<double>(i), 0}; });
  else if (function.name == std::string("pow"))
    sweep<double>(function, points, powPoint<double>);
  else
    sweep<double>(function, points / 2, fmodPoint<double>);
}

template <typename T> void special(const Function &function) {
  std::vector<T> values = specialValues<T>();
  uint64_t n = values.size();
  if (function.arguments == 1)
    sweep<T>(function, n, [&](uint64_t i) { return Point<T>{values[i % n], 0}; });
  else
    sweep<T>(function, n * n, [&](uint64_t i) { return Point<T>{values[i / n % n], values[i % n]}; });
}

TEST_P(Math, SpecialSingles) { special<float>(GetParam()); }
TEST_P(Math, SpecialDoubles) { special<double>(GetParam()); }

struct Angles : testing::TestWithParam<Function> {};

TEST_P(Angles, NearQuadrants) {
  sweep<float>(GetParam(), 50000, [](uint64_t i) { return Point<float>{nearQuadrant<float>(i), 0}; });
  sweep<double>(GetParam(), 50000, [](uint64_t i) { return Point<double>{nearQuadrant<double>(i), 0}; });
}

std::vector<Function> named(llvm::ArrayRef<llvm::StringRef> names) {
  std::vector<Function> found;
  for (const Function &function : functions())
    if (llvm::is_contained(names, function.name))
      found.push_back(function);
  return found;
}

/// A job (Execute.h) that runs one kernel on the points.
template <typename T>
std::vector<char> makeJob(uint64_t entry, const Function &function, llvm::ArrayRef<T> x, llvm::ArrayRef<T> y) {
  uint64_t bytes = x.size() * sizeof(T);
  std::vector<char> job;
  auto append = [&](const auto *data, size_t count) {
    const char *from = reinterpret_cast<const char *>(data);
    job.insert(job.end(), from, from + count * sizeof *data);
  };
  uint32_t buffers = function.arguments + 1;
  JobHeader header = {0, entry, 0, 1, buffers, 0, kOdd, 0xFF};
  append(&header, 1);
  for (uint32_t i = 0; i < buffers; ++i) {
    JobBuffer buffer = {bytes, sizeof(T), i == function.arguments, -1};
    append(&buffer, 1);
  }
  JobBox box = {{0, 0, 0}, {static_cast<int64_t>(x.size()), 1, 1}};
  append(&box, 1);
  append(x.data(), x.size());
  if (function.arguments == 2)
    append(y.data(), y.size());
  header.jobBytes = job.size();
  memcpy(job.data(), &header, sizeof header);
  return job;
}

/// Runs all functions of one type on a variant of another machine.
template <typename T> void emulate(const target::Variant &variant, const Kernels &kernels) {
  constexpr uint64_t kPoints = 1 << 12;
  std::vector<std::vector<char>> jobs;
  std::vector<std::vector<Point<T>>> points;
  for (const Function &function : functions()) {
    std::vector<Point<T>> of;
    std::vector<T> special = specialValues<T>(), x, y;
    for (uint64_t i = 0; i < kPoints; ++i)
      if (function.arguments == 1)
        of.push_back({i < special.size() ? special[i] : anyMagnitude<T>(i), 0});
      else
        of.push_back(function.name == std::string("pow") ? powPoint<T>(i) : fmodPoint<T>(i));
    for (const Point<T> &point : of)
      x.push_back(point.x), y.push_back(point.y);
    for (int64_t width : kWidths)
      jobs.push_back(makeJob<T>(kernels.entries.at(kernelName(function, Traits<T>::is32, width)), function, x, y));
    points.push_back(std::move(of));
  }
  std::string error;
  std::vector<std::vector<char>> outcomes = runJobs(kernels.code, jobs, variant, error);
  ASSERT_EQ(error, "");
  constexpr size_t widths = std::size(kWidths);
  for (size_t f = 0; f < functions().size(); ++f) {
    const Function &function = functions()[f];
    double worst = 0;
    for (size_t w = 0; w < widths; ++w) {
      const std::vector<char> &outcome = outcomes[f * widths + w], &first = outcomes[f * widths];
      ASSERT_EQ(outcome.size(), sizeof(JobOutcome) + kPoints * sizeof(T));
      EXPECT_EQ(reinterpret_cast<const JobOutcome *>(outcome.data())->status, kJobRan) << function.name;
      auto *got = reinterpret_cast<const T *>(outcome.data() + sizeof(JobOutcome));
      auto *scalar = reinterpret_cast<const T *>(first.data() + sizeof(JobOutcome));
      for (uint64_t i = 0; i < kPoints; ++i) {
        Point<T> p = points[f][i];
        double d = distance<T>(got[i], Traits<T>::truth(function, p.x, p.y));
        worst = std::max(worst, d);
        EXPECT_LE(d, Traits<T>::bound(function)) << function.name << " at " << text(p.x) << ", " << text(p.y);
        EXPECT_TRUE(same(got[i], scalar[i])) << function.name << " at " << text(p.x) << " in width " << kWidths[w];
        if (testing::Test::HasFailure())
          return;
      }
    }
    printf("  %s %s %s: %.3f ulp\n", function.name, Traits<T>::is32 ? "f32" : "f64", variant.name.c_str(), worst);
  }
}

/// Where a variant cannot be run, its kernels are at least compiled and linked.
TEST(MathTest, OtherVariants) {
  for (const char *name : {"v4", "neon"}) {
    target::Variant variant = llvm::cantFail(target::lookup(name));
    Kernels kernels = compileKernels(variant);
    EXPECT_FALSE(kernels.code.bytes.empty());
    std::string why = whyNotRunnable(variant);
    if (!why.empty()) {
      printf("  %s compiled, not run: %s\n", name, why.c_str());
      continue;
    }
    emulate<float>(variant, kernels);
    emulate<double>(variant, kernels);
  }
}

std::string nameOf(const testing::TestParamInfo<Function> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Math, testing::ValuesIn(functions()), nameOf);
INSTANTIATE_TEST_SUITE_P(All, Angles, testing::ValuesIn(named({"sin", "cos", "tan"})), nameOf);

} // namespace
