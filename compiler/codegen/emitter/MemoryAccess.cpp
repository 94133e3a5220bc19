// Loads and stores of tensors in any layout. The memory stride from lane to
// lane decides: 1 is a vector load, 0 a broadcast, -1 a reversed load; other
// strides are loaded one lane at a time; lanes that cross the tiles of a tiled
// layout are located one at a time.
#include "compiler/codegen/emitter/ElementEmitter.h"
#include "compiler/codegen/emitter/Elementwise.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;

Type codegen::registerType(Type elementType) {
  if (elementType.isF16() || elementType.isBF16())
    return Float32Type::get(elementType.getContext());
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  return elementType;
}

Type codegen::memoryType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (elementType.isInteger(1))
    return IntegerType::get(context, 8);
  if (elementType.isF16() || elementType.isBF16())
    return IntegerType::get(context, 16);
  return registerType(elementType);
}

Type codegen::vectorOf(Type type, int64_t width) { return width > 1 ? VectorType::get({width}, type) : type; }

/// Lanes beyond which code that handles each lane separately becomes a loop.
static constexpr int64_t kMaxUnrolledLanes = 32;

namespace {
struct Access {
  Value offset;                // elements
  std::optional<int64_t> step; // elements from lane to lane, if constant
  Value stepValue;             // the same as a value; null: not a fixed step
};
} // namespace

static Access locate(KernelBuilder &kernel, GraphTensorType type, ArrayRef<Index> indices, int64_t width) {
  MemoryMap map = MemoryMap::of(type);
  Access access;
  access.offset = kernel.constant(0);
  access.stepValue = kernel.constant(0);
  for (auto [d, index] : llvm::enumerate(indices)) {
    Value base = index.base;
    bool tiled = map.tiledDim == static_cast<int64_t>(d);
    if (tiled) {
      if (index.divisor % map.tileSize != 0)
        access.offset = kernel.add(access.offset, kernel.rem(base, kernel.constant(map.tileSize)));
      base = kernel.div(base, kernel.constant(map.tileSize));
    }
    access.offset = kernel.add(access.offset, kernel.mul(base, map.strides[d]));
    if (width == 1 || index.laneStride == 0)
      continue;
    if (!tiled) {
      Value step = kernel.mul(kernel.evaluate(map.strides[d]), index.laneStride);
      if (access.stepValue)
        access.stepValue = kernel.add(access.stepValue, step);
    } else if (index.laneStride == 1 && index.divisor % map.tileSize == 0 && width <= map.tileSize) {
      if (access.stepValue)
        access.stepValue = kernel.add(access.stepValue, 1);
    } else {
      access.stepValue = nullptr;
    }
  }
  if (access.stepValue)
    access.step = kernel.constantOf(access.stepValue);
  return access;
}

static Arithmetic arithmetic(KernelBuilder &kernel) { return Arithmetic(kernel.builder, kernel.loc, kernel.variant); }

static Value insertLane(KernelBuilder &kernel, Value vector, Value scalar, int64_t lane) {
  return kernel.builder.create<vector::InsertOp>(kernel.loc, scalar, vector, ArrayRef<int64_t>{lane});
}

Value ElementEmitter::fromMemory(Value value, Type elementType) {
  return arithmetic(kernel).fromMemory(value, elementType);
}
Value ElementEmitter::toMemory(Value value, Type elementType) {
  return arithmetic(kernel).toMemory(value, elementType);
}

Value ElementEmitter::splat(Value value, int64_t width) {
  if (width == 1 || isa<VectorType>(value.getType()))
    return value;
  OpBuilder::InsertPoint saved = kernel.hoist({value});
  Value vector = kernel.builder.create<vector::BroadcastOp>(kernel.loc, vectorOf(value.getType(), width), value);
  kernel.builder.restoreInsertionPoint(saved);
  return vector;
}

Value ElementEmitter::loadFrom(Value pointer, GraphTensorType type, ArrayRef<Index> indices, int64_t width,
                               bool mayAlias) {
  Type element = type.getElementType(), inMemory = memoryType(element);
  int64_t bytes = graph::elementBytes(element);
  Access access = locate(kernel, type, indices, width);
  if (width > 1 && access.step == 0)
    return splat(loadFrom(pointer, type, indices, 1, mayAlias), width);
  if (width > 1 && (!access.stepValue || (width > kMaxUnrolledLanes && access.step != 1 && access.step != -1)))
    return lanes(indices, width, element,
                 [&](ArrayRef<Index> lane) { return loadFrom(pointer, type, lane, 1, mayAlias); });

  SmallVector<Value> depends{access.offset};
  if (access.stepValue)
    depends.push_back(access.stepValue);
  OpBuilder::InsertPoint saved = kernel.hoist(depends);
  Value value;
  if (width == 1 || access.step == 1) {
    value = kernel.load(kernel.address(pointer, access.offset, bytes), vectorOf(inMemory, width), mayAlias);
  } else if (access.step == -1) {
    Value last = kernel.add(access.offset, 1 - width);
    value = kernel.load(kernel.address(pointer, last, bytes), vectorOf(inMemory, width), mayAlias);
    SmallVector<int64_t> reversed;
    for (int64_t lane = width - 1; lane >= 0; --lane)
      reversed.push_back(lane);
    value = kernel.builder.create<vector::ShuffleOp>(kernel.loc, value, value, reversed);
  } else {
    value = kernel.builder.create<LLVM::UndefOp>(kernel.loc, vectorOf(inMemory, width));
    for (int64_t lane = 0; lane < width; ++lane) {
      Value offset = kernel.add(access.offset, kernel.mul(access.stepValue, lane));
      value = insertLane(kernel, value, kernel.load(kernel.address(pointer, offset, bytes), inMemory, mayAlias), lane);
    }
  }
  value = fromMemory(value, element);
  kernel.builder.restoreInsertionPoint(saved);
  return value;
}

void ElementEmitter::storeTo(Value pointer, GraphTensorType type, ArrayRef<Index> indices, int64_t width, Value value) {
  Type element = type.getElementType();
  int64_t bytes = graph::elementBytes(element);
  value = toMemory(value, element);
  Access access = locate(kernel, type, indices, width);
  if (width == 1 || access.step == 1) {
    kernel.store(value, kernel.address(pointer, access.offset, bytes));
    return;
  }
  for (int64_t lane = 0; lane < width; ++lane) {
    Value scalar = kernel.builder.create<vector::ExtractOp>(kernel.loc, value, ArrayRef<int64_t>{lane});
    Access at = locate(kernel, type, laneOf(indices, kernel.constant(lane)), 1);
    kernel.store(scalar, kernel.address(pointer, at.offset, bytes));
  }
}

void ElementEmitter::store(unsigned resultNumber, ArrayRef<Index> indices, int64_t width, Value value) {
  storeTo(kernel.resultPointer(resultNumber), kernel.resultType(resultNumber), indices, width, value);
}

SmallVector<Index> ElementEmitter::laneOf(ArrayRef<Index> indices, Value lane) {
  SmallVector<Index> scalar;
  for (const Index &index : indices) {
    if (index.laneStride == 0)
      scalar.push_back(index);
    else
      scalar.push_back({kernel.add(index.base, kernel.mul(lane, index.laneStride))});
  }
  return scalar;
}

Value ElementEmitter::lanes(ArrayRef<Index> indices, int64_t width, Type elementType,
                            function_ref<Value(ArrayRef<Index>)> one) {
  int64_t bytes = graph::elementBytes(elementType);
  Type inRegister = registerType(elementType);
  // The stack holds register values: f16 and bf16 are not rounded on the way.
  bool isBool = graph::isBool(elementType);
  Type cell = isBool ? memoryType(elementType) : inRegister;
  bytes = cell.getIntOrFloatBitWidth() / 8;
  Value stack = kernel.stack(width * bytes);
  kernel.loop(kernel.constant(0), kernel.constant(width), kernel.constant(1), [&](Value lane) {
    Value value = one(laneOf(indices, lane));
    kernel.store(isBool ? toMemory(value, elementType) : value, kernel.address(stack, lane, bytes));
  });
  Value vector = kernel.load(stack, vectorOf(cell, width));
  return isBool ? fromMemory(vector, elementType) : vector;
}
