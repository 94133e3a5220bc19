// Runs one kernel in guarded memory. Uses the C library alone: part of the
// tests, and of kernel-runner, which runs other machines' kernels under qemu.
//
// A job is a flat piece of memory, all of it multiples of 8 bytes:
//   JobHeader
//   int64_t dims[dimCount]
//   JobBuffer buffers[bufferCount]       operands, then results
//   JobBox boxes[boxCount]               in the order in which they run
//   bytes of each operand, padded to 8
// Its outcome: JobOutcome, then the bytes of each result, padded to 8.
//
// A file of jobs: JobFile, code, jobs. A file of outcomes: outcomes.
#ifndef STINT_TEST_COMPILER_CODEGEN_HARNESS_EXECUTE_H
#define STINT_TEST_COMPILER_CODEGEN_HARNESS_EXECUTE_H

#include "runtime/schema/kernel_abi.h"

namespace stint::test {

/// Where buffers lie between inaccessible pages.
enum Placement : uint32_t {
  kAtEnd,   // the last byte is the last accessible one
  kAtStart, // the first byte is the first accessible one
  kOdd,     // aligned to the element, not to twice of it
};

struct JobFile {
  uint64_t codeBytes; // padded to 8 in the file
  uint64_t jobCount;
};

struct JobHeader {
  uint64_t jobBytes; // all of the job
  uint64_t entry;    // offset of the kernel in the code
  uint64_t scratch;
  uint64_t boxCount;
  uint32_t bufferCount, dimCount;
  uint32_t placement;
  uint32_t poison; // a byte; fills results and scratch
};

struct JobBuffer {
  uint64_t size;
  uint32_t elementBytes;
  uint32_t isResult;
  int64_t sharesWith; // of a result: the operand whose memory it gets, or -1
};

struct JobBox {
  int64_t begin[3], end[3];
};

enum JobStatus : int32_t {
  kJobRan,
  kJobFailed,         // detail: what the kernel returned
  kJobSignal,         // detail: the signal; 14: it did not end
  kJobWroteOutside,   // detail: the buffer
  kJobChangedOperand, // detail: the buffer
  kJobWroteAfterScratch,
  kJobNoMemory,
};

struct JobOutcome {
  uint64_t outcomeBytes; // all of the outcome
  int32_t status, detail;
};

inline uint64_t padTo8(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

/// Bytes of the job's outcome.
uint64_t outcomeBytes(const JobHeader *job);
/// Runs all boxes of the job on this thread. `outcome` has outcomeBytes(job)
/// bytes. `code` is where the code is mapped.
void execute(const JobHeader *job, const char *code, JobOutcome *outcome);
/// Maps a copy of the code executable, or null. Never unmapped but by unmapCode.
const char *mapCode(const void *bytes, uint64_t size);
void unmapCode(const char *code, uint64_t size);

} // namespace stint::test

#endif
