// Pooling over windows and over everything.
#include "compiler/import/NodeContext.h"
#include "compiler/import/Windows.h"
#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ReduceKind;

namespace {
struct Pool {
  Window window;                // spatial; padHigh widened for ceil_mode
  SmallVector<int64_t> padHigh; // as the attributes say
};
} // namespace

/// Reads the window; ceil_mode becomes a larger padHigh.
static FailureOr<Pool> readPool(NodeContext &n) {
  int64_t spatial = n.rank(0) - 2;
  auto kernel = n.getInts("kernel_shape");
  if (spatial < 1 || !kernel || static_cast<int64_t>(kernel->size()) != spatial)
    return n.malformed("kernel_shape must have one value per spatial dimension");
  auto window = readWindow(n, *kernel);
  if (failed(window))
    return failure();
  Pool pool{*window, window->padHigh};
  if (failed(checkWindow(n, *window, n.type(0).getShape().drop_front(2))))
    return failure();
  // auto_pad SAME says how many windows there are.
  if (!n.getInt("ceil_mode", 0) || StringRef(n.getString("auto_pad")).starts_with("SAME"))
    return pool;
  for (int64_t i = 0; i < spatial; ++i) {
    Window &w = pool.window;
    int64_t reach = w.dilations[i] * (w.kernel[i] - 1) + 1, s = w.strides[i];
    if (auto size = n.type(0).getStaticDim(i + 2)) {
      int64_t room = *size + w.padLow[i] + w.padHigh[i] - reach;
      int64_t count = room < 0 ? 0 : (room + s - 1) / s + 1;
      if (count > 0 && (count - 1) * s >= *size + w.padLow[i])
        --count; // a window must begin inside the input or its low pad
      w.padHigh[i] = std::max<int64_t>((count - 1) * s + reach - *size - w.padLow[i], 0);
      if (w.padHigh[i] < pool.padHigh[i] && (room / s + 1) == count)
        w.padHigh[i] = pool.padHigh[i];
    } else {
      // floor((d + s - 1) / s) is the ceiling; reach - 1: no window beyond the input.
      w.padHigh[i] = std::min(w.padHigh[i] + s - 1, reach - 1);
    }
  }
  return pool;
}

/// `list` for the spatial dimensions, `other` for batch and channels.
static SmallVector<int64_t> whole(ArrayRef<int64_t> list, int64_t other) {
  SmallVector<int64_t> result = {other, other};
  result.append(list.begin(), list.end());
  return result;
}

static std::pair<Value, Value> windowReduce(NodeContext &n, ReduceKind kind, Value x, const Pool &pool,
                                            bool countPads = false, bool indices = false) {
  const Window &w = pool.window;
  auto window = whole(w.kernel, 1), strides = whole(w.strides, 1), dilations = whole(w.dilations, 1);
  auto low = whole(w.padLow, 0), high = whole(w.padHigh, 0);
  graph::GraphTensorType type = n.typeOf(x);
  type = n.shaped(type, graph::WindowReduceOp::inferShape(type, window, strides, dilations, low, high));
  DenseI64ArrayAttr count;
  if (countPads) {
    SmallVector<int64_t> both = low;
    both.append(whole(pool.padHigh, 0));
    count = n.b.getDenseI64ArrayAttr(both);
  }
  auto op = n.b.create<graph::WindowReduceOp>(
      n.loc, type, indices ? Type(type.withElementType(n.b.getI64Type())) : Type(), kind, x,
      n.b.getDenseI64ArrayAttr(window), n.b.getDenseI64ArrayAttr(strides), n.b.getDenseI64ArrayAttr(dilations),
      n.b.getDenseI64ArrayAttr(low), n.b.getDenseI64ArrayAttr(high), count);
  return {op.getResult(), op.getIndices()};
}

/// storage_order 1: positions inside a plane count column by column.
static Value columnMajor(NodeContext &n, Value indices) {
  ArrayRef<AffineExpr> shape = n.type(0).getShape().drop_front(2);
  Type i64 = n.b.getI64Type();
  AffineExpr plane = n.dim(1);
  for (AffineExpr d : shape)
    plane = plane * d;
  Value planeSize = n.dimension(n.simplify(plane), i64);
  Value rest = n.make<graph::RemOp>(indices, planeSize);
  Value result = n.sub(indices, rest);
  // Peel coordinates off from the last dimension on.
  AffineExpr stride = plane;
  for (size_t i = shape.size(); i-- > 0;) {
    stride = n.dim(1);
    for (size_t j = 0; j < i; ++j)
      stride = stride * shape[j];
    Value size = n.dimension(shape[i], i64);
    Value at = n.make<graph::RemOp>(rest, size);
    result = n.add(result, n.mul(at, n.dimension(n.simplify(stride), i64)));
    rest = n.div(rest, size);
  }
  return result;
}

static LogicalResult maxPool(NodeContext &n) {
  auto pool = readPool(n);
  if (failed(pool))
    return failure();
  if (!pool->window.ownLow.empty() && n.wants(1))
    return n.unsupported("indices with an auto_pad that depends on the input's size; fix it with --dim");
  bool isFloat = graph::isFloat(n.element(0));
  unsigned bits = n.element(0).getIntOrFloatBitWidth();
  double least = isFloat                            ? -std::numeric_limits<double>::infinity()
                 : n.element(0).isUnsignedInteger() ? 0
                                                    : -std::ldexp(1.0, static_cast<int>(bits) - 1);
  Value x = padFirst(n, n.in(0), pool->window, n.scalarLike(n.in(0), least));
  auto [value, indices] = windowReduce(n, ReduceKind::max, x, *pool, false, n.wants(1));
  n.out(0, value);
  if (n.wants(1))
    n.out(1, n.getInt("storage_order", 0) ? columnMajor(n, indices) : indices);
  return success();
}

static LogicalResult averagePool(NodeContext &n) {
  auto pool = readPool(n);
  if (failed(pool))
    return failure();
  Value x = n.in(0), zero = n.scalarLike(x, 0);
  bool countPads = n.getInt("count_include_pad", 0) != 0;
  if (pool->window.ownLow.empty() || countPads) {
    n.out(0, windowReduce(n, ReduceKind::mean, padFirst(n, x, pool->window, zero), *pool, countPads).first);
    return success();
  }
  // The sum over as many elements as lie inside the input.
  SmallVector<AffineExpr> plane(n.type(0).getShape());
  plane[0] = plane[1] = n.dim(1);
  Value ones = n.broadcast(n.scalarLike(x, 1), plane);
  auto sum = [&](Value v) { return windowReduce(n, ReduceKind::sum, padFirst(n, v, pool->window, zero), *pool).first; };
  n.out(0, n.div(sum(x), sum(ones)));
  return success();
}

/// (Σ |x|^p)^(1/p) around a sum.
template <typename Sum> static LogicalResult norm(NodeContext &n, Sum sum) {
  Value x = n.in(0);
  double p =
      n.attribute("p") && n.attribute("p")->kind == NodeAttribute::Kind::Float ? n.getFloat("p", 2) : n.getInt("p", 2);
  if (p == 1) {
    n.out(0, sum(n.make<graph::AbsOp>(x)));
  } else if (p == 2) {
    n.out(0, n.make<graph::SqrtOp>(sum(n.mul(x, x))));
  } else {
    Value powered = n.make<graph::PowOp>(n.make<graph::AbsOp>(x), n.scalarLike(x, p));
    n.out(0, n.make<graph::PowOp>(sum(powered), n.scalarLike(x, 1 / p)));
  }
  return success();
}

static LogicalResult lpPool(NodeContext &n) {
  auto pool = readPool(n);
  if (failed(pool))
    return failure();
  return norm(n, [&](Value x) {
    Value padded = padFirst(n, x, pool->window, n.scalarLike(x, 0));
    return windowReduce(n, ReduceKind::sum, padded, *pool).first;
  });
}

static FailureOr<SmallVector<int64_t>> spatialAxes(NodeContext &n) {
  if (n.rank(0) < 3)
    return n.malformed("the input must have spatial dimensions");
  return llvm::to_vector(llvm::seq<int64_t>(2, n.rank(0)));
}

template <ReduceKind kind> static LogicalResult globalPool(NodeContext &n) {
  auto axes = spatialAxes(n);
  if (failed(axes))
    return failure();
  n.out(0, n.reduce(kind, n.in(0), *axes));
  return success();
}

static LogicalResult globalLpPool(NodeContext &n) {
  auto axes = spatialAxes(n);
  if (failed(axes))
    return failure();
  return norm(n, [&](Value x) { return n.reduce(ReduceKind::sum, x, *axes); });
}

void stint::import::addPoolings(RuleTable &t) {
  t.add("MaxPool", 1, maxPool);
  t.add("AveragePool", 1, averagePool);
  t.add("LpPool", 1, lpPool);
  t.add("GlobalMaxPool", 1, globalPool<ReduceKind::max>);
  t.add("GlobalAveragePool", 1, globalPool<ReduceKind::mean>);
  t.add("GlobalLpPool", 1, globalLpPool);
}
