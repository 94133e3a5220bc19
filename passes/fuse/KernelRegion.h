// Turns a set of operations into one graph.kernel.
#ifndef STINT_PASSES_FUSE_KERNELREGION_H
#define STINT_PASSES_FUSE_KERNELREGION_H

#include "dialects/Graph/GraphDialect.h"
#include "llvm/ADT/SetVector.h"

namespace stint::passes {

/// Limits that keep kernels small enough to compile and to call.
inline constexpr size_t kMaxOperands = 32;
inline constexpr size_t kMaxBody = 64;

using OpSet = llvm::SetVector<mlir::Operation *>;

bool isElementwise(mlir::Operation *op);
/// A splat constant, which is cloned into every kernel that uses it.
bool isImmediate(mlir::Operation *op);
/// Values from outside that the set reads: the operands of its kernel.
llvm::SetVector<mlir::Value> operandsOf(const OpSet &set);
/// Values of the set that are used outside it.
llvm::SetVector<mlir::Value> resultsOf(const OpSet &set);

/// Moves `set` into a kernel in front of `position`, the last operation of
/// the set in its block. All operands must dominate `position`, all outside
/// users come after it.
graph::KernelOp makeKernel(graph::KernelKind kind, const OpSet &set, mlir::Operation *position);

} // namespace stint::passes

#endif
