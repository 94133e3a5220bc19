// Linux: files, memory, code.
#define _GNU_SOURCE 1
#include "runtime/platform/platform.h"

#include "runtime/base/arithmetic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#define MFD_ALLOW_SEALING 2u
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 16u
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#define F_SEAL_WRITE 8
#endif

namespace stint::platform {
namespace {
constexpr uint64_t hugePage = 2 * 1024 * 1024;

Status systemError(const char *text) { return failure(STINT_STATUS_IO, text, errno); }
} // namespace

Status mapFile(const char *path, Mapping *mapping) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return systemError("cannot open the plan file");
  Status status = mapDescriptor(fd, 0, 0, mapping);
  close(fd);
  return status;
}

Status mapDescriptor(int fd, uint64_t offset, uint64_t length, Mapping *mapping) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return systemError("cannot stat the plan file");
  if (!S_ISREG(info.st_mode))
    return failure(STINT_STATUS_INVALID_ARGUMENT, "the plan is not a regular file");
  uint64_t fileSize = static_cast<uint64_t>(info.st_size);
  if (length == 0 && offset <= fileSize)
    length = fileSize - offset;
  if (!rangeFits(offset, length, fileSize) || length == 0)
    return malformed("the plan ends before its header: file of %a bytes", info.st_size);
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t skip = offset % page;
  void *base = mmap(nullptr, length + skip, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(offset - skip));
  if (base == MAP_FAILED)
    return systemError("cannot map the plan file");
  *mapping = {base, length + skip, static_cast<uint8_t *>(base) + skip, length};
  return success();
}

// Through a descriptor: writes go in before the seal, and the only mapping
// there ever is can't be written. False where the system has no such thing.
static bool sealInMemfd(const void *bytes, uint64_t size, Mapping *mapping) {
#ifdef SYS_memfd_create
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  long fd = syscall(SYS_memfd_create, "stint-code", flags | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) // before Linux 6.3
    fd = syscall(SYS_memfd_create, "stint-code", flags);
  if (fd < 0)
    return false;
  bool written = true;
  for (uint64_t done = 0; done < size && written;) {
    ssize_t count = write(static_cast<int>(fd), static_cast<const uint8_t *>(bytes) + done, size - done);
    written = count > 0 || (count < 0 && errno == EINTR);
    done += count > 0 ? static_cast<uint64_t>(count) : 0;
  }
  void *base = MAP_FAILED;
  if (written &&
      fcntl(static_cast<int>(fd), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0)
    base = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, static_cast<int>(fd), 0);
  close(static_cast<int>(fd));
  if (base == MAP_FAILED)
    return false;
  *mapping = {base, size, static_cast<uint8_t *>(base), size};
  return true;
#else
  return false;
#endif
}

Status sealCode(const void *bytes, uint64_t size, Mapping *mapping) {
  if (!sealInMemfd(bytes, size, mapping)) {
    void *base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
      return outOfMemory(size);
    memcpy(base, bytes, size);
    if (mprotect(base, size, PROT_READ | PROT_EXEC) != 0) {
      Status status = systemError("this system allows no executable memory (errno %a): "
                                  "link the kernels with --emit static-library");
      munmap(base, size);
      return status;
    }
    *mapping = {base, size, static_cast<uint8_t *>(base), size};
  }
  char *begin = static_cast<char *>(mapping->base);
  __builtin___clear_cache(begin, begin + size);
  return success();
}

void unmap(Mapping *mapping) {
  if (mapping->base)
    munmap(mapping->base, mapping->mapped);
  *mapping = Mapping();
}

// Large blocks come from mmap, aligned and advised for huge pages, small ones
// from malloc.
void *allocate(uint64_t size) {
  if (size > PTRDIFF_MAX - 2 * hugePage)
    return nullptr;
  if (size < hugePage) {
    void *memory = nullptr;
    if (posix_memalign(&memory, 64, size ? size : 64) != 0)
      return nullptr;
    return memset(memory, 0, size);
  }
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

void clear(void *begin, uint64_t size, uint64_t whole) {
  auto *from = static_cast<uint8_t *>(begin), *to = from + size;
  if (whole >= hugePage && size >= hugePage) {
    // Whole pages are given back: they read as zeros until they are written.
    constexpr uintptr_t page = 64 << 10; // no machine's are larger
    uint8_t *first = from + (page - reinterpret_cast<uintptr_t>(from) % page) % page;
    uint8_t *last = to - reinterpret_cast<uintptr_t>(to) % page;
    if (madvise(first, static_cast<size_t>(last - first), MADV_DONTNEED) == 0) {
      memset(from, 0, static_cast<size_t>(first - from));
      from = last;
    }
  }
  memset(from, 0, static_cast<size_t>(to - from));
}

void free(void *memory, uint64_t size) {
  if (!memory)
    return;
  if (size < hugePage)
    ::free(memory);
  else
    munmap(memory, size);
}

} // namespace stint::platform
