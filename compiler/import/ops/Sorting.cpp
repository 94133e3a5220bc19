// Operators that put elements in order: TopK.
#include "compiler/import/NodeContext.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// The permutation that swaps a dimension with the last: its own inverse.
static SmallVector<int64_t> swapWithLast(int64_t dim, int64_t rank) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[dim], permutation.back());
  return permutation;
}

static void requireMost(NodeContext &n, Value k, AffineExpr size) {
  Value most = n.dimension(size, n.b.getI64Type());
  n.require(n.compare(graph::ComparePredicate::le, k, most), "K to be at most dimension " + n.print(size));
}

/// K, as an expression, must be in [0, size].
static LogicalResult checkCount(NodeContext &n, AffineExpr &k, AffineExpr size) {
  if (!n.atLeast(k, 0, "K"))
    return failure();
  if (n.symbols.lessEqual(k, size) == false)
    return n.malformed("K is " + n.print(k) + ", but the dimension is " + n.print(size));
  if (n.symbols.lessEqual(k, size) != true)
    requireMost(n, n.dimension(k, n.b.getI64Type()), size);
  return success();
}

static LogicalResult topK(NodeContext &n) {
  int64_t rank = n.rank(0);
  auto axis = n.axis(n.getInt("axis", -1), rank);
  if (failed(axis))
    return failure();
  AffineExpr size = n.type(0).getDim(*axis), k;
  if (n.opset < 10) {
    if (!n.attribute("k"))
      return n.malformed("attribute 'k' is missing");
    k = n.dim(n.getInt("k", 0));
  } else {
    if (!n.has(1) || n.rank(1) > 1 || !(n.simplify(n.type(1).getNumElements()) == 1) || !graph::isIndex(n.element(1)))
      return n.malformed("K must be one integer");
    const Known *known = n.known(1);
    if (known && known->elements[0].expr)
      k = known->elements[0].expr;
  }
  if (graph::isBool(n.element(0)))
    return n.malformed("booleans have no order");
  if (n.symbols.upper(size) > int64_t(1) << 32)
    return n.unsupported("a dimension of more than 2^32 elements");
  if (!k) {
    Value count = n.cast(n.reshape(n.in(1), {}), n.b.getI64Type());
    requireMost(n, count, size);
    k = n.dataDependent(count, size, 0, *axis);
  } else if (failed(checkCount(n, k, size))) {
    return failure();
  }
  auto permutation = swapWithLast(*axis, rank);
  Value x = n.transpose(n.in(0), permutation);
  SmallVector<AffineExpr> shape(n.typeOf(x).getShape());
  shape.back() = k;
  GraphTensorType values = n.shaped(n.typeOf(x), shape), indices = values.withElementType(n.b.getI64Type());
  auto results = n.leaf("top_k", x, {values, indices}, n.getInt("largest", 1) != 0, {}, rank - 1);
  for (unsigned i = 0; i < 2; ++i)
    n.out(i, n.transpose(results[i], permutation));
  return success();
}

void stint::import::addSortings(RuleTable &t) { t.add("TopK", 1, topK); }
