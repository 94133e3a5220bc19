// Arithmetic on register values, scalar or vector: what the elementwise
// operators of the graph dialect mean, with the semantics of the element type
// they are declared for (registers hold unsigned integers as signless ones).
#ifndef STINT_COMPILER_CODEGEN_EMITTER_ELEMENTWISE_H
#define STINT_COMPILER_CODEGEN_EMITTER_ELEMENTWISE_H

#include "compiler/target/Target.h"
#include "dialects/Graph/GraphDialect.h"

#include "mlir/IR/Builders.h"

namespace stint::codegen {

/// Emits arithmetic at `builder`'s insertion point.
class Arithmetic {
public:
  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc, const target::Variant &variant)
      : builder(builder), loc(loc), variant(variant) {}

  /// A number, or a vector of it, of the type of `like`.
  mlir::Value constant(mlir::Type like, double value);
  mlir::Value constantInt(mlir::Type like, int64_t value);

  /// The lowest (highest) value of an element type, infinities included.
  mlir::Value lowest(mlir::Type like, mlir::Type elementType, bool highest);

  /// Result of the elementwise operator `op` for these operands.
  mlir::Value emit(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);

  // `type` is the graph element type of the values.
  mlir::Value add(mlir::Value a, mlir::Value b, mlir::Type type);
  mlir::Value mul(mlir::Value a, mlir::Value b, mlir::Type type);
  mlir::Value min(mlir::Value a, mlir::Value b, mlir::Type type);
  mlir::Value max(mlir::Value a, mlir::Value b, mlir::Type type);
  /// Integers: division by zero gives 0.
  mlir::Value div(mlir::Value a, mlir::Value b, mlir::Type type);
  /// a * b + c, fused where the variant can (floats), else rounded twice.
  mlir::Value mulAdd(mlir::Value a, mlir::Value b, mlir::Value c, mlir::Type type);
  mlir::Value isNaN(mlir::Value a);
  mlir::Value compare(graph::ComparePredicate predicate, mlir::Value a, mlir::Value b, mlir::Type type);
  mlir::Value cast(mlir::Value value, mlir::Type from, mlir::Type to);

  /// Register value <-> value as it lies in memory.
  mlir::Value fromMemory(mlir::Value value, mlir::Type elementType);
  mlir::Value toMemory(mlir::Value value, mlir::Type elementType);

private:
  mlir::Value extreme(mlir::Value a, mlir::Value b, mlir::Type type, bool wantMax);
  mlir::Value remainder(mlir::Value a, mlir::Value b, mlir::Type type, bool signOfDivisor);
  mlir::Value integerPower(mlir::Value base, mlir::Value exponent, mlir::Type type);
  mlir::Value floatToInteger(mlir::Value value, mlir::Type to);
  mlir::Value sign(mlir::Value value, mlir::Type type);
  mlir::Value shift(mlir::Value a, mlir::Value b, mlir::Type type, bool left);
  mlir::Value halfToSingle(mlir::Value bits);
  mlir::Value singleToHalf(mlir::Value value);
  mlir::Value bfloatToSingle(mlir::Value bits);
  mlir::Value singleToBfloat(mlir::Value value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const target::Variant &variant;
};

} // namespace stint::codegen

#endif
