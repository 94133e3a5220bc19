// Emission of a value: from a provider, from memory, or by its operator; what
// was emitted once for an index vector and is still visible is used again.
#include "compiler/codegen/emitter/ElementEmitter.h"
#include "compiler/codegen/emitter/Elementwise.h"

#include "dialects/Plan/PlanDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

static bool same(ArrayRef<Index> a, ArrayRef<Index> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const Index &x, const Index &y) {
           return x.base == y.base && x.laneStride == y.laneStride;
         });
}

void ElementEmitter::bind(Value value, Provider provider) {
  providers[value] = std::move(provider);
  emitted.clear();
}

Value ElementEmitter::emit(Value value, ArrayRef<Index> given, int64_t width) {
  SmallVector<Index> indices(given);
  GraphTensorType type = tensorType(value);
  assert(static_cast<int64_t>(indices.size()) == type.getRank() && "one index per dimension");
  for (auto [d, index] : llvm::enumerate(indices))
    if (type.getDim(d) == 1)
      index = {kernel.constant(0), 0, 1 << 30};
  if (width > 1 && llvm::all_of(indices, [](const Index &index) { return index.laneStride == 0; }))
    return splat(emit(value, indices, 1), width);
  for (Emitted &entry : emitted[value])
    if (entry.width == width && same(entry.indices, indices) && kernel.isVisible(entry.value.getParentBlock()))
      return entry.value;
  Value result;
  if (auto it = providers.find(value); it != providers.end())
    result = Provider(it->second)(indices, width);
  else
    result = emitUncached(value, indices, width);
  emitted[value].push_back({indices, width, result});
  return result;
}

SmallVector<Index> ElementEmitter::broadcastTo(Value operand, ArrayRef<Index> indices) {
  // Dimensions of 1 become index 0 in emit().
  return SmallVector<Index>(indices.take_back(tensorType(operand).getRank()));
}

Value ElementEmitter::emitUncached(Value value, ArrayRef<Index> indices, int64_t width) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool mayAlias = bool(kernel.source.getArgAttr(argument.getArgNumber(), plan::kInPlaceAttr));
    return loadFrom(kernel.operandPointer(value), tensorType(value), indices, width, mayAlias);
  }
  Operation *op = value.getDefiningOp();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::ConstantOp constant) -> Value {
        OpBuilder::InsertPoint saved = kernel.hoist({});
        auto splatValue = cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>();
        Arithmetic arithmetic(kernel.builder, kernel.loc, kernel.variant);
        Type type = vectorOf(registerType(tensorType(value).getElementType()), width);
        Value result;
        if (auto number = dyn_cast<FloatAttr>(splatValue))
          result = arithmetic.constant(type, number.getValueAsDouble());
        else
          result = arithmetic.constantInt(type, cast<IntegerAttr>(splatValue).getValue().getSExtValue());
        kernel.builder.restoreInsertionPoint(saved);
        return result;
      })
      .Case([&](graph::ReduceOp reduce) { return emitReduce(reduce, indices, width); })
      .Case([&](graph::WindowReduceOp window) {
        return emitWindowReduce(window, cast<OpResult>(value).getResultNumber(), indices, width);
      })
      .Case([&](graph::ConvOp conv) { return emitConv(conv, indices, width); })
      .Case([&](graph::MatMulOp matmul) { return emitMatMul(matmul, indices, width); })
      .Default([&](Operation *) {
        bool elementwise = op->hasTrait<graph::Elementwise>();
        return elementwise ? emitElementwise(op, indices, width) : emitMovement(op, indices, width);
      });
}

Value ElementEmitter::emitElementwise(Operation *op, ArrayRef<Index> indices, int64_t width) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(emit(operand, broadcastTo(operand, indices), width));
  OpBuilder::InsertPoint saved = kernel.hoist(operands);
  Value result = Arithmetic(kernel.builder, kernel.loc, kernel.variant).emit(op, operands);
  kernel.builder.restoreInsertionPoint(saved);
  return result;
}

/// True if `value` is computed from a value that `bound` holds.
static bool reaches(Value value, function_ref<bool(Value)> bound) {
  if (bound(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value operand) { return reaches(operand, bound); });
}

OpBuilder::InsertPoint ElementEmitter::hoistFor(Operation *op, ArrayRef<Index> indices) {
  if (!providers.empty() && reaches(op->getResult(0), [&](Value value) { return providers.contains(value); }))
    return kernel.builder.saveInsertionPoint();
  SmallVector<Value> bases;
  for (const Index &index : indices)
    bases.push_back(index.base);
  return kernel.hoist(bases);
}
