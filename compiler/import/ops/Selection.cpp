// Operators whose results are as large as the data says: NonZero, Compress,
// Unique, NonMaxSuppression. Their kernels fill results of the largest size
// there can be and count; a symbol takes the count, and slices what counts.
#include "compiler/import/NodeContext.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

static GraphTensorType indicesOf(NodeContext &n, ArrayRef<AffineExpr> shape) {
  return GraphTensorType::get(shape, n.b.getI64Type());
}

/// The first `count` elements of dimension `axis`.
static Value take(NodeContext &n, Value x, AffineExpr count, int64_t axis) {
  SmallVector<AffineExpr> starts(n.typeOf(x).getRank(), n.dim(0)), sizes(n.typeOf(x).getShape());
  sizes[axis] = count;
  return n.slice(x, starts, sizes);
}

/// Coordinates [rank, count] of what is true; `result` and `axis` name the count.
static Value positionsOf(NodeContext &n, Value x, size_t result, int64_t axis) {
  GraphTensorType type = n.typeOf(x);
  AffineExpr most = n.simplify(type.getNumElements());
  auto found = n.leaf("non_zero", x, {indicesOf(n, {n.dim(type.getRank()), most}), indicesOf(n, {n.dim(1)})}, {});
  return take(n, found[0], n.dataDependent(found[1], most, result, axis), 1);
}

static LogicalResult nonZero(NodeContext &n) {
  Value x = n.in(0);
  if (n.rank(0) == 0)
    x = n.reshape(x, {n.dim(1)});
  if (!graph::isBool(n.element(0)))
    x = n.compare(graph::ComparePredicate::ne, x, n.scalarLike(x, 0));
  n.out(0, positionsOf(n, x, 0, 1));
  return success();
}

static LogicalResult compress(NodeContext &n) {
  Value x = n.in(0), condition = n.in(1);
  if (n.rank(1) != 1 || !graph::isBool(n.element(1)))
    return n.malformed("the condition must be a list of booleans");
  int64_t axis = 0;
  if (n.attribute("axis")) {
    auto given = n.axis(n.getInt("axis", 0), n.rank(0));
    if (failed(given))
      return failure();
    axis = *given;
  } else {
    x = n.reshape(x, {n.simplify(n.type(0).getNumElements())});
  }
  AffineExpr size = n.typeOf(x).getDim(axis), length = n.type(1).getDim(0);
  if (n.symbols.lessEqual(length, size) == false)
    condition = take(n, condition, size, 0);
  else if (n.symbols.lessEqual(length, size) != true)
    return n.unsupported("whether the condition is longer than dimension " + n.print(size) + " depends on the input");
  Value positions = positionsOf(n, condition, 0, axis);
  n.out(0, n.make<graph::GatherOp>(x, n.reshape(positions, {n.typeOf(positions).getDim(1)}), axis));
  return success();
}

static LogicalResult unique(NodeContext &n) {
  // Rows are what is compared: elements, or slices of an axis.
  Value x = n.in(0);
  SmallVector<int64_t> front;
  SmallVector<AffineExpr> slice;
  bool whole = !n.attribute("axis");
  if (!whole) {
    auto axis = n.axis(n.getInt("axis", 0), n.rank(0));
    if (failed(axis))
      return failure();
    front = llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0)));
    std::swap(front[0], front[*axis]);
    x = n.transpose(x, front);
    slice.append(n.typeOf(x).getShape().begin() + 1, n.typeOf(x).getShape().end());
  }
  AffineExpr length = n.simplify(GraphTensorType::get(slice, n.element(0)).getNumElements());
  AffineExpr rows = whole ? n.simplify(n.type(0).getNumElements()) : n.typeOf(x).getDim(0);
  Value matrix = n.reshape(x, {rows, length});
  GraphTensorType numbers = indicesOf(n, {rows});
  auto found = n.leaf("unique", matrix, {numbers, numbers, numbers, indicesOf(n, {n.dim(1)}), numbers},
                      n.getInt("sorted", 1) != 0);
  int64_t axis = whole ? 0 : llvm::find(front, 0) - front.begin();
  AffineExpr count = n.dataDependent(found[3], rows, 0, axis);
  Value first = take(n, found[0], count, 0);
  SmallVector<AffineExpr> shape = {count};
  shape.append(slice);
  Value y = n.reshape(n.make<graph::GatherOp>(matrix, first, 0), shape);
  n.out(0, whole ? y : n.transpose(y, front));
  n.out(1, first);
  n.out(2, found[1]);
  n.out(3, take(n, found[2], count, 0));
  return success();
}

static LogicalResult nonMaxSuppression(NodeContext &n) {
  if (n.rank(0) != 3 || n.rank(1) != 3 || !n.assumeEqual(n.type(0).getDim(2), n.dim(4)) ||
      !n.assumeEqual(n.type(0).getDim(0), n.type(1).getDim(0)) ||
      !n.assumeEqual(n.type(0).getDim(1), n.type(1).getDim(2)))
    return n.malformed("boxes and scores do not fit each other");
  Type f32 = n.b.getF32Type(), i64 = n.b.getI64Type();
  AffineExpr boxes = n.type(0).getDim(1), most = boxes;
  if (n.symbols.upper(boxes) > int64_t(1) << 32)
    return n.unsupported("more than 2^32 boxes");
  // Optional operands of one element.
  auto number = [&](size_t i, Type type) {
    return n.has(i) ? n.cast(n.reshape(n.in(i), {n.dim(1)}), type) : n.reshape(n.scalar(type, 0), {n.dim(1)});
  };
  for (size_t i = 2; i < 5; ++i)
    if (n.has(i) && !(n.simplify(n.type(i).getNumElements()) == 1))
      return n.malformed("limits and thresholds must be single numbers");
  // A limit that is known makes the result smaller.
  const Known *limit = n.known(2);
  if (auto known = limit && limit->elements.size() == 1 ? limit->elements[0].integer() : std::nullopt;
      known || !n.has(2)) {
    AffineExpr given = n.dim(std::max<int64_t>(known.value_or(0), 0));
    if (n.symbols.upper(given) < n.symbols.upper(boxes))
      most = given;
  }
  AffineExpr capacity = n.simplify(n.type(1).getDim(0) * n.type(1).getDim(1) * most);
  auto found = n.leaf("non_max_suppression",
                      {n.cast(n.in(0), f32), n.cast(n.in(1), f32), number(2, i64), number(3, f32), number(4, f32)},
                      {indicesOf(n, {capacity, n.dim(3)}), indicesOf(n, {n.dim(1)}), indicesOf(n, {boxes})},
                      {n.getInt("center_point_box", 0) != 0, n.has(4)});
  n.out(0, take(n, found[0], n.dataDependent(found[1], capacity, 0, 0), 0));
  return success();
}

void stint::import::addSelections(RuleTable &t) {
  t.add("NonZero", 1, nonZero);
  t.add("Compress", 2, compress);
  t.add("Unique", 1, unique);
  t.add("NonMaxSuppression", 2, nonMaxSuppression);
}
