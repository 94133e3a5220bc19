// ONNX's TensorProto as a file (.pb), read from protobuf's wire format:
//   1 dims  2 data_type  4 float_data  5 int32_data  7 int64_data  9 raw_data
//   10 double_data  11 uint64_data  13 external_data  14 data_location
// A file is read in two passes over its bytes: the first finds shape, type and
// how many elements there are, the second stores them.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
#include "Report.h"
#include "TensorFile.h"

#include <cstring>

namespace stint_run {

namespace {

// A cursor over wire format. After a failure every read gives false.
class Wire {
public:
  Wire(const uint8_t *data, uint64_t size) : at(data), end(data + size) {}

  bool done() const { return at == end; }

  bool varint(uint64_t *value) {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at == end)
        return false;
      uint8_t byte = *at++;
      result |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) {
        *value = result;
        return true;
      }
    }
    return false;
  }
  bool fixed(unsigned bytes, uint64_t *value) {
    if (static_cast<uint64_t>(end - at) < bytes)
      return false;
    *value = 0;
    memcpy(value, at, bytes);
    at += bytes;
    return true;
  }
  bool field(uint32_t *number, uint32_t *wireType) {
    uint64_t key;
    if (!varint(&key) || key >> 3 == 0 || key >> 32)
      return false;
    *number = static_cast<uint32_t>(key >> 3);
    *wireType = key & 7;
    return true;
  }
  bool bytes(Wire *inner) {
    uint64_t size;
    if (!varint(&size) || size > static_cast<uint64_t>(end - at))
      return false;
    *inner = Wire(at, size);
    at += size;
    return true;
  }
  // Skips one value; groups were never used by ONNX and are refused.
  bool skip(uint32_t wireType) {
    uint64_t ignored;
    Wire inner(at, 0);
    switch (wireType) {
    case 0:
      return varint(&ignored);
    case 1:
      return fixed(8, &ignored);
    case 2:
      return bytes(&inner);
    case 5:
      return fixed(4, &ignored);
    default:
      return false;
    }
  }
  const uint8_t *data() const { return at; }
  uint64_t left() const { return static_cast<uint64_t>(end - at); }

private:
  const uint8_t *at, *end;
};

// The field that keeps the elements of a type when raw_data doesn't, and the
// wire type of its elements.
struct TypedField {
  uint32_t number, wireType;
};

TypedField typedField(int32_t type) {
  switch (type) {
  case STINT_F32:
  case STINT_C64:
    return {4, 5};
  case STINT_I64:
    return {7, 0};
  case STINT_F64:
  case STINT_C128:
    return {10, 1};
  case STINT_U32:
  case STINT_U64:
    return {11, 0};
  default:
    return {5, 0};
  }
}

// Calls store(value) for each element of one occurrence of a repeated field,
// packed or not.
template <typename Store> bool elements(Wire *wire, uint32_t wireType, uint32_t elementType, Store &&store) {
  uint64_t value;
  auto one = [&](Wire *from) {
    bool good = elementType == 0   ? from->varint(&value)
                : elementType == 1 ? from->fixed(8, &value)
                                   : from->fixed(4, &value);
    return good && store(value);
  };
  if (wireType == elementType)
    return one(wire);
  Wire packed = *wire;
  if (wireType != 2 || !wire->bytes(&packed))
    return false;
  while (!packed.done())
    if (!one(&packed))
      return false;
  return true;
}

struct Outline {
  const uint8_t *raw = nullptr;
  uint64_t rawSize = 0;
  bool haveRaw = false, external = false, segment = false, tooDeep = false;
};

bool readOutline(Wire wire, Tensor *tensor, Outline *outline) {
  while (!wire.done()) {
    uint32_t number, wireType;
    if (!wire.field(&number, &wireType))
      return false;
    uint64_t value;
    Wire inner = wire;
    switch (number) {
    case 1:
      if (!elements(&wire, wireType, 0, [&](uint64_t dim) {
            if (tensor->rank == STINT_MAX_RANK)
              return !(outline->tooDeep = true);
            tensor->dims[tensor->rank++] = static_cast<int64_t>(dim);
            return true;
          }))
        return false;
      break;
    case 2:
      if (wireType != 0 || !wire.varint(&value) || value > 1000)
        return false;
      tensor->type = static_cast<int32_t>(value);
      break;
    case 3:
      outline->segment = true;
      if (!wire.skip(wireType))
        return false;
      break;
    case 9:
      if (wireType != 2 || !wire.bytes(&inner))
        return false;
      outline->raw = inner.data();
      outline->rawSize = inner.left();
      outline->haveRaw = true;
      break;
    case 14:
      if (wireType != 0 || !wire.varint(&value))
        return false;
      outline->external = value != 0;
      break;
    default:
      if (!wire.skip(wireType))
        return false;
    }
  }
  return true;
}

// Stores the typed field's elements; false if there are more or fewer bytes
// than the tensor has. Sub-byte elements come packed, two or four to a byte.
bool readTyped(Wire wire, Tensor *tensor) {
  TypedField source = typedField(tensor->type);
  uint32_t bits = stint_type_bits(tensor->type);
  bool complex = tensor->type == STINT_C64 || tensor->type == STINT_C128;
  uint32_t step = complex ? bits / 16 : bits < 8 ? 1 : bits / 8;
  uint64_t filled = 0;
  while (!wire.done()) {
    uint32_t number, wireType;
    if (!wire.field(&number, &wireType))
      return false;
    if (number != source.number) {
      if (!wire.skip(wireType))
        return false;
      continue;
    }
    if (!elements(&wire, wireType, source.wireType, [&](uint64_t value) {
          if (tensor->data.size() - filled < step)
            return false;
          memcpy(tensor->data.data() + filled, &value, step);
          filled += step;
          return true;
        }))
      return false;
  }
  return filled == tensor->data.size();
}

// A varint appended to `to`; returns its length.
size_t putVarint(uint8_t *to, uint64_t value) {
  size_t length = 0;
  for (; value > 0x7f; value >>= 7)
    to[length++] = static_cast<uint8_t>(value | 0x80);
  to[length++] = static_cast<uint8_t>(value);
  return length;
}

} // namespace

int readTensorProto(InputFile *file, Tensor *tensor) {
  Buffer contents;
  if (!contents.allocate(file->size()))
    return fail(ExitFailed, "'%s': out of memory", file->path());
  if (int code = file->read(contents.data(), contents.size()))
    return code;
  Wire wire(contents.data(), contents.size());
  Outline outline;
  tensor->rank = 0;
  tensor->type = 0;
  bool good = readOutline(wire, tensor, &outline);
  if (outline.tooDeep)
    return fail(ExitFailed, "'%s': more than %d dimensions", file->path(), int(STINT_MAX_RANK));
  if (!good)
    return fail(ExitMalformed, "'%s' is no TensorProto: not protobuf", file->path());
  if (outline.external || outline.segment)
    return fail(ExitFailed,
                "'%s' keeps its elements in another file; save the tensor with "
                "its data inside",
                file->path());
  if (tensor->type == STINT_STRING)
    return fail(ExitUnsupported, "'%s': tensors of strings can't be given", file->path());
  uint64_t bytes;
  if (!tensorBytes(tensor->type, tensor->rank, tensor->dims, &bytes))
    return fail(ExitMalformed,
                "'%s' is no TensorProto: type %d with its dimensions makes no "
                "tensor",
                file->path(), tensor->type);
  // An element takes at least one byte in the file (sub-byte: packed), which
  // bounds what is allocated by what was read.
  uint64_t most = outline.haveRaw ? outline.rawSize : contents.size() * 8;
  if (bytes > most || (outline.haveRaw && bytes != outline.rawSize))
    return fail(ExitMalformed,
                "'%s': its shape and type (%s) ask for %llu bytes, it holds "
                "others",
                file->path(), stint_type_name(tensor->type), static_cast<unsigned long long>(bytes));
  if (!tensor->data.allocate(bytes))
    return fail(ExitFailed, "'%s': out of memory", file->path());
  if (outline.haveRaw)
    memcpy(tensor->data.data(), outline.raw, bytes);
  else if (!readTyped(wire, tensor))
    return fail(ExitMalformed, "'%s': the number of elements isn't what its shape asks for", file->path());
  return ExitDone;
}

int writeTensorProto(const char *path, const char *name, const stint_tensor &tensor) {
  uint8_t head[STINT_MAX_RANK * 11 + 32];
  size_t size = 0;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    head[size++] = 1 << 3;
    size += putVarint(head + size, static_cast<uint64_t>(tensor.dims[i]));
  }
  head[size++] = 2 << 3;
  size += putVarint(head + size, static_cast<uint64_t>(tensor.type));
  head[size++] = 8 << 3 | 2;
  size_t nameSize = strlen(name);
  size += putVarint(head + size, nameSize);
  uint8_t rawHead[16];
  size_t rawSize = 0;
  rawHead[rawSize++] = 9 << 3 | 2;
  rawSize += putVarint(rawHead + rawSize, tensor.bytes);
  Piece pieces[] = {{head, size}, {name, nameSize}, {rawHead, rawSize}, {tensor.data, tensor.bytes}};
  return writeFile(path, pieces, 4);
}

} // namespace stint_run
