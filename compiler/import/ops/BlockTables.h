// Constant weights of 4 or 8 bits in blocks, as the tables that the leaf
// kernels block_matmul and block_gather read.
#ifndef STINT_COMPILER_IMPORT_OPS_BLOCKTABLES_H
#define STINT_COMPILER_IMPORT_OPS_BLOCKTABLES_H

#include "compiler/import/NodeContext.h"

namespace stint::import {

/// Sizes of blocks that the kernels are made for: multiples of the least.
inline constexpr int64_t kMinBlock = 16, kMaxBlock = 256;

class BlockTable {
public:
  /// `bytes`: `rows` rows of `blocks` blocks of `size` unsigned numbers, packed
  /// low bits first. `scales`: one for each block. `zeros`: the same, or packed
  /// like the numbers, each row by itself; null: 2^(bits - 1). Nothing if
  /// these aren't weights of a form that the kernels know.
  static std::optional<BlockTable> of(NodeContext &n, mlir::Value bytes, mlir::Value scales, mlir::Value zeros,
                                      int64_t bits, int64_t size, int64_t rows, int64_t blocks);

  /// x [… , K] times the transpose of the table: [… , rows], f32.
  mlir::Value multiply(NodeContext &n, mlir::Value x) const;
  /// Rows of the table by number [T]: [T, blocks · size], f32.
  mlir::Value gather(NodeContext &n, mlir::Value numbers) const;

private:
  mlir::Value words, scales, zeros;
  int64_t rows, width;
  llvm::SmallVector<int64_t, 4> params;
};

} // namespace stint::import

#endif
