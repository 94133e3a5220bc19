// The plan dialect, its types, attributes and operations.
//
// How to walk a plan (compiler/serialise does):
//   * symbols: the module's `graph.symbols` (graph::Symbols::of(module)).
//   * kernels: `module.getOps<func::FuncOp>()` with kKindAttr, in order.
//   * entries: `module.getOps<plan::EntryOp>()`.
//   * an entry's buffers: `entry.getBuffers()`, the results of InputOp,
//     OutputOp, BufferOp, StateOp, WeightOp and ConstantOp in order of appearance;
//     `isRegisterOp` tells what makes registers. SymbolOp makes none: its
//     register is its number.
//   * ports: InputOp and OutputOp, `getDims()`, `symbolOf(symbols, type, i)`.
//   * prologue: register operations and checks before the first operation
//     that `isWork`; body: everything from there.
#ifndef STINT_DIALECTS_PLAN_PLANDIALECT_H
#define STINT_DIALECTS_PLAN_PLANDIALECT_H

#include "dialects/Graph/Shapes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/PlanDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Plan/PlanTypes.h.inc"

namespace stint::plan {

/// On an outlined kernel function: `#graph<kernel_kind loopnest>` and so on.
inline constexpr llvm::StringLiteral kKindAttr = "graph.kind";
/// On an argument of a kernel function, an integer: some dispatch gives this
/// operand the memory of the result with that number. The kernel must then
/// read each element of the operand before it writes that element, and never
/// compute an element twice (no overlapping tails).
inline constexpr llvm::StringLiteral kInPlaceAttr = "graph.in_place";

/// On the module: the shape profiles that memory is planned for, an array of
/// DenseI64ArrayAttr with one maximum per symbol.
inline constexpr llvm::StringLiteral kProfilesAttr = "plan.profiles";

/// True for what only the body may hold: dispatches, copies, loads, control
/// flow and assignments. The prologue ends before the first.
bool isWork(mlir::Operation *op);
/// True for SymbolOp, ConstOp, arithmetic and LoadOp.
bool isRegisterOp(mlir::Operation *op);
/// The number of the symbol that stands for dimension `i` of a port, else -1.
int64_t symbolOf(const graph::Symbols &symbols, graph::GraphTensorType type, int64_t i);
/// Bytes a value of this type takes in memory, padding of a tiled layout
/// included, as an expression over the symbols.
mlir::AffineExpr byteSize(graph::GraphTensorType type);

} // namespace stint::plan

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

#endif
