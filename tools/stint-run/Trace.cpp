// --profile: one run, its dispatches written as a Chrome trace (JSON; opened
// by ui.perfetto.dev and chrome://tracing). One row a thread, times in
// microseconds from the beginning of the run; bytes and FLOPs are those of the
// whole dispatch, whichever threads it ran on.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include "Job.h"
#include "Json.h"
#include "Report.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stint_run {

namespace {

// The events of a run, kept until it is over: writing them down must not
// disturb what is measured.
struct Events {
  stint_profile_event *items = nullptr;
  size_t count = 0, capacity = 0;
  bool full = false; // memory ran out: some are missing

  ~Events() { free(items); }
};

void record(void *user, const stint_profile_event *event) {
  Events *events = static_cast<Events *>(user);
  if (events->count == events->capacity) {
    size_t capacity = events->capacity ? events->capacity * 2 : 1024;
    void *items = realloc(events->items, capacity * sizeof(*events->items));
    if (!items) {
      events->full = true;
      return;
    }
    events->items = static_cast<stint_profile_event *>(items);
    events->capacity = capacity;
  }
  events->items[events->count++] = *event;
}

// A text that grows.
struct Text {
  char *data = nullptr;
  size_t size = 0, capacity = 0;
  bool failed = false;

  ~Text() { free(data); }

  void add(const char *format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    char piece[4096];
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (failed || length < 0 || static_cast<size_t>(length) >= sizeof piece) {
      failed = true;
      return;
    }
    size_t more = static_cast<size_t>(length);
    if (size + more > capacity) {
      size_t wanted = (size + more) * 2;
      void *grown = realloc(data, wanted);
      if (!grown) {
        failed = true;
        return;
      }
      data = static_cast<char *>(grown);
      capacity = wanted;
    }
    memcpy(data + size, piece, more);
    size += more;
  }
};

// "conv1, relu1": the nodes of a dispatch, as one JSON string.
void addNodes(const Job &job, uint32_t dispatch, Text *text) {
  char names[1024] = "", quoted[2100];
  size_t used = 0;
  uint32_t count = stint_model_dispatch_node_count(job.model, job.entry, dispatch);
  for (uint32_t i = 0; i < count && used < sizeof names; ++i) {
    const char *name = stint_model_dispatch_node(job.model, job.entry, dispatch, i);
    int length = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name ? name : "?");
    used += length > 0 ? static_cast<size_t>(length) : 0;
  }
  text->add("%s", jsonString(names, quoted, sizeof quoted));
}

void addEvent(const Job &job, const stint_profile_event &event, int64_t start, Text *text) {
  char kernel[512];
  double duration = static_cast<double>(event.end_ns - event.begin_ns);
  text->add("{\"name\": %s, \"cat\": \"dispatch\", \"ph\": \"X\", \"pid\": 1, "
            "\"tid\": %u, \"ts\": %.3f, \"dur\": %.3f, \"args\": "
            "{\"dispatch\": %u, \"workgroups\": %llu, ",
            jsonString(event.kernel ? event.kernel : "?", kernel, sizeof kernel), event.thread,
            static_cast<double>(event.begin_ns - start) / 1e3, duration / 1e3, event.dispatch,
            static_cast<unsigned long long>(event.workgroups));
  text->add("\"bytes_read\": %llu, \"bytes_written\": %llu, ", static_cast<unsigned long long>(event.bytes_read),
            static_cast<unsigned long long>(event.bytes_written));
  if (event.flops >= 0)
    text->add("\"flops\": %lld, ", static_cast<long long>(event.flops));
  text->add("\"nodes\": ");
  addNodes(job, event.dispatch, text);
  text->add("}}");
}

// Names of the rows: the model, and its threads.
void addNames(const Job &job, Text *text) {
  char name[512];
  text->add("{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": %s}},\n",
            jsonString(stint_model_name(job.model), name, sizeof name));
  uint32_t threads = stint_executor_threads(job.executor);
  for (uint32_t i = 0; i < threads; ++i)
    text->add("{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %u, \"args\": "
              "{\"name\": \"%s %u\"}},\n",
              i, i ? "worker" : "caller", i);
}

} // namespace

int runWithTrace(Job *job) {
  // A first run without the hook: pages are touched, threads are awake.
  if (int code = runOnce(job))
    return code;
  Events events;
  stint_status status = stint_session_set_profile(job->session, record, &events);
  if (status.code)
    return failStatus(status, job->model, "--profile");
  int64_t start = stint_clock_ns();
  int code = runOnce(job);
  int64_t end = stint_clock_ns();
  status = stint_session_set_profile(job->session, nullptr, nullptr);
  if (code)
    return code;
  if (status.code)
    return failStatus(status, job->model, "--profile");
  Text text;
  text.add("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
  addNames(*job, &text);
  for (size_t i = 0; i < events.count; ++i) {
    addEvent(*job, events.items[i], start, &text);
    text.add(",\n");
  }
  text.add(
      "{\"name\": \"run\", \"cat\": \"run\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"ts\": 0, \"dur\": %.3f}\n]}\n",
      static_cast<double>(end - start) / 1e3);
  if (events.full || text.failed)
    return fail(ExitFailed, "--profile '%s': out of memory", job->options->trace);
  Piece piece = {text.data, text.size};
  return writeFile(job->options->trace, &piece, 1);
}

} // namespace stint_run
