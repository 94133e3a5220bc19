// All of the operating system the runtime uses: porting stint to another one
// means writing these functions again. Everything but the allocator may be
// called from any thread at any time.
#ifndef STINT_RUNTIME_PLATFORM_PLATFORM_H
#define STINT_RUNTIME_PLATFORM_PLATFORM_H

#include "runtime/base/status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stint::platform {

// --- Memory -----------------------------------------------------------------

// A piece of address space; release with unmap.
struct Mapping {
  void *base = nullptr; // what was mapped, page aligned
  uint64_t mapped = 0;
  const uint8_t *data = nullptr; // what was asked for, inside it
  uint64_t size = 0;
};

// Maps a file read-only. `length` 0: from `offset` to its end.
Status mapFile(const char *path, Mapping *mapping);
Status mapDescriptor(int fd, uint64_t offset, uint64_t length, Mapping *mapping);

// Copies `bytes` to memory that can be executed and can't be written any more
// (a sealed memfd, or where there is none anonymous memory turned from
// writable to executable), and makes it visible to instruction fetch. At no
// time is there a page both writable and executable.
Status sealCode(const void *bytes, uint64_t size, Mapping *mapping);

// Gives back what the three functions above mapped; an empty mapping is fine.
void unmap(Mapping *mapping);

// Memory aligned to 64 bytes, all zeros; nullptr if there is none. Large blocks
// take real memory only where they are touched. free takes the size that was
// asked for; nullptr is fine.
void *allocate(uint64_t size);
void free(void *memory, uint64_t size);
// Puts `size` bytes at `begin`, a part of a block of `whole` bytes that allocate
// made, back to zeros, without touching all of them if there are many.
void clear(void *begin, uint64_t size, uint64_t whole);

// --- Threads ----------------------------------------------------------------

struct Thread {
  uint64_t handle = 0; // the system's
};

// Runs entry(argument) on a new thread with a stack of `threadStack` bytes.
Status startThread(Thread *thread, void *(*entry)(void *), void *argument);
void joinThread(Thread *thread);
constexpr uint64_t threadStack = 256 * 1024;

// Binds the calling thread to one CPU.
Status pinCaller(uint32_t cpu);

// Sleeps while *word == expected; may return early. unpark wakes all who
// sleep on `word`.
void park(std::atomic<uint32_t> *word, uint32_t expected);
void unpark(std::atomic<uint32_t> *word);

// --- The machine ------------------------------------------------------------

// Monotonic, nanoseconds.
int64_t clock();

// CPUs this process may keep busy at once: its affinity, cut to its cgroup's
// quota; at least 1.
uint32_t usableCpus();

// What the CPU can do, by the ids of cpu_features.def.
struct CpuInfo {
  uint8_t machine = 0;   // enum Machine of plan.fbs
  uint64_t bits[4] = {}; // feature id i: bit i % 64 of word i / 64
  bool sha256 = false;   // has SHA-256 instructions
  bool has(uint32_t id) const { return id < 256 && (bits[id / 64] >> (id % 64) & 1); }
};
CpuInfo cpuInfo();

} // namespace stint::platform

#endif
