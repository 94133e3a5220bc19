// Control flow: what must hold between an operation and the functions it runs.
#include "dialects/Graph/GraphDialect.h"
#include "dialects/Graph/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

static LogicalResult verifyFlag(Operation *op, Value value, StringRef what) {
  GraphTensorType type = tensorType(value);
  if (!type.getElementType().isSignlessInteger(64) || !(type.getNumElements() == 1))
    return op->emitOpError() << what << " must be one i64 element";
  return success();
}

static LogicalResult verifySymbol(Operation *op, int64_t number, StringRef what) {
  if (number < 0 || number >= static_cast<int64_t>(Symbols::of(op).size()))
    return op->emitOpError() << what << " is no symbol of the module: " << number;
  return success();
}

/// The arguments that whatever runs the function gives.
static TypeRange argumentsOf(func::FuncOp function) {
  size_t count = function.getNumArguments();
  while (count > 0 && function.getArgAttr(count - 1, kConstantAttr))
    --count;
  return function.getArgumentTypes().take_front(count);
}

static func::FuncOp callee(Operation *op, FlatSymbolRefAttr name, SymbolTableCollection &symbolTable) {
  return symbolTable.lookupNearestSymbolFrom<func::FuncOp>(op, name);
}

/// Element types and ranks; dimensions may be named differently on both sides.
static bool alike(TypeRange a, TypeRange b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           auto x = dyn_cast<GraphTensorType>(std::get<0>(pair)), y = dyn_cast<GraphTensorType>(std::get<1>(pair));
           return x && y && x.getElementType() == y.getElementType() && x.getRank() == y.getRank();
         });
}

// bind

LogicalResult BindOp::verify() {
  if (failed(verifySymbol(*this, getSymbol(), "it")))
    return failure();
  if (static_cast<bool>(getSource()) == getValue().has_value())
    return emitOpError() << "needs a source or a value";
  if (Value source = getSource())
    if (!tensorType(source).getElementType().isSignlessInteger(64))
      return emitOpError() << "source must be i64";
  if (getValue() && (getValue()->getNumResults() != 1 || getValue()->getNumDims() != 0))
    return emitOpError() << "value must be one expression over symbols";
  return success();
}

// require

LogicalResult RequireOp::verify() {
  if (getSides().getNumResults() != 2 || getSides().getNumDims() != 0)
    return emitOpError() << "sides must be two expressions over symbols";
  return success();
}

// if

LogicalResult IfOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyFlag(*this, getCondition(), "condition")))
    return failure();
  for (auto [name, inputs] :
       {std::pair(getThenFunctionAttr(), getThenInputs()), std::pair(getElseFunctionAttr(), getElseInputs())}) {
    func::FuncOp function = callee(*this, name, symbolTable);
    if (!function)
      return emitOpError() << "names no function: " << name;
    if (!llvm::equal(argumentsOf(function), inputs.getTypes()) || !alike(function.getResultTypes(), getResultTypes()))
      return emitOpError() << "does not match the arguments and results of " << name;
  }
  return success();
}

// loop

LogicalResult LoopOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifySymbol(*this, getIteration(), "iteration")) ||
      (getCount() != -1 && failed(verifySymbol(*this, getCount(), "count"))))
    return failure();
  if (getCondition() && failed(verifyFlag(*this, getCondition(), "condition")))
    return failure();
  if (getTripCount() && failed(verifyFlag(*this, getTripCount(), "trip count")))
    return failure();
  if (getTrips() && (getTrips()->getNumResults() != 1 || getTrips()->getNumDims() != 0 || getTripCount()))
    return emitOpError() << "trips must be one expression over symbols, and all that says how often";
  for (int64_t symbol : getCarried())
    if (failed(verifySymbol(*this, symbol, "carried")))
      return failure();
  if ((getCarriedInits() ? getCarriedInits()->getNumResults() : 0) != getCarried().size())
    return emitOpError() << "needs one initial value per carried symbol";
  func::FuncOp function = callee(*this, getBodyAttr(), symbolTable);
  if (!function)
    return emitOpError() << "names no function: " << getBody();
  size_t inits = getInits().size(), first = getConditional() ? 1 : 0;
  TypeRange arguments = argumentsOf(function);
  if (arguments.size() != inits + getCaptures().size() ||
      !llvm::equal(arguments.drop_front(inits), getCaptures().getTypes()) ||
      function.getNumResults() != first + getNumResults())
    return emitOpError() << "does not match the arguments and results of @" << getBody();
  TypeRange carried = arguments.take_front(inits);
  if (!alike(carried, getInits().getTypes()) || !alike(carried, getFinals().getTypes()) ||
      !alike(carried, function.getResultTypes().drop_front(first).take_front(inits)))
    return emitOpError() << "carries values of other types than @" << getBody();
  for (auto [scan, element] : llvm::zip(getScans(), function.getResultTypes().drop_front(first + inits))) {
    auto stacked = tensorType(scan), one = cast<GraphTensorType>(element);
    if (stacked.getRank() != one.getRank() + 1 || stacked.getElementType() != one.getElementType())
      return emitOpError() << "a scan output must have one dimension more than what the body returns";
  }
  return success();
}
