// The graph dialect, its types, attributes and operators.
#ifndef STINT_DIALECTS_GRAPH_GRAPHDIALECT_H
#define STINT_DIALECTS_GRAPH_GRAPHDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Graph/GraphDialect.h.inc"
#include "dialects/Graph/GraphEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Graph/GraphTypes.h.inc"

namespace stint::graph {

/// Module attribute: array of SymbolAttr; position = symbol number.
inline constexpr llvm::StringLiteral kSymbolsAttr = "graph.symbols";
/// Module attribute: array of file paths that ExtentAttr refers to.
inline constexpr llvm::StringLiteral kFilesAttr = "graph.files";
/// Function argument and result attribute: the name of an input or output.
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";

/// Argument and result of @main, an integer: both are the state of that number,
/// which the session keeps from one run to the next instead of the application.
inline constexpr llvm::StringLiteral kStateAttr = "graph.state";
/// Function argument attribute, an integer: the argument stands for the result
/// of @constants with that number. Such arguments come last, and are not given
/// by what runs the function.
inline constexpr llvm::StringLiteral kConstantAttr = "graph.constant_result";

bool isFloat(mlir::Type type);
bool isInteger(mlir::Type type); // any width but i1
bool isBool(mlir::Type type);
bool isNumber(mlir::Type type); // float or integer
bool isIndex(mlir::Type type);  // i32 or i64
/// Bytes of one element in memory (a boolean takes one).
int64_t elementBytes(mlir::Type type);

/// The broadcast of two shapes, or nullopt if a pair of dimensions is neither
/// equal nor has a constant 1.
std::optional<llvm::SmallVector<mlir::AffineExpr>> broadcastShapes(llvm::ArrayRef<mlir::AffineExpr> a,
                                                                   llvm::ArrayRef<mlir::AffineExpr> b);

/// Row-major tensor type with the broadcast shape of `values` and the element
/// type of the first. The shapes must broadcast.
GraphTensorType broadcastType(mlir::ValueRange values);

namespace detail {
mlir::LogicalResult verifyElementwise(mlir::Operation *op);
mlir::LogicalResult verifySameElementType(mlir::Operation *op);
} // namespace detail

template <typename ConcreteType> class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return detail::verifyElementwise(op); }
};

template <typename ConcreteType>
class SameElementType : public mlir::OpTrait::TraitBase<ConcreteType, SameElementType> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return detail::verifySameElementType(op); }
};

} // namespace stint::graph

#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.h.inc"

#endif
