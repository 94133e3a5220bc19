// Buffers and files: see Files.h.
#include "Files.h"
#include "Report.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace stint_run {

Buffer::~Buffer() { free(bytes); }

Buffer::Buffer(Buffer &&other) noexcept
    : bytes(std::exchange(other.bytes, nullptr)), length(std::exchange(other.length, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  return *this;
}

bool Buffer::allocate(uint64_t size) {
  free(bytes);
  bytes = nullptr;
  length = 0;
  if (size > SIZE_MAX / 2)
    return false;
  void *memory = nullptr;
  if (posix_memalign(&memory, 64, size ? static_cast<size_t>(size) : 64))
    return false;
  bytes = static_cast<uint8_t *>(memory);
  length = size;
  return true;
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    close(descriptor);
}

int InputFile::open(const char *path) {
  name = path;
  // O_NONBLOCK: opening a pipe without a writer must not hang.
  descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (descriptor < 0 || fstat(descriptor, &info))
    return fail(ExitFailed, "can't open '%s': %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode))
    return fail(ExitFailed, "can't read '%s': not a regular file", path);
  length = static_cast<uint64_t>(info.st_size);
  return ExitDone;
}

int InputFile::read(void *to, uint64_t count) {
  uint8_t *at = static_cast<uint8_t *>(to);
  while (count) {
    size_t part = count > (1u << 30) ? (1u << 30) : static_cast<size_t>(count);
    ssize_t got = ::read(descriptor, at, part);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail(ExitFailed, "can't read '%s': %s", name, strerror(errno));
    if (got == 0)
      return fail(ExitMalformed, "'%s' ends too early, at byte %llu", name, static_cast<unsigned long long>(position));
    at += got;
    count -= static_cast<uint64_t>(got);
    position += static_cast<uint64_t>(got);
  }
  return ExitDone;
}

OutputFile::~OutputFile() {
  if (descriptor >= 0) {
    close(descriptor);
    if (!direct)
      unlink(temporary);
  }
  free(temporary);
}

int OutputFile::open(const char *path) {
  struct stat info;
  name = path;
  direct = !stat(path, &info) && !S_ISREG(info.st_mode);
  size_t nameSize = strlen(path) + 32;
  temporary = static_cast<char *>(malloc(nameSize));
  if (!temporary)
    return fail(ExitFailed, "can't write '%s': out of memory", path);
  if (direct)
    snprintf(temporary, nameSize, "%s", path);
  else
    snprintf(temporary, nameSize, "%s.%ld.tmp", path, static_cast<long>(getpid()));
  descriptor = ::open(temporary, O_WRONLY | O_CLOEXEC | (direct ? 0 : O_CREAT | O_TRUNC), 0666);
  return descriptor >= 0 ? int(ExitDone) : fail(ExitFailed, "can't write '%s': %s", path, strerror(errno));
}

int OutputFile::put(const void *data, uint64_t size) {
  const uint8_t *at = static_cast<const uint8_t *>(data);
  while (size && !error) {
    size_t part = size > (1u << 30) ? (1u << 30) : static_cast<size_t>(size);
    ssize_t written = write(descriptor, at, part);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      error = errno;
      break;
    }
    at += written;
    size -= static_cast<uint64_t>(written);
  }
  return error;
}

int OutputFile::finish() {
  if (close(descriptor) && !error)
    error = errno;
  descriptor = -1;
  if (!error && !direct && rename(temporary, name))
    error = errno;
  if (error && !direct)
    unlink(temporary);
  return error ? fail(ExitFailed, "can't write '%s': %s", name, strerror(error)) : int(ExitDone);
}

int writeFile(const char *path, const Piece *pieces, size_t pieceCount) {
  OutputFile file;
  if (int code = file.open(path))
    return code;
  for (size_t i = 0; i < pieceCount; ++i)
    if (file.put(pieces[i].data, pieces[i].size))
      break;
  return file.finish();
}

bool fileExists(const char *path) { return access(path, F_OK) == 0; }

bool isStream(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

bool sameFile(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool endsWith(const char *text, const char *suffix) {
  size_t length = strlen(text), tail = strlen(suffix);
  return length >= tail && !strcmp(text + length - tail, suffix);
}

} // namespace stint_run
