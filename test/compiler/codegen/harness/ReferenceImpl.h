// Inside the reference interpreter: whole tensors of numbers, and one function
// per family of operators.
#ifndef STINT_TEST_COMPILER_CODEGEN_HARNESS_REFERENCEIMPL_H
#define STINT_TEST_COMPILER_CODEGEN_HARNESS_REFERENCEIMPL_H

#include "dialects/Graph/GraphDialect.h"
#include "test/compiler/codegen/harness/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace stint::test {

using Shape = std::vector<int64_t>;

/// One element: a float's value, or an integer as wrapTo leaves it.
struct Number {
  double f = 0;
  int64_t i = 0;
};

struct Array {
  Shape shape;
  Element element = Element::f32;
  std::vector<Number> data; // row-major

  Array() = default;
  Array(Shape shape, Element element);
  bool isFloat() const { return test::isFloat(element); }
  int64_t offset(llvm::ArrayRef<int64_t> index) const;
  Number &operator[](llvm::ArrayRef<int64_t> index) { return data[offset(index)]; }
  const Number &operator[](llvm::ArrayRef<int64_t> index) const { return data[offset(index)]; }
};

/// Calls `body` for every index of `shape`, in row-major order.
void forEach(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);
/// The index into an operand of `shape` that is broadcast to `index`.
Shape broadcastIndex(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);
/// As a register of this type holds it: floats but f64 rounded to f32.
double toRegister(double value, Element element);

/// Shape and expressions for the symbols' values.
struct Environment {
  llvm::ArrayRef<int64_t> symbols;
  int64_t evaluate(mlir::AffineExpr expr) const;
  Shape shapeOf(mlir::Value value) const;
  /// An array for the value, zeroed.
  Array arrayFor(mlir::Value value) const;
};

/// Each returns false if the operator is not of its family.
bool evaluateElementwise(mlir::Operation *op, const Environment &environment, llvm::ArrayRef<const Array *> operands,
                         std::vector<Array> &results);
bool evaluateMovement(mlir::Operation *op, const Environment &environment, llvm::ArrayRef<const Array *> operands,
                      std::vector<Array> &results);
bool evaluateReduction(mlir::Operation *op, const Environment &environment, llvm::ArrayRef<const Array *> operands,
                       std::vector<Array> &results);
bool evaluateLeaf(mlir::Operation *op, const Environment &environment, llvm::ArrayRef<const Array *> operands,
                  std::vector<Array> &results);

} // namespace stint::test

#endif
