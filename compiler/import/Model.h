// An ONNX model as plain C++ data, as the file states it. Tensor contents stay
// where they are: in a mapped file, or, where the file holds them in another
// form than the tensor's bytes, in the side buffer `InlineData`.
#ifndef STINT_COMPILER_IMPORT_MODEL_H
#define STINT_COMPILER_IMPORT_MODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stint::import {

/// Tensor bytes that no file holds as they are: typed fields that needed
/// decoding, and values computed while importing. Stands for the pseudo path
/// `<inline>` of `graph.files`. Offsets are multiples of 64.
class InlineData {
public:
  static constexpr llvm::StringLiteral kPath = "<inline>";
  /// Appends bytes, returns their offset.
  uint64_t add(llvm::ArrayRef<uint8_t> bytes);
  llvm::ArrayRef<uint8_t> bytes() const { return data; }

private:
  std::vector<uint8_t> data;
};

/// TensorProto.DataType, up to the newest.
enum class DataType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};
/// "float16", as ONNX's documentation writes it; "type 99" if unknown.
std::string nameOf(DataType type);
/// Bits of one element; 0 for strings and unknown types.
unsigned bitsOf(DataType type);

/// A constant: initializer, or `value` of a Constant node.
struct Tensor {
  static constexpr int kInline = -1;
  std::string name;
  DataType type = DataType::Undefined;
  std::vector<int64_t> dims;
  int file = kInline;            // index into Model::files, or kInline
  uint64_t offset = 0, size = 0; // bytes
  bool strings = false;          // string elements: contents not kept
  uint64_t elements() const;     // product of dims; checked by the reader
};

/// The type of a graph input, output or intermediate value.
struct ValueInfo {
  struct Dim {
    std::optional<int64_t> value;
    std::string param; // dim_param; both empty: unnamed and dynamic
  };
  enum class Kind { Unknown, Tensor, Sequence, Map, Optional, SparseTensor };
  std::string name;
  Kind kind = Kind::Unknown;
  DataType type = DataType::Undefined;
  bool hasShape = false;
  std::vector<Dim> dims;
};

struct Graph;

struct NodeAttribute {
  // AttributeProto.AttributeType, where stated.
  enum class Kind {
    Undefined,
    Float,
    Int,
    String,
    Tensor,
    Graph,
    Floats,
    Ints,
    Strings,
    Tensors,
    Graphs,
    SparseTensor,
    SparseTensors,
    TypeProto,
    TypeProtos
  };
  std::string name, reference; // ref_attr_name: inside functions only
  Kind kind = Kind::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::shared_ptr<Tensor> tensor;
  std::shared_ptr<Graph> graph;
};

struct Node {
  std::string name, opType, domain;         // domain "ai.onnx" is read as ""
  std::vector<std::string> inputs, outputs; // "" is an omitted one
  std::vector<NodeAttribute> attributes;
  /// A product by weights in blocks, made by packBlockedWeights; no file says so. Inputs are those of
  /// com.microsoft.MatMulNBits.
  struct Blocks {
    int64_t k, n, bits, size;
  };
  std::optional<Blocks> blocks;
  const NodeAttribute *find(llvm::StringRef attribute) const;
  int64_t intOr(llvm::StringRef attribute, int64_t otherwise) const;
  /// The name, or where there is none the first output's.
  llvm::StringRef label() const;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<std::string> sparseInitializers; // names only
  std::vector<ValueInfo> inputs, outputs, values;
};

/// A model-local function.
struct Function {
  std::string name, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<NodeAttribute> defaults; // attribute_proto
  std::vector<Node> nodes;
  std::map<std::string, int64_t> opsets;
};

struct Model {
  struct File {
    std::string path;
    std::unique_ptr<llvm::MemoryBuffer> buffer; // mapped
  };
  int64_t irVersion = 0;
  std::string producer;
  std::map<std::string, int64_t> opsets; // domain to version
  Graph graph;
  std::vector<Function> functions;
  std::vector<File> files; // the model itself first
  std::unique_ptr<InlineData> inlineData = std::make_unique<InlineData>();

  /// The bytes of a tensor, little-endian and row-major.
  llvm::ArrayRef<uint8_t> bytes(const Tensor &tensor) const;
};

} // namespace stint::import

#endif
