// --sequence: a run for each element of the inputs' first dimension, one after
// the other on one session, so that a state inside the plan goes from run to run;
// the outputs are stacked in the same way.
#include "Job.h"
#include "Report.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace stint_run {

namespace {

// An output of all runs.
struct Stack {
  stint_tensor first = {}; // of the first run: its type and shape are everyone's
  Buffer all;
};

struct Stacks {
  Stack *items = nullptr;
  uint32_t count = 0;

  explicit Stacks(uint32_t size) : items(static_cast<Stack *>(calloc(size + size_t(1), sizeof(Stack)))) {
    for (; items && count < size; ++count)
      new (&items[count]) Stack();
  }
  ~Stacks() {
    for (uint32_t i = 0; items && i < count; ++i)
      items[i].~Stack();
    free(items);
  }
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;
};

const char *outputName(const Job &job, uint32_t index) {
  stint_port_info info = {};
  info.size = sizeof info;
  stint_status status = stint_model_output(job.model, job.entry, index, &info);
  return status.code || !info.name ? "?" : info.name;
}

int bindStep(Job *job, int64_t step) {
  for (uint32_t i = 0; i < job->inputCount; ++i) {
    const Tensor &tensor = job->inputs[i];
    uint64_t bytes = tensor.data.size() / static_cast<uint64_t>(job->steps);
    stint_status status = stint_session_bind_input(
        job->session, i, tensor.data.data() + static_cast<uint64_t>(step) * bytes, bytes, tensor.rank, tensor.dims);
    if (status.code)
      return failStatus(status, job->model, "an input doesn't fit the model");
  }
  return ExitDone;
}

// Copies an output of a run to its place.
int stackOutput(Job *job, uint32_t index, int64_t step, Stack *stack) {
  stint_tensor tensor = {};
  tensor.size = sizeof tensor;
  stint_status status = stint_session_output(job->session, index, &tensor);
  if (status.code)
    return failStatus(status, job->model, "can't get an output");
  if (step == 0) {
    uint64_t bytes;
    if (tensor.rank == STINT_MAX_RANK)
      return fail(ExitFailed, "output '%s' has %d dimensions already: --sequence can't add one",
                  outputName(*job, index), int(STINT_MAX_RANK));
    if (__builtin_mul_overflow(tensor.bytes, static_cast<uint64_t>(job->steps), &bytes) || !stack->all.allocate(bytes))
      return fail(ExitFailed, "output '%s' of all runs: out of memory", outputName(*job, index));
    stack->first = tensor;
  }
  bool same = tensor.rank == stack->first.rank && tensor.bytes == stack->first.bytes;
  for (uint32_t axis = 0; same && axis < tensor.rank; ++axis)
    same = tensor.dims[axis] == stack->first.dims[axis];
  if (!same)
    return fail(ExitFailed,
                "output '%s' of run %lld has another shape than that of the first run: they can't be stacked",
                outputName(*job, index), static_cast<long long>(step));
  if (tensor.bytes)
    memcpy(stack->all.data() + static_cast<uint64_t>(step) * tensor.bytes, tensor.data, tensor.bytes);
  return ExitDone;
}

} // namespace

int takeSteps(Job *job, Tensor *tensor, const char *path) {
  if (tensor->rank == 0 || tensor->dims[0] < 1)
    return fail(ExitFailed, "'%s': --sequence needs a first dimension, one run for each of its elements", path);
  if (job->steps && job->steps != tensor->dims[0])
    return fail(ExitFailed, "'%s' is for %lld runs, an input before it for %lld", path,
                static_cast<long long>(tensor->dims[0]), static_cast<long long>(job->steps));
  job->steps = tensor->dims[0];
  --tensor->rank;
  for (uint32_t axis = 0; axis < tensor->rank; ++axis)
    tensor->dims[axis] = tensor->dims[axis + 1];
  return ExitDone;
}

int runSequence(Job *job) {
  if (!job->steps)
    return fail(ExitUsage, "--sequence: the model has no input, so there is nothing to say how many runs");
  Stacks stacks(job->outputCount);
  if (!stacks.items)
    return fail(ExitFailed, "out of memory");
  for (int64_t step = 0; step < job->steps; ++step) {
    if (int code = bindStep(job, step))
      return code;
    if (int code = runOnce(job))
      return code;
    for (uint32_t i = 0; i < job->outputCount; ++i)
      if (job->outputFiles[i])
        if (int code = stackOutput(job, i, step, &stacks.items[i]))
          return code;
  }
  for (uint32_t i = 0; i < job->outputCount; ++i) {
    if (!job->outputFiles[i])
      continue;
    stint_tensor whole = stacks.items[i].first;
    for (uint32_t axis = whole.rank; axis > 0; --axis)
      whole.dims[axis] = whole.dims[axis - 1];
    whole.dims[0] = job->steps;
    ++whole.rank;
    whole.data = stacks.items[i].all.data();
    whole.bytes = stacks.items[i].all.size();
    if (int code = writeTensor(job->outputFiles[i], outputName(*job, i), whole))
      return code;
  }
  return job->options->outputs.count ? int(ExitDone) : printSummary(job);
}

} // namespace stint_run
