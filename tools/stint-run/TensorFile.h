// Tensors in files: .npy (NumPy), .pb (ONNX TensorProto) and .raw (bytes).
//
// Everything here reads hostile bytes: sizes are checked before they are
// multiplied, added or allocated, and a tensor that was read holds exactly the
// bytes of its shape.
#ifndef STINT_TOOLS_STINT_RUN_TENSORFILE_H
#define STINT_TOOLS_STINT_RUN_TENSORFILE_H

#include "Files.h"
#include "stint/stint.h"

namespace stint_run {

// A tensor in memory: row-major, dense, little-endian.
struct Tensor {
  // enum stint_type, or 0: opaque elements of `elementBytes` each, as NumPy
  // keeps types it doesn't know (bfloat16, the 8-bit floats).
  int32_t type = 0;
  uint32_t elementBytes = 0;
  uint32_t rank = 0;
  int64_t dims[STINT_MAX_RANK] = {};
  Buffer data;
};

// Bytes of a tensor; sub-byte elements are packed. False on overflow, on a
// negative dimension, or for a type without a fixed size.
[[nodiscard]] bool tensorBytes(int32_t type, uint32_t rank, const int64_t *dims, uint64_t *bytes);

// True if the name of the file ends in a way that is known.
bool isTensorFile(const char *path);

// Reads the file by its ending. `.raw` has neither type nor shape: they are
// what `tensor` says already. Exit code; messages name the file.
[[nodiscard]] int readTensor(const char *path, Tensor *tensor);

// Writes by the file's ending; `name` goes into a .pb.
[[nodiscard]] int writeTensor(const char *path, const char *name, const stint_tensor &tensor);

// The formats, one file each.
[[nodiscard]] int readNpy(InputFile *file, Tensor *tensor);
[[nodiscard]] int writeNpy(const char *path, const stint_tensor &tensor);
[[nodiscard]] int readTensorProto(InputFile *file, Tensor *tensor);
[[nodiscard]] int writeTensorProto(const char *path, const char *name, const stint_tensor &tensor);

} // namespace stint_run

#endif
