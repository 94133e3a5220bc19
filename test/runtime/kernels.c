// Kernels for the runtime's tests: freestanding C, linked by kernels.ld into a
// flat, position-independent blob with kernel i at byte i * 1024, as a plan's
// code section holds them.
#include "runtime/schema/kernel_abi.h"

#define KERNEL(index) __attribute__((section(".text.k" #index), used)) int32_t

// 0: result[i] = first[i] + second[i], f32, axis 0 of the grid.
KERNEL(0) add(const stint_dispatch *d, const stint_workgroup *w) {
  const float *first = d->buffers[0].data, *second = d->buffers[1].data;
  float *result = d->buffers[2].data;
  for (int64_t i = w->begin[0]; i < w->end[0]; ++i)
    result[i] = first[i] + second[i];
  return 0;
}

// 1: fails with 7 in the workgroup that begins at dims[0].
KERNEL(1) fail(const stint_dispatch *d, const stint_workgroup *w) { return w->begin[0] == d->dims[0] ? 7 : 0; }

// 2: a chain of roundings per element, long enough to be worth threads; goes
// through scratch to show that it is private.
KERNEL(2) chain(const stint_dispatch *d, const stint_workgroup *w) {
  const float *in = d->buffers[0].data;
  float *out = d->buffers[1].data, *scratch = w->scratch;
  int64_t room = (int64_t)(w->scratch_size / sizeof(float));
  for (int64_t i = w->begin[0]; i < w->end[0]; ++i) {
    for (int64_t j = 0; j < room; ++j)
      scratch[j] = in[i] + (float)j;
    float sum = 0;
    for (int k = 0; k < 50; ++k)
      for (int64_t j = 0; j < room; ++j)
        sum = sum * 0.999f + scratch[j];
    out[i] = sum;
  }
  return 0;
}

// 3: writes dims[0] as an int64.
KERNEL(3) number(const stint_dispatch *d, const stint_workgroup *w) {
  *(int64_t *)d->buffers[0].data = d->dims[0];
  return 0;
}

// 4: result[i] = in[i] * 0.5: a denormal unless the state flushes them.
KERNEL(4) halve(const stint_dispatch *d, const stint_workgroup *w) {
  const float *in = d->buffers[0].data;
  float *out = d->buffers[1].data;
  for (int64_t i = w->begin[0]; i < w->end[0]; ++i)
    out[i] = in[i] * 0.5f;
  return 0;
}

// 5: a decoder of sorts. Buffers: a step table (ids, positions, sequences, pages,
// rows), keys [pages][1 head][page size][1], logits. The key of a token is its id,
// its logits are 1 for the sum of key * (position + 1) modulo the vocabulary, and
// 0 else. dims: tokens, pages of a sequence, page size, rows, vocabulary.
KERNEL(5) decode(const stint_dispatch *d, const stint_workgroup *w) {
  const int64_t *ids = d->buffers[0].data;
  const int32_t *positions = d->buffers[1].data, *sequences = d->buffers[2].data;
  const int32_t *pages = d->buffers[3].data, *rows = d->buffers[4].data;
  float *keys = d->buffers[5].data, *logits = d->buffers[6].data;
  int64_t size = d->dims[2], vocabulary = d->dims[4];
  for (int64_t t = 0; t < d->dims[0]; ++t)
    keys[pages[sequences[t] * d->dims[1] + positions[t] / size] * size + positions[t] % size] = (float)ids[t];
  for (int64_t row = 0; row < d->dims[3]; ++row) {
    int32_t t = rows[row];
    int64_t sum = 0;
    for (int64_t i = 0; i <= positions[t]; ++i)
      sum += (int64_t)keys[pages[sequences[t] * d->dims[1] + i / size] * size + i % size] * (i + 1);
    for (int64_t i = 0; i < vocabulary; ++i)
      logits[row * vocabulary + i] = i == sum % vocabulary ? 1.0f : 0.0f;
  }
  return 0;
}
