// Reads GGUF metadata, all of it hostile until it is checked.
#include "compiler/text/Gguf.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/Support/Endian.h"

namespace stint::text {
namespace {

/// Bytes of a number; 0: not a number.
unsigned sizeOf(uint32_t type) {
  switch (type) {
  case GgufValue::U8:
  case GgufValue::I8:
  case GgufValue::Bool:
    return 1;
  case GgufValue::U16:
  case GgufValue::I16:
    return 2;
  case GgufValue::U32:
  case GgufValue::I32:
  case GgufValue::F32:
    return 4;
  case GgufValue::U64:
  case GgufValue::I64:
  case GgufValue::F64:
    return 8;
  default:
    return 0;
  }
}

/// Takes pieces off the front of what is left; false if it is too short.
class Cursor {
public:
  explicit Cursor(llvm::StringRef rest) : rest(rest) {}

  template <typename T> bool number(T *value) {
    if (rest.size() < sizeof(T))
      return false;
    *value = llvm::support::endian::read<T, llvm::endianness::little>(rest.data());
    rest = rest.drop_front(sizeof(T));
    return true;
  }
  bool take(uint64_t size, llvm::StringRef *bytes) {
    if (size > rest.size())
      return false;
    *bytes = rest.take_front(size);
    rest = rest.drop_front(size);
    return true;
  }
  bool string(llvm::StringRef *bytes) {
    uint64_t size;
    return number(&size) && take(size, bytes);
  }
  bool value(GgufValue *value) {
    uint32_t type;
    if (!number(&type))
      return false;
    value->type = static_cast<GgufValue::Type>(type);
    if (type == GgufValue::String)
      return string(&value->bytes);
    if (type != GgufValue::Array)
      return sizeOf(type) && take(sizeOf(type), &value->bytes);
    if (!number(&type) || !number(&value->count))
      return false;
    value->elementType = static_cast<GgufValue::Type>(type);
    const char *begin = rest.data();
    llvm::StringRef element;
    if (type == GgufValue::String) {
      for (uint64_t i = 0; i < value->count; ++i)
        if (!string(&element))
          return false;
    } else {
      unsigned size = sizeOf(type);
      if (!size || value->count > rest.size() / size || !take(value->count * size, &element))
        return false;
    }
    value->bytes = llvm::StringRef(begin, rest.data() - begin);
    return true;
  }

private:
  llvm::StringRef rest;
};

int64_t integerAt(const char *data, GgufValue::Type type) {
  using namespace llvm::support::endian;
  switch (type) {
  case GgufValue::U8:
  case GgufValue::Bool:
    return static_cast<uint8_t>(*data);
  case GgufValue::I8:
    return static_cast<int8_t>(*data);
  case GgufValue::U16:
    return read16le(data);
  case GgufValue::I16:
    return static_cast<int16_t>(read16le(data));
  case GgufValue::U32:
    return read32le(data);
  case GgufValue::I32:
    return static_cast<int32_t>(read32le(data));
  default:
    return static_cast<int64_t>(read64le(data));
  }
}

bool isInteger(GgufValue::Type type) { return sizeOf(type) && type != GgufValue::F32 && type != GgufValue::F64; }

} // namespace

std::optional<int64_t> GgufValue::integer() const {
  if (!isInteger(type) || type == Bool)
    return std::nullopt;
  return integerAt(bytes.data(), type);
}

std::optional<bool> GgufValue::boolean() const {
  if (type != Bool)
    return std::nullopt;
  return bytes[0] != 0;
}

std::optional<llvm::StringRef> GgufValue::string() const {
  if (type != String)
    return std::nullopt;
  return bytes;
}

std::optional<std::vector<llvm::StringRef>> GgufValue::strings() const {
  if (type != Array || elementType != String)
    return std::nullopt;
  std::vector<llvm::StringRef> result;
  Cursor cursor(bytes);
  llvm::StringRef element;
  while (cursor.string(&element))
    result.push_back(element);
  return result;
}

std::optional<std::vector<int64_t>> GgufValue::integers() const {
  if (type != Array || !isInteger(elementType))
    return std::nullopt;
  std::vector<int64_t> result;
  for (size_t at = 0; at < bytes.size(); at += sizeOf(elementType))
    result.push_back(integerAt(bytes.data() + at, elementType));
  return result;
}

std::optional<std::vector<float>> GgufValue::floats() const {
  if (type != Array || elementType != F32)
    return std::nullopt;
  std::vector<float> result;
  Cursor cursor(bytes);
  for (float value; cursor.number(&value);)
    result.push_back(value);
  return result;
}

llvm::Expected<GgufMetadata> GgufMetadata::read(llvm::MemoryBufferRef file) {
  Cursor cursor(file.getBuffer());
  llvm::StringRef magic;
  uint32_t version;
  uint64_t tensors, pairs;
  if (!cursor.take(4, &magic) || magic != "GGUF" || !cursor.number(&version) || !cursor.number(&tensors) ||
      !cursor.number(&pairs))
    return malformed("not a GGUF file");
  if (version != 2 && version != 3)
    return unsupported("a GGUF file of version " + llvm::Twine(version));
  GgufMetadata metadata;
  for (uint64_t i = 0; i < pairs; ++i) {
    llvm::StringRef key;
    GgufValue value = {};
    if (!cursor.string(&key) || !cursor.value(&value))
      return malformed("pair " + llvm::Twine(i) + " of the GGUF file is cut off or malformed");
    metadata.values[key] = value;
  }
  return metadata;
}

const GgufValue *GgufMetadata::find(llvm::StringRef key) const {
  auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

} // namespace stint::text
