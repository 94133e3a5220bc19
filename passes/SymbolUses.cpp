// SymbolUses: see the header of that name.
#include "passes/SymbolUses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace stint;
using namespace stint::graph;

static void set(llvm::SmallBitVector &bits, int64_t number) {
  bits.resize(std::max<size_t>(bits.size(), number + 1));
  bits.set(number);
}

static void add(llvm::SmallBitVector &bits, AffineExpr expr) {
  expr.walk([&](AffineExpr e) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      set(bits, symbol.getPosition());
  });
}

llvm::SmallBitVector passes::symbolsOf(AffineExpr expr) {
  llvm::SmallBitVector bits;
  add(bits, expr);
  return bits;
}

llvm::SmallVector<FlatSymbolRefAttr, 2> passes::calleesOf(Operation *op) {
  if (auto branch = dyn_cast<IfOp>(op))
    return {branch.getThenFunctionAttr(), branch.getElseFunctionAttr()};
  if (auto loop = dyn_cast<LoopOp>(op))
    return {loop.getBodyAttr()};
  return {};
}

llvm::SmallBitVector passes::symbolsMadeBy(Operation *op) {
  llvm::SmallBitVector bits;
  if (isa<IfOp>(op))
    for (FlatSymbolRefAttr name : calleesOf(op))
      if (Operation *callee = SymbolTable::lookupNearestSymbolFrom(op, name))
        callee->walk([&](BindOp bind) { set(bits, bind.getSymbol()); });
  if (auto bind = dyn_cast<BindOp>(op))
    set(bits, bind.getSymbol());
  if (auto loop = dyn_cast<LoopOp>(op)) {
    set(bits, loop.getIteration());
    if (loop.getCount() != -1)
      set(bits, loop.getCount());
    for (int64_t symbol : loop.getCarried())
      set(bits, symbol);
  }
  return bits;
}

static void addAll(llvm::SmallBitVector &bits, Operation *root) {
  AttrTypeWalker walker;
  walker.addWalk([&](GraphTensorType type) {
    for (AffineExpr dim : type.getShape())
      add(bits, dim);
  });
  walker.addWalk([&](AffineMapAttr map) {
    for (AffineExpr result : map.getValue().getResults())
      add(bits, result);
  });
  llvm::SmallBitVector made;
  root->walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getOperandTypes())
      walker.walk(type);
    for (Type type : op->getResultTypes())
      walker.walk(type);
    if (auto call = dyn_cast<CallOp>(op))
      for (int64_t number : call.getSymbols())
        set(bits, number);
    made |= passes::symbolsMadeBy(op);
    for (FlatSymbolRefAttr name : passes::calleesOf(op))
      if (Operation *callee = SymbolTable::lookupNearestSymbolFrom(op, name))
        addAll(bits, callee);
  });
  made.resize(bits.size());
  bits.reset(made);
}

llvm::SmallBitVector passes::symbolsReadBy(Operation *op) {
  llvm::SmallBitVector bits;
  addAll(bits, op);
  return bits;
}

llvm::SmallBitVector passes::lateSymbols(ModuleOp module) {
  llvm::SmallBitVector bits;
  module.walk([&](Operation *op) { bits |= symbolsMadeBy(op); });
  return bits;
}

Operation *passes::endOfWork(Block &body) {
  Operation *end = body.getTerminator();
  for (Operation *op = end->getPrevNode(); op; op = op->getPrevNode()) {
    auto bind = dyn_cast<BindOp>(op);
    if (!bind || bind.getSource())
      break;
    end = op;
  }
  return end;
}
