// stint-run: the one program that ships to devices. It runs plans through the
// public C API and keeps to the runtime's subset of C++ (no C++ library), so
// that it can be linked statically and small.
#include "Generate.h"
#include "Job.h"
#include "Report.h"

#include <cstring>

using namespace stint_run;

namespace {

int work(Job *job) {
  if (int code = openModel(job))
    return code;
  if (job->options->info)
    return printInfo(job);
  // Everything wrong with the command line is said before any work is done.
  if (int code = pairOutputs(job))
    return code;
  if (int code = readInputs(job))
    return code;
  if (int code = openSession(job))
    return code;
  if (job->options->sequence)
    return runSequence(job);
  if (job->options->bench) {
    if (int code = bench(job))
      return code;
  } else if (job->options->trace) {
    if (int code = runWithTrace(job))
      return code;
  } else {
    if (int code = runOnce(job))
      return code;
  }
  if (job->options->outputs.count)
    return writeOutputs(job);
  return job->options->bench ? int(ExitDone) : printSummary(job);
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "generate"))
    return generateMain(argc - 1, argv + 1);
  Options options;
  if (int code = parseOptions(argc, argv, &options))
    return code;
  if (options.help || options.version) {
    if (options.help)
      printHelp();
    else
      say("stint-run %s\n", stint_version());
    return flush();
  }
  Job job;
  job.options = &options;
  if (int code = work(&job))
    return code;
  return flush();
}
