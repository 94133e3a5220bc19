// --bench: times runs of one session, after two that warm it up, and prints
// the distribution for a person or, with --json, for a script.
#include "Job.h"
#include "Json.h"
#include "Report.h"

#include <cstdlib>

namespace stint_run {

namespace {

enum { WarmUpRuns = 2 };

int compareTimes(const void *left, const void *right) {
  int64_t a = *static_cast<const int64_t *>(left);
  int64_t b = *static_cast<const int64_t *>(right);
  return a < b ? -1 : a > b;
}

const char *variantInUse(const stint_model *model) {
  for (uint32_t i = 0; i < stint_model_variant_count(model); ++i) {
    stint_variant_info info = {};
    info.size = sizeof info;
    if (!stint_model_variant(model, i, &info).code && info.chosen)
      return info.name;
  }
  return "none";
}

} // namespace

int bench(Job *job) {
  uint32_t runs = job->options->bench;
  int64_t *times = static_cast<int64_t *>(malloc(runs * sizeof(int64_t)));
  if (!times)
    return fail(ExitFailed, "out of memory");
  struct Release {
    int64_t *times;
    ~Release() { free(times); }
  } release = {times};
  for (int i = 0; i < WarmUpRuns; ++i)
    if (int code = runOnce(job))
      return code;
  double sum = 0;
  for (uint32_t i = 0; i < runs; ++i) {
    int64_t begin = stint_clock_ns();
    if (int code = runOnce(job))
      return code;
    times[i] = stint_clock_ns() - begin;
    sum += static_cast<double>(times[i]);
  }
  qsort(times, runs, sizeof(int64_t), compareTimes);
  auto quantile = [&](uint64_t percent) { return static_cast<long long>(times[(runs - 1) * percent / 100]); };
  double mean = sum / runs;
  uint32_t threads = stint_executor_threads(job->executor);
  const char *variant = variantInUse(job->model);
  if (!job->options->json) {
    say("%u runs on %u thread%s, variant %s: median %.3f ms, least %.3f, mean "
        "%.3f, p90 %.3f, p99 %.3f, most %.3f\n",
        runs, threads, threads == 1 ? "" : "s", variant, static_cast<double>(quantile(50)) / 1e6,
        static_cast<double>(times[0]) / 1e6, mean / 1e6, static_cast<double>(quantile(90)) / 1e6,
        static_cast<double>(quantile(99)) / 1e6, static_cast<double>(times[runs - 1]) / 1e6);
    return ExitDone;
  }
  char model[1024], name[256];
  say("{\"model\": %s, \"variant\": %s, \"threads\": %u, \"runs\": %u, ",
      jsonString(stint_model_name(job->model), model, sizeof model), jsonString(variant, name, sizeof name), threads,
      runs);
  say("\"median_ns\": %lld, \"min_ns\": %lld, \"mean_ns\": %.0f, ", quantile(50), static_cast<long long>(times[0]),
      mean);
  say("\"p90_ns\": %lld, \"p99_ns\": %lld, \"max_ns\": %lld}\n", quantile(90), quantile(99),
      static_cast<long long>(times[runs - 1]));
  return ExitDone;
}

} // namespace stint_run
