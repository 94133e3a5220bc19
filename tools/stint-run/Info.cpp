// --info: what a plan holds, which of its machine code runs here, and the
// memory it needs.
#include "Job.h"
#include "Report.h"

namespace stint_run {

namespace {

void printBytes(const char *what, uint64_t bytes) {
  if (bytes >= 10240)
    say("  %-12s %llu bytes (%.1f %s)\n", what, static_cast<unsigned long long>(bytes),
        bytes >= 10485760 ? static_cast<double>(bytes) / 1048576 : static_cast<double>(bytes) / 1024,
        bytes >= 10485760 ? "MiB" : "KiB");
  else
    say("  %-12s %llu bytes\n", what, static_cast<unsigned long long>(bytes));
}

void printPorts(const Job &job, bool output) {
  uint32_t count = output ? job.outputCount : job.inputCount;
  for (uint32_t i = 0; i < count; ++i) {
    stint_port_info info = {};
    info.size = sizeof info;
    stint_status status =
        output ? stint_model_output(job.model, job.entry, i, &info) : stint_model_input(job.model, job.entry, i, &info);
    if (status.code)
      continue;
    char text[1024];
    formatPort(job, output, i, text, sizeof text);
    say("  %s '%s': %s\n", output ? "output" : "input", info.name, text);
  }
}

// " NAME 2 '<|im_end|>'", if there is such a token.
void printToken(const stint_model *model, const char *what, uint32_t id) {
  stint_token_info token = {};
  token.size = sizeof token;
  if (!stint_model_token(model, id, &token).code)
    say(", %s %u '%.*s'", what, id, static_cast<int>(token.text_size), token.text);
}

void printText(const stint_model *model) {
  stint_tokenizer_info info = {};
  info.size = sizeof info;
  if (stint_model_tokenizer(model, &info).code)
    return;
  say("tokenizer: %s, %u tokens, %u of them special", info.kind, info.token_count, info.special_count);
  printToken(model, "begins texts with", info.bos_id);
  printToken(model, "ends texts with", info.eos_id);
  printToken(model, "ends turns with", info.turn_end_id);
  say("\nchat template: %s\n", info.has_chat ? "yes" : "none");
}

} // namespace

int printInfo(Job *job) {
  stint_model *model = job->model;
  say("model '%s', compiled by %s\n", stint_model_name(model), stint_model_producer(model));
  say("root ");
  const uint8_t *hash = stint_model_root_hash(model);
  for (int i = 0; i < 32; ++i)
    say("%02x", hash[i]);
  say("\n");
  for (uint32_t i = 0; i < stint_model_entry_count(model); ++i)
    say("%s '%s'%s\n", "entry", stint_model_entry_name(model, i), i == job->entry ? ":" : " (see --entry)");
  printPorts(*job, false);
  printPorts(*job, true);

  printText(model);
  say("machine code:\n");
  for (uint32_t i = 0; i < stint_model_variant_count(model); ++i) {
    stint_variant_info info = {};
    info.size = sizeof info;
    if (stint_model_variant(model, i, &info).code)
      continue;
    say("  %-8s %-24s %8llu bytes%s\n", info.machine, info.name, static_cast<unsigned long long>(info.code_bytes),
        info.chosen      ? ", in use"
        : info.available ? ", runs here"
                         : "");
  }

  stint_session_options how = {};
  how.size = sizeof how;
  how.entry = job->entry;
  how.device = job->options->device;
  stint_memory_info memory = {};
  memory.size = sizeof memory;
  stint_status status = stint_model_memory(model, &how, &memory);
  if (status.code)
    return failStatus(status, model, "can't work out the memory needed");
  say("memory at the largest shapes, one thread:\n");
  printBytes("session", memory.session);
  printBytes(" arena", memory.arena);
  printBytes(" scratch", memory.scratch);
  printBytes(" in, out", memory.ports);
  printBytes(" state", memory.state);
  printBytes("plan", memory.plan);
  printBytes("code", memory.code);
  printBytes("constants", memory.constants);
  if (memory.text)
    printBytes("text", memory.text);
  printBytes("weights", memory.weights);
  printBytes("lower bound", memory.lower_bound);
  return ExitDone;
}

} // namespace stint_run
