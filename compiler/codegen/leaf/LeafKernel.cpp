// A leaf kernel evaluates the shapes of its tensors, lays them out as
// kernels/Leaf.h has them, and calls the leaf function:
//
//   Tensor tensors[] = {{data, rank, dims}, …};
//   return stint_leaf_<name>_<type>(tensors, params, fparams, workgroup);
#include "compiler/codegen/leaf/LeafKernel.h"

#include "compiler/codegen/emitter/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;

namespace {
/// Bytes of a Tensor and offsets of its fields.
constexpr int64_t kTensorBytes = 24, kTensorRank = 8, kTensorDims = 16;

class LeafKernel {
public:
  LeafKernel(func::FuncOp source, const target::Variant &variant, ModuleOp into)
      : kernel(source, variant, into), into(into), leaf(cast<graph::LeafOp>(source.getBody().front().front())) {}

  int64_t lower() {
    SmallVector<Value> values(leaf.getInputs());
    llvm::append_range(values, leaf.getOutputs());
    Value tensors = kernel.stack(kTensorBytes * values.size());
    for (auto [i, value] : llvm::enumerate(values)) {
      auto type = cast<GraphTensorType>(value.getType());
      SmallVector<Value> dims = llvm::map_to_vector(type.getShape(), [&](AffineExpr e) { return kernel.evaluate(e); });
      int64_t at = kTensorBytes * i;
      store(pointerOf(value), tensors, at);
      store(kernel.constant(type.getRank()), tensors, at + kTensorRank);
      store(array(dims, 8), tensors, at + kTensorDims);
    }
    SmallVector<Value> params = llvm::map_to_vector(leaf.getParams(), [&](int64_t v) { return kernel.constant(v); });
    SmallVector<Value> fparams = llvm::map_to_vector(leaf.getFparams(), [&](float v) -> Value {
      return kernel.builder.create<arith::ConstantOp>(kernel.loc, kernel.builder.getF32FloatAttr(v));
    });
    Value operands[] = {tensors, array(params, 8), array(fparams, 4), kernel.function.getArgument(1)};
    auto call = kernel.builder.create<LLVM::CallOp>(kernel.loc, declaration(), operands);
    kernel.finish(call.getResult());
    return kernel.scratchBytes();
  }

private:
  Value pointerOf(Value value) {
    if (isa<BlockArgument>(value))
      return kernel.operandPointer(value);
    return kernel.resultPointer(cast<OpResult>(value).getResultNumber());
  }

  void store(Value value, Value base, int64_t bytes) {
    kernel.builder.create<LLVM::StoreOp>(kernel.loc, value, kernel.address(base, kernel.constant(bytes), 1));
  }

  Value array(ArrayRef<Value> values, int64_t width) {
    Value base = kernel.stack(std::max<int64_t>(values.size(), 1) * width);
    for (auto [i, value] : llvm::enumerate(values))
      store(value, base, i * width);
    return base;
  }

  LLVM::LLVMFuncOp declaration() {
    std::string name = leaf.getFunctionName();
    if (auto known = into.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder builder = OpBuilder::atBlockEnd(into.getBody());
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    auto type = LLVM::LLVMFunctionType::get(builder.getI32Type(), SmallVector<Type>(4, pointer));
    return builder.create<LLVM::LLVMFuncOp>(kernel.loc, name, type);
  }

  KernelBuilder kernel;
  ModuleOp into;
  graph::LeafOp leaf;
};
} // namespace

llvm::Expected<int64_t> codegen::lowerLeaf(func::FuncOp kernel, const target::Variant &variant, ModuleOp into) {
  assert(llvm::equal(kernel.getBody().front().getTerminator()->getOperands(),
                     kernel.getBody().front().front().getResults()) &&
         "a leaf kernel returns all results of its leaf");
  return LeafKernel(kernel, variant, into).lower();
}
