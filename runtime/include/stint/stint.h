// stint: run ahead-of-time compiled models. The whole C API.
//
// Included by applications, by tools/stint-run, and by the compiler (which
// runs plans to fold constants and to verify). C99; depends on <stddef.h> and
// <stdint.h> alone. Functions and struct fields are only ever appended; every
// options or info struct begins with its own size, so that an older caller
// and a newer library agree. Zero in any option means "the default".
//
// A model is opened once and is immutable: any number of threads may use it.
// A session is one execution context (activations, bindings): one thread at a
// time. An executor is a set of threads that sessions share.
//
//   stint_model *model;   stint_session *session;
//   stint_model_open_file("net.stint", NULL, &model);
//   stint_session_create(model, NULL, &session);
//   stint_session_bind_input(session, 0, pixels, bytes, 4, shape);
//   stint_session_run(session, NULL);
//   stint_session_output(session, 0, &tensor);
#ifndef STINT_STINT_H
#define STINT_STINT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STINT_API __attribute__((visibility("default")))
#else
#define STINT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct stint_dispatch;  // kernel_abi.h
struct stint_workgroup; // kernel_abi.h

typedef struct stint_model stint_model;
typedef struct stint_executor stint_executor;
typedef struct stint_session stint_session;
typedef struct stint_generator stint_generator;

enum { STINT_MAX_RANK = 8 };

// ---------------------------------------------------------------------------
// Status: how every fallible call answers. Nothing aborts, nothing is logged.

enum stint_status_code {
  STINT_OK = 0,
  STINT_STATUS_INVALID_ARGUMENT = 1, // the call breaks this header's contract
  STINT_STATUS_OUT_OF_MEMORY = 2,
  STINT_STATUS_IO = 3,             // a = errno of the failing call
  STINT_STATUS_MALFORMED = 4,      // not a plan, damaged, or not verifying
  STINT_STATUS_UNSUPPORTED = 5,    // a sound plan, but not for this runtime
                                   // or this machine
  STINT_STATUS_NOT_FOUND = 6,      // no such name or index
  STINT_STATUS_SHAPE_MISMATCH = 7, // ranks or dimensions disagree
  STINT_STATUS_OUT_OF_RANGE = 8,   // a dimension outside its bounds
  STINT_STATUS_KERNEL_FAILED = 9,  // a = what the kernel returned
  STINT_STATUS_CANCELLED = 10,
  STINT_STATUS_DEADLINE = 11,
  STINT_STATUS_OVERFLOW = 12, // arithmetic on sizes overflowed
  STINT_STATUS_FULL = 13      // no room now; there is some once others are gone
};

// What `object` of a status counts.
enum stint_object_kind {
  STINT_OBJECT_NONE = 0,
  STINT_OBJECT_INPUT = 1,
  STINT_OBJECT_OUTPUT = 2,
  STINT_OBJECT_SYMBOL = 3,
  STINT_OBJECT_DISPATCH = 4,
  STINT_OBJECT_INSTRUCTION = 5,
  STINT_OBJECT_BUFFER = 6,
  STINT_OBJECT_SECTION = 7,
  STINT_OBJECT_VARIANT = 8,
  STINT_OBJECT_WEIGHT = 9,
  STINT_OBJECT_ENTRY = 10,
  STINT_OBJECT_PROFILE = 11,
  STINT_OBJECT_KERNEL = 12
};

// `text` is static, or belongs to the model that the failing call was about;
// it may hold the marks %o (the object), %a and %b (the integers), %u (a without a sign), which
// stint_status_format fills in. Never NULL.
typedef struct stint_status {
  int32_t code;        // enum stint_status_code
  int32_t object_kind; // enum stint_object_kind
  uint32_t object;     // index; meaningful unless object_kind is NONE
  uint32_t entry;      // entry that inputs, outputs, dispatches belong to
  int64_t a, b;
  const char *text;
} stint_status;

// Writes one line of text (no newline), always zero-terminated if size > 0,
// cut to fit. `model` may be NULL; with it objects are called by their names.
// Returns the length the whole text has.
STINT_API size_t stint_status_format(const stint_status *status, const stint_model *model, char *buffer, size_t size);

// Version of the library, as in "0.1.0". Static.
STINT_API const char *stint_version(void);

// Monotonic clock, nanoseconds since some fixed point. Any thread.
STINT_API int64_t stint_clock_ns(void);

// ---------------------------------------------------------------------------
// Models

// Element types, numbered as in ONNX's TensorProto.DataType.
enum stint_type {
  STINT_F32 = 1,
  STINT_U8 = 2,
  STINT_I8 = 3,
  STINT_U16 = 4,
  STINT_I16 = 5,
  STINT_I32 = 6,
  STINT_I64 = 7,
  STINT_STRING = 8,
  STINT_BOOL = 9,
  STINT_F16 = 10,
  STINT_F64 = 11,
  STINT_U32 = 12,
  STINT_U64 = 13,
  STINT_C64 = 14,
  STINT_C128 = 15,
  STINT_BF16 = 16,
  STINT_F8E4M3FN = 17,
  STINT_F8E4M3FNUZ = 18,
  STINT_F8E5M2 = 19,
  STINT_F8E5M2FNUZ = 20,
  STINT_U4 = 21,
  STINT_I4 = 22,
  STINT_F4E2M1 = 23,
  STINT_F8E8M0 = 24,
  STINT_U2 = 25,
  STINT_I2 = 26
};

// Bits an element takes (bool: 8); 0 for an unknown type and for strings.
STINT_API uint32_t stint_type_bits(int32_t type);
// Static name ("f32", "bool"); "?" for an unknown type.
STINT_API const char *stint_type_name(int32_t type);

// When weight values are compared with their hashes. Everything else (header,
// plan, code, constants) is always checked when a model is opened; no pattern
// of weight bits can do worse than give wrong numbers.
enum stint_verify {
  STINT_VERIFY_OFF = 0,       // the default: opening touches no weights
  STINT_VERIFY_FIRST_USE = 1, // each 1 MiB chunk before a kernel first reads it
  STINT_VERIFY_FULL = 2       // all chunks, while opening
};

// A kernel linked into the application (from `--emit static-library`), for
// systems that forbid mapping code: used where its hash equals the plan's.
// `function` has the type stint_kernel of kernel_abi.h.
typedef struct stint_static_kernel {
  uint8_t hash[32];
  int32_t (*function)(const struct stint_dispatch *, const struct stint_workgroup *);
} stint_static_kernel;

typedef struct stint_model_options {
  size_t size;    // sizeof(stint_model_options)
  int32_t verify; // enum stint_verify
  // Forces a variant by name; NULL: the best one this machine can run. "none":
  // no code at all, for queries and the null device on any machine.
  const char *variant;
  // With static kernels no code is taken from the file: each kernel of the
  // plan must be in the table. Copied. `scratch`: bytes each thread needs.
  const stint_static_kernel *static_kernels;
  size_t static_kernel_count;
  uint64_t static_scratch;
} stint_model_options;

// Opens a plan. On success *model holds one reference; on failure it is NULL.
// With a status about an object inside a plan that could not be opened there
// is no model to format it with: pass NULL.
//
// The file is mapped for its weights and stays mapped; plan, code and
// constants are copied and checked first. Don't overwrite a file in use in
// place: write a new one and rename it.
STINT_API stint_status stint_model_open_file(const char *path, const stint_model_options *options, stint_model **model);
// A plan inside an open file: `length` bytes at `offset` (a multiple of 64);
// length 0: up to the end of the file. The descriptor stays the caller's and
// may be closed afterwards.
STINT_API stint_status stint_model_open_fd(int fd, uint64_t offset, uint64_t length, const stint_model_options *options,
                                           stint_model **model);
// A plan in memory, aligned to 64 bytes, which must outlive the model.
STINT_API stint_status stint_model_open_memory(const void *data, size_t size, const stint_model_options *options,
                                               stint_model **model);

// Reference counting; any thread. Sessions hold a reference of their own.
// Releasing NULL does nothing.
STINT_API void stint_model_retain(stint_model *model);
STINT_API void stint_model_release(stint_model *model);

// Queries: any thread; strings live as long as the model. An index out of
// range gives 0, NULL or STINT_STATUS_NOT_FOUND.

// Name of the model and of the compiler that made the plan.
STINT_API const char *stint_model_name(const stint_model *model);
STINT_API const char *stint_model_producer(const stint_model *model);
// SHA-256 that covers all of the file but weight values (32 bytes).
STINT_API const uint8_t *stint_model_root_hash(const stint_model *model);

STINT_API uint32_t stint_model_entry_count(const stint_model *model);
STINT_API const char *stint_model_entry_name(const stint_model *model, uint32_t entry);

// A symbolic dimension; bounds are inclusive.
typedef struct stint_symbol_info {
  size_t size;
  const char *name;
  int64_t lower, upper;
} stint_symbol_info;
STINT_API uint32_t stint_model_symbol_count(const stint_model *model);
STINT_API stint_status stint_model_symbol(const stint_model *model, uint32_t symbol, stint_symbol_info *info);

// An input or output of an entry.
typedef struct stint_port_info {
  size_t size;
  const char *name;
  int32_t type; // enum stint_type
  uint32_t rank;
} stint_port_info;
STINT_API uint32_t stint_model_input_count(const stint_model *model, uint32_t entry);
STINT_API uint32_t stint_model_output_count(const stint_model *model, uint32_t entry);
STINT_API stint_status stint_model_input(const stint_model *model, uint32_t entry, uint32_t input,
                                         stint_port_info *info);
STINT_API stint_status stint_model_output(const stint_model *model, uint32_t entry, uint32_t output,
                                          stint_port_info *info);

// One dimension of a port. lower == upper: fixed. A dimension that is a
// symbol carries its index, name and bounds; for one that is computed (width
// / 8, say) symbol is -1, name NULL, and the bounds are what it comes to with
// every symbol at its lower and at its upper bound, or -1 where that can't be
// known before a run.
typedef struct stint_dim_info {
  size_t size;
  const char *name;
  int32_t symbol;
  int64_t lower, upper;
} stint_dim_info;
STINT_API stint_status stint_model_input_dim(const stint_model *model, uint32_t entry, uint32_t input, uint32_t axis,
                                             stint_dim_info *info);
STINT_API stint_status stint_model_output_dim(const stint_model *model, uint32_t entry, uint32_t output, uint32_t axis,
                                              stint_dim_info *info);

// A set of machine code in the plan.
typedef struct stint_variant_info {
  size_t size;
  const char *name;
  const char *machine; // "x86_64", "aarch64", "none"
  int32_t available;   // this machine can run it
  int32_t chosen;      // it is the one in use
  uint64_t code_bytes;
  uint64_t scratch_bytes; // per thread
} stint_variant_info;
STINT_API uint32_t stint_model_variant_count(const stint_model *model);
STINT_API stint_status stint_model_variant(const stint_model *model, uint32_t variant, stint_variant_info *info);

// A dispatch of an entry: its kernel's name, and the ONNX nodes it computes.
STINT_API uint32_t stint_model_dispatch_count(const stint_model *model, uint32_t entry);
STINT_API const char *stint_model_dispatch_kernel(const stint_model *model, uint32_t entry, uint32_t dispatch);
STINT_API uint32_t stint_model_dispatch_node_count(const stint_model *model, uint32_t entry, uint32_t dispatch);
STINT_API const char *stint_model_dispatch_node(const stint_model *model, uint32_t entry, uint32_t dispatch,
                                                uint32_t node);

// ---------------------------------------------------------------------------
// Executors

// Calls task(argument, i) once for each i in [0, count), on any threads, and
// returns when all calls have returned.
typedef void (*stint_parallel_for)(void *user, uint32_t count, void (*task)(void *argument, uint32_t i),
                                   void *argument);

typedef struct stint_executor_options {
  size_t size;
  // Threads that work on one dispatch, the one calling run included. 1: run
  // inline, no thread is started. 0: as many as this process may use at once
  // (CPU affinity, cgroup quota). At most 256.
  uint32_t threads;
  // CPU numbers: worker i runs on cpus[i % cpu_count] only; the caller of run
  // counts as worker 0 and is left alone (see stint_executor_pin_caller). With
  // a list, threads 0 means one thread per CPU. Copied.
  const uint32_t *cpus;
  uint32_t cpu_count;
  // The application's own threads, instead of ours. `threads` is then how
  // many tasks a dispatch is cut into (0: as above).
  stint_parallel_for parallel_for;
  void *parallel_for_user;
} stint_executor_options;

// An executor may be shared by sessions on different threads: a dispatch that
// finds it busy runs on its own thread alone. Results never depend on the
// number of threads.
STINT_API stint_status stint_executor_create(const stint_executor_options *options, stint_executor **executor);
STINT_API uint32_t stint_executor_threads(const stint_executor *executor);
// Binds the calling thread to the first CPU of the list, if there is one.
STINT_API stint_status stint_executor_pin_caller(stint_executor *executor);
STINT_API void stint_executor_retain(stint_executor *executor);
// Sessions hold a reference; the last release joins the threads.
STINT_API void stint_executor_release(stint_executor *executor);

// ---------------------------------------------------------------------------
// Sessions

// The most a session will be asked for along one symbol.
typedef struct stint_dim_maximum {
  const char *symbol;
  int64_t value;
} stint_dim_maximum;

enum stint_session_flags {
  // Every input and output will be bound to the application's memory: reserve
  // none for them.
  STINT_SESSION_BIND_ALL = 1
};

typedef struct stint_session_options {
  size_t size;
  const char *device;       // "cpu" (default), or "null": computes nothing
  stint_executor *executor; // NULL: inline, on the calling thread
  uint32_t entry;           // which entry of the plan runs
  uint32_t flags;           // enum stint_session_flags
  // Declared maxima; symbols not named may go up to their upper bound. The
  // smallest memory layout of the plan that fits is taken.
  const stint_dim_maximum *maxima;
  size_t maximum_count;
} stint_session_options;

// The memory contract of a session, all in bytes. `session` is everything a
// session allocates: arena, scratch, inputs and outputs, tables; nothing is
// allocated after it exists. Plan, code and constants are the model's,
// allocated once; weights are mapped.
typedef struct stint_memory_info {
  size_t size;
  uint64_t session;
  uint64_t arena;   // activations
  uint64_t scratch; // all threads together
  uint64_t ports;   // memory for inputs and outputs that aren't bound
  uint64_t state;   // kept from run to run
  uint64_t plan, code, constants, weights;
  uint64_t lower_bound; // largest sum of activations alive at once
  uint32_t profile;     // memory layout taken
  uint32_t threads;
  uint64_t text; // tokenizer and chat template; the model's
} stint_memory_info;
STINT_API stint_status stint_model_memory(const stint_model *model, const stint_session_options *options,
                                          stint_memory_info *info);

// Bytes a session needs in memory of the caller's, aligned to 64 bytes.
STINT_API stint_status stint_session_size(const stint_model *model, const stint_session_options *options,
                                          size_t *bytes);
STINT_API stint_status stint_session_create(stint_model *model, const stint_session_options *options,
                                            stint_session **session);
// In the caller's memory, which must outlive the session.
STINT_API stint_status stint_session_create_in(stint_model *model, const stint_session_options *options, void *memory,
                                               size_t bytes, stint_session **session);
// Destroying NULL does nothing. Memory of the caller's isn't freed.
STINT_API void stint_session_destroy(stint_session *session);

// A tensor: row-major and dense.
typedef struct stint_tensor {
  size_t size; // sizeof(stint_tensor)
  void *data;  // aligned to 64 bytes where it is the session's
  uint64_t bytes;
  int32_t type; // enum stint_type
  uint32_t rank;
  int64_t dims[STINT_MAX_RANK];
} stint_tensor;

// Reads input `input` from the caller's memory in later runs, without a copy.
// `data` is aligned to its element and holds `bytes`, the size of a tensor of
// that shape exactly; it must stay valid, and unchanged while a run lasts.
// Inputs and outputs must not overlap.
STINT_API stint_status stint_session_bind_input(stint_session *session, uint32_t input, const void *data,
                                                uint64_t bytes, uint32_t rank, const int64_t *dims);
// Shape of an input that isn't bound; then write its elements to the `data`
// of stint_session_input. Takes a binding away. Inputs without any symbol
// have their shape from the start.
STINT_API stint_status stint_session_set_input_shape(stint_session *session, uint32_t input, uint32_t rank,
                                                     const int64_t *dims);
// Writes output `output` to the caller's memory (`bytes`: what there is) in
// later runs. data NULL takes the binding away.
STINT_API stint_status stint_session_bind_output(stint_session *session, uint32_t output, void *data, uint64_t bytes);

// Works out all shapes from those of the inputs without running anything, so
// that stint_session_output tells shapes and sizes. run does it by itself.
STINT_API stint_status stint_session_prepare(stint_session *session);

typedef struct stint_run_options {
  size_t size;
  // On the clock of stint_clock_ns; 0: none. Checked before every workgroup,
  // like `cancel`: the run ends with STINT_STATUS_DEADLINE.
  int64_t deadline_ns;
  // Stops the run with STINT_STATUS_CANCELLED once nonzero; any thread or
  // signal handler may set it. NULL: none.
  const volatile int32_t *cancel;
} stint_run_options;

// Runs the entry once. After any failure the contents of outputs are
// undefined and the session can be used again. Bit-identical for any number
// of threads.
STINT_API stint_status stint_session_run(stint_session *session, const stint_run_options *options);

// Puts the state that the session keeps from run to run back to zeros, as it
// is when the session is new. A run that fails may leave part of a state
// changed: reset it then.
STINT_API stint_status stint_session_reset(stint_session *session);

// The tensor of an input: bound, or the session's memory to be filled. Its
// shape is unknown (STINT_STATUS_SHAPE_MISMATCH) until it is given.
STINT_API stint_status stint_session_input(stint_session *session, uint32_t input, stint_tensor *tensor);
// The tensor of an output, shape included, after prepare or run; valid until
// the next call on the session. Shapes that depend on data are right only
// after run.
STINT_API stint_status stint_session_output(stint_session *session, uint32_t output, stint_tensor *tensor);

// What one thread did for one dispatch. Times on the clock of stint_clock_ns.
typedef struct stint_profile_event {
  size_t size;
  uint32_t dispatch; // names: stint_model_dispatch_*
  uint32_t thread;   // 0: the caller of run
  const char *kernel;
  int64_t begin_ns, end_ns;
  uint64_t workgroups; // done by this thread
  int64_t flops;       // of the whole dispatch; -1: not known
  // Bytes of the whole dispatch's operands and results, each counted once.
  uint64_t bytes_read, bytes_written;
} stint_profile_event;
// Called on the thread that calls run, after each dispatch, once per thread
// that took part.
typedef void (*stint_profile_hook)(void *user, const stint_profile_event *event);
// hook NULL: no profiling (the default).
STINT_API stint_status stint_session_set_profile(stint_session *session, stint_profile_hook hook, void *user);

// ---------------------------------------------------------------------------
// Generation: models that continue a sequence of tokens. A plan made from such
// a model (a decoder) keeps the keys and values of past tokens in pages of its
// session's state. A generator hands out these pages to sequences and runs
// them together: each step is one run of the plan, in which every sequence that
// is ready has its next token computed, or a part of its prompt read.
//
//   stint_decoder_info decoder;        decoder.size = sizeof(decoder);
//   stint_model_decoder(model, &decoder);
//   options.entry = decoder.entry;     options.flags = STINT_SESSION_BIND_ALL;
//   stint_session_create(model, &options, &session);
//   stint_generator_create(session, NULL, &generator);
//   stint_sequence_add(generator, prompt, count, &how, &sequence);
//   do stint_generator_step(generator, NULL, &step); while (step.ready);
//
// A generator is used by one thread at a time, and from inside a callback (of a
// token, of stint_write) only its queries may be called. It allocates nothing after it was created. What a
// sequence generates doesn't depend on what other sequences there are, on how
// its prompt was cut into steps, nor on the number of threads.

// What a plan says about its decoder; STINT_STATUS_NOT_FOUND if it has none.
typedef struct stint_decoder_info {
  size_t size;
  uint32_t entry;         // of the plan, for stint_session_options
  uint32_t vocabulary;    // token ids are below it
  uint32_t context;       // the most tokens in a sequence
  uint32_t page_size;     // tokens in a page
  uint32_t page_count;    // pages of all sequences together
  uint32_t max_tokens;    // the most tokens in a step
  uint32_t max_sequences; // the most sequences in a step
  uint64_t page_bytes;    // keys and values in a page
} stint_decoder_info;
STINT_API stint_status stint_model_decoder(const stint_model *model, stint_decoder_info *info);

typedef struct stint_generator_options {
  size_t size;
  // Sequences that may be open at once, finished and paused ones included.
  // 0: as many as there may be in a step. At most 65536.
  uint32_t max_sequences;
} stint_generator_options;

// `session` runs the decoder's entry. It stays the caller's, and belongs to the
// generator alone while that exists (STINT_STATUS_INVALID_ARGUMENT: to another
// already): calls that run, bind or reset it are refused, and destroying it takes
// place when the generator is destroyed. Its declared maxima bound a step.
STINT_API stint_status stint_generator_create(stint_session *session, const stint_generator_options *options,
                                              stint_generator **generator);
// Destroying NULL does nothing, nor does it from inside a callback.
STINT_API void stint_generator_destroy(stint_generator *generator);

typedef struct stint_generator_info {
  size_t size;
  uint64_t bytes; // the generator's own memory, the session's not counted
  uint32_t vocabulary, context, page_size, page_count;
  uint32_t max_tokens, max_sequences; // in a step
  uint32_t sequence_limit;            // open at once
  uint32_t sequences;                 // open now
  uint32_t free_pages;
} stint_generator_info;
STINT_API stint_status stint_generator_query(const stint_generator *generator, stint_generator_info *info);

// How a token is chosen, in this order: the mask; repetition penalty; presence
// and frequency penalty; temperature; top-k; top-p; min-p; a draw. Equal
// logits count by their ids, the lowest first. With temperature 0 the
// likeliest after the penalties is taken. What is drawn is a function of the
// logits, seed, stream and position alone, the same on every machine.
typedef struct stint_sampling {
  size_t size;
  double temperature;
  // Only the so many likeliest (0: all); then the likeliest that together have
  // probability top_p, in (0, 1] (0 means 1); then those at least min_p as
  // likely as the likeliest, in [0, 1].
  uint32_t top_k;
  double top_p, min_p;
  // Logits of tokens in prompt or output are divided by it where positive, else
  // multiplied (0 means 1: off).
  double repetition_penalty;
  // Taken from logits of tokens in the output: once, and once for each time.
  double presence_penalty, frequency_penalty;
  uint64_t seed;
  uint32_t stream; // tells apart sequences of one seed
  // A bit for each token, bit i % 32 of word i / 32: only tokens whose bit is
  // set may follow. Read whenever a token is chosen; stays the caller's, who
  // may change it between steps. NULL: all.
  const uint32_t *allowed;
} stint_sampling;

// Why a sequence generates no more.
enum stint_finish {
  STINT_FINISH_NONE = 0,
  STINT_FINISH_STOP_ID = 1,    // its last token is one of its stop ids
  STINT_FINISH_MAX_TOKENS = 2, // it has generated max_tokens
  STINT_FINISH_CONTEXT = 3,    // it holds as many tokens as the context
  STINT_FINISH_CACHE = 4,      // no page was free for its next token
  STINT_FINISH_STOPPED = 5,    // its callback said so
  STINT_FINISH_CANCELLED = 6,  // stint_sequence_cancel
  STINT_FINISH_FAILED = 7      // no token could be chosen, or the callback's answer
                               // was none: see its status
};

// What the consumer of a token says.
enum stint_answer {
  STINT_GO_ON = 0,
  STINT_NOT_NOW = 1, // took this token, wants no more until stint_sequence_resume
  STINT_STOP = 2
};

typedef struct stint_token_event {
  size_t size;
  uint64_t sequence;
  int64_t token;     // -1: none, the sequence ends without one
  uint32_t position; // of the token in its sequence
  int32_t finish;    // enum stint_finish; a stop id is delivered as well
} stint_token_event;
// Called inside stint_generator_step, on its thread. Returns enum stint_answer,
// which counts for nothing where the sequence ends; any other number ends it with
// STINT_FINISH_FAILED.
typedef int32_t (*stint_token_callback)(void *user, const stint_token_event *event);

enum { STINT_MAX_STOP_IDS = 32 };

typedef struct stint_sequence_options {
  size_t size;
  const stint_sampling *sampling; // copied; NULL: the likeliest token
  uint32_t max_tokens;            // to generate at most (0: 256)
  const uint32_t *stop_ids;       // copied, at most STINT_MAX_STOP_IDS
  uint32_t stop_count;
  stint_token_callback on_token; // may be NULL: see stint_sequence_tokens
  void *user;
} stint_sequence_options;

// A new sequence that begins with `tokens`. *sequence is its name, never 0 and
// never used again. STINT_STATUS_FULL: too many are open.
// STINT_STATUS_OUT_OF_RANGE: the prompt is longer than the context or all pages,
// or holds an id that is no token. No page is taken before the first step.
STINT_API stint_status stint_sequence_add(stint_generator *generator, const uint32_t *tokens, size_t count,
                                          const stint_sequence_options *options, uint64_t *sequence);
// Goes on with more tokens, as with the next turn of a conversation; may generate
// max_tokens more (0: 256). The sequence is ready again, whatever it ended with.
STINT_API stint_status stint_sequence_append(stint_generator *generator, uint64_t sequence, const uint32_t *tokens,
                                             size_t count, uint32_t max_tokens);
// Another sequence with the same tokens, which shares pages until one of both
// writes to them. options NULL: goes on as this one would. With options it is
// ready, and may generate max_tokens more.
STINT_API stint_status stint_sequence_fork(stint_generator *generator, uint64_t sequence,
                                           const stint_sequence_options *options, uint64_t *fork);
// Keeps the first `count` tokens, at least one, and goes on from there up to
// the same length as before.
STINT_API stint_status stint_sequence_rewind(stint_generator *generator, uint64_t sequence, size_t count);
// Ready again after STINT_NOT_NOW, or where it ended for want of a page.
STINT_API stint_status stint_sequence_resume(stint_generator *generator, uint64_t sequence);
// Generates no more (STINT_FINISH_CANCELLED); its tokens and pages stay.
STINT_API stint_status stint_sequence_cancel(stint_generator *generator, uint64_t sequence);
// Closes it and gives its pages back.
STINT_API stint_status stint_sequence_remove(stint_generator *generator, uint64_t sequence);

typedef struct stint_sequence_info {
  size_t size;
  uint32_t prompt_tokens;    // that came in, up to the last append
  uint32_t generated_tokens; // since then
  uint32_t cached_tokens;    // read by the model; the others are still to come
  uint32_t pages;            // in its page table, shared ones included
  int32_t finish;            // enum stint_finish
  int32_t paused;            // STINT_NOT_NOW was said
  stint_status status;       // STINT_FINISH_FAILED: why
} stint_sequence_info;
STINT_API stint_status stint_sequence_query(const stint_generator *generator, uint64_t sequence,
                                            stint_sequence_info *info);
// Its tokens, from the first of the prompt to the last generated; valid until
// the sequence is changed, or a step.
STINT_API stint_status stint_sequence_tokens(const stint_generator *generator, uint64_t sequence,
                                             const uint32_t **tokens, size_t *count);

// Writes a sequence with its keys and values, piece by piece, to `write`, which
// returns 0, or what the failure (STINT_STATUS_IO) carries as its number.
// The file can be read on any machine by a plan of the same model, with the same
// type of keys and values, and a context that holds its tokens.
typedef int32_t (*stint_write)(void *user, const void *data, size_t bytes);
STINT_API stint_status stint_sequence_save(const stint_generator *generator, uint64_t sequence, stint_write write,
                                           void *user);
// A new sequence from what was saved, ready to go on. The data are checked
// before anything is taken: STINT_STATUS_MALFORMED (damaged, or no such file),
// STINT_STATUS_UNSUPPORTED (of another model, another version, or a plan with
// keys and values of another type or a longer context).
STINT_API stint_status stint_sequence_restore(stint_generator *generator, const void *data, size_t bytes,
                                              const stint_sequence_options *options, uint64_t *sequence);

typedef struct stint_step_info {
  size_t size;
  uint32_t tokens;    // that the model read
  uint32_t sequences; // that took part
  uint32_t generated; // tokens chosen
  uint32_t ready;     // sequences that a further step would go on with
} stint_step_info;
// One run of the plan for all sequences that are ready: those that generate
// first, then prompts, as much of them as there is room for. Nothing is run if
// none is ready. A failure (options: cancel, deadline) leaves every sequence that
// took part as it was, so that the step can be tried again; who found no page has
// been told. `info` may be NULL.
STINT_API stint_status stint_generator_step(stint_generator *generator, const stint_run_options *options,
                                            stint_step_info *info);

// ---------------------------------------------------------------------------
// Text: the model's own tokenizer and chat template, where its plan holds them.
// Any thread; nothing is kept from call to call but what the caller holds.

#define STINT_NO_TOKEN 0xffffffffu

typedef struct stint_tokenizer_info {
  size_t size;
  const char *kind;       // "byte-level BPE", "BPE with byte fallback", "BPE"
  uint32_t token_count;   // ids are below; some may be absent
  uint32_t special_count; // tokens that are special
  uint32_t bos_id;        // begin of text, end of text; or STINT_NO_TOKEN
  uint32_t eos_id;
  uint32_t turn_end_id;     // ends the assistant's turn in a chat; or STINT_NO_TOKEN
  uint32_t has_chat;        // there is a chat template: stint_model_encode_chat
  uint64_t decode_capacity; // bytes that any one id may come to in stint_model_decode
} stint_tokenizer_info;

// 1 if there is a tokenizer, else 0.
STINT_API int32_t stint_model_has_tokenizer(const stint_model *model);
// STINT_STATUS_NOT_FOUND without a tokenizer, as all calls of this section.
STINT_API stint_status stint_model_tokenizer(const stint_model *model, stint_tokenizer_info *info);

// A token as the vocabulary has it: not zero-terminated, perhaps part of a character.
typedef struct stint_token_info {
  size_t size;
  const char *text;
  uint32_t text_size;
  uint32_t special;
} stint_token_info;
STINT_API stint_status stint_model_token(const stint_model *model, uint32_t id, stint_token_info *info);

enum stint_encode_flags {
  // Special tokens that are written in the text are those tokens. Without it
  // they are text like any other, so that what users write has no token's power.
  STINT_ENCODE_SPECIAL = 1,
  // With the ids that the tokenizer puts around a text (begin of text, …).
  STINT_ENCODE_AROUND = 2,
  // In a chat: no prompt for the assistant's answer after the messages.
  STINT_ENCODE_NO_PROMPT = 4
};

typedef struct stint_encode_options {
  size_t size;
  uint32_t flags; // enum stint_encode_flags
  // Memory to work in; NULL: allocated for the time of the call. Most texts
  // need 40 bytes for each of theirs; STINT_STATUS_OUT_OF_MEMORY says in `a` how
  // many bytes to bring in the next try.
  void *scratch;
  size_t scratch_size;
} stint_encode_options;

// Text to ids, exactly as the tokenizer's own library. `text` needs no end;
// what isn't UTF-8 in it counts as U+FFFD. *count is how many ids there are:
// where that is more than `capacity`, STINT_STATUS_OUT_OF_RANGE, and the first
// ids are written.
STINT_API stint_status stint_model_encode(const stint_model *model, const char *text, size_t text_size,
                                          const stint_encode_options *options, uint32_t *ids, size_t capacity,
                                          size_t *count);

// One message of a chat; `role`: "system", "user" or "assistant".
typedef struct stint_message {
  const char *role;
  const char *text;
  size_t text_size;
} stint_message;

// A chat to ids, as the model's chat template writes it, with the prompt for
// the assistant's answer behind it. Only the template's own markers are special
// tokens; what messages say is text. STINT_STATUS_INVALID_ARGUMENT, `a` the
// message: the template has no such role, or not there.
STINT_API stint_status stint_model_encode_chat(const stint_model *model, const stint_message *messages,
                                               size_t message_count, const stint_encode_options *options, uint32_t *ids,
                                               size_t capacity, size_t *count);

enum stint_decode_flags {
  STINT_DECODE_SKIP_SPECIAL = 1, // special tokens give no text
  // `ids` are the whole text: bytes that are no UTF-8 become U+FFFD as in the
  // tokenizer's own library, which a stream can't know in time.
  STINT_DECODE_WHOLE = 2
};

// A text that comes id by id. Zero at first; the caller's, who doesn't look inside.
typedef struct stint_text_stream {
  uint32_t opaque[4];
} stint_text_stream;

// Appends the text of ids[*done …] at text + *written as long as it fits;
// *done and *written count on. Only whole characters are given out, never part
// of one: what is missing its end waits in the stream. Ids that aren't there
// give no text. STINT_STATUS_OUT_OF_RANGE: not even the first fits; capacity -
// *written of decode_capacity is always enough.
STINT_API stint_status stint_model_decode(const stint_model *model, stint_text_stream *stream, const uint32_t *ids,
                                          size_t count, uint32_t flags, char *text, size_t capacity, size_t *done,
                                          size_t *written);
// The end of a text: what waits can't become a character any more and is given out
// as U+FFFD, at most 12 bytes. The stream is as new afterwards.
STINT_API stint_status stint_model_decode_end(const stint_model *model, stint_text_stream *stream, char *text,
                                              size_t capacity, size_t *written);

#ifdef __cplusplus
}
#endif

#endif
