// Operators that rearrange whole tensors: reshapes, permutations, stretching.
#include "compiler/import/ops/Dimensions.h"
#include "compiler/import/ops/Measured.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// Divides the product of `numerator` by that of `denominator`, cancelling
/// equal dimensions first so that sums need not be factored.
static std::optional<AffineExpr> divideProducts(NodeContext &n, ArrayRef<AffineExpr> numerator,
                                                ArrayRef<AffineExpr> denominator) {
  SmallVector<AffineExpr> top(numerator), bottom;
  for (AffineExpr d : denominator) {
    auto it = llvm::find_if(top, [&](AffineExpr t) { return t == d; });
    if (it != top.end())
      top.erase(it);
    else
      bottom.push_back(d);
  }
  AffineExpr a = n.dim(1), b = n.dim(1);
  for (AffineExpr t : top)
    a = a * t;
  for (AffineExpr t : bottom)
    b = b * t;
  auto exact = graph::divideExactly(a, b);
  if (!exact)
    exact = graph::divideExactly(n.simplify(a), n.simplify(b));
  if (exact)
    return n.simplify(*exact);
  return std::nullopt;
}

/// Reshapes operand 0 to `shape` if the number of elements provably stays.
static LogicalResult reshapeTo(NodeContext &n, SmallVector<AffineExpr> shape) {
  if (static_cast<int64_t>(shape.size()) > GraphTensorType::kMaxRank)
    return n.unsupported("a result of more than 8 dimensions");
  if (!n.exists(shape))
    return failure();
  auto left = divideProducts(n, n.type(0).getShape(), shape);
  bool same = left && *left == 1;
  AffineExpr from = n.type(0).getNumElements(), to = n.shaped(n.type(0), shape).getNumElements();
  if (!same && n.symbols.equal(from, to) == false)
    return n.malformed("cannot reshape " + n.print(from) + " elements into " + n.print(n.shaped(n.type(0), shape)));
  if (!same)
    (void)n.assumeEqual(n.simplify(from), n.simplify(to));
  if (ArrayRef<AffineExpr>(shape) == n.type(0).getShape())
    n.forward(0, 0);
  else
    n.out(0, n.reshape(n.in(0), shape));
  return success();
}

static LogicalResult reshape(NodeContext &n) {
  SmallVector<AffineExpr> target;
  if (n.has(1)) {
    const Known *k = n.known(1);
    auto values = k ? k->expressions() : std::nullopt;
    if (!values || n.rank(1) != 1)
      return measuredReshape(n, 1);
    target = *values;
  } else if (auto shape = n.getInts("shape")) {
    for (int64_t d : *shape)
      target.push_back(n.dim(d));
  } else {
    return n.malformed("needs a shape");
  }
  std::optional<size_t> open;
  bool allowZero = n.getInt("allowzero", 0) != 0;
  for (auto [i, d] : llvm::enumerate(target)) {
    if (d == 0 && !allowZero) {
      if (static_cast<int64_t>(i) >= n.rank(0))
        return n.malformed("0 at position " + Twine(i) + " refers to a dimension that the input lacks");
      d = n.type(0).getDim(i);
    } else if (d == -1) {
      if (open)
        return n.malformed("the new shape has -1 twice");
      open = i;
    } else if (!n.atLeast(d, 0, "size " + Twine(i) + " of the new shape")) {
      return failure();
    }
  }
  if (open) {
    SmallVector<AffineExpr> others;
    for (auto [i, d] : llvm::enumerate(target))
      if (i != *open)
        others.push_back(d);
    if (llvm::is_contained(others, n.dim(0)))
      return n.malformed("-1 beside a size of 0");
    auto size = divideProducts(n, n.type(0).getShape(), others);
    if (!size) {
      if (n.type(0).hasStaticShape() && llvm::all_of(others, llvm::IsaPred<AffineConstantExpr>))
        return n.malformed("the input's elements cannot be divided evenly over the new shape");
      // Rounded down; whether it was even is checked while the model runs.
      AffineExpr rest = n.dim(1);
      for (AffineExpr d : others)
        rest = rest * d;
      rest = n.simplify(rest);
      if (!n.atLeast(rest, 1, "the product of the sizes beside -1"))
        return failure();
      size = n.simplify(n.simplify(n.type(0).getNumElements()).floorDiv(rest));
    }
    target[*open] = *size;
  }
  return reshapeTo(n, target);
}

static LogicalResult flatten(NodeContext &n) {
  int64_t rank = n.rank(0), axis = n.getInt("axis", 1);
  if (axis < -rank || axis > rank)
    return n.malformed("axis " + Twine(axis) + " does not exist");
  axis += axis < 0 ? rank : 0;
  AffineExpr outer = n.dim(1), inner = n.dim(1);
  for (int64_t i = 0; i < rank; ++i)
    (i < axis ? outer : inner) = (i < axis ? outer : inner) * n.type(0).getDim(i);
  n.out(0, n.reshape(n.in(0), {n.simplify(outer), n.simplify(inner)}));
  return success();
}

static LogicalResult squeeze(NodeContext &n) {
  auto given = n.getIntsOrInput("axes", 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> chosen;
  if (*given) {
    auto axes = n.axes(**given, n.rank(0));
    if (failed(axes))
      return failure();
    chosen = *axes;
  } else {
    for (int64_t i = 0; i < n.rank(0); ++i) {
      graph::Range r = n.symbols.range(n.type(0).getDim(i));
      if (r.isPoint() && r.lower == 1)
        chosen.push_back(i);
      else if (r.lower <= 1)
        return n.unsupported("whether dimension " + n.print(n.type(0).getDim(i)) + " is 1 depends on the input");
    }
  }
  SmallVector<AffineExpr> shape;
  for (int64_t i = 0; i < n.rank(0); ++i) {
    if (!llvm::is_contained(chosen, i))
      shape.push_back(n.type(0).getDim(i));
    else if (!n.assumeEqual(n.type(0).getDim(i), n.dim(1)))
      return n.malformed("dimension " + Twine(i) + " is " + n.print(n.type(0).getDim(i)) + ", not 1");
  }
  return reshapeTo(n, shape);
}

static LogicalResult unsqueeze(NodeContext &n) {
  auto given = n.getIntsOrInput("axes", 1);
  if (failed(given))
    return failure();
  if (!*given)
    return n.malformed("needs axes");
  int64_t rank = n.rank(0) + (**given).size();
  if (rank > GraphTensorType::kMaxRank)
    return n.unsupported("a result of more than 8 dimensions");
  auto axes = n.axes(**given, rank);
  if (failed(axes))
    return failure();
  SmallVector<AffineExpr> shape;
  for (int64_t i = 0, next = 0; i < rank; ++i)
    shape.push_back(llvm::is_contained(*axes, i) ? n.dim(1) : n.type(0).getDim(next++));
  return reshapeTo(n, shape);
}

static LogicalResult transpose(NodeContext &n) {
  int64_t rank = n.rank(0);
  auto perm = n.getInts("perm").value_or(llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank))));
  for (int64_t &p : perm)
    p += p < 0 ? rank : 0;
  SmallVector<int64_t> sorted(perm);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return n.malformed("perm must name every dimension once");
  n.out(0, n.transpose(n.in(0), perm));
  return success();
}

static LogicalResult expand(NodeContext &n) {
  const Known *k = n.known(1);
  auto values = k ? k->expressions() : std::nullopt;
  if (!values || n.rank(1) != 1)
    return measuredExpand(n, 1);
  if (values->size() > GraphTensorType::kMaxRank)
    return n.unsupported("more than 8 dimensions");
  ArrayRef<AffineExpr> own = n.type(0).getShape();
  SmallVector<AffineExpr> shape(std::max(own.size(), values->size()), n.dim(1));
  std::copy(own.begin(), own.end(), shape.end() - own.size());
  for (size_t i = 0; i < values->size(); ++i) {
    AffineExpr want = (*values)[i], &d = shape[shape.size() - values->size() + i];
    if (want == 1 || n.same(want, d))
      continue;
    // Neither is 1: they must be equal.
    if (n.symbols.range(d).lower > 1 && n.symbols.range(want).lower > 1 && n.assumeEqual(d, want))
      continue;
    if (d != 1)
      return n.symbols.equal(want, d) == false && n.symbols.equal(want, n.dim(1)) == false
                 ? n.malformed("dimension " + n.print(d) + " cannot become " + n.print(want))
                 : n.unsupported("whether dimension " + n.print(d) + " becomes " + n.print(want) +
                                 " depends on the input");
    if (!n.atLeast(want, 0, "size " + Twine(shape.size() - values->size() + i)))
      return failure();
    d = want;
  }
  n.out(0, n.broadcast(n.in(0), shape));
  return success();
}

/// Repeats every dimension: [d] -> [1, d] -> [r, d] -> [r·d].
static FailureOr<Value> repeat(NodeContext &n, Value x, ArrayRef<AffineExpr> repeats) {
  SmallVector<AffineExpr> split, stretched, merged;
  for (auto [d, r] : llvm::zip(n.typeOf(x).getShape(), repeats)) {
    if (r != 1 && d != 1) {
      split.append({n.dim(1), d});
      stretched.append({r, d});
    } else {
      split.push_back(d);
      stretched.push_back(r == 1 ? d : r);
    }
    merged.push_back(n.simplify(d * r));
  }
  if (split.size() > GraphTensorType::kMaxRank)
    return n.unsupported("repeats too many dimensions at once");
  return n.reshape(n.broadcast(n.reshape(x, split), stretched), merged);
}

static LogicalResult tile(NodeContext &n) {
  const Known *k = n.known(1);
  auto repeats = k ? k->expressions() : std::nullopt;
  if (!repeats)
    return measuredTile(n, 1);
  if (static_cast<int64_t>(repeats->size()) != n.rank(0) || n.rank(1) != 1)
    return n.malformed("needs one repeat a dimension");
  for (auto [i, r] : llvm::enumerate(*repeats))
    if (!n.atLeast(r, 0, "repeat " + Twine(i)))
      return failure();
  auto result = repeat(n, n.in(0), *repeats);
  if (failed(result))
    return failure();
  n.out(0, *result);
  return success();
}

static LogicalResult concat(NodeContext &n) {
  auto axis = n.axis(n.getInt("axis", n.opset < 4 ? 1 : 0), n.rank(0));
  if (failed(axis))
    return failure();
  SmallVector<Value> values;
  for (size_t i = 0; i < n.numInputs(); ++i) {
    if (!n.has(i) || n.rank(i) != n.rank(0) || n.element(i) != n.element(0))
      return n.malformed("operands must have one rank and element type");
    SmallVector<AffineExpr> shape(n.type(i).getShape());
    for (int64_t d = 0; d < n.rank(0); ++d) {
      AffineExpr first = n.type(0).getDim(d);
      if (d == *axis || shape[d] == first)
        continue;
      if (!n.assumeEqual(shape[d], first))
        return n.malformed("operands differ in dimension " + Twine(d));
      shape[d] = first;
    }
    values.push_back(n.reshape(n.in(i), shape));
  }
  if (values.size() == 1)
    n.forward(0, 0);
  else
    n.out(0, n.make<graph::ConcatOp>(values, *axis));
  return success();
}

/// `x` with dimension `d` written as a multiple of `count`; null where it never
/// is one. Checked while the model runs where it may be.
static Value evenly(NodeContext &n, Value x, int64_t d, int64_t count) {
  AffineExpr size = n.typeOf(x).getDim(d);
  if (graph::divideExactly(size, n.dim(count)))
    return x;
  return withDim(n, x, d, n.simplify(size.floorDiv(count) * count));
}

/// Splits channels into blocks of `b`·`b` and moves them into space, or back.
static LogicalResult depthToSpace(NodeContext &n) {
  int64_t b = n.getInt("blocksize", 0);
  Value x = n.in(0);
  if (n.rank(0) != 4 || b < 1 || b > 1 << 15 || !(x = evenly(n, x, 1, b * b)))
    return n.malformed("needs a rank-4 input whose channels are a multiple of blocksize squared");
  SmallVector<AffineExpr> s(n.typeOf(x).getShape());
  AffineExpr block = n.dim(b), depth = n.simplify(s[1].floorDiv(b * b));
  bool crd = n.getString("mode", "DCR") == "CRD";
  x = crd ? n.reshape(x, {s[0], depth, block, block, s[2], s[3]})
          : n.reshape(x, {s[0], block, block, depth, s[2], s[3]});
  SmallVector<int64_t> perm = {0, 1, 4, 2, 5, 3};
  if (!crd)
    perm = {0, 3, 4, 1, 5, 2};
  n.out(0, n.reshape(n.transpose(x, perm), {s[0], depth, n.simplify(s[2] * b), n.simplify(s[3] * b)}));
  return success();
}

static LogicalResult spaceToDepth(NodeContext &n) {
  int64_t b = n.getInt("blocksize", 0);
  Value x = n.in(0);
  if (n.rank(0) != 4 || b < 1 || b > 1 << 15 || !(x = evenly(n, x, 2, b)) || !(x = evenly(n, x, 3, b)))
    return n.malformed("needs a rank-4 input whose height and width are multiples of a positive blocksize");
  SmallVector<AffineExpr> s(n.typeOf(x).getShape());
  AffineExpr block = n.dim(b), height = n.simplify(s[2].floorDiv(b)), width = n.simplify(s[3].floorDiv(b));
  x = n.reshape(x, {s[0], s[1], height, block, width, block});
  n.out(0, n.reshape(n.transpose(x, {0, 3, 5, 1, 2, 4}), {s[0], n.simplify(s[1] * (b * b)), height, width}));
  return success();
}

static LogicalResult identity(NodeContext &n) {
  n.forward(0, 0);
  return success();
}

/// Always folded, unless the result is larger than shape arithmetic may be.
static LogicalResult sizeOfShape(NodeContext &n) { return n.unsupported("cannot fold it"); }

void stint::import::addMovements(RuleTable &t) {
  t.add("Reshape", 1, reshape);
  t.add("Flatten", 1, flatten);
  t.add("Squeeze", 1, squeeze);
  t.add("Unsqueeze", 1, unsqueeze);
  t.add("Transpose", 1, transpose);
  t.add("Expand", 2, expand);
  t.add("Tile", 2, tile);
  t.add("Concat", 1, concat);
  t.add("DepthToSpace", 1, depthToSpace);
  t.add("SpaceToDepth", 1, spaceToDepth);
  t.add("Identity", 1, identity);
  t.add("Shape", 1, sizeOfShape);
  t.add("Size", 1, sizeOfShape);
}
