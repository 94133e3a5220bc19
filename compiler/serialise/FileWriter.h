// A file that is there whole or not at all: written under a temporary name
// beside its place, flushed to the disk, then renamed.
#ifndef STINT_COMPILER_SERIALISE_FILEWRITER_H
#define STINT_COMPILER_SERIALISE_FILEWRITER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace stint::serialise {

class FileWriter {
public:
  /// Errors: a place that cannot be written, or that is a folder or device.
  static llvm::Expected<FileWriter> create(llvm::StringRef path);
  FileWriter(FileWriter &&other);
  FileWriter &operator=(FileWriter &&) = delete;
  /// Removes the temporary file unless `commit` succeeded.
  ~FileWriter();

  /// Where the bytes are until `commit`.
  llvm::StringRef temporaryPath() const { return temporary; }

  llvm::Error write(uint64_t offset, llvm::ArrayRef<uint8_t> bytes);
  llvm::Error read(uint64_t offset, llvm::MutableArrayRef<uint8_t> bytes);
  /// Gives the file exactly `size` bytes.
  llvm::Error resize(uint64_t size);
  /// Flushes the file and puts it in place.
  llvm::Error commit();

private:
  FileWriter(std::string path, std::string temporary, int descriptor)
      : path(std::move(path)), temporary(std::move(temporary)), descriptor(descriptor) {}
  llvm::Error failure(const char *what) const;

  std::string path, temporary;
  int descriptor;
};

/// Writes a whole small file this way.
llvm::Error writeFile(llvm::StringRef path, llvm::ArrayRef<uint8_t> bytes);

} // namespace stint::serialise

#endif
