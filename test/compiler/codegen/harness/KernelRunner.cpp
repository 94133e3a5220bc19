// kernel-runner JOBS OUTCOMES: runs a file of jobs (Execute.h) on the machine
// this program is compiled for.
#include "test/compiler/codegen/harness/Execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace stint::test;

/// All bytes of a file, or null.
static char *readAll(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return nullptr;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *bytes = static_cast<char *>(malloc(size + 1));
  bool whole = bytes && fread(bytes, 1, size, file) == static_cast<size_t>(size);
  fclose(file);
  return whole ? bytes : nullptr;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: kernel-runner JOBS OUTCOMES\n");
    return 2;
  }
  char *bytes = readAll(arguments[1]);
  FILE *out = fopen(arguments[2], "wb");
  if (!bytes || !out) {
    fprintf(stderr, "kernel-runner: cannot read the jobs or write the outcomes\n");
    return 1;
  }
  auto *file = reinterpret_cast<const JobFile *>(bytes);
  const char *code = mapCode(file + 1, file->codeBytes);
  if (!code) {
    fprintf(stderr, "kernel-runner: cannot map the code\n");
    return 1;
  }
  const char *next = reinterpret_cast<const char *>(file + 1) + padTo8(file->codeBytes);
  for (uint64_t i = 0; i < file->jobCount; ++i) {
    auto *job = reinterpret_cast<const JobHeader *>(next);
    auto *outcome = static_cast<JobOutcome *>(calloc(1, outcomeBytes(job)));
    execute(job, code, outcome);
    fwrite(outcome, 1, outcome->outcomeBytes, out);
    free(outcome);
    next += job->jobBytes;
  }
  return fclose(out) ? 1 : 0;
}
