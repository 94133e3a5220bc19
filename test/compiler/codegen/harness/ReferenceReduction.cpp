// Reference: reductions over axes and windows, convolution, matrix product.
#include "test/compiler/codegen/harness/ReferenceImpl.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace stint;
using namespace stint::test;
using graph::ReduceKind;

namespace {
/// A reduction of one element type in progress.
struct Reducer {
  ReduceKind kind;
  Element element;
  Number value;
  int64_t count = 0;

  Reducer(ReduceKind kind, Element element) : kind(kind), element(element) {
    bool isMax = kind == ReduceKind::max, isMin = kind == ReduceKind::min;
    int64_t bits = bitsOf(element);
    int64_t lowest = isUnsigned(element) ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bits);
    int64_t highest = isUnsigned(element) ? wrapTo(-1, element) : ~lowest;
    double infinity = std::numeric_limits<double>::infinity();
    value.f = kind == ReduceKind::prod ? 1 : isMax ? -infinity : isMin ? infinity : 0;
    value.i = kind == ReduceKind::prod ? 1 : isMax ? lowest : isMin ? highest : 0;
  }

  bool less(Number a, Number b) const {
    if (isFloat(element))
      return a.f < b.f;
    return isUnsigned(element) ? static_cast<uint64_t>(a.i) < static_cast<uint64_t>(b.i) : a.i < b.i;
  }

  void add(Number x) {
    ++count;
    switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      value.f += x.f;
      value.i = wrapTo(static_cast<int64_t>(static_cast<uint64_t>(value.i) + static_cast<uint64_t>(x.i)), element);
      break;
    case ReduceKind::prod:
      value.f *= x.f;
      value.i = wrapTo(static_cast<int64_t>(static_cast<uint64_t>(value.i) * static_cast<uint64_t>(x.i)), element);
      break;
    case ReduceKind::max:
    case ReduceKind::min:
      if (isFloat(element) && (std::isnan(value.f) || std::isnan(x.f)))
        value.f = std::numeric_limits<double>::quiet_NaN();
      else if (kind == ReduceKind::max ? less(value, x) : less(x, value))
        value = x;
      break;
    default:
      llvm_unreachable("argmax and argmin are not accumulated");
    }
  }

  /// The result; a mean is over `divisor` elements.
  Number finish(int64_t divisor) const {
    Number result = value;
    if (kind == ReduceKind::mean) {
      result.f = value.f / static_cast<double>(divisor);
      if (divisor == 0)
        result.i = 0;
      else
        result.i =
            isUnsigned(element) ? static_cast<int64_t>(static_cast<uint64_t>(value.i) / divisor) : value.i / divisor;
    }
    result.f = toRegister(result.f, element);
    return result;
  }
};
} // namespace

static Array argReduce(graph::ReduceOp op, const Environment &environment, const Array &input) {
  Array result = environment.arrayFor(op.getResult());
  int64_t axis = op.getAxes()[0];
  Reducer order(ReduceKind::max, input.element);
  forEach(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    Shape at(index), best(index);
    for (at[axis] = 1; at[axis] < input.shape[axis]; ++at[axis]) {
      Number x = input[at], y = input[best];
      bool better = op.getKind() == ReduceKind::argmax ? order.less(y, x) : order.less(x, y);
      bool equal = !order.less(x, y) && !order.less(y, x);
      if (better || (equal && op.getSelectLast()))
        best = at;
    }
    result[index].i = best[axis];
  });
  return result;
}

static Array reduce(graph::ReduceOp op, const Environment &environment, const Array &input) {
  if (op.getKind() == ReduceKind::argmax || op.getKind() == ReduceKind::argmin)
    return argReduce(op, environment, input);
  Array result = environment.arrayFor(op.getResult());
  Shape box(input.shape.size(), 1);
  for (int64_t axis : op.getAxes())
    box[axis] = input.shape[axis];
  forEach(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    Reducer reducer(op.getKind(), input.element);
    forEach(box, [&](llvm::ArrayRef<int64_t> within) {
      Shape from(index);
      for (size_t d = 0; d < from.size(); ++d)
        from[d] += within[d];
      reducer.add(input[from]);
    });
    result[index] = reducer.finish(reducer.count);
  });
  return result;
}

/// Position `at * stride + tap * dilation - pad` in each dimension.
static Shape tapPosition(llvm::ArrayRef<int64_t> at, llvm::ArrayRef<int64_t> tap, llvm::ArrayRef<int64_t> strides,
                         llvm::ArrayRef<int64_t> dilations, llvm::ArrayRef<int64_t> padLow) {
  Shape position(at.size());
  for (size_t d = 0; d < at.size(); ++d)
    position[d] = at[d] * strides[d] + tap[d] * dilations[d] - padLow[d];
  return position;
}

/// In [-low, size + high) in each dimension?
static bool inside(llvm::ArrayRef<int64_t> position, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> low = {},
                   llvm::ArrayRef<int64_t> high = {}) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (position[d] < (low.empty() ? 0 : -low[d]) || position[d] >= shape[d] + (high.empty() ? 0 : high[d]))
      return false;
  return true;
}

static void windowReduce(graph::WindowReduceOp op, const Environment &environment, const Array &input,
                         std::vector<Array> &results) {
  size_t rank = input.shape.size();
  Array result = environment.arrayFor(op.getResult());
  Array indices(result.shape, Element::i64);
  forEach(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    Reducer reducer(op.getKind(), input.element);
    int64_t counted = 0, best = -1;
    forEach(op.getWindow(), [&](llvm::ArrayRef<int64_t> tap) {
      Shape position = tapPosition(index, tap, op.getStrides(), op.getDilations(), op.getPadLow());
      if (auto padding = op.getCountPadding())
        counted += inside(position, input.shape, padding->take_front(rank), padding->drop_front(rank));
      if (!inside(position, input.shape))
        return;
      int64_t at = input.offset(position);
      if (best < 0 || reducer.less(input.data[best], input.data[at]))
        best = at;
      reducer.add(input.data[at]);
    });
    result[index] = reducer.finish(op.getCountPadding() ? counted : reducer.count);
    indices[index].i = best;
  });
  results.push_back(std::move(result));
  if (op.getIndices())
    results.push_back(std::move(indices));
}

static int64_t product(llvm::ArrayRef<int64_t> values) {
  int64_t result = 1;
  for (int64_t value : values)
    result *= value;
  return result;
}

static Array conv(graph::ConvOp op, const Environment &environment, const Array &input, const Array &weight) {
  Array result = environment.arrayFor(op.getResult());
  int64_t outputs = weight.shape[1], channels = weight.shape[2];
  llvm::ArrayRef<int64_t> taps = llvm::ArrayRef(weight.shape).drop_front(3),
                          extents = llvm::ArrayRef(input.shape).drop_front(2);
  int64_t inputStep = product(extents), weightStep = product(taps); // from one channel to the next
  forEach(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    int64_t group = index[1] / outputs;
    double sum = 0;
    forEach(taps, [&](llvm::ArrayRef<int64_t> tap) {
      Shape position = tapPosition(index.drop_front(2), tap, op.getStrides(), op.getDilations(), op.getPadLow());
      if (!inside(position, extents))
        return;
      Shape from = {index[0], group * channels}, by = {group, index[1] % outputs, 0};
      from.insert(from.end(), position.begin(), position.end());
      by.insert(by.end(), tap.begin(), tap.end());
      int64_t x = input.offset(from), w = weight.offset(by);
      for (int64_t c = 0; c < channels; ++c, x += inputStep, w += weightStep)
        sum += input.data[x].f * weight.data[w].f;
    });
    result[index].f = toRegister(sum, result.element);
  });
  return result;
}

static Array matmul(graph::MatMulOp op, const Environment &environment, const Array &lhs, const Array &rhs) {
  Array result = environment.arrayFor(op.getResult());
  size_t rank = result.shape.size();
  int64_t depth = lhs.shape.back(), columns = rhs.shape.back();
  forEach(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    llvm::ArrayRef<int64_t> batch = index.take_front(rank - 2);
    Shape left = broadcastIndex(batch, llvm::ArrayRef(lhs.shape).drop_back(2));
    Shape right = broadcastIndex(batch, llvm::ArrayRef(rhs.shape).drop_back(2));
    left.insert(left.end(), {index[rank - 2], 0});
    right.insert(right.end(), {0, index[rank - 1]});
    double sum = 0;
    uint64_t total = 0;
    // Whole rows of numbers: no index is made for each.
    const Number *a = lhs.data.data() + (depth ? lhs.offset(left) : 0);
    const Number *b = rhs.data.data() + (depth ? rhs.offset(right) : 0);
    for (int64_t k = 0; k < depth; ++k, ++a, b += columns) {
      sum += a->f * b->f;
      total += static_cast<uint64_t>(a->i) * static_cast<uint64_t>(b->i);
    }
    result[index].f = toRegister(sum, result.element);
    result[index].i = wrapTo(static_cast<int64_t>(total), result.element);
  });
  return result;
}

bool stint::test::evaluateReduction(mlir::Operation *op, const Environment &environment,
                                    llvm::ArrayRef<const Array *> operands, std::vector<Array> &results) {
  if (auto reduction = llvm::dyn_cast<graph::ReduceOp>(op))
    results.push_back(reduce(reduction, environment, *operands[0]));
  else if (auto window = llvm::dyn_cast<graph::WindowReduceOp>(op))
    windowReduce(window, environment, *operands[0], results);
  else if (auto convolution = llvm::dyn_cast<graph::ConvOp>(op))
    results.push_back(conv(convolution, environment, *operands[0], *operands[1]));
  else if (auto product = llvm::dyn_cast<graph::MatMulOp>(op))
    results.push_back(matmul(product, environment, *operands[0], *operands[1]));
  else
    return false;
  return true;
}
