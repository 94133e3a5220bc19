// The command line: see Options.h. An option's value follows it as the next
// argument or after '='.
#include "Options.h"
#include "Report.h"

#include <cstdlib>
#include <cstring>

namespace stint_run {

namespace {

enum { MaximumThreads = 256, MaximumCpus = 1024, MaximumRuns = 10000000 };

const char helpText[] = "usage: stint-run PLAN [options]\n"
                        "       stint-run generate PLAN --prompt TEXT [options]\n"
                        "Runs a model that `stint compile` made. `stint-run generate --help` tells\n"
                        "about generating text.\n"
                        "\n"
                        "  --input [NAME=]FILE    tensor for an input: .npy, .pb (TensorProto) or\n"
                        "                         .raw; NAME= may be left out for the only input\n"
                        "  --output [NAME=]FILE   write an output; without any --output a summary\n"
                        "                         of all outputs is printed\n"
                        "  --shape [NAME=]1x3x8   shape of a .raw input; with --bench alone, the\n"
                        "                         input is filled with numbers\n"
                        "  --sequence             inputs have one more dimension in front: a run for\n"
                        "                         each of its elements, with the state kept from run\n"
                        "                         to run; outputs are stacked alike\n"
                        "  --entry NAME           which entry of the plan (default: the first)\n"
                        "  --threads N            threads, 1 to 256 (default: what this machine\n"
                        "                         and its limits allow)\n"
                        "  --cpus LIST            run on these CPUs, as in 0,2-3\n"
                        "  --variant NAME         machine code to use (default: the best here)\n"
                        "  --device cpu|null      null computes nothing\n"
                        "  --timeout-ms N         give up a run after N milliseconds\n"
                        "  --bench N              time N runs; --json prints the result as JSON\n"
                        "  --profile FILE.json    write a trace of one run (Chrome trace format)\n"
                        "  --verify WHEN          compare weights with their hashes: full (before\n"
                        "                         running), first-use, or off (default)\n"
                        "  --info                 print what the plan holds and needs, run "
                        "nothing\n"
                        "  --help, --version\n"
                        "\n"
                        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 unsupported, 4 "
                        "malformed.\n";

bool parseNumber(const char *text, int64_t most, int64_t *value) {
  if (!*text)
    return false;
  int64_t result = 0;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9' || result > most / 10)
      return false;
    result = result * 10 + (*text - '0');
  }
  *value = result;
  return result <= most;
}

// "0,2-3" -> 0 2 3.
int parseCpus(const char *text, Options *options) {
  free(options->cpus);
  options->cpuCount = 0;
  options->cpus = static_cast<uint32_t *>(malloc(MaximumCpus * sizeof(uint32_t)));
  if (!options->cpus)
    return fail(ExitFailed, "out of memory");
  const char *at = text;
  do {
    uint32_t bounds[2];
    for (int i = 0; i < 2; ++i) {
      if (*at < '0' || *at > '9')
        return fail(ExitUsage, "--cpus '%s': expected a list such as 0,2-3", text);
      uint32_t value = 0;
      for (; *at >= '0' && *at <= '9' && value < 100000; ++at)
        value = value * 10 + static_cast<uint32_t>(*at - '0');
      bounds[i] = value;
      if (i == 0 && *at != '-') {
        bounds[1] = value;
        break;
      }
      if (i == 0)
        ++at;
    }
    if (bounds[1] < bounds[0] || bounds[1] >= MaximumCpus)
      return fail(ExitUsage, "--cpus '%s': no such range of CPUs", text);
    for (uint32_t cpu = bounds[0]; cpu <= bounds[1]; ++cpu) {
      if (options->cpuCount == MaximumCpus)
        return fail(ExitUsage, "--cpus '%s': too many", text);
      options->cpus[options->cpuCount++] = cpu;
    }
  } while (*at == ',' && *++at);
  if (*at || at[-1] == ',')
    return fail(ExitUsage, "--cpus '%s': expected a list such as 0,2-3", text);
  return ExitDone;
}

bool append(Texts *texts, const char *text, int argc) {
  if (!texts->items)
    texts->items = static_cast<const char **>(malloc(static_cast<size_t>(argc) * sizeof(char *)));
  if (!texts->items)
    return false;
  texts->items[texts->count++] = text;
  return true;
}

enum class Option {
  Input,
  Output,
  Shape,
  Sequence,
  Entry,
  Threads,
  Cpus,
  Variant,
  Device,
  Timeout,
  Bench,
  Profile,
  Verify,
  Json,
  Info,
  Help,
  Version
};

struct OptionName {
  const char *name;
  Option option;
  bool takesValue;
};

const OptionName optionNames[] = {{"--input", Option::Input, true},   {"--output", Option::Output, true},
                                  {"--shape", Option::Shape, true},   {"--sequence", Option::Sequence, false},
                                  {"--entry", Option::Entry, true},   {"--threads", Option::Threads, true},
                                  {"--cpus", Option::Cpus, true},     {"--variant", Option::Variant, true},
                                  {"--device", Option::Device, true}, {"--timeout-ms", Option::Timeout, true},
                                  {"--bench", Option::Bench, true},   {"--profile", Option::Profile, true},
                                  {"--verify", Option::Verify, true}, {"--json", Option::Json, false},
                                  {"--info", Option::Info, false},    {"--help", Option::Help, false},
                                  {"-h", Option::Help, false},        {"--version", Option::Version, false}};

int apply(Option option, const char *value, int argc, Options *options) {
  int64_t number;
  bool good = true;
  switch (option) {
  case Option::Input:
    good = append(&options->inputs, value, argc);
    break;
  case Option::Output:
    good = append(&options->outputs, value, argc);
    break;
  case Option::Shape:
    good = append(&options->shapes, value, argc);
    break;
  case Option::Sequence:
    options->sequence = true;
    break;
  case Option::Entry:
    options->entry = value;
    break;
  case Option::Threads:
    if (!parseNumber(value, MaximumThreads, &number) || number < 1)
      return fail(ExitUsage, "--threads '%s': expected 1 to %d", value, int(MaximumThreads));
    options->threads = static_cast<uint32_t>(number);
    break;
  case Option::Cpus:
    return parseCpus(value, options);
  case Option::Variant:
    options->variant = value;
    break;
  case Option::Device:
    if (strcmp(value, "cpu") && strcmp(value, "null"))
      return fail(ExitUsage, "--device '%s': expected cpu or null", value);
    options->device = value;
    break;
  case Option::Timeout:
    if (!parseNumber(value, INT64_C(1000000000), &number) || number < 1)
      return fail(ExitUsage, "--timeout-ms '%s': expected 1 to 1000000000", value);
    options->timeoutMs = number;
    break;
  case Option::Bench:
    if (!parseNumber(value, MaximumRuns, &number) || number < 1)
      return fail(ExitUsage, "--bench '%s': expected a number of runs, 1 to %d", value, int(MaximumRuns));
    options->bench = static_cast<uint32_t>(number);
    break;
  case Option::Profile:
    options->trace = value;
    break;
  case Option::Verify:
    if (!strcmp(value, "full"))
      options->verify = STINT_VERIFY_FULL;
    else if (!strcmp(value, "first-use"))
      options->verify = STINT_VERIFY_FIRST_USE;
    else if (!strcmp(value, "off"))
      options->verify = STINT_VERIFY_OFF;
    else
      return fail(ExitUsage, "--verify '%s': expected full, first-use or off", value);
    break;
  case Option::Json:
    options->json = true;
    break;
  case Option::Info:
    options->info = true;
    break;
  case Option::Help:
    options->help = true;
    break;
  case Option::Version:
    options->version = true;
    break;
  }
  return good ? ExitDone : fail(ExitFailed, "out of memory");
}

} // namespace

Options::~Options() {
  free(inputs.items);
  free(outputs.items);
  free(shapes.items);
  free(cpus);
}

int parseOptions(int argc, char **argv, Options *options) {
  bool onlyNames = false;
  for (int i = 1; i < argc; ++i) {
    const char *argument = argv[i];
    if (onlyNames || argument[0] != '-' || !argument[1]) {
      if (options->plan)
        return fail(ExitUsage, "'%s': one plan at a time, '%s' was given already", argument, options->plan);
      options->plan = argument;
      continue;
    }
    if (!strcmp(argument, "--")) {
      onlyNames = true;
      continue;
    }
    const char *value = strchr(argument, '=');
    size_t length = value ? static_cast<size_t>(value - argument) : strlen(argument);
    const OptionName *found = nullptr;
    for (const OptionName &row : optionNames)
      if (strlen(row.name) == length && !memcmp(row.name, argument, length))
        found = &row;
    if (!found)
      return fail(ExitUsage, "no option '%s' (see stint-run --help)", argument);
    if (!found->takesValue && value)
      return fail(ExitUsage, "%s takes no value", found->name);
    if (found->takesValue) {
      if (value)
        ++value;
      else if (i + 1 < argc)
        value = argv[++i];
      else
        return fail(ExitUsage, "%s needs a value (see stint-run --help)", found->name);
    }
    if (int code = apply(found->option, value, argc, options))
      return code;
  }
  if (options->help || options->version)
    return ExitDone;
  if (!options->plan)
    return fail(ExitUsage, "no plan given (see stint-run --help)");
  if (options->json && !options->bench)
    return fail(ExitUsage, "--json goes with --bench");
  if (options->bench && options->trace)
    return fail(ExitUsage, "--bench and --profile disturb each other: one at a "
                           "time");
  if (options->sequence && (options->bench || options->trace))
    return fail(ExitUsage, "--sequence doesn't go with --bench and --profile");
  return ExitDone;
}

void printHelp() { say("%s", helpText); }

bool parseShape(const char *text, uint32_t limit, uint32_t *rank, int64_t *dims) {
  *rank = 0;
  if (!strcmp(text, "scalar"))
    return true;
  for (;;) {
    if (*rank == limit || *text < '0' || *text > '9')
      return false;
    int64_t value = 0;
    for (; *text >= '0' && *text <= '9'; ++text)
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(*text - '0'), &value))
        return false;
    dims[(*rank)++] = value;
    if (!*text)
      return true;
    if (*text != 'x' && *text != ',')
      return false;
    ++text;
  }
}

} // namespace stint_run
