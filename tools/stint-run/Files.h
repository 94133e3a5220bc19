// Memory and files as stint-run needs them: an owned, aligned buffer, reading
// of regular files by the piece, and writing that leaves whole files only.
#ifndef STINT_TOOLS_STINT_RUN_FILES_H
#define STINT_TOOLS_STINT_RUN_FILES_H

#include <cstddef>
#include <cstdint>

namespace stint_run {

// Owned bytes, aligned to 64, never null once allocated.
class Buffer {
public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  // False when there is no memory. Contents are undefined.
  [[nodiscard]] bool allocate(uint64_t size);
  uint8_t *data() const { return bytes; }
  uint64_t size() const { return length; }

private:
  uint8_t *bytes = nullptr;
  uint64_t length = 0;
};

// A regular file, read from its start on. Reading never trusts the size the
// file had when it was opened: a file cut short meanwhile is a failed read.
class InputFile {
public:
  InputFile() = default;
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  // Exit code; messages name the path. Devices and pipes are refused: they
  // may never end.
  [[nodiscard]] int open(const char *path);
  // Reads exactly `count` bytes.
  [[nodiscard]] int read(void *to, uint64_t count);
  uint64_t size() const { return length; }
  uint64_t left() const { return length - position; }
  const char *path() const { return name; }

private:
  int descriptor = -1;
  uint64_t length = 0, position = 0;
  const char *name = "";
};

// One piece of a file to be written.
struct Piece {
  const void *data;
  uint64_t size;
};

// A file that is written piece by piece under a temporary name beside its path, so
// that a reader never sees half of it. Messages name the path.
class OutputFile {
public:
  OutputFile() = default;
  ~OutputFile(); // without finish: nothing is left behind
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  // A path that is a device or pipe is written to directly.
  [[nodiscard]] int open(const char *path);
  // 0, or the error's number, which finish reports.
  int put(const void *data, uint64_t size);
  // Exit code: the file is there now, whole, or not at all.
  [[nodiscard]] int finish();

private:
  int descriptor = -1, error = 0;
  bool direct = false;
  const char *name = "";
  char *temporary = nullptr;
};

// Writes the pieces one after the other under a temporary name beside `path`
// and renames it, so that a reader never sees half a file. A path that is a
// device or pipe is written to directly. Exit code; messages name the path.
[[nodiscard]] int writeFile(const char *path, const Piece *pieces, size_t pieceCount);

bool fileExists(const char *path);
// A device or pipe, which is there to be written to.
bool isStream(const char *path);
// Both exist and are one file.
bool sameFile(const char *a, const char *b);
bool endsWith(const char *text, const char *suffix);

} // namespace stint_run

#endif
