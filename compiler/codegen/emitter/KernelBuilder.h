// A kernel function under construction: what both generators share.
//
// The constructor makes `func.func @name(%dispatch, %workgroup) -> i32` and
// its prologue; the generator emits the body with `builder`; finish() returns
// 0. All index arithmetic is i64. Index values are numbered: the same
// arithmetic on the same operands gives the same Value wherever the first one
// dominates, and is placed outside every scf.for it does not depend on.
#ifndef STINT_COMPILER_CODEGEN_EMITTER_KERNELBUILDER_H
#define STINT_COMPILER_CODEGEN_EMITTER_KERNELBUILDER_H

#include "compiler/target/Target.h"
#include "dialects/Graph/GraphDialect.h"
#include "dialects/Graph/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>

namespace stint::codegen {

/// Where a tensor's elements lie. The element at logical index i is at
/// sum(i[d] * strides[d]) elements, where a tiled dimension d contributes
/// (i[d] / tileSize) * strides[d] + i[d] % tileSize instead.
struct MemoryMap {
  llvm::SmallVector<mlir::AffineExpr> strides;
  int64_t tiledDim = -1, tileSize = 0;
  static MemoryMap of(graph::GraphTensorType type);
};

class KernelBuilder {
public:
  /// `kernel` is an outlined kernel: a body of graph operators that ends in
  /// func.return. The new function is appended to `into`.
  KernelBuilder(mlir::func::FuncOp kernel, const target::Variant &variant, mlir::ModuleOp into);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::func::FuncOp source;
  mlir::func::FuncOp function;
  const target::Variant &variant;
  graph::Symbols symbols;

  /// The graph values the kernel returns.
  mlir::ValueRange results();
  graph::GraphTensorType resultType(unsigned number);

  // The workgroup: the half-open box [begin, end) in grid units (i64).
  mlir::Value begin(unsigned axis) { return beginValues[axis]; }
  mlir::Value end(unsigned axis) { return endValues[axis]; }
  /// The thread's scratch memory (!llvm.ptr, 64-byte aligned).
  mlir::Value scratch() { return scratchPointer; }
  /// Reserves `bytes` of scratch (rounded up to 64) and returns a pointer to
  /// them. scratchBytes() is what the kernel needs in all.
  mlir::Value reserveScratch(int64_t bytes);
  int64_t scratchBytes() const { return scratchSize; }

  /// Data pointer of an operand (a block argument of `source`) or result.
  mlir::Value operandPointer(mlir::Value argument);
  mlir::Value resultPointer(unsigned number);

  // Index arithmetic on i64 values. Constants fold.
  mlir::Value constant(int64_t value);
  std::optional<int64_t> constantOf(mlir::Value value);
  /// Value of an expression over the kernel's symbols.
  mlir::Value evaluate(mlir::AffineExpr expr);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::AffineExpr b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, constant(b)); }
  mlir::Value mul(mlir::Value a, int64_t b) { return mul(a, constant(b)); }
  /// Rounds down; `b` must be positive.
  mlir::Value floorDiv(mlir::Value a, mlir::Value b);
  /// In [0, b); `b` must be positive.
  mlir::Value mod(mlir::Value a, mlir::Value b);
  /// As above where `a` is known not to be negative (cheaper).
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);      // signed, gives i1
  mlir::Value lessEqual(mlir::Value a, mlir::Value b); // signed, gives i1

  // Memory, through !llvm.ptr. Alignment is never assumed beyond the element.
  /// `base` + `offset` elements of `elementBytes`.
  mlir::Value address(mlir::Value base, mlir::Value offset, int64_t elementBytes);
  /// `type` is a scalar or 1-D vector of a type as it lies in memory (i8, i16,
  /// i32, i64, f32, f64). `mayAlias`: the bytes may be a kernel result's.
  mlir::Value load(mlir::Value pointer, mlir::Type type, bool mayAlias = true);
  void store(mlir::Value value, mlir::Value pointer);
  /// `bytes` of stack, allocated once on entry, 64-byte aligned.
  mlir::Value stack(int64_t bytes);

  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value iv, mlir::ValueRange state)>;
  /// scf.for over i64; returns the final state. Emission continues after it.
  mlir::ValueRange loop(mlir::Value lower, mlir::Value upper, mlir::Value step, mlir::ValueRange initial,
                        LoopBody body);
  void loop(mlir::Value lower, mlir::Value upper, mlir::Value step, llvm::function_ref<void(mlir::Value)> body);
  /// scf.if that gives one value of `type`.
  mlir::Value select(mlir::Value condition, mlir::Type type, llvm::function_ref<mlir::Value()> then,
                     llvm::function_ref<mlir::Value()> otherwise);

  /// Moves `builder` out of every scf.for around it that defines none of
  /// `values` (directly or inside); returns what to restore it with. Stops at
  /// any other region, so that guarded code stays guarded.
  mlir::OpBuilder::InsertPoint hoist(llvm::ArrayRef<mlir::Value> values);
  /// True if a value defined in `block` dominates the insertion point, given
  /// that code is only appended.
  bool isVisible(mlir::Block *block);

  /// Ends the function: returns `status` (i32), or 0.
  void finish(mlir::Value status = {});

private:
  mlir::Value number(unsigned op, llvm::ArrayRef<mlir::Value> operands, llvm::function_ref<mlir::Value()> make);

  mlir::Value beginValues[3], endValues[3], scratchPointer;
  int64_t scratchSize = 0;
  llvm::SmallVector<mlir::Value> pointers, dims;
  std::map<int64_t, mlir::Value> constants; // any key, unlike a DenseMap
  llvm::DenseMap<mlir::Value, int64_t> constantValues;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> expressions;
  struct Numbered {
    unsigned op;
    llvm::SmallVector<mlir::Value, 2> operands;
    mlir::Value value;
  };
  llvm::DenseMap<size_t, llvm::SmallVector<Numbered, 1>> numbered;
  mlir::ArrayAttr scope; // alias scope of what the kernel writes
};

} // namespace stint::codegen

#endif
