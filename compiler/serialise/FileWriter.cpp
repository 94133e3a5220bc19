// Writes a file under a temporary name, flushes it, then renames it.
#include "compiler/serialise/FileWriter.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Signals.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace stint::serialise;

Error FileWriter::failure(const char *what) const {
  return createStringError(inconvertibleErrorCode(),
                           "cannot " + Twine(what) + " '" + path + "': " + std::strerror(errno));
}

Expected<FileWriter> FileWriter::create(StringRef path) {
  FileWriter file(path.str(), "", -1);
  struct stat info;
  if (stat(file.path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return createStringError(inconvertibleErrorCode(), "cannot write '" + path + "': it is a " +
                                                           (S_ISDIR(info.st_mode) ? "folder" : "device or the like") +
                                                           "; give the name of a file");
  // The process id keeps two compilers that write one file apart.
  file.temporary = file.path + ".tmp-" + std::to_string(getpid());
  sys::RemoveFileOnSignal(file.temporary);
  file.descriptor = open(file.temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file.descriptor < 0)
    return file.failure("write");
  return Expected<FileWriter>(std::move(file));
}

FileWriter::FileWriter(FileWriter &&other)
    : path(std::move(other.path)), temporary(std::move(other.temporary)), descriptor(other.descriptor) {
  other.descriptor = -1;
}

FileWriter::~FileWriter() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary.c_str());
  sys::DontRemoveFileOnSignal(temporary);
}

Error FileWriter::write(uint64_t offset, ArrayRef<uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t done = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0) {
      if (errno == EINTR)
        continue;
      return failure("write");
    }
    offset += done;
    bytes = bytes.drop_front(done);
  }
  return Error::success();
}

Error FileWriter::read(uint64_t offset, MutableArrayRef<uint8_t> bytes) {
  std::memset(bytes.data(), 0, bytes.size()); // past the end is zero
  while (!bytes.empty()) {
    ssize_t done = pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0) {
      if (errno == EINTR)
        continue;
      return failure("read back");
    }
    if (done == 0)
      break;
    offset += done;
    bytes = bytes.drop_front(done);
  }
  return Error::success();
}

Error FileWriter::resize(uint64_t size) {
  return ftruncate(descriptor, static_cast<off_t>(size)) != 0 ? failure("write") : Error::success();
}

Error FileWriter::commit() {
  if (fsync(descriptor) != 0 && errno != EINVAL)
    return failure("flush");
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return failure("write");
  close(descriptor);
  descriptor = -1;
  sys::DontRemoveFileOnSignal(temporary);
  return Error::success();
}

Error stint::serialise::writeFile(StringRef path, ArrayRef<uint8_t> bytes) {
  Expected<FileWriter> file = FileWriter::create(path);
  if (!file)
    return file.takeError();
  if (Error error = file->write(0, bytes))
    return error;
  return file->commit();
}
