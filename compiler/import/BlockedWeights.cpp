// BlockedWeights: see the header of that name. Forms: ONNX DequantizeLinear-21
// to 25, and onnxruntime's contrib operator MatMulNBits.
#include "compiler/import/BlockedWeights.h"

#include "compiler/import/ops/BlockTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

using namespace stint;
using namespace stint::import;

namespace {

/// What is made by which node, and what is constant.
class Names {
public:
  explicit Names(const Model &model) {
    for (const Tensor &tensor : model.graph.initializers)
      constants[tensor.name] = &tensor;
    // An initializer that is an input as well is a default, which a run may replace.
    for (const ValueInfo &input : model.graph.inputs)
      constants.erase(input.name);
    for (const Node &node : model.graph.nodes)
      for (const std::string &output : node.outputs)
        makers[output] = &node;
  }

  const Tensor *constant(const Node &node, size_t input) const {
    return input < node.inputs.size() ? constants.lookup(node.inputs[input]) : nullptr;
  }
  const Node *maker(const Node &node, size_t input) const {
    return input < node.inputs.size() && !node.inputs[input].empty() ? makers.lookup(node.inputs[input]) : nullptr;
  }

private:
  llvm::StringMap<const Tensor *> constants;
  llvm::StringMap<const Node *> makers;
};

/// A matrix of whole numbers [K, N] in blocks along K, read by (row n, k).
struct Matrix {
  Tensor numbers, scales;
  std::optional<Tensor> zeros;
  int64_t rows = 0, width = 0, block = 0; // N, K
  bool transposed = false;                // lies as [N, K]

  unsigned bits() const { return bitsOf(numbers.type); }
  bool isSigned() const { return numbers.type == DataType::Int4 || numbers.type == DataType::Int8; }
  int64_t blocks() const { return (width + block - 1) / block; }
  /// Where an element of something `count` long along K lies.
  int64_t at(int64_t n, int64_t k, int64_t count) const { return transposed ? n * count + k : k * rows + n; }
};

} // namespace

static bool isOf(const Node *node, llvm::StringRef type) {
  return node && node->domain.empty() && node->opType == type && node->outputs.size() == 1;
}
static bool hasFloat(const Node &node, llvm::StringRef name, float value) {
  const NodeAttribute *a = node.find(name);
  return !a || a->f == value;
}

/// The weights of a product; nothing if they are of another form.
static std::optional<Matrix> matrixOf(const Names &names, const Node &product, bool transposed) {
  const Node *maker = names.maker(product, 1);
  if (isOf(maker, "Transpose")) {
    const NodeAttribute *perm = maker->find("perm");
    if (perm && perm->ints != std::vector<int64_t>{1, 0})
      return std::nullopt;
    transposed = !transposed;
    maker = names.maker(*maker, 0);
  }
  if (!isOf(maker, "DequantizeLinear") || maker->intOr("output_dtype", 0))
    return std::nullopt;
  const Tensor *numbers = names.constant(*maker, 0), *scales = names.constant(*maker, 1),
               *zeros = names.constant(*maker, 2);
  bool hasZeros = maker->inputs.size() > 2 && !maker->inputs[2].empty();
  if (!numbers || !scales || hasZeros != (zeros != nullptr) || numbers->dims.size() != 2)
    return std::nullopt;
  int64_t axis = maker->intOr("axis", 1), along = transposed ? 1 : 0;
  Matrix m;
  m.transposed = transposed;
  m.block = maker->intOr("block_size", 0);
  m.width = numbers->dims[along];
  m.rows = numbers->dims[1 - along];
  if (m.block < kMinBlock || m.block > kMaxBlock || m.block % kMinBlock || (axis != along && axis != along - 2))
    return std::nullopt;
  if (m.width < 1 || m.rows < 1 || m.width > INT32_MAX || m.rows > INT32_MAX)
    return std::nullopt;
  // Whole blocks must not be much more than what there is.
  if (m.blocks() * m.block > 2 * m.width && m.rows * m.block > 1 << 24)
    return std::nullopt;
  switch (numbers->type) {
  case DataType::Int4:
  case DataType::UInt4:
  case DataType::Int8:
  case DataType::UInt8:
    break;
  default:
    return std::nullopt;
  }
  std::vector<int64_t> perBlock = {m.blocks(), m.rows};
  if (transposed)
    std::swap(perBlock[0], perBlock[1]);
  if ((scales->type != DataType::Float && scales->type != DataType::Float16) || scales->dims != perBlock)
    return std::nullopt;
  if (zeros && (zeros->type != numbers->type || zeros->dims != perBlock))
    return std::nullopt;
  m.numbers = *numbers;
  m.scales = *scales;
  if (zeros)
    m.zeros = *zeros;
  return m;
}

/// Element `at` of a tensor of 4 or 8 bits, as a number of its type's bits.
static unsigned numberAt(llvm::ArrayRef<uint8_t> bytes, unsigned bits, int64_t at) {
  return bits == 8 ? bytes[at] : bytes[at / 2] >> (at % 2 * 4) & 15;
}

/// Numbers along K for each row, packed low bits first, signed ones moved to be unsigned; what
/// fills a row up to `filled` is `filler`.
static std::vector<uint8_t> packRows(llvm::ArrayRef<uint8_t> bytes, const Matrix &m, int64_t count, int64_t filled,
                                     unsigned filler) {
  unsigned bits = m.bits(), flip = m.isSigned() ? 1u << (bits - 1) : 0, perByte = 8 / bits;
  int64_t rowBytes = (filled + perByte - 1) / perByte;
  std::vector<uint8_t> packed(m.rows * rowBytes, 0);
  constexpr int64_t kRowsAtOnce = 256; // lines of memory that stay in the cache
  for (int64_t first = 0; first < m.rows; first += kRowsAtOnce)
    for (int64_t k = 0; k < filled; ++k)
      for (int64_t n = first; n < std::min(m.rows, first + kRowsAtOnce); ++n) {
        unsigned number = k < count ? numberAt(bytes, bits, m.at(n, k, count)) ^ flip : filler;
        packed[n * rowBytes + k / perByte] |= number << (k % perByte * bits);
      }
  return packed;
}

static std::string addConstant(Model &model, const std::string &name, DataType type, std::vector<int64_t> dims,
                               llvm::ArrayRef<uint8_t> bytes) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.dims = std::move(dims);
  tensor.offset = model.inlineData->add(bytes);
  tensor.size = bytes.size();
  model.graph.initializers.push_back(tensor);
  return name;
}

static void pack(Model &model, Node &product, const Matrix &m) {
  std::string name = product.outputs[0] + " by packed weights"; // nodes need not have names of their own
  unsigned bits = m.bits(), zero = m.isSigned() ? 1u << (bits - 1) : 0;
  int64_t blocks = m.blocks(), blockBytes = m.block * bits / 8;
  std::vector<uint8_t> numbers = packRows(model.bytes(m.numbers), m, m.width, blocks * m.block, zero);
  size_t size = bitsOf(m.scales.type) / 8;
  std::vector<uint8_t> scales(m.rows * blocks * size);
  llvm::ArrayRef<uint8_t> from = model.bytes(m.scales);
  for (int64_t n = 0; n < m.rows; ++n)
    for (int64_t b = 0; b < blocks; ++b)
      std::memcpy(&scales[(n * blocks + b) * size], &from[m.at(n, b, blocks) * size], size);
  // Numbers that are signed have their zero in the middle, as tables without zeros.
  std::vector<uint8_t> zeros;
  if (m.zeros)
    zeros = packRows(model.bytes(*m.zeros), m, blocks, blocks, zero);
  else if (!m.isSigned())
    zeros.assign(m.rows * ((blocks * bits + 7) / 8), 0);
  std::string bias = product.inputs.size() > 2 ? product.inputs[2] : "";
  product.blocks = Node::Blocks{m.width, m.rows, static_cast<int64_t>(bits), m.block};
  product.inputs = {product.inputs[0], addConstant(model, name, DataType::UInt8, {m.rows, blocks, blockBytes}, numbers),
                    addConstant(model, name + " scales", m.scales.type, {m.rows, blocks}, scales)};
  product.inputs.push_back(zeros.empty() ? ""
                                         : addConstant(model, name + " zeros", DataType::UInt8,
                                                       {m.rows, static_cast<int64_t>(zeros.size()) / m.rows}, zeros));
  product.inputs.push_back("");
  product.inputs.push_back(bias);
}

/// A constant of 4 bits as one of 8.
static void widen(Model &model, Tensor &tensor) {
  llvm::ArrayRef<uint8_t> bytes = model.bytes(tensor);
  bool isSigned = tensor.type == DataType::Int4;
  std::vector<uint8_t> wide(tensor.elements());
  for (size_t i = 0; i < wide.size(); ++i) {
    unsigned number = numberAt(bytes, 4, i);
    wide[i] = static_cast<uint8_t>(isSigned && number > 7 ? number | 0xf0 : number);
  }
  tensor.type = isSigned ? DataType::Int8 : DataType::UInt8;
  tensor.file = Tensor::kInline;
  tensor.offset = model.inlineData->add(wide);
  tensor.size = wide.size();
}

/// Names that nodes and outputs of a graph read, and those of graphs inside.
static void findRead(const Graph &graph, llvm::StringSet<> &read) {
  for (const ValueInfo &output : graph.outputs)
    read.insert(output.name);
  for (const Node &node : graph.nodes) {
    for (const std::string &input : node.inputs)
      read.insert(input);
    for (const NodeAttribute &attribute : node.attributes)
      if (attribute.graph)
        findRead(*attribute.graph, read);
  }
}

static std::vector<std::pair<Node *, Matrix>> findProducts(Model &model) {
  Names names(model);
  std::vector<std::pair<Node *, Matrix>> products;
  for (Node &node : model.graph.nodes) {
    bool gemm = isOf(&node, "Gemm");
    if (!gemm && !isOf(&node, "MatMul"))
      continue;
    if (gemm && (node.intOr("transA", 0) || !hasFloat(node, "alpha", 1) || !hasFloat(node, "beta", 1)))
      continue;
    auto matrix = matrixOf(names, node, gemm && node.intOr("transB", 0));
    if (!matrix)
      continue;
    const Tensor *bias = names.constant(node, 2);
    if (node.inputs.size() > 2 && !node.inputs[2].empty() &&
        (!gemm || !bias || bias->dims != std::vector<int64_t>{matrix->rows}))
      continue;
    products.emplace_back(&node, std::move(*matrix));
  }
  return products;
}

void stint::import::packBlockedWeights(Model &model) {
  Graph &graph = model.graph;
  for (auto &[node, matrix] : findProducts(model))
    pack(model, *node, matrix);
  // First a Transpose, then what made its input.
  for (llvm::StringRef type : {"Transpose", "DequantizeLinear"}) {
    llvm::StringSet<> read;
    findRead(graph, read);
    llvm::erase_if(graph.nodes, [&](const Node &node) { return isOf(&node, type) && !read.contains(node.outputs[0]); });
  }
  for (const Node &node : graph.nodes)
    if (isOf(&node, "DequantizeLinear"))
      for (Tensor &tensor : graph.initializers)
        if ((tensor.type == DataType::Int4 || tensor.type == DataType::UInt4) &&
            (tensor.name == node.inputs[0] || (node.inputs.size() > 2 && tensor.name == node.inputs[2])))
          widen(model, tensor);
}
