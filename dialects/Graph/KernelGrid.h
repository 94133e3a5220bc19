// How a kernel's work is cut: the contract between the schedule pass, which
// writes grid and tile into the plan, and the kernel generators, which
// interpret the ranges of a workgroup.
#ifndef STINT_DIALECTS_GRAPH_KERNELGRID_H
#define STINT_DIALECTS_GRAPH_KERNELGRID_H

#include "dialects/Graph/GraphDialect.h"
#include "dialects/Graph/Shapes.h"

namespace stint::graph {

/// Number of units on each grid axis, and units per workgroup, as expressions
/// over the kernel's symbols. Always at least one unit per workgroup; a grid
/// with a zero has no work.
struct KernelGrid {
  mlir::AffineExpr units[3];
  mlir::AffineExpr tile[3];
};

/// Columns of a B panel, channels of a weight panel: the same for every CPU.
inline constexpr int64_t kPanelColumns = 16;
/// Elements of the innermost memory dimension in one unit of axis 1 of a loop
/// nest.
inline constexpr int64_t kInnerBlock = 64;

/// Extents of a tensor's dimensions as they lie in memory, outermost first;
/// a tiled layout has one more than the rank (block count in place of the
/// tiled dimension, tile size innermost). Rank 0 gives none.
llvm::SmallVector<mlir::AffineExpr> memoryExtents(GraphTensorType type);

/// Loop nest: the iteration space is the memory of the first result. Axis 0:
/// rows, the product of all memory extents but the innermost, in memory
/// order. Axis 1: blocks of kInnerBlock elements of the innermost extent
/// (the last may be short); kernels that reduce within a row take all of it.
/// Axis 2: unused.
///
/// Contraction, matmul: axis 0: batches of the right operand (1 if it has
/// none: then all leading dimensions of the left operand are rows). Axis 1:
/// rows of the result. Axis 2: panels of kPanelColumns columns.
/// Contraction, conv: axis 0: groups. Axis 1: rows, that is output positions
/// (n, d0, d1, …) in row-major order. Axis 2: panels of one group's channels.
///
/// Leaf: axis 0: the leading dimensions that the operator names, as one. Axes
/// 1 and 2: unused, but for leaves with columns (see Leaves.def): axis 0: rows
/// of the result; axis 1: panels of kPanelColumns columns.
KernelGrid gridOf(KernelKind kind, mlir::Block &body);

/// Rows of a contraction in one workgroup, if there are at most `rows`.
int64_t contractionRows(int64_t rows);

} // namespace stint::graph

#endif
