// Opening, pairing names with files, running: the steps of Job.h.
#include "Job.h"
#include "Report.h"

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace stint_run {

namespace {

volatile int32_t interrupted = 0;

void interrupt(int) { interrupted = 1; }

// Appends to a text of limited size.
struct Line {
  char *text;
  size_t size, used = 0;

  void add(const char *format, ...) __attribute__((format(printf, 2, 3))) {
    if (used >= size)
      return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    used += length > 0 ? static_cast<size_t>(length) : 0;
  }
};

stint_port_info port(const Job &job, bool output, uint32_t index) {
  stint_port_info info = {};
  info.size = sizeof info;
  stint_status status = output ? stint_model_output(job.model, job.entry, index, &info)
                               : stint_model_input(job.model, job.entry, index, &info);
  if (status.code || !info.name)
    info.name = "?";
  return info;
}

stint_dim_info dim(const Job &job, bool output, uint32_t index, uint32_t axis) {
  stint_dim_info info = {};
  info.size = sizeof info;
  info.symbol = -1;
  info.lower = info.upper = -1;
  stint_status status = output ? stint_model_output_dim(job.model, job.entry, index, axis, &info)
                               : stint_model_input_dim(job.model, job.entry, index, axis, &info);
  (void)status; // index and axis come from the model's own counts
  return info;
}

// "x, mask": the names to choose from, for messages.
void listNames(const Job &job, bool output, char *text, size_t size) {
  Line line = {text, size};
  uint32_t count = output ? job.outputCount : job.inputCount;
  text[0] = 0;
  for (uint32_t i = 0; i < count; ++i)
    line.add("%s%s", i ? ", " : "", port(job, output, i).name);
  if (!count)
    line.add("none");
}

// Splits "NAME=VALUE" by the names that the model has: names may hold '=' and
// values as well. Without a name the only input or output is meant.
int resolve(const Job &job, bool output, const char *option, const char *text, uint32_t *index, const char **value) {
  uint32_t count = output ? job.outputCount : job.inputCount;
  size_t best = 0;
  *value = nullptr;
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = port(job, output, i).name;
    size_t length = strlen(name);
    if (!strncmp(text, name, length) && text[length] == '=' && (!*value || length > best)) {
      best = length;
      *index = i;
      *value = text + length + 1;
    }
  }
  if (*value)
    return ExitDone;
  char names[1024];
  listNames(job, output, names, sizeof names);
  const char *equal = strchr(text, '=');
  if (equal && !fileExists(text))
    return fail(ExitUsage, "%s '%s': the model has no %s '%.*s'; it has: %s", option, text, output ? "output" : "input",
                static_cast<int>(equal - text < 200 ? equal - text : 200), text, names);
  if (count != 1)
    return fail(ExitUsage,
                "%s '%s': write NAME=VALUE, where NAME is one of the model's "
                "%ss: %s",
                option, text, output ? "output" : "input", names);
  *index = 0;
  *value = text;
  return ExitDone;
}

// Compares type and shape with the plan's, for messages better than a status.
int checkInput(const Job &job, uint32_t index, const char *path) {
  const Tensor &tensor = job.inputs[index];
  stint_port_info info = port(job, false, index);
  char given[256], wanted[512];
  formatShape(tensor.rank, tensor.dims, given, sizeof given);
  formatPort(job, false, index, wanted, sizeof wanted);
  bool opaque =
      tensor.type == 0 && stint_type_bits(info.type) == tensor.elementBytes * 8 && stint_type_bits(info.type) <= 16;
  if (tensor.type != info.type && !opaque)
    return fail(ExitFailed,
                "input '%s' is %s, but '%s' holds %s %s; convert the file to "
                "%s",
                info.name, wanted, path, tensor.type ? stint_type_name(tensor.type) : "opaque bytes", given,
                stint_type_name(info.type));
  bool fits = tensor.rank == info.rank;
  const char *why = "the number of dimensions differs";
  for (uint32_t axis = 0; fits && axis < info.rank; ++axis) {
    stint_dim_info bounds = dim(job, false, index, axis);
    if (bounds.lower >= 0 && (tensor.dims[axis] < bounds.lower || tensor.dims[axis] > bounds.upper)) {
      fits = false;
      why = bounds.lower == bounds.upper ? "a dimension differs"
                                         : "a dimension is outside the bounds the model was compiled "
                                           "for (stint compile --dim)";
    }
  }
  if (!fits)
    return fail(ExitFailed, "input '%s' is %s, but '%s' holds %s %s: %s", info.name, wanted, path,
                stint_type_name(info.type), given, why);
  return ExitDone;
}

// Numbers to time a model with: a fixed pattern, small, without denormals.
int fillInput(const Job &job, uint32_t index) {
  Tensor &tensor = job.inputs[index];
  stint_port_info info = port(job, false, index);
  uint64_t bytes;
  tensor.type = info.type;
  if (!tensorBytes(tensor.type, tensor.rank, tensor.dims, &bytes) || !tensor.data.allocate(bytes))
    return fail(ExitFailed, "input '%s': a tensor of this shape doesn't fit", info.name);
  memset(tensor.data.data(), 0, bytes);
  if (info.type == STINT_F32)
    for (uint64_t i = 0; i < bytes / 4; ++i) {
      float value = static_cast<float>(i * 2654435761u % 1024) / 1024 - 0.5f;
      memcpy(tensor.data.data() + i * 4, &value, 4);
    }
  return ExitDone;
}

} // namespace

Job::~Job() {
  stint_session_destroy(session);
  stint_executor_release(executor);
  stint_model_release(model);
  for (uint32_t i = 0; inputs && i < inputCount; ++i)
    inputs[i].~Tensor();
  free(inputs);
  free(outputFiles);
}

void formatShape(uint32_t rank, const int64_t *dims, char *text, size_t size) {
  Line line = {text, size};
  line.add("[");
  for (uint32_t i = 0; i < rank; ++i)
    line.add("%s%lld", i ? ", " : "", static_cast<long long>(dims[i]));
  line.add("]");
}

void formatPort(const Job &job, bool output, uint32_t index, char *text, size_t size) {
  Line line = {text, size};
  stint_port_info info = port(job, output, index);
  line.add("%s [", stint_type_name(info.type));
  for (uint32_t axis = 0; axis < info.rank; ++axis) {
    stint_dim_info bounds = dim(job, output, index, axis);
    line.add("%s", axis ? ", " : "");
    if (bounds.name && bounds.lower != bounds.upper)
      line.add("%s ", bounds.name);
    if (bounds.lower < 0)
      line.add("?");
    else if (bounds.lower == bounds.upper)
      line.add("%lld", static_cast<long long>(bounds.lower));
    else
      line.add("%lld..%lld", static_cast<long long>(bounds.lower), static_cast<long long>(bounds.upper));
  }
  line.add("]");
}

int openModel(Job *job) {
  const Options &options = *job->options;
  stint_model_options how = {};
  how.size = sizeof how;
  how.verify = options.verify;
  how.variant = options.variant;
  stint_status status = stint_model_open_file(options.plan, &how, &job->model);
  if (status.code) {
    char what[600];
    if (options.variant && (status.code == STINT_STATUS_NOT_FOUND || status.code == STINT_STATUS_UNSUPPORTED))
      snprintf(what, sizeof what, "--variant '%.100s' of '%.400s'", options.variant, options.plan);
    else
      snprintf(what, sizeof what, "'%.500s'", options.plan);
    return failStatus(status, nullptr, what);
  }
  if (options.entry) {
    uint32_t count = stint_model_entry_count(job->model);
    while (job->entry < count && strcmp(stint_model_entry_name(job->model, job->entry), options.entry))
      ++job->entry;
    if (job->entry == count)
      return fail(ExitUsage, "--entry '%s': the plan has none of that name", options.entry);
  }
  job->inputCount = stint_model_input_count(job->model, job->entry);
  job->outputCount = stint_model_output_count(job->model, job->entry);
  return ExitDone;
}

int readInputs(Job *job) {
  const Options &options = *job->options;
  size_t count = job->inputCount;
  job->inputs = static_cast<Tensor *>(malloc((count + 1) * sizeof(Tensor)));
  // Per input: the file, and whether a shape was given.
  const char **files = static_cast<const char **>(calloc(count + 1, sizeof(char *)));
  bool *shaped = static_cast<bool *>(calloc(count + 1, sizeof(bool)));
  struct Release {
    void *first, *second;
    ~Release() {
      free(first);
      free(second);
    }
  } release = {files, shaped};
  if (!job->inputs || !files || !shaped) {
    free(job->inputs);
    job->inputs = nullptr;
    return fail(ExitFailed, "out of memory");
  }
  for (size_t i = 0; i < count; ++i)
    new (&job->inputs[i]) Tensor();

  for (uint32_t i = 0; i < options.shapes.count; ++i) {
    uint32_t index = 0;
    const char *value;
    if (int code = resolve(*job, false, "--shape", options.shapes.items[i], &index, &value))
      return code;
    Tensor &tensor = job->inputs[index];
    if (!parseShape(value, STINT_MAX_RANK, &tensor.rank, tensor.dims))
      return fail(ExitUsage,
                  "--shape '%s': expected dimensions such as 1x3x48x320 (at "
                  "most %d)",
                  options.shapes.items[i], int(STINT_MAX_RANK));
    shaped[index] = true;
  }
  for (uint32_t i = 0; i < options.inputs.count; ++i) {
    uint32_t index = 0;
    const char *value;
    if (int code = resolve(*job, false, "--input", options.inputs.items[i], &index, &value))
      return code;
    if (files[index])
      return fail(ExitUsage, "--input '%s': this input was given already", options.inputs.items[i]);
    files[index] = value;
  }

  for (uint32_t i = 0; i < count; ++i) {
    stint_port_info info = port(*job, false, i);
    Tensor &tensor = job->inputs[i];
    if (!files[i]) {
      char wanted[512];
      formatPort(*job, false, i, wanted, sizeof wanted);
      if (!shaped[i] || !options.bench)
        return fail(ExitUsage, "no --input for '%s', %s", info.name, wanted);
      if (int code = fillInput(*job, i))
        return code;
      if (int code = checkInput(*job, i, "--shape"))
        return code;
      continue;
    }
    if (endsWith(files[i], ".raw")) {
      tensor.type = info.type;
      if (!shaped[i] && options.sequence)
        return fail(ExitUsage, "'%s' has no shape of its own: give --shape, with the number of runs in front",
                    files[i]);
      for (uint32_t axis = 0; !shaped[i] && axis < info.rank; ++axis) {
        stint_dim_info bounds = dim(*job, false, i, axis);
        if (bounds.lower != bounds.upper || bounds.lower < 0)
          return fail(ExitUsage,
                      "'%s' has no shape of its own and input '%s' has no "
                      "fixed one: give --shape %s=1x2x3",
                      files[i], info.name, info.name);
        tensor.dims[axis] = bounds.lower;
        tensor.rank = info.rank;
      }
    } else if (shaped[i]) {
      return fail(ExitUsage, "'%s' has a shape: --shape is for .raw files", files[i]);
    }
    if (int code = readTensor(files[i], &tensor))
      return code;
    if (options.sequence)
      if (int code = takeSteps(job, &tensor, files[i]))
        return code;
    if (int code = checkInput(*job, i, files[i]))
      return code;
  }
  return ExitDone;
}

int pairOutputs(Job *job) {
  const Options &options = *job->options;
  job->outputFiles = static_cast<const char **>(calloc(job->outputCount + size_t(1), sizeof(char *)));
  if (!job->outputFiles)
    return fail(ExitFailed, "out of memory");
  for (uint32_t i = 0; i < options.outputs.count; ++i) {
    uint32_t index = 0;
    const char *value = nullptr;
    int code = resolve(*job, true, "--output", options.outputs.items[i], &index, &value);
    if (code || !value)
      return code;
    if (job->outputFiles[index])
      return fail(ExitUsage, "--output '%s': this output was given already", options.outputs.items[i]);
    if (!isTensorFile(value) && !isStream(value))
      return fail(ExitUsage,
                  "--output '%s': tensors are written to .npy, .pb or .raw "
                  "files",
                  options.outputs.items[i]);
    if (!isStream(value) && sameFile(value, options.plan))
      return fail(ExitUsage, "--output '%s': this would destroy the plan", options.outputs.items[i]);
    for (uint32_t other = 0; other < job->outputCount; ++other)
      if (job->outputFiles[other] && !isStream(value) && !strcmp(job->outputFiles[other], value))
        return fail(ExitUsage, "--output '%s': another output goes to that file", options.outputs.items[i]);
    job->outputFiles[index] = value;
  }
  return ExitDone;
}

int openExecutor(Job *job) {
  const Options &options = *job->options;
  stint_executor_options threads = {};
  threads.size = sizeof threads;
  threads.threads = options.threads;
  threads.cpus = options.cpus;
  threads.cpu_count = options.cpuCount;
  stint_status status = stint_executor_create(&threads, &job->executor);
  if (status.code)
    return failStatus(status, job->model, "can't start threads");
  if (options.cpuCount) {
    status = stint_executor_pin_caller(job->executor);
    if (status.code)
      return failStatus(status, job->model, "can't run on the CPUs of --cpus");
  }
  return ExitDone;
}

const volatile int32_t *catchInterrupts() {
  signal(SIGINT, interrupt);
  signal(SIGPIPE, SIG_IGN);
  return &interrupted;
}

int openSession(Job *job) {
  const Options &options = *job->options;
  if (int code = openExecutor(job))
    return code;

  // The session's maxima are exactly what will be run: the least memory.
  uint32_t symbolCount = stint_model_symbol_count(job->model);
  stint_dim_maximum *maxima =
      static_cast<stint_dim_maximum *>(calloc(symbolCount + size_t(1), sizeof(stint_dim_maximum)));
  if (!maxima)
    return fail(ExitFailed, "out of memory");
  stint_session_options how = {};
  how.size = sizeof how;
  how.device = options.device;
  how.executor = job->executor;
  how.entry = job->entry;
  how.maxima = maxima;
  for (uint32_t i = 0; i < job->inputCount; ++i)
    for (uint32_t axis = 0; axis < job->inputs[i].rank; ++axis) {
      stint_dim_info bounds = dim(*job, false, i, axis);
      bool seen = bounds.symbol < 0 || !bounds.name;
      for (size_t k = 0; k < how.maximum_count; ++k) {
        if (seen || strcmp(maxima[k].symbol, bounds.name))
          continue;
        seen = true;
        if (maxima[k].value != job->inputs[i].dims[axis]) {
          int code = fail(ExitFailed, "dimension '%s' is %lld in input '%s' (axis %u), but %lld in an input before it",
                          bounds.name, static_cast<long long>(job->inputs[i].dims[axis]), port(*job, false, i).name,
                          axis, static_cast<long long>(maxima[k].value));
          free(maxima);
          return code;
        }
      }
      if (!seen && how.maximum_count < symbolCount)
        maxima[how.maximum_count++] = {bounds.name, job->inputs[i].dims[axis]};
    }
  stint_status status = stint_session_create(job->model, &how, &job->session);
  free(maxima);
  if (status.code)
    return failStatus(status, job->model, "can't make a session");

  for (uint32_t i = 0; i < job->inputCount && !options.sequence; ++i) {
    const Tensor &tensor = job->inputs[i];
    status =
        stint_session_bind_input(job->session, i, tensor.data.data(), tensor.data.size(), tensor.rank, tensor.dims);
    if (status.code)
      return failStatus(status, job->model, "an input doesn't fit the model");
  }
  (void)catchInterrupts();
  return ExitDone;
}

int runOnce(Job *job) {
  stint_run_options how = {};
  how.size = sizeof how;
  how.cancel = &interrupted;
  if (job->options->timeoutMs)
    how.deadline_ns = stint_clock_ns() + job->options->timeoutMs * 1000000;
  stint_status status = stint_session_run(job->session, &how);
  if (status.code)
    return failStatus(status, job->model, "the run failed");
  return ExitDone;
}

int writeOutputs(Job *job) {
  for (uint32_t i = 0; i < job->outputCount; ++i) {
    if (!job->outputFiles[i])
      continue;
    stint_tensor tensor = {};
    tensor.size = sizeof tensor;
    stint_status status = stint_session_output(job->session, i, &tensor);
    if (status.code)
      return failStatus(status, job->model, "can't get an output");
    if (int code = writeTensor(job->outputFiles[i], port(*job, true, i).name, tensor))
      return code;
  }
  return ExitDone;
}

} // namespace stint_run
