// One job of stint-run: an open model with its session, the tensors that go
// in, and what can be done with them.
#ifndef STINT_TOOLS_STINT_RUN_JOB_H
#define STINT_TOOLS_STINT_RUN_JOB_H

#include "Options.h"
#include "TensorFile.h"
#include "stint/stint.h"

namespace stint_run {

struct Job {
  const Options *options = nullptr;
  stint_model *model = nullptr;
  stint_executor *executor = nullptr;
  stint_session *session = nullptr;
  uint32_t entry = 0;
  Tensor *inputs = nullptr; // one per input
  uint32_t inputCount = 0;
  int64_t steps = 0;                  // runs of --sequence: inputs hold so many tensors of their shape
  const char **outputFiles = nullptr; // one per output, null: not wanted
  uint32_t outputCount = 0;

  Job() = default;
  ~Job();
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;
};

// Each step gives an exit code and says what is wrong.

// Opens the plan and finds the entry.
[[nodiscard]] int openModel(Job *job);
// Pairs --input, --output and --shape with the plan's inputs and outputs and
// reads the files.
[[nodiscard]] int readInputs(Job *job);
[[nodiscard]] int pairOutputs(Job *job);
// Makes executor and session for the shapes of the inputs and binds them.
[[nodiscard]] int openSession(Job *job);
// The executor of --threads and --cpus; openSession makes it by itself.
[[nodiscard]] int openExecutor(Job *job);
// From now on an interrupt sets what this points to, and ends nothing.
const volatile int32_t *catchInterrupts();
// One run, with the deadline of --timeout-ms; an interrupt cancels it.
[[nodiscard]] int runOnce(Job *job);
// Writes the outputs asked for.
[[nodiscard]] int writeOutputs(Job *job);

// Sequence.cpp: a run for each element of the inputs' first dimension. takeSteps
// takes that dimension off a tensor that was read from the file.
[[nodiscard]] int takeSteps(Job *job, Tensor *tensor, const char *path);
[[nodiscard]] int runSequence(Job *job);
// Info.cpp: what the plan holds and needs.
[[nodiscard]] int printInfo(Job *job);
// Summary.cpp: shape, type, first values, largest value of each output.
[[nodiscard]] int printSummary(Job *job);
// Bench.cpp: times many runs.
[[nodiscard]] int bench(Job *job);
// Trace.cpp: one run with a trace in Chrome's format.
[[nodiscard]] int runWithTrace(Job *job);

// "f32 [batch 1..4, 3, 48, 320]"; cut to fit.
void formatPort(const Job &job, bool output, uint32_t index, char *text, size_t size);
// "[1, 3, 48, 320]".
void formatShape(uint32_t rank, const int64_t *dims, char *text, size_t size);

} // namespace stint_run

#endif
