// Reference: data movement, constants, iota and dimensions.
#include "test/compiler/codegen/harness/ReferenceImpl.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace stint;
using namespace stint::test;

/// Fills the result of `op` with what `source` finds for each index.
static Array fill(const Environment &environment, mlir::Operation *op,
                  llvm::function_ref<Number(llvm::ArrayRef<int64_t>)> source) {
  Array result = environment.arrayFor(op->getResult(0));
  forEach(result.shape, [&](llvm::ArrayRef<int64_t> index) { result[index] = source(index); });
  return result;
}

/// A negative index counts from the end; out of range is clamped.
static int64_t resolve(int64_t index, int64_t size) {
  if (index < 0)
    index += size;
  return std::max<int64_t>(std::min(index, size - 1), 0);
}

static Array slice(graph::SliceOp op, const Environment &environment, const Array &input) {
  return fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
    Shape from(index.size());
    for (size_t d = 0; d < index.size(); ++d)
      from[d] = environment.evaluate(op.getStarts().getResult(d)) + index[d] * op.getSteps()[d];
    return input[from];
  });
}

static int64_t modulo(int64_t a, int64_t b) { return (a % b + b) % b; }

static Array pad(graph::PadOp op, const Environment &environment, llvm::ArrayRef<const Array *> operands) {
  const Array &input = *operands[0];
  return fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
    Shape from(index.size());
    for (size_t d = 0; d < index.size(); ++d) {
      int64_t size = input.shape[d], i = index[d] - environment.evaluate(op.getLow().getResult(d));
      switch (op.getMode()) {
      case graph::PadMode::constant:
        if (i < 0 || i >= size)
          return operands[1]->data[0];
        break;
      case graph::PadMode::edge:
        i = std::clamp<int64_t>(i, 0, size - 1);
        break;
      case graph::PadMode::wrap:
        i = modulo(i, size);
        break;
      case graph::PadMode::reflect: // the edge itself is not repeated
        i = size == 1 ? 0 : modulo(i, 2 * (size - 1));
        i = i < size ? i : 2 * (size - 1) - i;
        break;
      }
      from[d] = i;
    }
    return input[from];
  });
}

static Array concat(graph::ConcatOp op, const Environment &environment, llvm::ArrayRef<const Array *> operands) {
  return fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
    Shape from(index);
    for (const Array *operand : operands) {
      if (from[op.getAxis()] < operand->shape[op.getAxis()])
        return (*operand)[from];
      from[op.getAxis()] -= operand->shape[op.getAxis()];
    }
    llvm_unreachable("beyond the last operand");
  });
}

static Array gather(graph::GatherOp op, const Environment &environment, const Array &input, const Array &indices) {
  size_t axis = op.getAxis(), rank = indices.shape.size();
  return fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
    Shape from(index.take_front(axis));
    from.push_back(resolve(indices[index.slice(axis, rank)].i, input.shape[axis]));
    llvm::ArrayRef<int64_t> rest = index.drop_front(axis + rank);
    from.insert(from.end(), rest.begin(), rest.end());
    return input[from];
  });
}

static Array gatherElements(graph::GatherElementsOp op, const Environment &environment, const Array &input,
                            const Array &indices) {
  return fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
    Shape from(index);
    from[op.getAxis()] = resolve(indices[index].i, input.shape[op.getAxis()]);
    return input[from];
  });
}

static Array gatherND(graph::GatherNDOp op, const Environment &environment, const Array &input, const Array &indices) {
  size_t batch = op.getBatchDims(), leading = indices.shape.size() - 1, count = indices.shape.back();
  return fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
    Shape from(index.take_front(batch)), tuple(index.take_front(leading));
    tuple.push_back(0);
    for (size_t i = 0; i < count; ++i) {
      tuple.back() = i;
      from.push_back(resolve(indices[tuple].i, input.shape[batch + i]));
    }
    llvm::ArrayRef<int64_t> rest = index.drop_front(leading);
    from.insert(from.end(), rest.begin(), rest.end());
    return input[from];
  });
}

static Array constant(graph::ConstantOp op, const Environment &environment) {
  Array result = environment.arrayFor(op.getResult());
  auto dense = llvm::cast<mlir::DenseElementsAttr>(op.getValue());
  for (size_t i = 0; i < result.data.size(); ++i) {
    if (result.isFloat()) {
      llvm::APFloat value = *(dense.value_begin<llvm::APFloat>() + i);
      bool lossy;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
      result.data[i].f = value.convertToDouble();
    } else {
      llvm::APInt value = *(dense.value_begin<llvm::APInt>() + i);
      result.data[i].i = wrapTo(static_cast<int64_t>(value.getZExtValue()), result.element);
    }
  }
  return result;
}

bool stint::test::evaluateMovement(mlir::Operation *op, const Environment &environment,
                                   llvm::ArrayRef<const Array *> operands, std::vector<Array> &results) {
  auto one = [&](Array array) {
    results.push_back(std::move(array));
    return true;
  };
  return llvm::TypeSwitch<mlir::Operation *, bool>(op)
      .Case<graph::ReshapeOp, graph::RelayoutOp>([&](mlir::Operation *) {
        Array result = environment.arrayFor(op->getResult(0));
        assert(result.data.size() == operands[0]->data.size());
        result.data = operands[0]->data;
        return one(std::move(result));
      })
      .Case([&](graph::TransposeOp transpose) {
        return one(fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
          Shape from(index.size());
          for (size_t d = 0; d < index.size(); ++d)
            from[transpose.getPermutation()[d]] = index[d];
          return (*operands[0])[from];
        }));
      })
      .Case([&](graph::SliceOp slicing) { return one(slice(slicing, environment, *operands[0])); })
      .Case([&](graph::PadOp padding) { return one(pad(padding, environment, operands)); })
      .Case([&](graph::ConcatOp joining) { return one(concat(joining, environment, operands)); })
      .Case([&](graph::GatherOp g) { return one(gather(g, environment, *operands[0], *operands[1])); })
      .Case([&](graph::GatherElementsOp g) { return one(gatherElements(g, environment, *operands[0], *operands[1])); })
      .Case([&](graph::GatherNDOp g) { return one(gatherND(g, environment, *operands[0], *operands[1])); })
      .Case([&](graph::IotaOp iota) {
        return one(fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
          Number value;
          value.f = static_cast<double>(index[iota.getAxis()]);
          value.i = index[iota.getAxis()];
          return value;
        }));
      })
      .Case([&](graph::DimensionsOp dimensions) {
        return one(fill(environment, op, [&](llvm::ArrayRef<int64_t> index) {
          Number value;
          value.i = environment.evaluate(dimensions.getValues().getResult(index[0]));
          return value;
        }));
      })
      .Case([&](graph::ConstantOp c) { return one(constant(c, environment)); })
      .Default(false);
}
