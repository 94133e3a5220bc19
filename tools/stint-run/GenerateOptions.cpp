// Parsing of `stint-run generate`: takes its own options out of the command
// line, and hands the rest to parseOptions.
#include "GenerateOptions.h"
#include "Report.h"

#include <cstdlib>
#include <cstring>

namespace stint_run {

namespace {

const char helpText[] = "usage: stint-run generate PLAN --prompt TEXT [options]\n"
                        "Continues a text with a model that `stint compile` made of a decoder.\n"
                        "\n"
                        "  --prompt TEXT, --prompt-file FILE   what is continued\n"
                        "  --tokens 1,2,3             the same as token ids; the only way where the\n"
                        "                             plan holds no tokenizer\n"
                        "  --chat                     the prompt is a message, and the answer is\n"
                        "                             written; without a prompt every line of the\n"
                        "                             standard input is a message\n"
                        "  --system TEXT              the system message of a chat\n"
                        "  --max-tokens N             tokens to generate at most (default: 256)\n"
                        "  --temperature X            0 (default): always the likeliest token\n"
                        "  --top-k N, --top-p X, --min-p X     only the likeliest\n"
                        "  --repetition-penalty X, --presence-penalty X, --frequency-penalty X\n"
                        "  --seed N                   another seed, another text (default: 0)\n"
                        "  --stop TEXT                end before this text; may be repeated\n"
                        "  --ignore-end               go on after tokens that end a text\n"
                        "  --json                     an event a line\n"
                        "  --save-state FILE          keep the sequence, to go on later\n"
                        "  --load-state FILE          go on with a sequence that was kept\n"
                        "  --threads, --cpus, --variant, --verify, --timeout-ms: see stint-run --help\n"
                        "\n"
                        "Text goes to the standard output as it comes, a summary to the standard\n"
                        "error. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 unsupported, 4\n"
                        "malformed.\n";

struct NumberOption {
  const char *name;
  double stint_sampling::*field;
  double least, most;
  bool open; // the least is excluded
};
const NumberOption numberOptions[] = {{"--temperature", &stint_sampling::temperature, 0, 1e6, false},
                                      {"--top-p", &stint_sampling::top_p, 0, 1, true},
                                      {"--min-p", &stint_sampling::min_p, 0, 1, false},
                                      {"--repetition-penalty", &stint_sampling::repetition_penalty, 0, 1e6, true},
                                      {"--presence-penalty", &stint_sampling::presence_penalty, -1e6, 1e6, false},
                                      {"--frequency-penalty", &stint_sampling::frequency_penalty, -1e6, 1e6, false}};

struct TextOption {
  const char *name;
  const char *GenerateOptions::*field;
};
const TextOption textOptions[] = {
    {"--prompt", &GenerateOptions::prompt},        {"--prompt-file", &GenerateOptions::promptFile},
    {"--tokens", &GenerateOptions::tokens},        {"--system", &GenerateOptions::system},
    {"--save-state", &GenerateOptions::saveState}, {"--load-state", &GenerateOptions::loadState}};

struct FlagOption {
  const char *name;
  bool GenerateOptions::*field;
};
const FlagOption flagOptions[] = {{"--chat", &GenerateOptions::chat},
                                  {"--json", &GenerateOptions::json},
                                  {"--ignore-end", &GenerateOptions::ignoreEnd},
                                  {"--help", &GenerateOptions::help},
                                  {"-h", &GenerateOptions::help}};

// "-1.25", without an exponent: the C library's way takes a tenth of the whole
// program.
bool parseDecimal(const char *text, double *value) {
  bool negative = *text == '-', digits = false;
  double mantissa = 0, scale = 1;
  int count = 0;
  for (text += negative; *text >= '0' && *text <= '9' && count < 15; ++text, ++count, digits = true)
    mantissa = mantissa * 10 + (*text - '0');
  if (*text == '.')
    for (++text; *text >= '0' && *text <= '9' && count < 15; ++text, ++count, digits = true) {
      mantissa = mantissa * 10 + (*text - '0');
      scale *= 10;
    }
  *value = (negative ? -mantissa : mantissa) / scale; // exact integers: rounded once
  return digits && *text == 0;
}

int setNumber(const NumberOption &option, const char *text, GenerateOptions *options) {
  double value = 0;
  bool good = parseDecimal(text, &value) && value <= option.most &&
              (option.open ? value > option.least : value >= option.least);
  if (!good)
    return fail(ExitUsage, "%s '%s': expected a number %s %g, at most %g", option.name, text,
                option.open ? "above" : "from", option.least, option.most);
  options->sampling.*option.field = value;
  return ExitDone;
}

// --max-tokens, --top-k, --seed. False if it is none of them.
bool setCount(const char *name, size_t length, const char *text, GenerateOptions *options, int *code) {
  auto is = [&](const char *other) { return strlen(other) == length && !memcmp(name, other, length); };
  bool maxTokens = is("--max-tokens"), topK = is("--top-k");
  if (!maxTokens && !topK && !is("--seed"))
    return false;
  uint64_t most = maxTokens || topK ? 1000000000u : UINT64_MAX, value = 0;
  bool good = text && *text;
  for (const char *at = text; good && *at; ++at)
    good = *at >= '0' && *at <= '9' && !__builtin_mul_overflow(value, uint64_t(10), &value) &&
           !__builtin_add_overflow(value, uint64_t(*at - '0'), &value);
  if (text && (!good || value > most || (maxTokens && value == 0)))
    *code = fail(ExitUsage, "%.*s '%s': expected a number from %d to %llu", static_cast<int>(length), name, text,
                 maxTokens ? 1 : 0, static_cast<unsigned long long>(most));
  if (maxTokens)
    options->maxTokens = static_cast<uint32_t>(value);
  else if (topK)
    options->sampling.top_k = static_cast<uint32_t>(value);
  else
    options->sampling.seed = value;
  return true;
}

// Sets an option of ours. *taken: it was one; *usedNext: so was the argument
// behind it.
int apply(char **argv, int argc, int at, GenerateOptions *options, bool *taken, bool *usedNext) {
  const char *argument = argv[at], *equal = strchr(argument, '=');
  size_t length = equal ? static_cast<size_t>(equal - argument) : strlen(argument);
  auto is = [&](const char *name) { return strlen(name) == length && !memcmp(name, argument, length); };
  *taken = true;
  *usedNext = false;
  for (const FlagOption &option : flagOptions)
    if (is(option.name)) {
      options->*option.field = true;
      return equal ? fail(ExitUsage, "%s takes no value", option.name) : int(ExitDone);
    }
  const char *value = equal ? equal + 1 : at + 1 < argc ? argv[at + 1] : nullptr;
  int code = ExitDone;
  bool found = setCount(argument, length, value, options, &code);
  for (const NumberOption &option : numberOptions)
    if (is(option.name)) {
      found = true;
      code = value ? setNumber(option, value, options) : int(ExitDone);
    }
  for (const TextOption &option : textOptions)
    if (is(option.name)) {
      found = true;
      options->*option.field = value;
    }
  if (is("--stop")) {
    found = true;
    if (value && !*value)
      return fail(ExitUsage, "--stop '': a text that ends the text can't be empty");
    if (!options->stops.items)
      options->stops.items = static_cast<const char **>(malloc(static_cast<size_t>(argc) * sizeof(char *)));
    if (!options->stops.items)
      return fail(ExitFailed, "out of memory");
    options->stops.items[options->stops.count++] = value;
  }
  *taken = found;
  *usedNext = found && !equal;
  if (found && !value)
    return fail(ExitUsage, "%s needs a value (see stint-run generate --help)", argument);
  return code;
}

int check(const GenerateOptions &options) {
  const Options &common = options.common;
  int prompts = (options.prompt != nullptr) + (options.promptFile != nullptr) + (options.tokens != nullptr);
  if (common.inputs.count || common.outputs.count || common.shapes.count || common.sequence || common.bench ||
      common.trace || common.entry || common.info)
    return fail(ExitUsage, "generate doesn't go with --input, --output, --shape, --sequence, --bench, --profile, "
                           "--entry and --info");
  if (prompts > 1)
    return fail(ExitUsage, "one of --prompt, --prompt-file and --tokens, not several");
  if (!prompts && !options.chat && !options.loadState)
    return fail(ExitUsage, "nothing to continue: give --prompt, --prompt-file, --tokens or --chat");
  if (options.chat && options.tokens)
    return fail(ExitUsage, "--chat takes text: it doesn't go with --tokens");
  if (options.system && !options.chat)
    return fail(ExitUsage, "--system goes with --chat");
  if (options.chat && options.loadState)
    return fail(ExitUsage, "--load-state goes on with tokens as they are: it doesn't go with --chat");
  return ExitDone;
}

} // namespace

GenerateOptions::GenerateOptions() { sampling.size = sizeof(sampling); }

GenerateOptions::~GenerateOptions() { free(stops.items); }

int parseGenerateOptions(int argc, char **argv, GenerateOptions *options) {
  char **rest = static_cast<char **>(malloc((static_cast<size_t>(argc) + 1) * sizeof(char *)));
  if (!rest)
    return fail(ExitFailed, "out of memory");
  int count = 0, code = ExitDone;
  rest[count++] = argv[0];
  for (int i = 1; i < argc && !code; ++i) {
    bool taken = false, usedNext = false;
    code = apply(argv, argc, i, options, &taken, &usedNext);
    if (!taken)
      rest[count++] = argv[i];
    i += usedNext;
  }
  rest[count] = nullptr;
  if (!code && !options->help)
    code = parseOptions(count, rest, &options->common);
  free(rest);
  return code || options->help ? code : check(*options);
}

void printGenerateHelp() { say("%s", helpText); }

} // namespace stint_run
