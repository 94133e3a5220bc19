// One operator after the other; tensors of numbers.
#include "test/compiler/codegen/harness/Reference.h"

#include "dialects/Graph/Shapes.h"
#include "test/compiler/codegen/harness/ReferenceImpl.h"

#include "llvm/ADT/DenseMap.h"

using namespace stint::test;
using stint::graph::GraphTensorType;

Array::Array(Shape shape, Element element) : shape(std::move(shape)), element(element) {
  int64_t size = 1;
  for (int64_t dim : this->shape)
    size *= dim;
  data.resize(size);
}

int64_t Array::offset(llvm::ArrayRef<int64_t> index) const {
  assert(index.size() == shape.size());
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    assert(index[d] >= 0 && index[d] < shape[d]);
    at = at * shape[d] + index[d];
  }
  return at;
}

void stint::test::forEach(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body) {
  if (llvm::is_contained(shape, 0))
    return;
  Shape index(shape.size(), 0);
  while (true) {
    body(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

Shape stint::test::broadcastIndex(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape) {
  Shape own(index.take_back(shape.size()));
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1)
      own[d] = 0;
  return own;
}

double stint::test::toRegister(double value, Element element) {
  return element == Element::f64 ? value : static_cast<float>(value);
}

int64_t Environment::evaluate(mlir::AffineExpr expr) const { return graph::Symbols::evaluate(expr, symbols); }

Shape Environment::shapeOf(mlir::Value value) const {
  Shape shape;
  for (mlir::AffineExpr dim : llvm::cast<GraphTensorType>(value.getType()).getShape())
    shape.push_back(evaluate(dim));
  return shape;
}

Array Environment::arrayFor(mlir::Value value) const {
  return Array(shapeOf(value), elementOf(llvm::cast<GraphTensorType>(value.getType()).getElementType()));
}

static Array fromTensor(const Tensor &tensor) {
  Array array(tensor.shape, tensor.element);
  for (size_t i = 0; i < array.data.size(); ++i) {
    if (array.isFloat())
      array.data[i].f = tensor.at(i);
    else
      array.data[i].i = tensor.integer(i);
  }
  return array;
}

static Tensor toTensor(const Array &array) {
  Tensor tensor(array.shape, array.element);
  for (size_t i = 0; i < array.data.size(); ++i) {
    if (array.isFloat())
      tensor.set(i, array.data[i].f);
    else
      tensor.setInteger(i, array.data[i].i);
  }
  return tensor;
}

std::vector<Tensor> stint::test::reference(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> symbols,
                                           llvm::ArrayRef<Tensor> operands) {
  Environment environment{symbols};
  llvm::DenseMap<mlir::Value, Array> values;
  for (auto [argument, tensor] : llvm::zip_equal(kernel.getArguments(), operands))
    values[argument] = fromTensor(tensor);
  std::vector<Tensor> results;
  for (mlir::Operation &op : kernel.getBody().front()) {
    std::vector<const Array *> inputs;
    for (mlir::Value operand : op.getOperands())
      inputs.push_back(&values[operand]);
    if (llvm::isa<mlir::func::ReturnOp>(op)) {
      for (const Array *input : inputs)
        results.push_back(toTensor(*input));
      break;
    }
    std::vector<Array> outputs;
    if (!evaluateElementwise(&op, environment, inputs, outputs) &&
        !evaluateMovement(&op, environment, inputs, outputs) && !evaluateReduction(&op, environment, inputs, outputs) &&
        !evaluateLeaf(&op, environment, inputs, outputs))
      llvm::report_fatal_error("the reference interpreter does not know " + op.getName().getStringRef());
    for (auto [result, array] : llvm::zip_equal(op.getResults(), outputs))
      values[result] = std::move(array);
  }
  return results;
}
