// Prologue of a kernel function, numbered index arithmetic, memory access.
#include "compiler/codegen/emitter/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;

namespace {
enum IndexOp : unsigned { kAdd, kSub, kMul, kFloorDiv, kMod, kDiv, kRem, kMin, kMax, kLess, kLessEqual };

// Byte offsets of runtime/schema/kernel_abi.h on 64-bit machines.
constexpr int64_t kDispatchDims = 8, kBufferBytes = 16, kWorkgroupEnd = 24, kWorkgroupScratch = 48;
} // namespace

MemoryMap MemoryMap::of(GraphTensorType type) {
  MemoryMap map;
  map.strides.resize(type.getRank());
  AffineExpr stride = getAffineConstantExpr(1, type.getContext());
  graph::LayoutAttr layout = type.getLayout();
  if (layout && layout.isTiled()) {
    map.tiledDim = layout.getTiledDim();
    map.tileSize = layout.getTileSize();
    stride = stride * map.tileSize;
  }
  SmallVector<int64_t> order = type.getOrder();
  for (int64_t dim : llvm::reverse(order)) {
    map.strides[dim] = stride;
    stride = stride * (dim == map.tiledDim ? type.getDim(dim).ceilDiv(map.tileSize) : type.getDim(dim));
  }
  return map;
}

KernelBuilder::KernelBuilder(func::FuncOp kernel, const target::Variant &variant, ModuleOp into)
    : builder(into.getContext()), loc(kernel.getLoc()), source(kernel), variant(variant),
      symbols(graph::Symbols::of(kernel)) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  builder.setInsertionPointToEnd(into.getBody());
  function = builder.create<func::FuncOp>(loc, kernel.getName(),
                                          builder.getFunctionType({pointer, pointer}, {builder.getI32Type()}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  Value dispatch = entry->getArgument(0), workgroup = entry->getArgument(1);
  auto field = [&](Value base, int64_t bytes, Type type) -> Value {
    Value at = builder.create<LLVM::GEPOp>(loc, pointer, builder.getI8Type(), base,
                                           ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
    return builder.create<LLVM::LoadOp>(loc, type, at);
  };
  Value buffers = field(dispatch, 0, pointer), dimValues = field(dispatch, kDispatchDims, pointer);
  unsigned count = kernel.getNumArguments() + kernel.getNumResults();
  for (unsigned i = 0; i < count; ++i)
    pointers.push_back(field(buffers, i * kBufferBytes, pointer));
  for (unsigned i = 0; i < symbols.size(); ++i)
    dims.push_back(field(dimValues, i * 8, i64));
  for (unsigned axis = 0; axis < 3; ++axis) {
    beginValues[axis] = field(workgroup, axis * 8, i64);
    endValues[axis] = field(workgroup, kWorkgroupEnd + axis * 8, i64);
  }
  scratchPointer = field(workgroup, kWorkgroupScratch, pointer);
}

ValueRange KernelBuilder::results() { return source.getBody().front().getTerminator()->getOperands(); }
GraphTensorType KernelBuilder::resultType(unsigned number) {
  return cast<GraphTensorType>(results()[number].getType());
}

Value KernelBuilder::reserveScratch(int64_t bytes) {
  int64_t offset = scratchSize;
  scratchSize += (bytes + 63) / 64 * 64;
  return offset == 0 ? scratchPointer : address(scratchPointer, constant(offset), 1);
}

Value KernelBuilder::operandPointer(Value argument) { return pointers[cast<BlockArgument>(argument).getArgNumber()]; }
Value KernelBuilder::resultPointer(unsigned number) { return pointers[source.getNumArguments() + number]; }

// Placement.

/// The insertion point in the entry block that precedes all code around
/// `builder`.
static void moveToEntry(OpBuilder &builder, Block *entry) {
  Operation *outer = nullptr;
  for (Block *block = builder.getInsertionBlock(); block != entry; block = outer->getBlock())
    outer = block->getParentOp();
  if (outer)
    builder.setInsertionPoint(outer);
}

OpBuilder::InsertPoint KernelBuilder::hoist(ArrayRef<Value> values) {
  OpBuilder::InsertPoint saved = builder.saveInsertionPoint();
  while (auto loop = dyn_cast<scf::ForOp>(builder.getInsertionBlock()->getParentOp())) {
    // A value defined in this block or below it keeps the code here.
    if (llvm::any_of(values, [&](Value value) { return loop.getRegion().isAncestor(value.getParentRegion()); }))
      break;
    builder.setInsertionPoint(loop);
  }
  return saved;
}

bool KernelBuilder::isVisible(Block *block) {
  for (Block *at = builder.getInsertionBlock(); at; at = at->getParentOp()->getBlock()) {
    if (at == block)
      return true;
    if (at->getParentOp() == function)
      return false;
  }
  return false;
}

Value KernelBuilder::number(unsigned op, ArrayRef<Value> operands, function_ref<Value()> make) {
  size_t key = llvm::hash_combine(op, llvm::hash_combine_range(operands.begin(), operands.end()));
  auto &candidates = numbered[key];
  for (Numbered &entry : candidates)
    if (entry.op == op && ArrayRef<Value>(entry.operands) == operands && isVisible(entry.value.getParentBlock()))
      return entry.value;
  OpBuilder::InsertPoint saved = hoist(operands);
  Value value = make();
  builder.restoreInsertionPoint(saved);
  candidates.push_back({op, SmallVector<Value, 2>(operands), value});
  return value;
}

// Index arithmetic.

Value KernelBuilder::constant(int64_t value) {
  Value &slot = constants[value];
  if (!slot) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    slot = builder.create<arith::ConstantIntOp>(loc, value, 64);
    constantValues[slot] = value;
  }
  return slot;
}

std::optional<int64_t> KernelBuilder::constantOf(Value value) {
  auto it = constantValues.find(value);
  return it == constantValues.end() ? std::nullopt : std::optional<int64_t>(it->second);
}

Value KernelBuilder::evaluate(AffineExpr expr) {
  expr = symbols.simplify(expr);
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return constant(value.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return dims[symbol.getPosition()];
  if (Value known = expressions.lookup(expr))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  moveToEntry(builder, &function.getBody().front());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value a = evaluate(binary.getLHS()), b = evaluate(binary.getRHS()), value;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    value = add(a, b);
    break;
  case AffineExprKind::Mul:
    value = mul(a, b);
    break;
  case AffineExprKind::FloorDiv:
    value = floorDiv(a, b);
    break;
  case AffineExprKind::CeilDiv:
    value = sub(constant(0), floorDiv(sub(constant(0), a), b));
    break;
  default:
    value = mod(a, b);
    break;
  }
  expressions[expr] = value;
  return value;
}

static int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Value KernelBuilder::add(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return constant(*x + *y);
  if (x == 0)
    return b;
  if (y == 0)
    return a;
  return number(kAdd, {a, b}, [&]() -> Value { return builder.create<arith::AddIOp>(loc, a, b); });
}

Value KernelBuilder::sub(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return constant(*x - *y);
  if (y == 0)
    return a;
  return number(kSub, {a, b}, [&]() -> Value { return builder.create<arith::SubIOp>(loc, a, b); });
}

Value KernelBuilder::mul(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return constant(*x * *y);
  if (x == 0 || y == 1)
    return a;
  if (y == 0 || x == 1)
    return b;
  return number(kMul, {a, b}, [&]() -> Value { return builder.create<arith::MulIOp>(loc, a, b); });
}

Value KernelBuilder::mul(Value a, AffineExpr b) { return mul(a, evaluate(b)); }

Value KernelBuilder::floorDiv(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return constant(floorDivide(*x, *y));
  if (y == 1)
    return a;
  return number(kFloorDiv, {a, b}, [&]() -> Value {
    Value quotient = builder.create<arith::DivSIOp>(loc, a, b), rest = builder.create<arith::RemSIOp>(loc, a, b);
    Value negative = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, rest, constant(0));
    Value adjust = builder.create<arith::ExtSIOp>(loc, builder.getI64Type(), negative);
    return builder.create<arith::AddIOp>(loc, quotient, adjust);
  });
}

Value KernelBuilder::mod(Value a, Value b) {
  if (auto x = constantOf(a), y = constantOf(b); x && y)
    return constant(*x - floorDivide(*x, *y) * *y);
  return sub(a, mul(floorDiv(a, b), b));
}

Value KernelBuilder::div(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return constant(*x / *y);
  if (y == 1)
    return a;
  return number(kDiv, {a, b}, [&]() -> Value { return builder.create<arith::DivUIOp>(loc, a, b); });
}

Value KernelBuilder::rem(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return constant(*x % *y);
  if (y == 1)
    return constant(0);
  return number(kRem, {a, b}, [&]() -> Value { return builder.create<arith::RemUIOp>(loc, a, b); });
}

Value KernelBuilder::min(Value a, Value b) {
  if (auto x = constantOf(a), y = constantOf(b); x && y)
    return constant(std::min(*x, *y));
  return number(kMin, {a, b}, [&]() -> Value { return builder.create<arith::MinSIOp>(loc, a, b); });
}

Value KernelBuilder::max(Value a, Value b) {
  if (auto x = constantOf(a), y = constantOf(b); x && y)
    return constant(std::max(*x, *y));
  return number(kMax, {a, b}, [&]() -> Value { return builder.create<arith::MaxSIOp>(loc, a, b); });
}

Value KernelBuilder::less(Value a, Value b) {
  return number(kLess, {a, b},
                [&]() -> Value { return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, b); });
}

Value KernelBuilder::lessEqual(Value a, Value b) {
  return number(kLessEqual, {a, b},
                [&]() -> Value { return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, a, b); });
}

// Memory.

static int64_t alignmentOf(Type type) {
  Type scalar = getElementTypeOrSelf(type);
  return std::max<int64_t>(scalar.getIntOrFloatBitWidth() / 8, 1);
}

/// Alias scope of everything a kernel writes.
static ArrayAttr resultScope(MLIRContext *context, StringRef name) {
  auto domain = LLVM::AliasScopeDomainAttr::get(context, StringAttr::get(context, name));
  auto scope = LLVM::AliasScopeAttr::get(domain, StringAttr::get(context, "results"));
  return ArrayAttr::get(context, {scope});
}

Value KernelBuilder::address(Value base, Value offset, int64_t elementBytes) {
  if (constantOf(offset) == 0)
    return base;
  return builder.create<LLVM::GEPOp>(loc, base.getType(), builder.getIntegerType(elementBytes * 8), base,
                                     ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelBuilder::load(Value pointer, Type type, bool mayAlias) {
  auto op = builder.create<LLVM::LoadOp>(loc, type, pointer, alignmentOf(type));
  if (!mayAlias) {
    if (!scope)
      scope = resultScope(builder.getContext(), function.getName());
    op.setNoaliasScopesAttr(scope);
  }
  return op;
}

void KernelBuilder::store(Value value, Value pointer) {
  auto op = builder.create<LLVM::StoreOp>(loc, value, pointer, alignmentOf(value.getType()));
  if (!scope)
    scope = resultScope(builder.getContext(), function.getName());
  op.setAliasScopesAttr(scope);
}

Value KernelBuilder::stack(int64_t bytes) {
  Value size = constant(bytes);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(size);
  return builder.create<LLVM::AllocaOp>(loc, LLVM::LLVMPointerType::get(builder.getContext()), builder.getI8Type(),
                                        size, 64);
}

// Control flow. Regions are filled after their operation exists, so that
// hoisting sees where it is.

ValueRange KernelBuilder::loop(Value lower, Value upper, Value step, ValueRange initial, LoopBody body) {
  auto op = builder.create<scf::ForOp>(loc, lower, upper, step, initial);
  {
    OpBuilder::InsertionGuard guard(builder);
    if (initial.empty())
      op.getBody()->getTerminator()->erase();
    builder.setInsertionPointToEnd(op.getBody());
    SmallVector<Value> state = body(op.getInductionVar(), op.getRegionIterArgs());
    builder.create<scf::YieldOp>(loc, state);
  }
  return op.getResults();
}

void KernelBuilder::loop(Value lower, Value upper, Value step, function_ref<void(Value)> body) {
  loop(lower, upper, step, ValueRange(), [&](Value iv, ValueRange) {
    body(iv);
    return SmallVector<Value>();
  });
}

Value KernelBuilder::select(Value condition, Type type, function_ref<Value()> then, function_ref<Value()> otherwise) {
  auto op = builder.create<scf::IfOp>(loc, TypeRange(type), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  auto fill = [&](Block *block, function_ref<Value()> make) {
    builder.setInsertionPointToEnd(block);
    Value value = make();
    builder.create<scf::YieldOp>(loc, value);
  };
  fill(op.thenBlock(), then);
  fill(op.elseBlock(), otherwise);
  return op.getResult(0);
}

void KernelBuilder::finish(Value status) {
  if (!status)
    status = builder.create<arith::ConstantIntOp>(loc, 0, 32);
  builder.create<func::ReturnOp>(loc, status);
}
