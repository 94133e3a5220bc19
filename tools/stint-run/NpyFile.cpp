// NumPy's .npy: "\x93NUMPY", major, minor, header length (2 bytes little-endian
// in version 1, 4 in versions 2 and 3), then a Python dictionary literal
//   {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 48, 320), }
// padded with spaces and ended by a newline, then the elements.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "Report.h"
#include "TensorFile.h"

#include <cstdio>
#include <cstring>

namespace stint_run {

namespace {

// The longest header read: NumPy's own limit for untrusted files.
enum { HeaderLimit = 10000 };

struct Header {
  char descr[16] = {};
  bool haveDescr = false, haveOrder = false, haveShape = false;
  bool fortran = false;
  uint32_t rank = 0;
  int64_t dims[STINT_MAX_RANK] = {};
};

// A cursor over the dictionary literal. Each function returns false where the
// text isn't what it should be.
class HeaderParser {
public:
  HeaderParser(const char *text, size_t size) : at(text), end(text + size) {}

  bool parse(Header *header) {
    if (!punctuation('{'))
      return false;
    while (!punctuation('}')) {
      char key[16];
      if (!string(key, sizeof key) || !punctuation(':'))
        return false;
      bool good = false;
      if (!strcmp(key, "descr"))
        good = header->haveDescr = string(header->descr, sizeof header->descr);
      else if (!strcmp(key, "fortran_order"))
        good = header->haveOrder = boolean(&header->fortran);
      else if (!strcmp(key, "shape"))
        good = header->haveShape = tuple(header);
      if (!good)
        return false;
      if (!punctuation(',')) {
        if (!punctuation('}'))
          return false;
        break;
      }
    }
    skipSpace();
    return at == end && header->haveDescr && header->haveOrder && header->haveShape;
  }

private:
  void skipSpace() {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\t'))
      ++at;
  }
  bool punctuation(char c) {
    skipSpace();
    if (at == end || *at != c)
      return false;
    ++at;
    return true;
  }
  bool string(char *to, size_t size) {
    skipSpace();
    if (at == end || (*at != '\'' && *at != '"'))
      return false;
    char quote = *at++;
    size_t length = 0;
    for (; at != end && *at != quote; ++at) {
      if (length + 1 == size || *at == '\\')
        return false;
      to[length++] = *at;
    }
    to[length] = 0;
    return at++ != end;
  }
  bool word(const char *text) {
    size_t length = strlen(text);
    if (static_cast<size_t>(end - at) < length || memcmp(at, text, length))
      return false;
    at += length;
    return true;
  }
  bool boolean(bool *value) {
    skipSpace();
    if (word("True"))
      return *value = true;
    *value = false;
    return word("False");
  }
  bool integer(int64_t *value) {
    skipSpace();
    if (at == end || *at < '0' || *at > '9')
      return false;
    int64_t result = 0;
    for (; at != end && *at >= '0' && *at <= '9'; ++at)
      if (__builtin_mul_overflow(result, int64_t(10), &result) ||
          __builtin_add_overflow(result, int64_t(*at - '0'), &result))
        return false;
    if (at != end && *at == 'L') // written by Python 2
      ++at;
    *value = result;
    return true;
  }
  bool tuple(Header *header) {
    if (!punctuation('('))
      return false;
    header->rank = 0;
    while (!punctuation(')')) {
      if (header->rank == STINT_MAX_RANK || !integer(&header->dims[header->rank]))
        return false;
      ++header->rank;
      if (!punctuation(','))
        return punctuation(')');
    }
    return true;
  }

  const char *at, *end;
};

struct NumpyType {
  char kind;
  uint32_t bytes;
  int32_t type;
};

const NumpyType numpyTypes[] = {{'b', 1, STINT_BOOL}, {'i', 1, STINT_I8},   {'i', 2, STINT_I16}, {'i', 4, STINT_I32},
                                {'i', 8, STINT_I64},  {'u', 1, STINT_U8},   {'u', 2, STINT_U16}, {'u', 4, STINT_U32},
                                {'u', 8, STINT_U64},  {'f', 2, STINT_F16},  {'f', 4, STINT_F32}, {'f', 8, STINT_F64},
                                {'c', 8, STINT_C64},  {'c', 16, STINT_C128}};

// "<f4": byte order, kind, bytes. Sets the type (0 for opaque elements).
bool parseDescr(const char *descr, Tensor *tensor, bool *swapped) {
  char order = descr[0], kind = order ? descr[1] : 0;
  if (!kind || (order != '<' && order != '>' && order != '|' && order != '='))
    return false;
  uint32_t bytes = 0;
  const char *digits = descr + 2;
  if (!*digits)
    return false;
  for (; *digits; ++digits) {
    if (*digits < '0' || *digits > '9' || bytes > 1000)
      return false;
    bytes = bytes * 10 + static_cast<uint32_t>(*digits - '0');
  }
  tensor->elementBytes = bytes;
  *swapped = order == '>' && bytes > 1;
  if (kind == 'V') {
    tensor->type = 0;
    return bytes == 1 || bytes == 2;
  }
  for (const NumpyType &row : numpyTypes)
    if (row.kind == kind && row.bytes == bytes) {
      tensor->type = row.type;
      return true;
    }
  return false;
}

void swapBytes(uint8_t *data, uint64_t size, uint32_t part) {
  for (uint64_t base = 0; base + part <= size; base += part)
    for (uint32_t i = 0; i < part / 2; ++i) {
      uint8_t byte = data[base + i];
      data[base + i] = data[base + part - 1 - i];
      data[base + part - 1 - i] = byte;
    }
}

} // namespace

int readNpy(InputFile *file, Tensor *tensor) {
  uint8_t start[12];
  if (file->size() < 10)
    return fail(ExitMalformed, "'%s' is no .npy file: too short", file->path());
  if (int code = file->read(start, 10))
    return code;
  if (memcmp(start, "\x93NUMPY", 6))
    return fail(ExitMalformed, "'%s' is no .npy file: it doesn't begin as one does", file->path());
  uint32_t headerSize = start[8] | static_cast<uint32_t>(start[9]) << 8;
  if (start[6] < 1 || start[6] > 3)
    return fail(ExitMalformed, "'%s': .npy version %u isn't known", file->path(), start[6]);
  if (start[6] > 1) {
    if (int code = file->read(start + 10, 2))
      return code;
    headerSize |= static_cast<uint32_t>(start[10]) << 16 | static_cast<uint32_t>(start[11]) << 24;
  }
  static char text[HeaderLimit];
  if (headerSize > file->left())
    return fail(ExitMalformed, "'%s': the file ends inside the .npy header", file->path());
  if (headerSize > HeaderLimit)
    return fail(ExitMalformed, "'%s': the .npy header is too long", file->path());
  if (int code = file->read(text, headerSize))
    return code;
  Header header;
  if (!HeaderParser(text, headerSize).parse(&header))
    return fail(ExitMalformed,
                "'%s': the .npy header can't be read (a plain array of at most "
                "%d dimensions is needed)",
                file->path(), int(STINT_MAX_RANK));
  bool swapped = false;
  if (!parseDescr(header.descr, tensor, &swapped))
    return fail(ExitFailed,
                "'%s': elements of NumPy type '%s' can't be used; convert the "
                "array first (array.astype)",
                file->path(), header.descr);
  uint64_t count = 1, bytes;
  uint32_t wide = 0;
  tensor->rank = header.rank;
  bool empty = false, fits = true;
  for (uint32_t i = 0; i < header.rank; ++i) {
    tensor->dims[i] = header.dims[i];
    wide += header.dims[i] > 1;
    if (header.dims[i] == 0)
      empty = true;
    else
      fits &= !__builtin_mul_overflow(count, static_cast<uint64_t>(header.dims[i]), &count);
  }
  if (empty)
    count = 0;
  fits &= !__builtin_mul_overflow(count, uint64_t(tensor->elementBytes), &bytes);
  if (header.fortran && wide > 1)
    return fail(ExitFailed,
                "'%s' is in Fortran order; save it with "
                "numpy.ascontiguousarray",
                file->path());
  if (!fits || bytes != file->left())
    return fail(ExitMalformed, "'%s' holds %llu bytes of elements, its shape asks for %s%llu", file->path(),
                static_cast<unsigned long long>(file->left()), fits ? "" : "more than ",
                static_cast<unsigned long long>(fits ? bytes : UINT64_MAX));
  if (!tensor->data.allocate(bytes))
    return fail(ExitFailed, "'%s': out of memory", file->path());
  if (int code = file->read(tensor->data.data(), bytes))
    return code;
  if (swapped) {
    // A complex number is two floats, each swapped on its own.
    bool complex = tensor->type == STINT_C64 || tensor->type == STINT_C128;
    swapBytes(tensor->data.data(), bytes, complex ? tensor->elementBytes / 2 : tensor->elementBytes);
  }
  return ExitDone;
}

int writeNpy(const char *path, const stint_tensor &tensor) {
  char descr[16] = {};
  uint32_t bits = stint_type_bits(tensor.type);
  for (const NumpyType &row : numpyTypes)
    if (row.type == tensor.type)
      snprintf(descr, sizeof descr, "%c%c%u", row.bytes == 1 ? '|' : '<', row.kind, row.bytes);
  if (!descr[0]) {
    if (bits != 8 && bits != 16)
      return fail(ExitUsage, "'%s': NumPy has no type for %s; write a .pb or .raw file", path,
                  stint_type_name(tensor.type));
    snprintf(descr, sizeof descr, "%cV%u", bits == 8 ? '|' : '<', bits / 8);
  }
  char header[512];
  int length = snprintf(header + 10, sizeof header - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  size_t size = 10 + static_cast<size_t>(length);
  for (uint32_t i = 0; i < tensor.rank; ++i)
    size += static_cast<size_t>(
        snprintf(header + size, sizeof header - size, "%s%lld", i ? ", " : "", static_cast<long long>(tensor.dims[i])));
  size += static_cast<size_t>(snprintf(header + size, sizeof header - size, "%s), }", tensor.rank == 1 ? "," : ""));
  while ((size + 1) % 64)
    header[size++] = ' ';
  header[size++] = '\n';
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = static_cast<char>((size - 10) & 0xff);
  header[9] = static_cast<char>((size - 10) >> 8);
  Piece pieces[] = {{header, size}, {tensor.data, tensor.bytes}};
  return writeFile(path, pieces, 2);
}

} // namespace stint_run
