// Reductions over axes, and the Softmax family.
#include "compiler/import/NodeContext.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ReduceKind;

/// The axes to reduce: all when none are named, unless noop_with_empty_axes.
static FailureOr<SmallVector<int64_t>> reducedAxes(NodeContext &n, bool &noop) {
  auto given = n.getIntsOrInput("axes", 1);
  if (failed(given))
    return failure();
  if (*given && !(**given).empty())
    return n.axes(**given, n.rank(0));
  noop = n.getInt("noop_with_empty_axes", 0) != 0;
  return llvm::to_vector(llvm::seq<int64_t>(0, noop ? 0 : n.rank(0)));
}

static void finish(NodeContext &n, Value result, ArrayRef<int64_t> axes) {
  if (!n.getInt("keepdims", 1)) {
    SmallVector<AffineExpr> shape;
    for (auto [i, d] : llvm::enumerate(n.typeOf(result).getShape()))
      if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
        shape.push_back(d);
    result = n.reshape(result, shape);
  }
  n.out(0, result);
}

/// Sum divided by count, for integers too (truncating).
static Value mean(NodeContext &n, Value x, ArrayRef<int64_t> axes) {
  graph::GraphTensorType type = n.typeOf(x);
  if (graph::isFloat(type.getElementType()))
    return n.reduce(ReduceKind::mean, x, axes);
  AffineExpr count = n.dim(1);
  for (int64_t axis : axes)
    count = count * type.getDim(axis);
  return n.div(n.reduce(ReduceKind::sum, x, axes), n.dimension(n.simplify(count), type.getElementType()));
}

static Value logSumExp(NodeContext &n, Value x, ArrayRef<int64_t> axes) {
  Value top = n.reduce(ReduceKind::max, x, axes);
  // An infinite maximum would give inf - inf.
  Value infinite = n.make<graph::IsInfOp>(n.typeOf(top).withElementType(n.b.getI1Type()), top, true, true);
  Value shift = n.select(infinite, n.scalarLike(top, 0), top);
  Value sum = n.reduce(ReduceKind::sum, n.make<graph::ExpOp>(n.sub(x, shift)), axes);
  return n.add(n.make<graph::LogOp>(sum), shift);
}

static LogicalResult reduceNode(NodeContext &n) {
  bool noop = false;
  auto axes = reducedAxes(n, noop);
  if (failed(axes))
    return failure();
  StringRef op = StringRef(n.node.opType).drop_front(6);
  Value x = n.in(0);
  Type type = n.element(0);
  if (graph::isBool(type) && op != "Max" && op != "Min")
    return n.malformed("booleans have max and min only");
  if (graph::isInteger(type) && op.starts_with("Log"))
    x = n.cast(x, n.b.getF64Type());
  auto sum = [&](Value v) { return axes->empty() ? v : n.reduce(ReduceKind::sum, v, *axes); };
  Value result;
  if (op == "Sum" || op == "L1" || op == "SumSquare" || op == "L2" || op == "LogSum") {
    Value v = op == "L1" ? n.make<graph::AbsOp>(x) : op == "SumSquare" || op == "L2" ? n.mul(x, x) : x;
    result = sum(v);
    if (op == "LogSum")
      result = n.make<graph::LogOp>(result);
    if (op == "L2") {
      Type f = graph::isFloat(type) ? type : Type(n.b.getF64Type());
      result = n.cast(n.make<graph::SqrtOp>(n.cast(result, f)), type);
    }
  } else if (op == "LogSumExp") {
    result = axes->empty() ? x : logSumExp(n, x, *axes);
  } else if (axes->empty()) {
    result = x;
  } else if (op == "Mean") {
    result = mean(n, x, *axes);
  } else {
    result = n.reduce(op == "Max" ? ReduceKind::max : op == "Min" ? ReduceKind::min : ReduceKind::prod, x, *axes);
  }
  finish(n, n.cast(result, type), *axes);
  return success();
}

template <ReduceKind kind> static LogicalResult argReduce(NodeContext &n) {
  auto axis = n.axis(n.getInt("axis", 0), n.rank(0));
  if (failed(axis))
    return failure();
  bool last = n.getInt("select_last_index", 0) != 0;
  finish(n, n.make<graph::ReduceOp>(kind, n.in(0), ArrayRef<int64_t>(*axis), last), {*axis});
  return success();
}

/// One axis since opset 13; before, all axes from `axis` on are flattened.
static FailureOr<SmallVector<int64_t>> softmaxAxes(NodeContext &n) {
  int64_t rank = n.rank(0);
  if (n.opset < 13 && n.getInt("axis", 1) == rank)
    return SmallVector<int64_t>();
  if (n.opset < 13 && rank == 1 && !n.attribute("axis"))
    return SmallVector<int64_t>{};
  auto axis = n.axis(n.getInt("axis", n.opset < 13 ? 1 : -1), rank);
  if (failed(axis))
    return failure();
  return llvm::to_vector(llvm::seq<int64_t>(*axis, n.opset < 13 ? rank : *axis + 1));
}

static LogicalResult softmax(NodeContext &n) {
  auto axes = softmaxAxes(n);
  if (failed(axes))
    return failure();
  Value x = n.in(0);
  Value shifted = n.sub(x, n.reduce(ReduceKind::max, x, *axes));
  Value e = n.make<graph::ExpOp>(shifted);
  Value sum = n.reduce(ReduceKind::sum, e, *axes);
  n.out(0, n.node.opType == "Softmax" ? n.div(e, sum) : n.sub(shifted, n.make<graph::LogOp>(sum)));
  return success();
}

static LogicalResult hardmax(NodeContext &n) {
  auto axes = softmaxAxes(n);
  if (failed(axes))
    return failure();
  Value x = n.in(0);
  SmallVector<AffineExpr> original(n.type(0).getShape());
  SmallVector<AffineExpr> shape = original;
  if (axes->empty()) { // each element by itself is the largest
    n.out(0, n.broadcast(n.scalar(n.element(0), 1), original));
    return success();
  }
  if (axes->size() != 1) { // flatten
    AffineExpr inner = n.dim(1);
    for (int64_t a : *axes)
      inner = inner * original[a];
    shape.truncate(axes->front());
    shape.push_back(n.simplify(inner));
    x = n.reshape(x, shape);
  }
  int64_t axis = axes->front();
  Value top = n.reduce(ReduceKind::argmax, x, {axis});
  SmallVector<AffineExpr> line(shape.size(), n.dim(1));
  line[axis] = shape[axis];
  Value hot = n.cast(n.compare(graph::ComparePredicate::eq, n.iota(line, axis), top), n.element(0));
  n.out(0, n.reshape(n.broadcast(hot, shape), original));
  return success();
}

/// A running sum is a window of all elements before: taps outside count 0.
static LogicalResult cumSum(NodeContext &n) {
  auto given = n.getIntsOrInput("axis", 1);
  if (failed(given) || !*given || (**given).size() != 1)
    return failed(given) ? failure() : n.malformed("axis must be one number");
  auto axis = n.axis((**given)[0], n.rank(0));
  if (failed(axis))
    return failure();
  int64_t rank = n.rank(0), size = n.symbols.upper(n.type(0).getDim(*axis));
  if (size > 1 << 16)
    return n.unsupported("more than 65536 elements on the axis");
  bool exclusive = n.getInt("exclusive", 0), reverse = n.getInt("reverse", 0);
  size = std::max<int64_t>(size, 1);
  SmallVector<int64_t> window(rank, 1), ones(rank, 1), low(rank, 0), high(rank, 0);
  window[*axis] = size;
  // Exclusive: the window ends one element earlier.
  (reverse ? high : low)[*axis] = size - 1 + exclusive;
  (reverse ? low : high)[*axis] = -static_cast<int64_t>(exclusive);
  auto type = n.shaped(n.type(0), graph::WindowReduceOp::inferShape(n.type(0), window, ones, ones, low, high));
  auto array = [&](ArrayRef<int64_t> v) { return n.b.getDenseI64ArrayAttr(v); };
  n.out(0, n.make<graph::WindowReduceOp>(type, Type(), ReduceKind::sum, n.in(0), array(window), array(ones),
                                         array(ones), array(low), array(high), DenseI64ArrayAttr()));
  return success();
}

void stint::import::addReductions(RuleTable &t) {
  for (StringRef op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                       "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    t.add(op, 1, reduceNode);
  t.add("ArgMax", 1, argReduce<ReduceKind::argmax>);
  t.add("ArgMin", 1, argReduce<ReduceKind::argmin>);
  t.add("Softmax", 1, softmax);
  t.add("LogSoftmax", 1, softmax);
  t.add("Hardmax", 1, hardmax);
  t.add("CumSum", 2, cumSum);
}
