// Accessors of the plain model.
#include "compiler/import/Model.h"

using namespace stint::import;

uint64_t InlineData::add(llvm::ArrayRef<uint8_t> bytes) {
  data.resize((data.size() + 63) / 64 * 64);
  uint64_t offset = data.size();
  data.insert(data.end(), bytes.begin(), bytes.end());
  return offset;
}

std::string stint::import::nameOf(DataType type) {
  static const char *const names[] = {
      "undefined", "float32",    "uint8",      "int8",         "uint16",         "int16",      "int32",
      "int64",     "string",     "bool",       "float16",      "float64",        "uint32",     "uint64",
      "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};
  auto index = static_cast<uint32_t>(type);
  return index < std::size(names) ? names[index] : "element type " + std::to_string(static_cast<int32_t>(type));
}

unsigned stint::import::bitsOf(DataType type) {
  static const unsigned bits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                  64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
  auto index = static_cast<uint32_t>(type);
  return index < std::size(bits) ? bits[index] : 0;
}

uint64_t Tensor::elements() const {
  uint64_t count = 1;
  for (int64_t dim : dims)
    count *= static_cast<uint64_t>(dim);
  return count;
}

const NodeAttribute *Node::find(llvm::StringRef attribute) const {
  for (const NodeAttribute &a : attributes)
    if (a.name == attribute)
      return &a;
  return nullptr;
}

int64_t Node::intOr(llvm::StringRef attribute, int64_t otherwise) const {
  const NodeAttribute *a = find(attribute);
  return a ? a->i : otherwise;
}

llvm::StringRef Node::label() const {
  if (!name.empty())
    return name;
  for (const std::string &output : outputs)
    if (!output.empty())
      return output;
  return opType;
}

llvm::ArrayRef<uint8_t> Model::bytes(const Tensor &tensor) const {
  llvm::ArrayRef<uint8_t> all = inlineData->bytes();
  if (tensor.file != Tensor::kInline) {
    llvm::StringRef buffer = files[tensor.file].buffer->getBuffer();
    all = {reinterpret_cast<const uint8_t *>(buffer.data()), buffer.size()};
  }
  return all.slice(tensor.offset, tensor.size);
}
