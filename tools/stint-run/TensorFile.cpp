// Choice of the format by the file's ending, and .raw: the bytes alone.
#include "TensorFile.h"
#include "Report.h"

namespace stint_run {

bool tensorBytes(int32_t type, uint32_t rank, const int64_t *dims, uint64_t *bytes) {
  uint64_t bits = stint_type_bits(type);
  if (!bits || rank > STINT_MAX_RANK)
    return false;
  uint64_t count = 1;
  bool empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return false;
    if (dims[i] == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, static_cast<uint64_t>(dims[i]), &count))
      return false;
  }
  uint64_t total;
  if (__builtin_mul_overflow(empty ? 0 : count, bits, &total) || __builtin_add_overflow(total, uint64_t(7), &total))
    return false;
  *bytes = total / 8;
  return true;
}

bool isTensorFile(const char *path) {
  return endsWith(path, ".npy") || endsWith(path, ".pb") || endsWith(path, ".raw");
}

namespace {

int readRaw(InputFile *file, Tensor *tensor) {
  uint64_t bytes;
  if (!tensorBytes(tensor->type, tensor->rank, tensor->dims, &bytes))
    return fail(ExitFailed, "'%s': a tensor of this type and shape has no size", file->path());
  if (file->size() != bytes)
    return fail(ExitMalformed, "'%s' holds %llu bytes, its shape and type (%s) make %llu", file->path(),
                static_cast<unsigned long long>(file->size()), stint_type_name(tensor->type),
                static_cast<unsigned long long>(bytes));
  if (!tensor->data.allocate(bytes))
    return fail(ExitFailed, "'%s': out of memory", file->path());
  return file->read(tensor->data.data(), bytes);
}

} // namespace

int readTensor(const char *path, Tensor *tensor) {
  if (!isTensorFile(path))
    return fail(ExitUsage, "'%s': tensors are read from .npy, .pb or .raw files", path);
  InputFile file;
  if (int code = file.open(path))
    return code;
  if (endsWith(path, ".npy"))
    return readNpy(&file, tensor);
  if (endsWith(path, ".pb"))
    return readTensorProto(&file, tensor);
  return readRaw(&file, tensor);
}

int writeTensor(const char *path, const char *name, const stint_tensor &tensor) {
  if (endsWith(path, ".npy"))
    return writeNpy(path, tensor);
  if (endsWith(path, ".pb"))
    return writeTensorProto(path, name, tensor);
  Piece piece = {tensor.data, tensor.bytes};
  return writeFile(path, &piece, 1);
}

} // namespace stint_run
