// A summary of the outputs for a person: shape, type, the first values, and
// where the largest value is.
#include "Job.h"
#include "Report.h"

#include <cmath>
#include <cstring>

namespace stint_run {

namespace {

enum { FirstValues = 8 };

// IEEE half -> float, exactly.
float halfToFloat(uint16_t half) {
  uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  float value;
  if (exponent == 0)
    value = static_cast<float>(mantissa) * 5.9604644775390625e-8f; // 2^-24
  else {
    uint32_t bits = exponent == 31 ? 0x7f800000u | mantissa << 13 : (exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &bits, 4);
  }
  return half & 0x8000 ? -value : value;
}

template <typename T> T at(const void *data, uint64_t index) {
  T value;
  memcpy(&value, static_cast<const uint8_t *>(data) + index * sizeof(T), sizeof(T));
  return value;
}

// Element `index` as a double, for comparing; false for types without order.
bool element(const stint_tensor &tensor, uint64_t index, double *value) {
  const void *data = tensor.data;
  switch (tensor.type) {
  case STINT_F32:
    *value = static_cast<double>(at<float>(data, index));
    return true;
  case STINT_F64:
    *value = at<double>(data, index);
    return true;
  case STINT_F16:
    *value = static_cast<double>(halfToFloat(at<uint16_t>(data, index)));
    return true;
  case STINT_BF16: {
    uint32_t bits = static_cast<uint32_t>(at<uint16_t>(data, index)) << 16;
    float wide;
    memcpy(&wide, &bits, 4);
    *value = static_cast<double>(wide);
    return true;
  }
  case STINT_I8:
    *value = at<int8_t>(data, index);
    return true;
  case STINT_BOOL:
  case STINT_U8:
    *value = at<uint8_t>(data, index);
    return true;
  case STINT_I16:
    *value = at<int16_t>(data, index);
    return true;
  case STINT_U16:
    *value = at<uint16_t>(data, index);
    return true;
  case STINT_I32:
    *value = at<int32_t>(data, index);
    return true;
  case STINT_U32:
    *value = at<uint32_t>(data, index);
    return true;
  case STINT_I64:
    *value = static_cast<double>(at<int64_t>(data, index));
    return true;
  case STINT_U64:
    *value = static_cast<double>(at<uint64_t>(data, index));
    return true;
  default:
    return false;
  }
}

void printElement(const stint_tensor &tensor, uint64_t index) {
  double value;
  if (tensor.type == STINT_I64)
    say(" %lld", static_cast<long long>(at<int64_t>(tensor.data, index)));
  else if (tensor.type == STINT_U64)
    say(" %llu", static_cast<unsigned long long>(at<uint64_t>(tensor.data, index)));
  else if (element(tensor, index, &value))
    say(" %.6g", value);
}

void summarise(const char *name, const stint_tensor &tensor) {
  char shape[256];
  formatShape(tensor.rank, tensor.dims, shape, sizeof shape);
  say("%s: %s %s\n", name, stint_type_name(tensor.type), shape);
  uint32_t bits = stint_type_bits(tensor.type);
  double value;
  if (bits < 8 || tensor.bytes < bits / 8 || !element(tensor, 0, &value))
    return;
  uint64_t count = tensor.bytes / (bits / 8);
  say("  first:");
  for (uint64_t i = 0; i < count && i < FirstValues; ++i)
    printElement(tensor, i);
  say(count > FirstValues ? " ...\n" : "\n");

  uint64_t largest = count, notNumbers = 0;
  double most = 0;
  for (uint64_t i = 0; i < count; ++i) {
    element(tensor, i, &value);
    if (std::isnan(value))
      ++notNumbers;
    else if (largest == count || value > most) {
      largest = i;
      most = value;
    }
  }
  if (notNumbers)
    say("  not a number: %llu of %llu\n", static_cast<unsigned long long>(notNumbers),
        static_cast<unsigned long long>(count));
  if (largest == count || tensor.rank == 0)
    return;
  int64_t index[STINT_MAX_RANK];
  uint64_t rest = largest;
  for (uint32_t axis = tensor.rank; axis-- > 0;) {
    uint64_t length = static_cast<uint64_t>(tensor.dims[axis]);
    index[axis] = static_cast<int64_t>(rest % length);
    rest /= length;
  }
  formatShape(tensor.rank, index, shape, sizeof shape);
  say("  argmax: %s =", shape);
  printElement(tensor, largest);
  say("\n");
}

} // namespace

int printSummary(Job *job) {
  for (uint32_t i = 0; i < job->outputCount; ++i) {
    stint_port_info info = {};
    info.size = sizeof info;
    stint_status status = stint_model_output(job->model, job->entry, i, &info);
    stint_tensor tensor = {};
    tensor.size = sizeof tensor;
    if (!status.code)
      status = stint_session_output(job->session, i, &tensor);
    if (status.code)
      return failStatus(status, job->model, "can't get an output");
    summarise(info.name, tensor);
  }
  return ExitDone;
}

} // namespace stint_run
