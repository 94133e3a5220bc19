// Values known while importing: small tensors whose elements are expressions
// over the model's symbols, or constants. Shape arithmetic is done on these
// and leaves no operators behind.
#ifndef STINT_COMPILER_IMPORT_KNOWN_H
#define STINT_COMPILER_IMPORT_KNOWN_H

#include "compiler/import/Model.h"
#include "dialects/Graph/Shapes.h"

namespace stint::import {

/// One element: an integer expression, or a floating-point constant that is
/// no integer (`expr` is null).
struct Scalar {
  mlir::AffineExpr expr;
  double value = 0;

  Scalar() = default;
  Scalar(mlir::AffineExpr expr) : expr(expr) {}
  static Scalar of(double value, mlir::MLIRContext *context);
  static Scalar of(int64_t value, mlir::MLIRContext *context) { return mlir::getAffineConstantExpr(value, context); }
  std::optional<int64_t> integer() const; // if a constant integer
  std::optional<double> number() const;   // if a constant
};

/// Operations and operands of an expression, counting what it shares each time.
uint64_t sizeOf(mlir::AffineExpr expr);

struct Known {
  static constexpr int64_t kMaxElements = 64;
  /// The size of an element that arithmetic makes. An expression that doubles
  /// from node to node would outgrow any memory; what is larger is computed
  /// while the model runs.
  static constexpr uint64_t kMaxSize = 256;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<Scalar> elements; // row-major, as many as the shape says

  bool isConstant() const;
  std::optional<llvm::SmallVector<int64_t>> integers() const; // if all are constant integers
  /// All as expressions, or nullopt if one is a fraction.
  std::optional<llvm::SmallVector<mlir::AffineExpr>> expressions() const;
};

/// The graph dialect's element type, or null where it has none.
mlir::Type elementTypeOf(DataType type, mlir::MLIRContext *context);
/// Reads a small numeric constant; nullopt if it is too large or of a type
/// that the graph dialect lacks.
std::optional<Known> knownOf(const Model &model, const Tensor &tensor, mlir::MLIRContext *context);
/// `value` as the element type would hold it.
double roundTo(mlir::Type type, double value);
/// A dense attribute of constants.
mlir::DenseElementsAttr denseOf(const Known &known, mlir::Type elementType);

} // namespace stint::import

#endif
