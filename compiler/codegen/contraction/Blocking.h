// Internal to codegen/contraction: sizes of register tiles and cache blocks.
#ifndef STINT_COMPILER_CODEGEN_CONTRACTION_BLOCKING_H
#define STINT_COMPILER_CODEGEN_CONTRACTION_BLOCKING_H

#include "compiler/codegen/contraction/Problem.h"

namespace stint::codegen {

struct Blocking {
  /// Rows of the register tiles there is code for, largest first, ending with
  /// 1 or a tile that covers all rows there can be.
  llvm::SmallVector<int64_t> tiles;
  /// Steps along K at once in a register tile: elements of A's row that are
  /// loaded together.
  int64_t unroll;
  /// Steps along K in one block. One block covers any K if `oneBlock`.
  int64_t k;
  bool oneBlock;
  /// Rows of a block, and panels whose partial sums are kept while K passes
  /// by (only if not oneBlock). `rows` is a multiple of the largest tile.
  int64_t rows, panels;
  /// Rows of the left operand are copied to scratch, `packedStride` elements
  /// apart, before they are multiplied.
  bool pack;
  /// Blocks begin and end where a run of the row packer does.
  bool wholeRuns;
  int64_t packedStride;

  static Blocking of(const Problem &problem, const graph::Symbols &symbols, const target::Variant &variant);
};

} // namespace stint::codegen

#endif
