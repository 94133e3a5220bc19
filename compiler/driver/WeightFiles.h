// The bytes that weights are made from: files named in `graph.files`, mapped.
#ifndef STINT_COMPILER_DRIVER_WEIGHTFILES_H
#define STINT_COMPILER_DRIVER_WEIGHTFILES_H

#include "compiler/weights/WeightWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <vector>

namespace stint::driver {

class WeightFiles {
public:
  /// Maps all files of the module. `inlineBytes`: the contents of the pseudo
  /// file `<inline>`, which stay the caller's.
  llvm::Error open(mlir::ModuleOp module, llvm::ArrayRef<uint8_t> inlineBytes);

  /// Contents in the order of `graph.files`.
  llvm::ArrayRef<llvm::ArrayRef<uint8_t>> contents() const { return files; }

  /// Adds a file of `size` bytes to be written, which the module knows as
  /// `<folded>` and which has no name outside: it takes disk, not memory.
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> add(mlir::ModuleOp module, uint64_t size);

  /// SHA-256 of the model's file and of the files beside it.
  llvm::Expected<weights::Hash> hashOf(llvm::StringRef modelFile) const;

private:
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  std::vector<llvm::sys::fs::mapped_file_region> regions;
  std::vector<llvm::ArrayRef<uint8_t>> files;
};

} // namespace stint::driver

#endif
