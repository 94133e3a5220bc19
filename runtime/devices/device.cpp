// The list of devices, and what they share.
#include "runtime/devices/device.h"

#include "runtime/base/arithmetic.h"
#include "runtime/platform/platform.h"

#include <string.h>

namespace stint {

const Device *findDevice(const char *name) {
  constexpr const Device *devices[] = {&cpuDevice, &nullDevice};
  for (const Device *device : devices)
    if (strcmp(device->name, name) == 0)
      return device;
  return nullptr;
}

stint_status_code StopSignal::check() const {
  if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
    return STINT_STATUS_CANCELLED;
  if (deadline && platform::clock() >= deadline)
    return STINT_STATUS_DEADLINE;
  return STINT_OK;
}

bool countWorkgroups(const DispatchCall &call, int64_t counts[3], uint64_t *total) {
  *total = 1;
  for (int axis = 0; axis < 3; ++axis) {
    int64_t grid = call.grid[axis], tile = call.tile[axis];
    if (grid < 0 || tile < 1)
      return false;
    counts[axis] = grid / tile + (grid % tile != 0);
    if (!checkedMul(*total, static_cast<uint64_t>(counts[axis]), total))
      return false;
  }
  return *total <= INT64_MAX;
}

} // namespace stint
