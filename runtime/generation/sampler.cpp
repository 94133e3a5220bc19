// Sampling: penalties while candidates are collected, then a heap from which
// the likeliest are taken only as far as top-k, top-p and min-p need them.
#include "runtime/generation/sampler.h"

#include "runtime/base/options.h"
#include "runtime/generation/random.h"

#include <string.h>
#include <utility>

using namespace stint;

namespace {

constexpr float largest = 3.402823466e38f;
constexpr uint32_t seen = 0x80000000; // in a count: the token is in the history

// The bits, as the comparison with a NaN may be optimised away by flags of an
// application's build.
bool isNumber(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return (bits >> 52 & 0x7ff) != 0x7ff;
}

// The likelier of two comes first; of equals the one with the lower id.
bool before(const Sampler::Candidate &a, const Sampler::Candidate &b) {
  return a.value > b.value || (a.value == b.value && a.id < b.id);
}

void siftDown(Sampler::Candidate *heap, uint32_t size, uint32_t at) {
  Sampler::Candidate moved = heap[at];
  for (uint64_t child; (child = 2 * uint64_t(at) + 1) < size; at = uint32_t(child)) {
    if (child + 1 < size && before(heap[child + 1], heap[child]))
      ++child;
    if (!before(heap[child], moved))
      break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

float penalised(float logit, uint32_t count, const stint_sampling &sampling) {
  double value = logit;
  value = value > 0 ? value / sampling.repetition_penalty : value * sampling.repetition_penalty;
  if (uint32_t times = count & ~seen)
    value -= sampling.presence_penalty + sampling.frequency_penalty * times;
  return value > largest ? largest : float(value);
}

bool penalises(const stint_sampling &sampling) {
  return sampling.repetition_penalty != 1 || sampling.presence_penalty != 0 || sampling.frequency_penalty != 0;
}

Status refused(const char *text) { return failure(STINT_STATUS_INVALID_ARGUMENT, text); }

} // namespace

double stint::expOfNegative(double x) {
  if (!(x > -700))
    return 0;
  // x = k ln 2 + r, |r| <= ln 2 / 2; ln 2 in two parts, the first of 32 bits.
  auto k = int64_t(x * 1.4426950408889634 - 0.5);
  double r = x - double(k) * 6.93147180369123816490e-01 - double(k) * 1.90821492927058770002e-10;
  double sum = 1;
  for (int i = 14; i > 0; --i) // Taylor; a division rounds the same everywhere
    sum = 1 + sum * r / i;
  uint64_t bits = uint64_t(1023 + k) << 52;
  double scale;
  memcpy(&scale, &bits, sizeof(scale));
  return sum * scale;
}

Status stint::readSampling(const stint_sampling *given, uint32_t vocabulary, stint_sampling *sampling) {
  STINT_TRY(readOptions(given, sampling));
  const double values[] = {sampling->temperature,
                           sampling->top_p,
                           sampling->min_p,
                           sampling->repetition_penalty,
                           sampling->presence_penalty,
                           sampling->frequency_penalty};
  const char *const texts[] = {"temperature is not finite",
                               "top_p is not finite",
                               "min_p is not finite",
                               "repetition_penalty is not finite",
                               "presence_penalty is not finite",
                               "frequency_penalty is not finite"};
  for (int i = 0; i < 6; ++i)
    if (!isNumber(values[i]))
      return refused(texts[i]);
  if (sampling->temperature < 0)
    return refused("temperature is negative");
  if (sampling->top_p < 0 || sampling->top_p > 1)
    return refused("top_p is not in (0, 1]");
  if (sampling->min_p < 0 || sampling->min_p > 1)
    return refused("min_p is not in [0, 1]");
  if (sampling->repetition_penalty < 0)
    return refused("repetition_penalty is negative");
  const double most = 1e6; // keeps sums of penalties in range
  if (sampling->presence_penalty < -most || sampling->presence_penalty > most)
    return refused("presence_penalty is not in [-1000000, 1000000]");
  if (sampling->frequency_penalty < -most || sampling->frequency_penalty > most)
    return refused("frequency_penalty is not in [-1000000, 1000000]");
  if (sampling->top_p == 0)
    sampling->top_p = 1;
  if (sampling->repetition_penalty == 0)
    sampling->repetition_penalty = 1;
  if (sampling->top_k >= vocabulary)
    sampling->top_k = 0;
  return success();
}

Status Sampler::collect(const stint_sampling &sampling, const float *logits) {
  bool penalties = penalises(sampling);
  size = 0;
  for (uint32_t id = 0; id < vocabulary; ++id) {
    float value = logits[id];
    if (!isNumber(value) && !(value < 0))
      return failure(STINT_STATUS_KERNEL_FAILED, "the model's logit of token %a is not a number", id);
    if (sampling.allowed && !(sampling.allowed[id / 32] >> id % 32 & 1))
      continue;
    if (penalties && counts[id])
      value = penalised(value, counts[id], sampling);
    candidates[size++] = {value, id};
  }
  return success();
}

Status Sampler::choose(const stint_sampling &sampling, const float *logits, Span<const uint32_t> history,
                       uint32_t outputStart, uint32_t *token) {
  bool penalties = penalises(sampling);
  for (uint32_t i = 0; penalties && i < history.size; ++i)
    counts[history[i]] = (counts[history[i]] | seen) + (i >= outputStart);
  Status status = collect(sampling, logits);
  for (uint32_t i = 0; penalties && i < history.size; ++i)
    counts[history[i]] = 0;
  STINT_TRY(status);

  Candidate best = {-largest, 0};
  bool any = false;
  for (uint32_t i = 0; i < size; ++i)
    if (isNumber(candidates[i].value) && (!any || before(candidates[i], best))) {
      best = candidates[i];
      any = true;
    }
  if (!any)
    return failure(STINT_STATUS_OUT_OF_RANGE, "no token may follow: all %a are ruled out", vocabulary);
  *token = best.id;
  if (sampling.temperature == 0 || sampling.top_k == 1)
    return success();
  double draw = uniformDraw(sampling.seed, sampling.stream, history.size);
  bool all = sampling.top_k == 0 && sampling.top_p == 1 && sampling.min_p == 0;
  *token = all ? drawFromAll(sampling, best.value, draw) : drawFromLikeliest(sampling, best.value, draw);
  return success();
}

uint32_t Sampler::drawFromAll(const stint_sampling &sampling, float most, double draw) {
  double total = 0, sum = 0;
  uint32_t last = 0;
  for (uint32_t i = 0; i < size; ++i) {
    candidates[i].value = float(expOfNegative((double(candidates[i].value) - most) / sampling.temperature));
    total += candidates[i].value;
    if (candidates[i].value > 0)
      last = i;
  }
  for (uint32_t i = 0; i < last; ++i) {
    sum += candidates[i].value;
    if (draw * total < sum)
      return candidates[i].id;
  }
  return candidates[last].id;
}

uint32_t Sampler::drawFromLikeliest(const stint_sampling &sampling, float most, double draw) {
  auto weight = [&](const Candidate &candidate) {
    return expOfNegative((double(candidate.value) - most) / sampling.temperature);
  };
  for (uint32_t i = size / 2; i-- > 0;)
    siftDown(candidates, size, i);
  // The heap gives the likeliest; what was taken lies behind it, from the end on.
  uint32_t heap = size;
  auto taken = [&](uint32_t index) -> Candidate & { return candidates[size - 1 - index]; };
  auto take = [&] {
    std::swap(candidates[0], candidates[--heap]);
    siftDown(candidates, heap, 0);
  };
  uint32_t limit = sampling.top_k && sampling.top_k < size ? sampling.top_k : size;
  double total = 0;
  if (sampling.top_p < 1 && limit == size)
    for (uint32_t i = 0; i < size; ++i)
      total += weight(candidates[i]);
  if (limit < size)
    while (size - heap < limit) {
      take();
      total += weight(taken(size - heap - 1));
    }

  double sum = 0;
  uint32_t kept = 0;
  while (kept < limit) {
    if (size - heap == kept)
      take();
    double likely = weight(taken(kept));
    if (kept && (likely < sampling.min_p || likely == 0)) // the likeliest has weight 1
      break;
    sum += likely;
    ++kept;
    if (sampling.top_p < 1 && sum >= sampling.top_p * total)
      break;
  }
  double reached = 0;
  for (uint32_t i = 0; i + 1 < kept; ++i) {
    reached += weight(taken(i));
    if (draw * sum < reached)
      return taken(i).id;
  }
  return taken(kept - 1).id;
}
