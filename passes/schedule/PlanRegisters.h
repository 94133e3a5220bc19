// Registers of an entry that is being written: one per distinct expression.
//
// What the inputs' shapes decide is computed in the prologue. *Late* symbols
// have a value only once something has run: what depends on them is computed
// in the body, where it is first needed, and anew in every block and after
// every change of its symbols.
#ifndef STINT_PASSES_SCHEDULE_PLANREGISTERS_H
#define STINT_PASSES_SCHEDULE_PLANREGISTERS_H

#include "dialects/Graph/Shapes.h"
#include "dialects/Plan/PlanDialect.h"
#include "llvm/ADT/SmallBitVector.h"

namespace stint::passes {

class PlanRegisters {
public:
  PlanRegisters(plan::EntryOp entry, const graph::Symbols &symbols, llvm::SmallBitVector late);

  /// Adds an operation of the body.
  template <typename Op, typename... Args> Op work(mlir::Location loc, Args &&...args) {
    builder.setInsertionPointToEnd(block);
    auto op = builder.create<Op>(loc, std::forward<Args>(args)...);
    if (!firstWork && plan::isWork(op))
      firstWork = op;
    return op;
  }
  /// Adds an operation of the prologue.
  template <typename Op, typename... Args> Op declare(mlir::Location loc, Args &&...args) {
    if (firstWork)
      builder.setInsertionPoint(firstWork);
    else
      builder.setInsertionPointToEnd(block);
    return builder.create<Op>(loc, std::forward<Args>(args)...);
  }
  /// Adds an operation where values that depend on `late` symbols, or not,
  /// are known.
  template <typename Op, typename... Args> Op add(bool late, mlir::Location loc, Args &&...args) {
    return late ? work<Op>(loc, std::forward<Args>(args)...) : declare<Op>(loc, std::forward<Args>(args)...);
  }

  bool isLate(mlir::AffineExpr expr) const;
  /// The value of `expr` now.
  mlir::Value reg(mlir::AffineExpr expr);
  llvm::SmallVector<mlir::Value> regs(llvm::ArrayRef<mlir::AffineExpr> exprs);
  /// A register that holds `expr` whenever its symbols change. Before they
  /// have values, they count as the most they may be.
  mlir::Value tracked(mlir::AffineExpr expr);
  /// A register of its own, to be assigned to.
  mlir::Value variable(mlir::Value value);
  /// The register of the dimension that a symbol stands for.
  mlir::Value symbolRegister(int64_t symbol);

  /// Gives late symbols their values, at once.
  void bind(llvm::ArrayRef<std::pair<int64_t, mlir::Value>> values);
  /// Forgets what was computed from these symbols: they change unseen.
  void forget(const llvm::SmallBitVector &changed);

  /// A block that may not run, or run again.
  void enterBlock() { late.emplace_back(); }
  void leaveBlock() { late.pop_back(); }

private:
  mlir::Value compute(mlir::AffineExpr expr, bool inBody, bool cached);

  plan::EntryOp entry;
  const graph::Symbols &symbols;
  llvm::SmallBitVector lateSymbols, bound;
  mlir::OpBuilder builder;
  mlir::Block *block;
  mlir::Operation *firstWork = nullptr;
  llvm::DenseMap<int64_t, mlir::Value> symbolRegisters;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> early;
  llvm::SmallVector<llvm::DenseMap<mlir::AffineExpr, mlir::Value>> late;
  llvm::SmallVector<std::pair<mlir::AffineExpr, mlir::Value>> mirrors;
};

} // namespace stint::passes

#endif
