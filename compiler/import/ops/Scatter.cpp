// Operators that write at given indices: ScatterElements, ScatterND, MaxUnpool.
#include "compiler/import/NodeContext.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// Emits `name`, or `name`_reduce where there is a reduction: 16-bit floats as
/// f32, booleans by and (mul) and or (add).
static LogicalResult emitScatter(NodeContext &n, StringRef name, SmallVector<int64_t> params, int64_t leading) {
  std::string reduction = n.getString("reduction", "none");
  static const StringRef names[] = {"add", "mul", "min", "max"};
  int64_t kind = llvm::find(names, reduction) - std::begin(names);
  if (kind == 4 && reduction != "none")
    return n.malformed("reduction '" + reduction + "' does not exist");
  if (n.element(0) != n.element(2))
    return n.malformed("data and updates must have one element type");
  if (!graph::isIndex(n.element(1)))
    return n.malformed("indices must be i32 or i64");
  Value data = n.in(0), indices = n.cast(n.in(1), n.b.getI64Type()), updates = n.in(2);
  Type element = n.element(0), work = element;
  if (kind == 4) {
    n.out(0, n.leaf(name, {data, indices, updates}, n.type(0), params, {}, leading)[0]);
    return success();
  }
  if (element.isF16() || element.isBF16())
    work = n.b.getF32Type();
  if (graph::isBool(element)) {
    work = IntegerType::get(n.context(), 8, IntegerType::Unsigned);
    kind = kind < 2 ? 3 - kind : kind;
  }
  params.push_back(kind);
  data = n.cast(data, work);
  auto result =
      n.leaf((name + "_reduce").str(), {data, indices, n.cast(updates, work)}, n.typeOf(data), params, {}, leading)[0];
  n.out(0, n.cast(result, element));
  return success();
}

static LogicalResult scatterElements(NodeContext &n) {
  int64_t rank = n.rank(0);
  auto axis = n.axis(n.getInt("axis", 0), rank);
  if (failed(axis))
    return failure();
  if (n.rank(1) != rank || n.rank(2) != rank)
    return n.malformed("data, indices and updates must have one rank");
  for (int64_t i = 0; i < rank; ++i) {
    if (!n.assumeEqual(n.type(1).getDim(i), n.type(2).getDim(i)))
      return n.malformed("indices and updates must have one shape");
    if (i != *axis && !n.assumeAtMost(n.type(1).getDim(i), n.type(0).getDim(i)))
      return n.malformed("indices are larger than data in dimension " + Twine(i));
  }
  return emitScatter(n, "scatter_elements", {*axis}, *axis);
}

static LogicalResult scatterND(NodeContext &n) {
  int64_t rank = n.rank(0);
  auto tuple = n.rank(1) > 0 ? n.type(1).getStaticDim(n.rank(1) - 1) : std::nullopt;
  if (!tuple || *tuple > rank)
    return n.malformed("indices do not fit the data");
  SmallVector<AffineExpr> shape(n.type(1).getShape().drop_back());
  shape.append(n.type(0).getShape().begin() + *tuple, n.type(0).getShape().end());
  if (static_cast<int64_t>(shape.size()) != n.rank(2))
    return n.malformed("updates have the wrong rank");
  for (size_t i = 0; i < shape.size(); ++i)
    if (!n.assumeEqual(shape[i], n.type(2).getDim(i)))
      return n.malformed("dimension " + Twine(i) + " of updates must be " + n.print(shape[i]));
  return emitScatter(n, "scatter_nd", {}, 0);
}

/// The elements go where their index points to in a tensor of zeros.
static LogicalResult maxUnpool(NodeContext &n) {
  int64_t rank = n.rank(0), spatial = rank - 2;
  auto kernel = n.getInts("kernel_shape");
  if (spatial < 1 || !kernel || static_cast<int64_t>(kernel->size()) != spatial)
    return n.malformed("kernel_shape must have a size for each spatial dimension");
  if (n.type(1).getShape() != n.type(0).getShape() || !graph::isIndex(n.element(1)))
    return n.malformed("indices must be integers of the input's shape");
  auto strides = n.getInts("strides").value_or(SmallVector<int64_t>(spatial, 1));
  auto pads = n.getInts("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  if (static_cast<int64_t>(strides.size()) != spatial || static_cast<int64_t>(pads.size()) != 2 * spatial)
    return n.malformed("strides and pads must have a size for each spatial dimension");
  SmallVector<AffineExpr> shape(n.type(0).getShape());
  for (int64_t i = 0; i < spatial; ++i) {
    AffineExpr &d = shape[2 + i];
    d = n.simplify((d - 1) * strides[i] - pads[i] - pads[spatial + i] + (*kernel)[i]);
    if (!n.atLeast(d, 0, "size " + Twine(2 + i) + " of the result"))
      return failure();
  }
  AffineExpr count = GraphTensorType::get(shape, n.element(0)).getNumElements();
  AffineExpr given = n.type(0).getNumElements();
  Value zeros = n.broadcast(n.reshape(n.scalar(n.element(0), 0), {n.dim(1)}), {n.simplify(count)});
  Value indices = n.reshape(n.cast(n.in(1), n.b.getI64Type()), {n.simplify(given)});
  Value updates = n.reshape(n.in(0), {n.simplify(given)});
  Value result = n.leaf("scatter_elements", {zeros, indices, updates}, n.typeOf(zeros), {0})[0];
  result = n.reshape(result, shape);
  if (n.has(2)) {
    // A given shape grows the result at its ends: indices are those of the
    // shape before.
    const Known *k = n.known(2);
    auto wanted = k ? k->expressions() : std::nullopt;
    if (!wanted || static_cast<int64_t>(wanted->size()) != rank)
      return n.unsupported("output_shape depends on the input's values or has the wrong rank");
    for (int64_t i = 0; i < rank; ++i)
      if (!n.assumeAtMost(shape[i], (*wanted)[i]))
        return n.malformed("output_shape is smaller than " + n.print(shape[i]) + " in dimension " + Twine(i));
    SmallVector<AffineExpr> low(rank, n.dim(0));
    if (*wanted != shape)
      result = n.make<graph::PadOp>(n.shaped(n.type(0), *wanted), result, n.scalarLike(result, 0),
                                    graph::PadMode::constant, graph::symbolMap(low, n.context()));
  }
  n.out(0, result);
  return success();
}

void stint::import::addScatters(RuleTable &t) {
  t.add("Scatter", 3, scatterElements);
  t.add("ScatterElements", 3, scatterElements);
  t.add("ScatterND", 3, scatterND);
  t.add("MaxUnpool", 2, maxUnpool);
}
