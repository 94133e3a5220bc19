// Which symbols an operation depends on: those its types, attributes and
// regions name, and those of the functions it runs.
#ifndef STINT_PASSES_SYMBOLUSES_H
#define STINT_PASSES_SYMBOLUSES_H

#include "dialects/Graph/GraphDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallBitVector.h"

namespace stint::passes {

/// Symbols that `expr` names.
llvm::SmallBitVector symbolsOf(mlir::AffineExpr expr);

/// Symbols that `op` and all it runs need to have a value. A `graph.bind`
/// does not need the one it binds, nor a `graph.loop` those it makes.
llvm::SmallBitVector symbolsReadBy(mlir::Operation *op);

/// Symbols that `op` gives a value to.
llvm::SmallBitVector symbolsMadeBy(mlir::Operation *op);

/// Symbols that have a value only once something of `module` has run.
llvm::SmallBitVector lateSymbols(mlir::ModuleOp module);

/// The first of the binds that a function ends with, else its terminator.
mlir::Operation *endOfWork(mlir::Block &body);

/// The functions that a `graph.if` or `graph.loop` runs.
llvm::SmallVector<mlir::FlatSymbolRefAttr, 2> calleesOf(mlir::Operation *op);

} // namespace stint::passes

#endif
