// Operators on sequences whose length is known only while the model runs (see
// Forms.h), in terms of graph operators: joining, slicing and gathering of
// their rows. Included by the importer's own files only.
#ifndef STINT_COMPILER_IMPORT_RUNTIMESEQUENCES_H
#define STINT_COMPILER_IMPORT_RUNTIMESEQUENCES_H

#include "compiler/import/Forms.h"
#include "compiler/import/ImporterImpl.h"

namespace stint::import {

/// A sequence as the function that is being filled has it.
struct LocalSequence {
  Form form;
  mlir::Value data, sizes; // no sizes where all tensors have one shape
  mlir::AffineExpr length;
};

class RuntimeSequences {
public:
  RuntimeSequences(Importer &importer, NodeContext &n) : importer(importer), n(n) {}

  /// A list or sequence, brought to the form of a sequence.
  LocalSequence bring(Operand &operand, const Form &form);
  Operand *give(const LocalSequence &sequence, llvm::StringRef name);
  /// As an operand that has this descriptor.
  Operand *unpack(const Form &form, mlir::Value sizes, mlir::Value data, llvm::StringRef name);

  /// The position that input `i` says, negative ones counted from the end: in
  /// [0, size), or the run ends with an error.
  mlir::FailureOr<mlir::AffineExpr> position(size_t i, mlir::AffineExpr size, mlir::AffineExpr length);
  LocalSequence slice(const LocalSequence &sequence, mlir::AffineExpr start, mlir::AffineExpr length);
  /// One after the other; all of one form.
  LocalSequence join(llvm::ArrayRef<LocalSequence> sequences);
  mlir::Value at(const LocalSequence &sequence, mlir::AffineExpr position);
  /// All tensors joined along an axis, or stacked to a new one.
  mlir::Value concat(const LocalSequence &sequence, int64_t axis, bool stack);
  /// `input` cut along `axis` into parts of these sizes (i64 [parts]), at most
  /// `most` each.
  LocalSequence split(mlir::Value input, int64_t axis, mlir::Value sizes, int64_t most);
  /// An expression for what is at least 0, or the run ends with an error.
  mlir::AffineExpr notNegative(mlir::AffineExpr expr, const llvm::Twine &what);
  /// A symbol for an i64 element computed while the model runs.
  mlir::AffineExpr bound(mlir::Value value, const llvm::Twine &name, int64_t lower, int64_t upper,
                         mlir::AffineExpr most = {});
  /// i64 [length, number of dimensions]: the shapes of all tensors.
  mlir::Value shapes(const LocalSequence &sequence);

private:
  mlir::AffineExpr rowsOf(llvm::ArrayRef<mlir::AffineExpr> shape, size_t lead);
  llvm::SmallVector<mlir::AffineExpr> dataShape(const Form &form, mlir::AffineExpr rows);
  mlir::Value empty(mlir::Type element, llvm::ArrayRef<mlir::AffineExpr> shape);
  mlir::Value concatenated(llvm::ArrayRef<mlir::Value> values, int64_t axis);
  mlir::Value sliced(mlir::Value value, mlir::AffineExpr start, mlir::AffineExpr size, int64_t axis = 0);
  mlir::Value integers(llvm::ArrayRef<mlir::AffineExpr> values, llvm::ArrayRef<mlir::AffineExpr> shape);
  LocalSequence widen(LocalSequence sequence, const Form &form);
  /// The sizes of dimension `axis` of all tensors, i64 [length].
  mlir::Value column(const LocalSequence &sequence, size_t axis);
  mlir::AffineExpr rowsBefore(const LocalSequence &sequence, mlir::AffineExpr position);
  mlir::AffineExpr oneSize(const LocalSequence &sequence, size_t axis);
  /// For each of `total` places: the number of the part it lies in, from the
  /// parts' ends.
  mlir::Value partOf(mlir::Value ends, mlir::AffineExpr parts, mlir::AffineExpr total);
  mlir::Value endsOf(mlir::Value sizes, mlir::AffineExpr parts);
  std::string about(const llvm::Twine &what);

  Importer &importer;
  NodeContext &n;
};

} // namespace stint::import

#endif
