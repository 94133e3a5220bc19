// Fuzzes what opens and runs plans. Whatever the bytes are: the plan is refused
// with a status, or every query answers, and sessions at the extremes of its
// dimensions run to the end or to a status, on the null device and on the CPU
// with a kernel of ours that touches all memory it is given; a decoder generates
// for sequences that are forked, rewound, saved and restored. Code from a plan
// is trusted like a program and never run here.
#include "PlanFile.h"
#include "PlanMutator.h"
#include "runtime/core/model.h"
#include "stint/stint.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace stint;

// Allocations above this fail, as they do on a device that is full.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=40:detect_stack_use_after_return=0:"
         "quarantine_size_mb=8:malloc_context_size=8";
}

namespace {

constexpr uint32_t touchLimit = 200; // workgroups a session may run
constexpr int64_t runTime = 200000;  // nanoseconds, for programs that never end

uint32_t touches;
volatile uint8_t sink;

void check(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "fuzz-plan: %s\n", what);
  abort();
}

int32_t touch(const stint_dispatch *dispatch, const stint_workgroup *group) {
  for (uint32_t i = 0; i < dispatch->buffer_count; ++i) {
    const stint_kernel_buffer &buffer = dispatch->buffers[i];
    auto *bytes = static_cast<const uint8_t *>(buffer.data);
    if (buffer.size) {
      sink = bytes[0];
      sink = bytes[buffer.size / 2];
      sink = bytes[buffer.size - 1];
    }
  }
  for (uint32_t i = 0; i < dispatch->dim_count; ++i)
    sink = static_cast<uint8_t>(dispatch->dims[i]);
  auto *scratch = static_cast<volatile uint8_t *>(group->scratch);
  if (group->scratch_size)
    scratch[0] = scratch[group->scratch_size - 1] = 1;
  for (int axis = 0; axis < 3; ++axis)
    check(group->begin[axis] >= 0 && group->begin[axis] < group->end[axis], "an empty workgroup");
  return ++touches > touchLimit;
}

void format(const stint_status &status, const stint_model *model) {
  char text[64];
  check(status.text != nullptr, "a status without a text");
  check(status.code >= STINT_OK && status.code <= STINT_STATUS_FULL, "an unknown status");
  stint_status_format(&status, model, text, sizeof(text));
}

// Everything that can be asked of a model.
void query(const stint_model *model) {
  size_t length = strlen(stint_model_name(model)) + strlen(stint_model_producer(model));
  stint_symbol_info symbol = {sizeof(symbol), nullptr, 0, 0};
  for (uint32_t i = 0; stint_model_symbol(model, i, &symbol).code == STINT_OK; ++i)
    length += strlen(symbol.name);
  stint_variant_info variant = {};
  variant.size = sizeof(variant);
  for (uint32_t i = 0; stint_model_variant(model, i, &variant).code == STINT_OK; ++i)
    length += strlen(variant.name);
  for (uint32_t e = 0; e < stint_model_entry_count(model); ++e) {
    length += strlen(stint_model_entry_name(model, e));
    for (bool output : {false, true}) {
      auto port = output ? stint_model_output : stint_model_input;
      auto dim = output ? stint_model_output_dim : stint_model_input_dim;
      stint_port_info info = {sizeof(info), nullptr, 0, 0};
      for (uint32_t i = 0; port(model, e, i, &info).code == STINT_OK; ++i) {
        length += strlen(info.name);
        check(info.rank <= STINT_MAX_RANK, "a port of too high a rank");
        stint_dim_info about = {};
        about.size = sizeof(about);
        for (uint32_t axis = 0; axis < info.rank; ++axis)
          check(dim(model, e, i, axis, &about).code == STINT_OK, "a dimension that isn't there");
      }
    }
    for (uint32_t i = 0; i < stint_model_dispatch_count(model, e); ++i) {
      length += strlen(stint_model_dispatch_kernel(model, e, i));
      for (uint32_t n = 0; n < stint_model_dispatch_node_count(model, e, i); ++n)
        length += strlen(stint_model_dispatch_node(model, e, i, n));
    }
  }
  sink = static_cast<uint8_t>(length);
}

// Bytes of a session that is run.
constexpr uint64_t mostMemory = 256 << 20;

enum class At { Lower, Middle, Upper };

int64_t between(int64_t lower, int64_t upper, At at) {
  return at == At::Lower ? lower : at == At::Upper ? upper : lower / 2 + upper / 2;
}

void runSession(stint_model *model, uint32_t entry, const char *device, At at) {
  std::vector<stint_dim_maximum> maxima;
  stint_symbol_info symbol = {sizeof(symbol), nullptr, 0, 0};
  for (uint32_t i = 0; stint_model_symbol(model, i, &symbol).code == STINT_OK; ++i)
    maxima.push_back({symbol.name, between(symbol.lower, symbol.upper, at)});
  stint_session_options options = {};
  options.size = sizeof(options);
  options.device = device;
  options.entry = entry;
  options.maxima = maxima.data();
  options.maximum_count = maxima.size();
  stint_memory_info memory = {};
  memory.size = sizeof(memory);
  format(stint_model_memory(model, &options, &memory), model);
  stint_session *session = nullptr;
  stint_status status = stint_session_create(model, &options, &session);
  format(status, model);
  check((status.code == STINT_OK) == (session != nullptr), "a session and a failure, or neither");
  if (!session)
    return;
  // What a plan says it needs may be used; here that much isn't there. Making
  // the session took none of it.
  if (memory.session > mostMemory) {
    stint_session_destroy(session);
    return;
  }
  stint_port_info port = {sizeof(port), nullptr, 0, 0};
  for (uint32_t i = 0; stint_model_input(model, entry, i, &port).code == STINT_OK; ++i) {
    int64_t dims[STINT_MAX_RANK] = {};
    for (uint32_t axis = 0; axis < port.rank; ++axis) {
      stint_dim_info dim = {};
      dim.size = sizeof(dim);
      stint_model_input_dim(model, entry, i, axis, &dim);
      dims[axis] = between(dim.lower, dim.upper, at);
    }
    format(stint_session_set_input_shape(session, i, port.rank, dims), model);
    stint_tensor tensor = {};
    tensor.size = sizeof(tensor);
    status = stint_session_input(session, i, &tensor);
    format(status, model);
    if (status.code == STINT_OK && tensor.bytes)
      memset(tensor.data, 0, tensor.bytes);
  }
  touches = 0;
  format(stint_session_prepare(session), model);
  stint_run_options run = {};
  run.size = sizeof(run);
  run.deadline_ns = stint_clock_ns() + runTime;
  status = stint_session_run(session, &run);
  format(status, model);
  for (uint32_t i = 0; i < stint_model_output_count(model, entry); ++i) {
    stint_tensor tensor = {};
    tensor.size = sizeof(tensor);
    stint_status got = stint_session_output(session, i, &tensor);
    format(got, model);
    if (status.code == STINT_OK && got.code == STINT_OK && tensor.bytes) {
      auto *bytes = static_cast<uint8_t *>(tensor.data);
      bytes[0] = bytes[tensor.bytes - 1] = 0;
    }
  }
  stint_session_destroy(session);
}

int32_t append(void *user, const void *data, size_t size) {
  auto *begin = static_cast<const uint8_t *>(data);
  auto *bytes = static_cast<std::vector<uint8_t> *>(user);
  if (bytes->size() + size > (1 << 20))
    return 1;
  bytes->insert(bytes->end(), begin, begin + size);
  return 0;
}

// A few steps; what is asked for may fail with a status. Memory that a plan needs
// is there to be used, as in runSession.
void generate(const stint_model *model, stint_generator *generator) {
  stint_generator_info info = {};
  info.size = sizeof(info);
  format(stint_generator_query(generator, &info), model);
  if (info.bytes > mostMemory)
    return;
  auto steps = [&] {
    stint_run_options run = {};
    run.size = sizeof(run);
    run.deadline_ns = stint_clock_ns() + runTime;
    stint_step_info step = {};
    step.size = sizeof(step);
    for (int i = 0; i < 6; ++i) {
      stint_status status = stint_generator_step(generator, &run, &step);
      format(status, model);
      if (status.code || !step.ready)
        break;
    }
  };
  std::vector<uint32_t> prompt;
  for (uint32_t i = 0; i < 5; ++i)
    prompt.push_back(info.vocabulary ? (i + 1) % info.vocabulary : 0);
  stint_sequence_options how = {};
  how.size = sizeof(how);
  how.max_tokens = 3;
  uint64_t first = 0, second = 0, fork = 0, restored = 0;
  format(stint_sequence_add(generator, prompt.data(), prompt.size(), &how, &first), model);
  format(stint_sequence_add(generator, prompt.data(), 1, &how, &second), model);
  steps();
  format(stint_sequence_fork(generator, first, &how, &fork), model);
  format(stint_sequence_append(generator, first, prompt.data(), 2, 2), model);
  steps();
  format(stint_sequence_rewind(generator, fork, 3), model);
  format(stint_sequence_resume(generator, fork), model);
  std::vector<uint8_t> bytes;
  format(stint_sequence_save(generator, first, append, &bytes), model);
  format(stint_sequence_remove(generator, first), model);
  format(stint_sequence_restore(generator, bytes.data(), bytes.size(), &how, &restored), model);
  steps();
}

void runDecoder(stint_model *model, const char *device) {
  stint_decoder_info decoder = {};
  decoder.size = sizeof(decoder);
  stint_status status = stint_model_decoder(model, &decoder);
  format(status, model);
  if (status.code)
    return;
  stint_session_options options = {};
  options.size = sizeof(options);
  options.device = device;
  options.entry = decoder.entry;
  options.flags = STINT_SESSION_BIND_ALL;
  stint_memory_info memory = {};
  memory.size = sizeof(memory);
  format(stint_model_memory(model, &options, &memory), model);
  stint_session *session = nullptr;
  format(stint_session_create(model, &options, &session), model);
  if (session && memory.session <= mostMemory) {
    stint_generator *generator = nullptr;
    status = stint_generator_create(session, nullptr, &generator);
    format(status, model);
    check((status.code == STINT_OK) == (generator != nullptr), "a generator and a failure, or neither");
    touches = 0;
    if (generator)
      generate(model, generator);
    stint_generator_destroy(generator);
  }
  stint_session_destroy(session);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t expanded = 0;
  const uint8_t *file = fuzz::expand(data, size, &expanded);
  stint_model_options options = {};
  options.size = sizeof(options);
  options.variant = "none";
  // The hash of the whole decides: most weights don't have the hashes they should.
  uint8_t any = expanded < sizeof(stint_file_header) ? 0 : file[offsetof(stint_file_header, root_hash)];
  options.verify = any % 16 == 0 ? STINT_VERIFY_FULL : any % 2 ? STINT_VERIFY_OFF : STINT_VERIFY_FIRST_USE;
  stint_model *model = nullptr;
  stint_status status = stint_model_open_memory(file, expanded, &options, &model);
  format(status, nullptr);
  check((status.code == STINT_OK) == (model != nullptr), "a model and a failure, or neither");
  if (!model)
    return 0;
  query(model);
  uint32_t entries = stint_model_entry_count(model);
  for (uint32_t entry = 0; entry < entries && entry < 3; ++entry)
    runSession(model, entry, "null", At::Middle);
  runDecoder(model, "null");
  // Kernels that the plan has no say in.
  check(model->pool.array(model->plan.kernels.size, &model->kernels), "no memory for a table of kernels");
  for (stint_kernel &kernel : model->kernels)
    kernel = touch;
  model->scratch = model->plan.variants.empty() ? 0 : model->plan.variants[0].scratch;
  for (uint32_t entry = 0; entry < entries && entry < 3; ++entry)
    for (At at : {At::Lower, At::Upper})
      runSession(model, entry, "cpu", at);
  runDecoder(model, "cpu");
  stint_model_release(model);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
  return fuzz::mutatePlan(data, size, limit, seed);
}

// Without a corpus there are two plans to begin with.
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  for (int i = 1; i < *argc; ++i) {
    bool decoder = !strncmp((*argv)[i], "--decoder=", 10);
    if (!decoder && strncmp((*argv)[i], "--first-plan=", 13))
      continue;
    std::vector<uint8_t> plan = decoder ? fuzz::decoderPlan() : fuzz::firstPlan();
    FILE *out = fopen(strchr((*argv)[i], '=') + 1, "wb");
    check(out && fwrite(plan.data(), 1, plan.size(), out) == plan.size() && fclose(out) == 0, "can't write the plan");
    exit(0);
  }
  return 0;
}
