// Verifiers and folds of the elementwise operators.
#include "dialects/Graph/GraphDialect.h"

using namespace mlir;
using namespace stint::graph;

static Type elementOf(Value value) { return cast<GraphTensorType>(value.getType()).getElementType(); }

LogicalResult CompareOp::verify() {
  if (elementOf(getLhs()) != elementOf(getRhs()))
    return emitOpError() << "operands must have one element type";
  if (isBool(elementOf(getLhs())) && getPredicate() != ComparePredicate::eq && getPredicate() != ComparePredicate::ne)
    return emitOpError() << "booleans are compared with eq and ne only";
  return success();
}

LogicalResult SelectOp::verify() {
  Type type = elementOf(getResult());
  if (elementOf(getIfTrue()) != type || elementOf(getIfFalse()) != type)
    return emitOpError() << "both choices must have the result's element type";
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : OpFoldResult(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : OpFoldResult(); }
