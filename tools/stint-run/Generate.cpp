// `stint-run generate`: opens a decoder, goes on with a prompt, and writes what
// comes as it comes.
#include "Generate.h"
#include "Json.h"
#include "Report.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stint_run {

namespace {

const char *finishName(int32_t finish) {
  switch (finish) {
  case STINT_FINISH_STOP_ID:
    return "end of text";
  case STINT_FINISH_MAX_TOKENS:
    return "max tokens";
  case STINT_FINISH_CONTEXT:
    return "context full";
  case STINT_FINISH_CACHE:
    return "cache full";
  case STINT_FINISH_STOPPED:
    return "stop text";
  case STINT_FINISH_FAILED:
    return "failed";
  default:
    return "cancelled";
  }
}

double milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

void keepText(Generation *generation, const char *text, size_t size) {
  if (generation->answerSize + size > generation->answerRoom) {
    size_t room = 2 * (generation->answerSize + size) + 256;
    char *grown = static_cast<char *>(realloc(generation->answer, room));
    if (!grown)
      return; // a chat's next turn knows less of this one
    generation->answer = grown;
    generation->answerRoom = room;
  }
  memcpy(generation->answer + generation->answerSize, text, size);
  generation->answerSize += size;
}

void writePiece(Generation *generation) {
  const TextStream &stream = generation->stream;
  if (!stream.size())
    return;
  keepText(generation, stream.text(), stream.size());
  if (!generation->options->json)
    writeText(stream.text(), stream.size());
}

void sayToken(Generation *generation, int64_t id) {
  // A terminating zero for jsonString; zeros of the text's own end it early.
  char text[512] = "", quoted[1200];
  size_t size = generation->hasText ? generation->stream.size() : 0;
  if (size >= sizeof text)
    size = sizeof text - 1;
  memcpy(text, generation->hasText ? generation->stream.text() : "", size);
  text[size] = 0;
  say("{\"event\": \"token\", \"id\": %lld, \"text\": %s}\n", static_cast<long long>(id),
      jsonString(text, quoted, sizeof quoted));
  fflush(stdout);
}

int32_t takeToken(void *user, const stint_token_event *event) {
  auto *generation = static_cast<Generation *>(user);
  const GenerateOptions &options = *generation->options;
  bool stopped = false;
  if (event->token >= 0) {
    generation->last = stint_clock_ns();
    if (generation->generated++ == 0)
      generation->first = generation->last;
    if (generation->hasText) {
      stopped = generation->stream.add(static_cast<uint32_t>(event->token));
      writePiece(generation);
    } else if (!options.json) {
      say("%s%lld", generation->generated > 1 ? " " : "", static_cast<long long>(event->token));
      fflush(stdout);
    }
    if (options.json)
      sayToken(generation, event->token);
  }
  return stopped ? STINT_STOP : STINT_GO_ON;
}

// The symbols of the step table that one sequence needs one of.
bool isSingle(const char *name) { return name && (!strcmp(name, "sequences") || !strcmp(name, "logit_rows")); }

int openDecoder(Generation *generation) {
  Job &job = generation->job;
  job.options = &generation->options->common;
  if (int code = openModel(&job))
    return code;
  generation->decoder.size = sizeof generation->decoder;
  if (stint_model_decoder(job.model, &generation->decoder).code)
    return fail(ExitUsage, "'%s' is no decoder: it continues no text (models with past and present keys and values do)",
                job.options->plan);
  job.entry = generation->decoder.entry;
  if (int code = openExecutor(&job))
    return code;
  stint_dim_maximum maxima[2];
  stint_session_options how = {};
  how.size = sizeof how;
  how.device = job.options->device;
  how.executor = job.executor;
  how.entry = job.entry;
  how.flags = STINT_SESSION_BIND_ALL;
  how.maxima = maxima;
  for (uint32_t i = 0; i < stint_model_symbol_count(job.model); ++i) {
    stint_symbol_info symbol = {};
    symbol.size = sizeof symbol;
    if (!stint_model_symbol(job.model, i, &symbol).code && isSingle(symbol.name) && symbol.lower <= 1 &&
        how.maximum_count < 2)
      maxima[how.maximum_count++] = {symbol.name, 1};
  }
  stint_status status = stint_session_create(job.model, &how, &job.session);
  if (!status.code)
    status = stint_generator_create(job.session, nullptr, &generation->generator);
  return status.code ? failStatus(status, job.model, "can't make a session to generate with") : int(ExitDone);
}

int openText(Generation *generation) {
  const GenerateOptions &options = *generation->options;
  const stint_model *model = generation->job.model;
  generation->hasText = stint_model_has_tokenizer(model) != 0;
  if (!generation->hasText) {
    if (options.prompt || options.promptFile || options.chat || options.stops.count)
      return fail(ExitUsage, "'%s' holds no tokenizer: give --tokens, or compile with --tokenizer",
                  options.common.plan);
    return ExitDone;
  }
  stint_tokenizer_info info = {};
  info.size = sizeof info;
  stint_status status = stint_model_tokenizer(model, &info);
  if (status.code)
    return failStatus(status, model, "can't use the tokenizer");
  if (options.chat && !info.has_chat)
    return fail(ExitUsage, "'%s' holds no chat template: give --prompt, or compile with --chat-template",
                options.common.plan);
  uint32_t ends[] = {info.eos_id, options.chat ? info.turn_end_id : STINT_NO_TOKEN};
  for (uint32_t id : ends)
    if (id < generation->decoder.vocabulary && !options.ignoreEnd)
      generation->stopIds[generation->stopCount++] = id;
  return generation->stream.open(model, &options.stops) ? int(ExitDone) : fail(ExitFailed, "out of memory");
}

stint_sequence_options sequenceOptions(Generation *generation) {
  stint_sequence_options how = {};
  how.size = sizeof how;
  how.sampling = &generation->options->sampling;
  how.max_tokens = generation->options->maxTokens;
  how.stop_ids = generation->stopIds;
  how.stop_count = generation->stopCount;
  how.on_token = takeToken;
  how.user = generation;
  return how;
}

int loadState(Generation *generation) {
  const char *path = generation->options->loadState;
  InputFile file;
  Buffer bytes;
  if (int code = file.open(path))
    return code;
  if (!bytes.allocate(file.size()))
    return fail(ExitFailed, "can't read '%s': out of memory", path);
  if (int code = file.read(bytes.data(), bytes.size()))
    return code;
  stint_sequence_options how = sequenceOptions(generation);
  stint_status status =
      stint_sequence_restore(generation->generator, bytes.data(), bytes.size(), &how, &generation->sequence);
  char what[600];
  snprintf(what, sizeof what, "--load-state '%.500s'", path);
  return status.code ? failStatus(status, generation->job.model, what) : int(ExitDone);
}

int saveState(Generation *generation) {
  OutputFile file;
  if (int code = file.open(generation->options->saveState))
    return code;
  stint_status status = stint_sequence_save(
      generation->generator, generation->sequence,
      [](void *user, const void *data, size_t size) { return static_cast<OutputFile *>(user)->put(data, size); },
      &file);
  if (status.code && status.code != STINT_STATUS_IO)
    return failStatus(status, generation->job.model, "can't save the sequence");
  return file.finish();
}

// Steps until the sequence has ended.
int run(Generation *generation) {
  const Options &options = generation->options->common;
  stint_run_options how = {};
  how.size = sizeof how;
  how.cancel = generation->interrupted;
  if (options.timeoutMs)
    how.deadline_ns = generation->begin + options.timeoutMs * 1000000;
  stint_step_info step = {};
  step.size = sizeof step;
  do {
    stint_status status = stint_generator_step(generation->generator, &how, &step);
    if (status.code)
      return failStatus(status, generation->job.model, "generating failed");
  } while (step.ready);
  return ExitDone;
}

void summarise(const Generation &generation, const stint_sequence_info &info) {
  double first = milliseconds(generation.first - generation.begin);
  double rest = milliseconds(generation.last - generation.first);
  uint32_t more = generation.generated > 1 ? generation.generated - 1 : 0;
  double each = more ? rest / more : 0;
  if (generation.options->json) {
    say("{\"event\": \"end\", \"finish\": \"%s\", \"prompt_tokens\": %u, \"generated_tokens\": %u, ",
        finishName(info.finish), generation.promptTokens, generation.generated);
    say("\"first_token_ms\": %.3f, \"token_ms\": %.3f, \"tokens_per_second\": %.2f, \"cache_pages\": %u, "
        "\"all_pages\": %u}\n",
        first, each, each > 0 ? 1000 / each : 0, info.pages, generation.decoder.page_count);
    return;
  }
  fprintf(stderr, "stint-run: prompt %u token%s", generation.promptTokens, generation.promptTokens == 1 ? "" : "s");
  if (generation.generated)
    fprintf(stderr, ", first token after %.1f ms", first);
  fprintf(stderr, "; %u generated", generation.generated);
  if (more)
    fprintf(stderr, ", %.2f ms each (%.1f tokens/s)", each, each > 0 ? 1000 / each : 0);
  fprintf(stderr, "; %u of %u cache pages; %s\n", info.pages, generation.decoder.page_count, finishName(info.finish));
}

int generate(Generation *generation) {
  const GenerateOptions &options = *generation->options;
  if (options.saveState && sameFile(options.saveState, options.common.plan))
    return fail(ExitUsage, "--save-state '%s': this would destroy the plan", options.saveState);
  if (int code = openDecoder(generation))
    return code;
  if (int code = openText(generation))
    return code;
  generation->interrupted = catchInterrupts();
  if (options.loadState)
    if (int code = loadState(generation))
      return code;
  int code;
  if (options.chat && !options.prompt && !options.promptFile) {
    code = chatWithInput(generation);
  } else {
    Ids ids;
    code = readPrompt(generation, &ids);
    if (!code)
      code = answerTo(generation, ids.data(), ids.count);
  }
  if (!code && options.saveState && generation->sequence)
    code = saveState(generation);
  return code;
}

} // namespace

Generation::~Generation() {
  stint_generator_destroy(generator);
  free(answer);
}

int answerTo(Generation *generation, const uint32_t *ids, size_t count) {
  const GenerateOptions &options = *generation->options;
  const stint_model *model = generation->job.model;
  stint_sequence_options how = sequenceOptions(generation);
  generation->begin = stint_clock_ns();
  generation->promptTokens = static_cast<uint32_t>(count);
  generation->generated = 0;
  generation->answerSize = 0;
  generation->stream.reset();
  stint_status status = {};
  if (!generation->sequence)
    status = stint_sequence_add(generation->generator, ids, count, &how, &generation->sequence);
  else if (count)
    status = stint_sequence_append(generation->generator, generation->sequence, ids, count, options.maxTokens);
  if (status.code)
    return failStatus(status, model, "the prompt");
  if (int code = run(generation))
    return code;

  stint_sequence_info info = {};
  info.size = sizeof info;
  status = stint_sequence_query(generation->generator, generation->sequence, &info);
  if (!status.code && info.finish == STINT_FINISH_FAILED)
    status = info.status;
  if (status.code)
    return failStatus(status, model, "generating failed");
  if (generation->hasText && info.finish != STINT_FINISH_STOPPED) {
    generation->stream.finish();
    writePiece(generation);
    if (options.json && generation->stream.size())
      sayToken(generation, -1);
  }
  if (!options.json)
    say("\n");
  fflush(stdout);
  summarise(*generation, info);
  if (info.finish == STINT_FINISH_CACHE)
    return fail(ExitFailed, "the cache is full: %u pages of %u tokens (compile with a larger --kv-memory)",
                generation->decoder.page_count, generation->decoder.page_size);
  return flush();
}

int generateMain(int argc, char **argv) {
  GenerateOptions options;
  if (int code = parseGenerateOptions(argc, argv, &options))
    return code;
  if (options.help || options.common.help || options.common.version) {
    if (options.common.version)
      say("stint-run %s\n", stint_version());
    else
      printGenerateHelp();
    return flush();
  }
  Generation generation;
  generation.options = &options;
  return generate(&generation);
}

} // namespace stint_run
