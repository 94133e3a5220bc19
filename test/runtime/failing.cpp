// See failing.h. Only calls from this program's own objects come here, not
// those of the C library among itself.
#include "failing.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<stint::test::Fail> mode{stint::test::Fail::Never};
std::atomic<long> first{0}, calls{0}, memory{0}, failed{0}, things{0};

bool fails() {
  long n = calls++;
  stint::test::Fail how = mode;
  bool now = how == stint::test::Fail::One ? n == first : how == stint::test::Fail::AllFrom && n >= first;
  failed += now;
  return now;
}

// A call for memory fails with ENOMEM.
bool noMemory() {
  ++memory;
  if (!fails())
    return false;
  errno = ENOMEM;
  return true;
}

template <typename T> T keep(T pointer) {
  things += pointer != nullptr;
  return pointer;
}
int keepDescriptor(int descriptor) {
  things += descriptor >= 0;
  return descriptor;
}

} // namespace

void stint::test::failAt(Fail how, long n) {
  mode = Fail::Never;
  first = n;
  calls = memory = failed = 0;
  mode = how;
}
long stint::test::systemCalls() { return calls; }
long stint::test::memoryCalls() { return memory; }
bool stint::test::hasFailed() { return failed != 0; }
long stint::test::held() { return things; }

extern "C" {
int __real_posix_memalign(void **, size_t, size_t);
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);
void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_munmap(void *, size_t);
int __real_mprotect(void *, size_t, int);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __real_open(const char *, int, ...);
int __real_close(int);
int __real_fstat(int, struct stat *);
int __real_fcntl(int, int, ...);
ssize_t __real_read(int, void *, size_t);
ssize_t __real_write(int, const void *, size_t);
long __real_syscall(long, ...);

int __wrap_posix_memalign(void **block, size_t alignment, size_t size) {
  if (noMemory())
    return ENOMEM;
  int error = __real_posix_memalign(block, alignment, size);
  things += error == 0;
  return error;
}
void *__wrap_malloc(size_t size) { return noMemory() ? nullptr : keep(__real_malloc(size)); }
void *__wrap_calloc(size_t count, size_t size) { return noMemory() ? nullptr : keep(__real_calloc(count, size)); }
void *__wrap_realloc(void *block, size_t size) {
  if (noMemory())
    return nullptr;
  void *grown = __real_realloc(block, size);
  things += !block && grown;
  return grown;
}
void __wrap_free(void *block) {
  things -= block != nullptr;
  __real_free(block);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  if (noMemory())
    return MAP_FAILED;
  void *mapped = __real_mmap(at, size, protection, flags, fd, offset);
  things += mapped != MAP_FAILED;
  return mapped;
}
int __wrap_munmap(void *at, size_t size) {
  --things;
  return __real_munmap(at, size);
}
int __wrap_mprotect(void *at, size_t size, int protection) {
  if (fails()) {
    errno = EACCES;
    return -1;
  }
  return __real_mprotect(at, size, protection);
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *argument) {
  return fails() ? EAGAIN : __real_pthread_create(thread, attributes, entry, argument);
}

int __wrap_open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int permissions = flags & O_CREAT ? va_arg(arguments, int) : 0;
  va_end(arguments);
  if (fails()) {
    errno = EMFILE;
    return -1;
  }
  return keepDescriptor(__real_open(path, flags, permissions));
}
int __wrap_close(int descriptor) {
  --things;
  return __real_close(descriptor);
}
int __wrap_fstat(int descriptor, struct stat *about) {
  if (fails()) {
    errno = EIO;
    return -1;
  }
  return __real_fstat(descriptor, about);
}
int __wrap_fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  int argument = va_arg(arguments, int);
  va_end(arguments);
  if (fails()) {
    errno = EPERM;
    return -1;
  }
  return __real_fcntl(descriptor, command, argument);
}
ssize_t __wrap_read(int descriptor, void *to, size_t size) {
  if (fails()) {
    errno = EIO;
    return -1;
  }
  return __real_read(descriptor, to, size);
}
ssize_t __wrap_write(int descriptor, const void *from, size_t size) {
  if (fails()) {
    errno = ENOSPC;
    return -1;
  }
  return __real_write(descriptor, from, size);
}
// Sleeping and waking threads goes through here as well, and never fails.
long __wrap_syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long a = va_arg(arguments, long), b = va_arg(arguments, long), c = va_arg(arguments, long);
  long d = va_arg(arguments, long), e = va_arg(arguments, long), f = va_arg(arguments, long);
  va_end(arguments);
  bool descriptor = number == SYS_memfd_create;
  if (descriptor && fails()) {
    errno = EMFILE;
    return -1;
  }
  long result = __real_syscall(number, a, b, c, d, e, f);
  return descriptor ? keepDescriptor(static_cast<int>(result)) : result;
}
}
