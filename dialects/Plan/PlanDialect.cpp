// Types, attributes and small helpers of the plan dialect.
#include "dialects/Plan/PlanDialect.h"

#include "dialects/Graph/KernelGrid.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stint;
using namespace stint::plan;

#include "dialects/Plan/PlanDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Plan/PlanTypes.cpp.inc"

void PlanDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Plan/PlanTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/PlanAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

bool stint::plan::isWork(Operation *op) {
  return isa<DispatchOp, CopyOp, LoadOp, AssignOp, IfOp, ElseOp, LoopOp, EndOp>(op);
}

bool stint::plan::isRegisterOp(Operation *op) {
  return isa<PlanDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         isa<RegisterType>(op->getResult(0).getType());
}

int64_t stint::plan::symbolOf(const graph::Symbols &symbols, graph::GraphTensorType type, int64_t i) {
  return symbols.dimensionOf(type.getDim(i)).value_or(-1);
}

AffineExpr stint::plan::byteSize(graph::GraphTensorType type) {
  AffineExpr size = getAffineConstantExpr(graph::elementBytes(type.getElementType()), type.getContext());
  for (AffineExpr extent : graph::memoryExtents(type))
    size = extent * size;
  return size;
}
