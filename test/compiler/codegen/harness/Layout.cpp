// The layout rule of #graph.layout, written down once more: for the tests.
#include "test/compiler/codegen/harness/Layout.h"

#include "dialects/Graph/Shapes.h"

#include <cstring>

using namespace stint;
using namespace stint::test;

std::vector<int64_t> stint::test::shapeOf(graph::GraphTensorType type, llvm::ArrayRef<int64_t> symbols) {
  std::vector<int64_t> shape;
  for (mlir::AffineExpr dim : type.getShape())
    shape.push_back(graph::Symbols::evaluate(dim, symbols));
  return shape;
}

namespace {
/// Calls `body(position in memory)` for each logical element in row-major
/// order.
struct MemoryOrder {
  std::vector<int64_t> shape;
  llvm::SmallVector<int64_t> order;
  int64_t tiledDim = -1, tileSize = 1;

  MemoryOrder(graph::GraphTensorType type, llvm::ArrayRef<int64_t> symbols)
      : shape(shapeOf(type, symbols)), order(type.getOrder()) {
    if (graph::LayoutAttr layout = type.getLayout(); layout && layout.isTiled()) {
      tiledDim = layout.getTiledDim();
      tileSize = layout.getTileSize();
    }
  }

  int64_t blocks(int64_t dim) const { return dim == tiledDim ? (shape[dim] + tileSize - 1) / tileSize : shape[dim]; }
  int64_t elements() const {
    int64_t count = tileSize;
    for (int64_t dim : order)
      count *= blocks(dim);
    return count;
  }
  int64_t position(llvm::ArrayRef<int64_t> index) const {
    int64_t at = 0;
    for (int64_t dim : order)
      at = at * blocks(dim) + (dim == tiledDim ? index[dim] / tileSize : index[dim]);
    return tiledDim < 0 ? at : at * tileSize + index[tiledDim] % tileSize;
  }
  template <typename Body> void forEach(Body body) const {
    int64_t count = 1;
    for (int64_t dim : shape)
      count *= dim;
    std::vector<int64_t> index(shape.size());
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
        index[d] = rest % shape[d];
      body(i, position(index));
    }
  }
};
} // namespace

uint64_t stint::test::bufferBytes(graph::GraphTensorType type, llvm::ArrayRef<int64_t> symbols) {
  return MemoryOrder(type, symbols).elements() * bytesOf(elementOf(type.getElementType()));
}

std::vector<char> stint::test::pack(const Tensor &tensor, graph::GraphTensorType type,
                                    llvm::ArrayRef<int64_t> symbols) {
  MemoryOrder order(type, symbols);
  int64_t size = bytesOf(tensor.element);
  std::vector<char> bytes(order.elements() * size);
  order.forEach([&](int64_t i, int64_t at) { memcpy(&bytes[at * size], &tensor.bytes[i * size], size); });
  return bytes;
}

Tensor stint::test::unpack(const char *bytes, graph::GraphTensorType type, llvm::ArrayRef<int64_t> symbols,
                           bool &paddingIsZero) {
  MemoryOrder order(type, symbols);
  Tensor tensor(order.shape, elementOf(type.getElementType()));
  int64_t size = bytesOf(tensor.element);
  std::vector<char> rest(bytes, bytes + order.elements() * size);
  order.forEach([&](int64_t i, int64_t at) {
    memcpy(&tensor.bytes[i * size], bytes + at * size, size);
    memset(&rest[at * size], 0, size);
  });
  paddingIsZero = true;
  for (char byte : rest)
    paddingIsZero &= byte == 0;
  return tensor;
}
