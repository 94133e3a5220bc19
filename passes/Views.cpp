// Views: a reshape is one when every group of dimensions it merges or splits
// is consecutive and in order in memory.
#include "passes/Views.h"

#include "dialects/Graph/Shapes.h"

using namespace mlir;
using namespace stint;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }
static bool isOne(AffineExpr expr) { return expr == 1; }

/// Memory order without dimensions of size 1.
static SmallVector<int64_t> significantOrder(GraphTensorType type) {
  SmallVector<int64_t> order = type.getOrder();
  llvm::erase_if(order, [&](int64_t d) { return isOne(type.getDim(d)); });
  return order;
}

static bool isTiled(GraphTensorType type) { return type.getLayout() && type.getLayout().isTiled(); }

bool passes::sameMemory(GraphTensorType a, GraphTensorType b) {
  if (a.getShape() != b.getShape() || a.getElementType() != b.getElementType())
    return false;
  if (isTiled(a) || isTiled(b))
    return a == b;
  return significantOrder(a) == significantOrder(b);
}

/// Dimensions of the operand and of the result of a reshape that hold the
/// same elements; dimensions of 1 are left out.
struct Group {
  SmallVector<int64_t> from, to;
};

static std::optional<SmallVector<Group>> reshapeGroups(GraphTensorType from, GraphTensorType to) {
  auto significant = [](GraphTensorType type) {
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    llvm::erase_if(dims, [&](int64_t d) { return isOne(type.getDim(d)); });
    return dims;
  };
  SmallVector<int64_t> a = significant(from), b = significant(to);
  SmallVector<Group> groups;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    Group group;
    AffineExpr left = from.getDim(a[i]), right = to.getDim(b[j]);
    group.from.push_back(a[i++]);
    group.to.push_back(b[j++]);
    while (left != right) {
      // Extend the side that divides the other; static sizes compare.
      auto l = dyn_cast<AffineConstantExpr>(left), r = dyn_cast<AffineConstantExpr>(right);
      bool growLeft = l && r ? l.getValue() < r.getValue() : divideExactly(right, left).has_value();
      if (growLeft && i < a.size()) {
        left = left * from.getDim(a[i]);
        group.from.push_back(a[i++]);
      } else if (!growLeft && j < b.size() && (l || r || divideExactly(left, right))) {
        right = right * to.getDim(b[j]);
        group.to.push_back(b[j++]);
      } else {
        // Sizes that cannot be compared: the rest is one group.
        while (i < a.size())
          group.from.push_back(a[i++]);
        while (j < b.size())
          group.to.push_back(b[j++]);
        break;
      }
      if (auto exact = divideExactly(left, right); exact && isOne(*exact))
        break;
    }
    groups.push_back(std::move(group));
  }
  // What is left on one side can only be symbols equal to 1 or empty tensors.
  if (i < a.size() || j < b.size()) {
    if (groups.empty())
      return std::nullopt;
    while (i < a.size())
      groups.back().from.push_back(a[i++]);
    while (j < b.size())
      groups.back().to.push_back(b[j++]);
  }
  return groups;
}

/// Order of the result that keeps the operand's bytes in place.
static std::optional<SmallVector<int64_t>> reshapeOrder(GraphTensorType from, GraphTensorType to) {
  auto groups = reshapeGroups(from, to);
  if (!groups)
    return std::nullopt;
  SmallVector<int64_t> order = significantOrder(from), result;
  for (size_t at = 0; at < order.size();) {
    auto group = llvm::find_if(*groups, [&](Group &g) { return g.from.front() == order[at]; });
    if (group == groups->end() || at + group->from.size() > order.size() ||
        !llvm::equal(group->from, ArrayRef<int64_t>(order).slice(at, group->from.size())))
      return std::nullopt;
    at += group->from.size();
    result.append(group->to.begin(), group->to.end());
  }
  // Dimensions of 1 go beside their neighbour of lower number.
  for (int64_t d = 0; d < to.getRank(); ++d) {
    if (llvm::is_contained(result, d))
      continue;
    auto before = d == 0 ? result.begin() : llvm::find(result, d - 1) + 1;
    result.insert(before, d);
  }
  return result;
}

GraphTensorType passes::viewType(Operation *op) {
  GraphTensorType from = tensorType(op->getOperand(0)), to = tensorType(op->getResult(0));
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<int64_t> inverse(from.getRank()), order;
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      inverse[dim] = i;
    for (int64_t dim : from.getOrder())
      order.push_back(inverse[dim]);
    if (isTiled(from))
      return to.withLayout(LayoutAttr::get(op->getContext(), order, inverse[from.getLayout().getTiledDim()],
                                           from.getLayout().getTileSize()));
    return to.withLayout(LayoutAttr::get(op->getContext(), order));
  }
  if (isTiled(from))
    return isa<RelayoutOp>(op) ? from : GraphTensorType();
  if (isa<RelayoutOp>(op))
    return from;
  if (isa<ReshapeOp>(op))
    if (auto order = reshapeOrder(from, to))
      return to.withLayout(LayoutAttr::get(op->getContext(), *order));
  return {};
}

bool passes::isView(Operation *op) {
  if (!isa<ReshapeOp, TransposeOp, RelayoutOp>(op))
    return false;
  GraphTensorType view = viewType(op);
  if (view && sameMemory(view, tensorType(op->getResult(0))))
    return true;
  // Row-major to row-major, whatever the groups.
  auto rowMajor = [](Value value) {
    GraphTensorType type = tensorType(value);
    return sameMemory(type, type.withLayout({}));
  };
  return isa<ReshapeOp>(op) && rowMajor(op->getOperand(0)) && rowMajor(op->getResult(0));
}

Value stint::passes::sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool passes::onlyUnitDims(ReshapeOp op) {
  auto significant = [](GraphTensorType type) {
    SmallVector<AffineExpr> dims(type.getShape());
    llvm::erase_if(dims, isOne);
    return dims;
  };
  return significant(tensorType(op.getInput())) == significant(tensorType(op.getResult()));
}
