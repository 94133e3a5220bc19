// Emits the value of any graph value at an index vector, recursively through
// a kernel's body: what a fused elementwise, movement or reduction operator
// means, one element or one vector of elements at a time.
//
// Register types: floats f32 and f64 as they are, f16 and bf16 as f32
// (rounded when stored, or by graph.cast), integers signless iN, booleans i1.
#ifndef STINT_COMPILER_CODEGEN_EMITTER_ELEMENTEMITTER_H
#define STINT_COMPILER_CODEGEN_EMITTER_ELEMENTEMITTER_H

#include "compiler/codegen/emitter/KernelBuilder.h"

namespace stint::codegen {

/// A logical index on one dimension. Lane l of a vector has
/// base + l * laneStride. `base` is known to be a multiple of `divisor`.
struct Index {
  mlir::Value base; // i64
  int64_t laneStride = 0;
  int64_t divisor = 1;
};

/// Type of an element in a register.
mlir::Type registerType(mlir::Type elementType);
/// Type of an element in memory: i8 for booleans, i16 for f16 and bf16,
/// signless integers, f32, f64.
mlir::Type memoryType(mlir::Type elementType);
/// `type`, or a vector of `width` of it if width > 1.
mlir::Type vectorOf(mlir::Type type, int64_t width);

class ElementEmitter {
public:
  explicit ElementEmitter(KernelBuilder &kernel) : kernel(kernel) {}

  /// `value` (of the kernel's body) at `indices`, one per logical dimension,
  /// all lanes in range: a scalar for width 1, else a vector of `width`. Same
  /// bits for every width. Emitted at the kernel's insertion point, invariant
  /// parts outside the loops around it. What is emitted twice is emitted once.
  mlir::Value emit(mlir::Value value, llvm::ArrayRef<Index> indices, int64_t width);

  /// From now on `value` is obtained by calling `provider`, which may be
  /// asked for any width up to those passed to emit, also 1. Forgets what was
  /// emitted before.
  using Provider = std::function<mlir::Value(llvm::ArrayRef<Index> indices, int64_t width)>;
  void bind(mlir::Value value, Provider provider);

  /// Writes a register value to the kernel's result. Emit all results of an
  /// element before storing any: a result may lie in an operand's memory.
  void store(unsigned resultNumber, llvm::ArrayRef<Index> indices, int64_t width, mlir::Value value);

  /// Load and store of a tensor of `type` at `pointer`, with conversion
  /// between memory and register types.
  mlir::Value loadFrom(mlir::Value pointer, graph::GraphTensorType type, llvm::ArrayRef<Index> indices, int64_t width,
                       bool mayAlias = true);
  void storeTo(mlir::Value pointer, graph::GraphTensorType type, llvm::ArrayRef<Index> indices, int64_t width,
               mlir::Value value);
  /// Register value <-> value as it lies in memory, scalar or vector.
  mlir::Value fromMemory(mlir::Value value, mlir::Type elementType);
  mlir::Value toMemory(mlir::Value value, mlir::Type elementType);

  /// Lane `lane` of an index vector, as indices of a scalar.
  llvm::SmallVector<Index> laneOf(llvm::ArrayRef<Index> indices, mlir::Value lane);
  /// A vector of `width` built by a loop over its lanes; `elementType` is a
  /// graph element type, `one` gives a value of its register type.
  mlir::Value lanes(llvm::ArrayRef<Index> indices, int64_t width, mlir::Type elementType,
                    llvm::function_ref<mlir::Value(llvm::ArrayRef<Index>)> one);
  /// Scalar to vector; no change for width 1 or if it already is one.
  mlir::Value splat(mlir::Value value, int64_t width);

  KernelBuilder &kernel;

private:
  mlir::Value emitUncached(mlir::Value value, llvm::ArrayRef<Index> indices, int64_t width);
  /// Indices of an operand that is broadcast to the shape `indices` are for.
  llvm::SmallVector<Index> broadcastTo(mlir::Value operand, llvm::ArrayRef<Index> indices);
  mlir::Value emitElementwise(mlir::Operation *op, llvm::ArrayRef<Index> indices, int64_t width);

  // Movement.cpp
  mlir::Value emitMovement(mlir::Operation *op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitReshape(graph::ReshapeOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitPad(graph::PadOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitConcat(graph::ConcatOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitGather(mlir::Operation *op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitIota(graph::IotaOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitDimensions(graph::DimensionsOp op, llvm::ArrayRef<Index> indices, int64_t width);

  // Reductions.cpp
  mlir::Value emitReduce(graph::ReduceOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitArgReduce(graph::ReduceOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value reduceRow(graph::ReduceOp op, llvm::SmallVector<Index> indices, int64_t axis, mlir::Value state);

  // Windows.cpp
  mlir::Value emitWindowReduce(graph::WindowReduceOp op, unsigned number, llvm::ArrayRef<Index> indices, int64_t width);
  /// Row-major position in a tensor of `type`, as i64.
  mlir::Value linearIndex(graph::GraphTensorType type, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitConv(graph::ConvOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value emitMatMul(graph::MatMulOp op, llvm::ArrayRef<Index> indices, int64_t width);

  /// Moves the insertion point out of loops that `indices` do not depend on,
  /// unless a bound value is below `op`.
  mlir::OpBuilder::InsertPoint hoistFor(mlir::Operation *op, llvm::ArrayRef<Index> indices);

  struct Emitted {
    llvm::SmallVector<Index> indices;
    int64_t width;
    mlir::Value value;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Emitted, 2>> emitted;
  llvm::DenseMap<mlir::Value, Provider> providers;
};

} // namespace stint::codegen

#endif
