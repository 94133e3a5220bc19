// The null device: checks what it is asked to do and does nothing. It measures
// what a plan costs without its kernels, and is the skeleton to copy for a new
// device. Outputs keep whatever their memory held.
#include "runtime/devices/device.h"

namespace stint {
namespace {

Status dispatch(const DispatchCall &call) {
  int64_t counts[3];
  uint64_t total = 0;
  if (!countWorkgroups(call, counts, &total))
    return malformed("%o has a grid that can't be cut into workgroups");
  if (stint_status_code code = call.stop->check())
    return failure(code, "the run was stopped");
  return success();
}

Status copy(void *to, const void *from, uint64_t bytes) { return success(); }

Status finish() { return success(); }

} // namespace

const Device nullDevice = {"null", false, dispatch, copy, finish};

} // namespace stint
