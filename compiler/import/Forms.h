// What an ONNX value is made of while it is imported: a tensor, a list of them
// that the importer takes apart, or a descriptor of one whose length is known
// only while the model runs. Control flow hands over tensors only: a value's
// form says which, and two forms join to one that both values can take.
#ifndef STINT_COMPILER_IMPORT_FORMS_H
#define STINT_COMPILER_IMPORT_FORMS_H

#include "compiler/import/NodeContext.h"

namespace stint::import {

/// A sequence whose length is known only while the model runs. Tensors of one
/// shape are stacked: `data` is [length, shape…]. Where they differ in some
/// dimensions, they follow one another in `data` [rows, dimensions after the
/// last one that differs…], and `sizes` [length, dimensions that differ] (i64)
/// says how large each is.
struct RuntimeSequence {
  Operand *data = nullptr, *sizes = nullptr;
  llvm::SmallVector<mlir::AffineExpr> shape; // of each tensor; null where they differ
  llvm::SmallVector<int64_t> most;           // upper bounds of `shape`

  mlir::AffineExpr length() const { return (sizes ? sizes : data)->type.getDim(0); }
};

/// A tensor or sequence that may be there or not, as the run decides. `has` is
/// one i64 element; where it is 0, `value` is anything.
struct RuntimeOptional {
  Operand *has = nullptr, *value = nullptr;
};

struct Form {
  enum class Kind { None, Tensor, List, Sequence, Optional };
  Kind kind = Kind::None;
  mlir::Type element; // of a tensor, or of the tensors of a sequence
  /// Of a tensor, or of each of a sequence, then null where they differ.
  llvm::SmallVector<mlir::AffineExpr> shape;
  llvm::SmallVector<int64_t> most; // upper bounds of `shape`
  std::vector<Form> parts;         // a list's elements; an optional's value

  static Form of(const Operand &operand, const graph::Symbols &symbols);
  /// As many tensors, which mean the same (dimensions of tensors may differ).
  bool operator==(const Form &other) const;
  bool operator!=(const Form &other) const { return !(*this == other); }

  // Of a sequence.
  size_t varying() const { return llvm::count(shape, mlir::AffineExpr()); }
  /// Dimensions that a row of `data` is one index of; 0: none varies.
  size_t lead() const;
  /// Rows of one tensor at most.
  int64_t mostRows() const;
};

/// The form that values of both forms can be brought to. `local` says whether
/// a dimension has no meaning outside; nullopt, and why, where there is none.
std::optional<Form> join(const Form &a, const Form &b, llvm::function_ref<bool(mlir::AffineExpr)> local,
                         const graph::Symbols &symbols, std::string &why);

} // namespace stint::import

#endif
