// Fuzzes the ONNX reader and the importer: a file is refused with a problem,
// or becomes a module that verifies; never a crash, a hang or an endless lot
// of memory.
#include "ProtoMutator.h"
#include "compiler/import/Importer.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace stint::import;

// LLVM's arenas poison what they have not given out, but only in code that was
// compiled under the sanitizer, and libMLIR, which shares them, was not. The
// rest is for speed.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:malloc_context_size=8:max_malloc_fill_size=0:quarantine_size_mb=16";
}

static void check(bool good, const char *what) {
  if (good)
    return;
  llvm::errs() << "fuzz-model: " << what << "\n";
  std::abort();
}

// Contexts keep all types and attributes they ever saw: a new one now and then.
static mlir::MLIRContext &freshContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 512 == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  return *context;
}

static void import(const uint8_t *data, size_t size) {
  Diagnostics diagnostics;
  // A copy of exactly this size, so that reading behind it is seen. The folder
  // is one that can't exist: external data isn't found.
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto model = readModel(llvm::MemoryBuffer::getMemBufferCopy(bytes), "/dev/null/model.onnx", diagnostics);
  check(diagnostics.ok() == static_cast<bool>(model), "a model and a problem, or neither");
  if (model) {
    ImportOptions options;
    options.otherDims = DimBounds{1, 4};
    ImportedModel imported = importModel(*model, options, freshContext(), diagnostics);
    check(diagnostics.ok() == static_cast<bool>(imported.module), "a module and a problem, or neither");
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  diagnostics.print(stream);
  check(diagnostics.ok() == (diagnostics.exitCode() == 0), "a problem without an exit code");
}

// Besides the input, mutations of it: libFuzzer's work on one input is longer
// than an import. test/fuzz/run counts imports. What breaks may be a mutation:
// the file $STINT_FUZZ_LAST holds what was imported last, 4 bytes of length and
// the model.
constexpr unsigned kMutations = 7;
constexpr size_t kLimit = 2048;

static uint8_t *openLast() {
  const char *path = std::getenv("STINT_FUZZ_LAST");
  int file = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0644) : -1;
  if (file < 0 || ftruncate(file, kLimit + 4) != 0)
    return nullptr;
  void *memory = mmap(nullptr, kLimit + 4, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t *>(memory);
}

static void importAndTell(const uint8_t *data, uint32_t size) {
  static uint8_t *last = openLast();
  if (last) {
    std::memcpy(last, &size, 4);
    std::memcpy(last + 4, data, size);
  }
  import(data, size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > kLimit)
    return 0;
  importAndTell(data, size);
  uint8_t copy[kLimit];
  for (unsigned i = 0; size && i < kMutations; ++i) {
    std::memcpy(copy, data, size);
    unsigned seed = static_cast<unsigned>(llvm::xxHash64(llvm::ArrayRef<uint8_t>(data, size))) + i;
    importAndTell(copy, stint::fuzz::mutateProto(copy, size, kLimit, seed));
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
  return stint::fuzz::mutateProto(data, size, limit, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t otherSize,
                                            uint8_t *out, size_t limit, unsigned seed) {
  return stint::fuzz::crossProto(data, size, other, otherSize, out, limit, seed);
}
