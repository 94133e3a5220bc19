// PlanRegisters: see the header of that name.
#include "passes/schedule/PlanRegisters.h"

#include "passes/SymbolUses.h"

using namespace mlir;
using namespace stint;
using namespace stint::passes;

PlanRegisters::PlanRegisters(plan::EntryOp entry, const graph::Symbols &symbols, llvm::SmallBitVector late)
    : entry(entry), symbols(symbols), lateSymbols(std::move(late)), bound(symbols.size()), builder(entry.getContext()),
      block(&entry.getBody().front()) {
  lateSymbols.resize(symbols.size());
  this->late.emplace_back();
}

bool PlanRegisters::isLate(AffineExpr expr) const { return symbolsOf(expr).anyCommon(lateSymbols); }

Value PlanRegisters::compute(AffineExpr expr, bool inBody, bool cached) {
  inBody = inBody && isLate(expr);
  if (Value known = early.lookup(expr))
    return known;
  if (cached)
    for (const auto &values : late)
      if (Value known = values.lookup(expr))
        return known;
  Location loc = entry.getLoc();
  auto type = plan::RegisterType::get(builder.getContext());
  Value result;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result = declare<plan::ConstOp>(loc, type, builder.getI64IntegerAttr(constant.getValue()));
  } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    // The same register from the first instruction to the last.
    Value dimension = symbolRegister(symbol.getPosition());
    int64_t step = symbols[symbol.getPosition()].getStep();
    if (step == 1)
      return early[expr] = dimension;
    Value divisor = compute(builder.getAffineConstantExpr(step), false, true);
    return early[expr] = declare<plan::FloorDivOp>(loc, type, dimension, divisor);
  } else if (auto symbol = symbols.dimensionOf(expr)) {
    return early[expr] = symbolRegister(*symbol);
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value lhs = compute(binary.getLHS(), inBody, cached), rhs = compute(binary.getRHS(), inBody, cached);
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      result = add<plan::AddOp>(inBody, loc, type, lhs, rhs);
      break;
    case AffineExprKind::Mul:
      result = add<plan::MulOp>(inBody, loc, type, lhs, rhs);
      break;
    case AffineExprKind::FloorDiv:
      result = add<plan::FloorDivOp>(inBody, loc, type, lhs, rhs);
      break;
    case AffineExprKind::CeilDiv:
      result = add<plan::CeilDivOp>(inBody, loc, type, lhs, rhs);
      break;
    default:
      result = add<plan::ModOp>(inBody, loc, type, lhs, rhs);
    }
  }
  if (!isLate(expr))
    early[expr] = result;
  else if (cached)
    late.back()[expr] = result;
  return result;
}

Value PlanRegisters::reg(AffineExpr expr) { return compute(symbols.simplify(expr), true, true); }

SmallVector<Value> PlanRegisters::regs(ArrayRef<AffineExpr> exprs) {
  return llvm::map_to_vector(exprs, [&](AffineExpr e) { return reg(e); });
}

Value PlanRegisters::symbolRegister(int64_t symbol) {
  Value &value = symbolRegisters[symbol];
  if (!value)
    value = declare<plan::SymbolOp>(entry.getLoc(), plan::RegisterType::get(builder.getContext()),
                                    builder.getI64IntegerAttr(symbol));
  return value;
}

Value PlanRegisters::tracked(AffineExpr expr) {
  expr = symbols.simplify(expr);
  if (!isLate(expr) || isa<AffineSymbolExpr>(expr))
    return reg(expr);
  for (auto [known, value] : mirrors)
    if (known == expr)
      return value;
  Value value = compute(expr, false, false);
  mirrors.push_back({expr, value});
  return value;
}

Value PlanRegisters::variable(Value value) {
  Value result = declare<plan::ConstOp>(entry.getLoc(), plan::RegisterType::get(builder.getContext()),
                                        builder.getI64IntegerAttr(0));
  work<plan::AssignOp>(entry.getLoc(), result, value);
  return result;
}

void PlanRegisters::forget(const llvm::SmallBitVector &changed) {
  for (auto &values : late) {
    SmallVector<AffineExpr> stale;
    for (auto [expr, value] : values)
      if (symbolsOf(expr).anyCommon(changed))
        stale.push_back(expr);
    for (AffineExpr expr : stale)
      values.erase(expr);
  }
}

void PlanRegisters::bind(ArrayRef<std::pair<int64_t, Value>> values) {
  llvm::SmallBitVector changed(symbols.size());
  // Values that are symbols changed here too are put aside first.
  SmallVector<std::pair<int64_t, Value>> steady(values);
  for (auto &[symbol, value] : steady)
    if (auto other = value.getDefiningOp<plan::SymbolOp>(); other && values.size() > 1)
      value = variable(value);
  for (auto [symbol, value] : steady) {
    work<plan::AssignOp>(entry.getLoc(), symbolRegister(symbol), value);
    changed.set(symbol);
  }
  forget(changed);
  bound |= changed;
  for (size_t i = 0; i < mirrors.size(); ++i) {
    auto [expr, mirror] = mirrors[i];
    llvm::SmallBitVector uses = symbolsOf(expr), needs = uses;
    uses.resize(symbols.size());
    needs.resize(symbols.size());
    needs &= lateSymbols;
    if (uses.anyCommon(changed) && !needs.test(bound))
      work<plan::AssignOp>(entry.getLoc(), mirror, reg(expr));
  }
}
