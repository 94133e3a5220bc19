// Arithmetic on symbolic dimensions: bounds, and simplification under bounds.
#ifndef STINT_DIALECTS_GRAPH_SHAPES_H
#define STINT_DIALECTS_GRAPH_SHAPES_H

#include "dialects/Graph/GraphDialect.h"

namespace stint::graph {

/// Inclusive range of an expression's values.
struct Range {
  int64_t lower, upper;
  bool isPoint() const { return lower == upper; }
};

/// The declared symbols of a module or outlined kernel function.
class Symbols {
public:
  explicit Symbols(llvm::ArrayRef<SymbolAttr> symbols) : symbols(symbols) {}
  /// Reads the nearest enclosing operation that has `graph.symbols`.
  static Symbols of(mlir::Operation *op);

  size_t size() const { return symbols.size(); }
  /// The same symbols with these upper bounds.
  Symbols withUpper(llvm::ArrayRef<int64_t> upper) const;
  SymbolAttr operator[](size_t i) const { return symbols[i]; }

  /// The symbol that stands for dimension `expr`: `s0`, or `s0 * step`.
  std::optional<int64_t> dimensionOf(mlir::AffineExpr expr) const;

  /// Range of `expr` by interval arithmetic: never too narrow. Saturates
  /// instead of overflowing.
  Range range(mlir::AffineExpr expr) const;
  /// The largest value of `expr`: what memory is planned for.
  int64_t upper(mlir::AffineExpr expr) const { return range(expr).upper; }
  /// Value of `expr` when every symbol is at its upper bound.
  int64_t atUpper(mlir::AffineExpr expr) const;
  /// Value of `expr` for given symbol values.
  static int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> values);

  /// Replaces symbols with one value, and folds floordiv, ceildiv and mod
  /// that the bounds decide.
  mlir::AffineExpr simplify(mlir::AffineExpr expr) const;
  /// Decides `a == b`, or a comparison, for all values of the symbols;
  /// nullopt when neither it nor its negation always holds.
  std::optional<bool> equal(mlir::AffineExpr a, mlir::AffineExpr b) const;
  std::optional<bool> lessEqual(mlir::AffineExpr a, mlir::AffineExpr b) const;

private:
  llvm::SmallVector<SymbolAttr> symbols;
};

/// `a / b` as an expression if `b` divides `a` for all symbol values by its
/// form (common factors), else nullopt.
std::optional<mlir::AffineExpr> divideExactly(mlir::AffineExpr a, mlir::AffineExpr b);

/// A symbol-only map with `results`, over as many symbols as they use.
mlir::AffineMap symbolMap(llvm::ArrayRef<mlir::AffineExpr> results, mlir::MLIRContext *context);

} // namespace stint::graph

#endif
