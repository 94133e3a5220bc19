// The interface of a device: what a session needs from whatever computes.
//
// A new device starts as a copy of devices/null and has to pass the suite in
// test/runtime that runs on every device. Devices keep no state of their own:
// sessions may use one from many threads.
#ifndef STINT_RUNTIME_DEVICES_DEVICE_H
#define STINT_RUNTIME_DEVICES_DEVICE_H

#include "runtime/base/status.h"
#include "runtime/schema/kernel_abi.h"

#include <cstdint>

namespace stint {

// Why a run should end early. Devices ask before every workgroup.
struct StopSignal {
  int64_t deadline = 0; // on platform::clock; 0: none
  const volatile int32_t *cancel = nullptr;

  // STINT_OK, STINT_STATUS_CANCELLED or STINT_STATUS_DEADLINE.
  stint_status_code check() const;
};

// What one thread did of a dispatch; workgroups 0: it had no part.
struct alignas(64) ThreadRecord {
  int64_t begin, end; // platform::clock
  uint64_t workgroups;
};

// One dispatch. Workgroups are the boxes of `tile` units that the grid is cut
// into, the last of an axis cut short.
struct DispatchCall {
  stint_kernel kernel;
  const stint_dispatch *arguments;
  int64_t grid[3], tile[3];
  stint_executor *executor; // may be null: this thread only
  uint32_t threads;         // at most so many
  uint8_t *scratch;         // scratchStride bytes for each of them
  uint64_t scratchStride, scratchSize;
  const StopSignal *stop;
  ThreadRecord *records; // one per thread, zeroed; null: don't measure
};

struct Device {
  const char *name;
  bool runsCode; // needs a variant of the plan
  // Computes all workgroups, or says why not. May return before they are
  // done: `finish` waits.
  Status (*dispatch)(const DispatchCall &call);
  // Copies between buffers, in order with dispatches.
  Status (*copy)(void *to, const void *from, uint64_t bytes);
  // All that was asked for is done and visible in memory.
  Status (*finish)();
};

// "cpu", "null"; nullptr for an unknown name.
const Device *findDevice(const char *name);

extern const Device cpuDevice;  // NOLINT(bugprone-dynamic-static-initializers): constant tables
extern const Device nullDevice; // NOLINT(bugprone-dynamic-static-initializers): constant tables

// Number of workgroups of a call along each axis; false if the grid or tile is
// negative, a tile is zero, or there are too many to count.
[[nodiscard]] bool countWorkgroups(const DispatchCall &call, int64_t counts[3], uint64_t *total);

} // namespace stint

#endif
