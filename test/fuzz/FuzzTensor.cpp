// Fuzzes the files that stint-run reads its inputs from. The first byte of an
// input chooses the format: 'p' a TensorProto, all else .npy.
#include "ProtoMutator.h"
#include "tools/stint-run/Report.h"
#include "tools/stint-run/TensorFile.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace stint_run {

// Messages are made, as stint-run makes them, but not shown.
int fail(int code, const char *format, ...) {
  char line[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return code;
}

} // namespace stint_run

using namespace stint_run;

static void check(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "fuzz-tensor: %s\n", what);
  abort();
}

// One file in memory, written again for every input.
static const char *memoryFile(const uint8_t *data, size_t size) {
  static int file = memfd_create("tensor", 0);
  static char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  check(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == static_cast<ssize_t>(size), "no memory file");
  return path;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  InputFile file;
  check(file.open(memoryFile(data + 1, size - 1)) == ExitDone, "the memory file doesn't open");
  Tensor tensor;
  int code = data[0] == 'p' ? readTensorProto(&file, &tensor) : readNpy(&file, &tensor);
  check(code == ExitDone || code == ExitFailed || code == ExitUnsupported || code == ExitMalformed,
        "an exit code that isn't one");
  if (code)
    return 0;
  // What was read holds exactly the bytes of its shape.
  uint64_t bytes = 0;
  check(tensor.rank <= STINT_MAX_RANK, "too many dimensions");
  if (tensor.type)
    check(tensorBytes(tensor.type, tensor.rank, tensor.dims, &bytes) && bytes == tensor.data.size(),
          "the size isn't that of the shape");
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
  if (size > 1 && data[0] == 'p' && limit > 1 && seed % 64)
    return 1 + stint::fuzz::mutateProto(data + 1, size - 1, limit - 1, seed);
  // The length of an .npy header follows from where it ends.
  size_t changed = LLVMFuzzerMutate(data, size, limit);
  if (changed > 11 && seed % 4 && !memcmp(data + 1, "\x93NUMPY\x01", 7))
    if (const void *end = memchr(data + 11, '\n', changed - 11)) {
      size_t length = static_cast<const uint8_t *>(end) - (data + 11) + 1;
      data[9] = static_cast<uint8_t>(length);
      data[10] = static_cast<uint8_t>(length >> 8);
    }
  return changed;
}
