// Logical tensors to bytes as a kernel's buffer holds them, and back.
#ifndef STINT_TEST_COMPILER_CODEGEN_HARNESS_LAYOUT_H
#define STINT_TEST_COMPILER_CODEGEN_HARNESS_LAYOUT_H

#include "dialects/Graph/GraphDialect.h"
#include "test/compiler/codegen/harness/Tensor.h"

namespace stint::test {

/// The shape of `type` for these symbol values.
std::vector<int64_t> shapeOf(graph::GraphTensorType type, llvm::ArrayRef<int64_t> symbols);
/// Bytes of a buffer of this type.
uint64_t bufferBytes(graph::GraphTensorType type, llvm::ArrayRef<int64_t> symbols);
/// Tiles are padded with zeros.
std::vector<char> pack(const Tensor &tensor, graph::GraphTensorType type, llvm::ArrayRef<int64_t> symbols);
/// Sets `paddingIsZero` to whether a tiled layout's padding is.
Tensor unpack(const char *bytes, graph::GraphTensorType type, llvm::ArrayRef<int64_t> symbols, bool &paddingIsZero);

} // namespace stint::test

#endif
