// Grid and tile of a kernel from its region.
#include "dialects/Graph/KernelGrid.h"
#include "dialects/Graph/Leaves.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stint::graph;

/// Elements a workgroup should touch at least, so that claiming it is cheap
/// beside running it.
static constexpr int64_t kElementsPerWorkgroup = 16384;
/// A leaf's elements cost as much as this many copied ones.
static constexpr int64_t kLeafCost = 8;
/// Rows of a contraction per workgroup at most, and what they are a multiple
/// of: the rows of most register tiles.
static constexpr int64_t kRowsPerWorkgroup = 128, kRowsMultiple = 6;
/// Panels per workgroup at most: rows that are packed serve all of them.
static constexpr int64_t kPanelsPerWorkgroup = 16;
/// Of a table of weights: bytes that a workgroup reads, and panels that a kernel
/// goes through side by side.
static constexpr int64_t kTableBytesPerWorkgroup = 1 << 17, kPanelsAtOnce = 4;
/// Neighbours that read much the same, see Leaf::kHeads.
static constexpr int64_t kUnitsTogether = 8;
/// Workgroups that threads should find, unless they do less than this.
static constexpr int64_t kWorkgroups = 8, kFlopsPerWorkgroup = 1 << 21;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

SmallVector<AffineExpr> stint::graph::memoryExtents(GraphTensorType type) {
  SmallVector<AffineExpr> extents;
  LayoutAttr layout = type.getLayout();
  for (int64_t dim : type.getOrder())
    extents.push_back(layout && layout.getTiledDim() == dim ? type.getDim(dim).ceilDiv(layout.getTileSize())
                                                            : type.getDim(dim));
  if (layout && layout.isTiled())
    extents.push_back(getAffineConstantExpr(layout.getTileSize(), type.getContext()));
  return extents;
}

static int64_t upperOr(Symbols &symbols, AffineExpr expr, int64_t limit) {
  return std::clamp<int64_t>(symbols.upper(expr), 1, limit);
}

static KernelGrid loopNestGrid(Block &body) {
  GraphTensorType type = tensorType(body.getTerminator()->getOperand(0));
  MLIRContext *context = type.getContext();
  Symbols symbols = Symbols::of(body.getParentOp());
  AffineExpr one = getAffineConstantExpr(1, context);
  SmallVector<AffineExpr> extents = memoryExtents(type);
  AffineExpr rows = one, inner = extents.empty() ? one : extents.pop_back_val();
  for (AffineExpr extent : extents)
    rows = rows * extent;
  // Elements read per element written, roughly: a row's reduction is done once
  // for all of the row.
  constexpr int64_t kMostCost = 1 << 20;
  int64_t innerDim = type.getRank() ? type.getOrder().back() : 0;
  int64_t cost = 1;
  bool reducesRow = false;
  for (Operation &op : body) {
    int64_t reads = 1;
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      bool row = tensorType(reduce.getInput()).getRank() == type.getRank() && !(inner == 1) &&
                 llvm::is_contained(reduce.getAxes(), innerDim);
      reducesRow |= row;
      if (!row)
        for (int64_t axis : reduce.getAxes())
          reads = std::min(reads * upperOr(symbols, tensorType(reduce.getInput()).getDim(axis), kMostCost), kMostCost);
    } else if (auto window = dyn_cast<WindowReduceOp>(op)) {
      for (int64_t size : window.getWindow())
        reads = std::min(reads * size, kMostCost);
    } else if (auto conv = dyn_cast<ConvOp>(op)) {
      for (AffineExpr dim : tensorType(conv.getWeight()).getShape().drop_front(2))
        reads = std::min(reads * upperOr(symbols, dim, 1024), kMostCost);
    } else {
      continue;
    }
    cost = std::min(cost + reads, kMostCost);
  }
  int64_t elements = std::max<int64_t>(kElementsPerWorkgroup / cost, 1);
  int64_t innerUpper = upperOr(symbols, inner, 1 << 30);
  KernelGrid grid = {{rows, inner.ceilDiv(kInnerBlock), one}, {one, one, one}};
  int64_t innerTile = reducesRow ? innerUpper : std::min(innerUpper, elements);
  grid.tile[1] = getAffineConstantExpr(std::max<int64_t>((innerTile + kInnerBlock - 1) / kInnerBlock, 1), context);
  grid.tile[0] = getAffineConstantExpr(std::max<int64_t>(elements / innerUpper, 1), context);
  return grid;
}

static KernelGrid contractionGrid(Block &body) {
  MLIRContext *context = body.getParentOp()->getContext();
  Symbols symbols = Symbols::of(body.getParentOp());
  AffineExpr one = getAffineConstantExpr(1, context);
  AffineExpr batches = one, rows = one, columns = one, k = one;
  for (Operation &op : body) {
    if (auto matmul = dyn_cast<MatMulOp>(op)) {
      GraphTensorType lhs = tensorType(matmul.getLhs()), rhs = tensorType(matmul.getRhs());
      GraphTensorType result = tensorType(matmul.getResult());
      ArrayRef<AffineExpr> leading = result.getShape().drop_back(2);
      bool batched = llvm::any_of(rhs.getShape().drop_back(2), [](AffineExpr e) { return !(e == 1); });
      for (AffineExpr dim : leading)
        (batched ? batches : rows) = (batched ? batches : rows) * dim;
      rows = rows * result.getDim(result.getRank() - 2);
      columns = result.getShape().back();
      k = lhs.getShape().back();
    } else if (auto conv = dyn_cast<ConvOp>(op)) {
      GraphTensorType weight = tensorType(conv.getWeight()), result = tensorType(conv.getResult());
      batches = weight.getDim(0);
      columns = weight.getDim(1);
      for (AffineExpr dim : weight.getShape().drop_front(2))
        k = k * dim;
      rows = result.getDim(0);
      for (AffineExpr dim : result.getShape().drop_front(2))
        rows = rows * dim;
    }
  }
  int64_t rowsTile = contractionRows(symbols.upper(rows)), limit = 1 << 24;
  int64_t rowBlocks = upperOr(symbols, rows.ceilDiv(rowsTile) * batches, limit);
  int64_t allPanels = upperOr(symbols, columns.ceilDiv(kPanelColumns), limit);
  int64_t panelFlops =
      2 * kPanelColumns * std::min(upperOr(symbols, rows, limit), rowsTile) * upperOr(symbols, k, limit);
  int64_t panels = std::min(allPanels, kPanelsPerWorkgroup);
  while (panels > 1 && rowBlocks * llvm::divideCeil(allPanels, panels) < kWorkgroups &&
         panels / 2 * panelFlops >= kFlopsPerWorkgroup)
    panels = (panels + 1) / 2;
  auto constant = [&](int64_t v) { return getAffineConstantExpr(v, context); };
  return {{batches, rows, columns.ceilDiv(kPanelColumns)}, {one, constant(rowsTile), constant(panels)}};
}

/// Rows and panels of a leaf that multiplies by a table of weights. Few rows
/// are bound by reading the table, which all threads should do; many by
/// arithmetic.
static KernelGrid panelGrid(LeafOp leaf) {
  MLIRContext *context = leaf.getContext();
  Symbols symbols = Symbols::of(leaf->getParentOp());
  auto constant = [&](int64_t v) { return getAffineConstantExpr(v, context); };
  AffineExpr rows = constant(1);
  GraphTensorType result = tensorType(leaf.getOutputs()[0]), table = tensorType(leaf.getInputs()[1]);
  for (AffineExpr dim : result.getShape().drop_back())
    rows = rows * dim;
  AffineExpr panels = result.getShape().back().ceilDiv(kPanelColumns);
  constexpr int64_t kMost = int64_t(1) << 40;
  int64_t allPanels = upperOr(symbols, panels, kMost);
  int64_t panelBytes = upperOr(symbols, table.getNumElements(), kMost) / allPanels *
                       static_cast<int64_t>(elementBytes(table.getElementType()));
  // A multiple of what a kernel does at once.
  int64_t tile = llvm::alignTo(std::clamp<int64_t>(kTableBytesPerWorkgroup / std::max<int64_t>(panelBytes, 1), 1,
                                                   std::max<int64_t>(allPanels / kWorkgroups, 1)),
                               kPanelsAtOnce);
  return {{rows, panels, constant(1)}, {constant(contractionRows(symbols.upper(rows))), constant(tile), constant(1)}};
}

static KernelGrid leafGrid(LeafOp leaf) {
  const Leaf *traits = findLeaf(leaf.getName());
  if (traits->has(Leaf::kColumns))
    return panelGrid(leaf);
  MLIRContext *context = leaf.getContext();
  Symbols symbols = Symbols::of(leaf->getParentOp());
  AffineExpr one = getAffineConstantExpr(1, context), units = one;
  GraphTensorType type = leaf.getUnitsType();
  if (traits->has(Leaf::kHeads))
    return {{type.getDim(0), type.getDim(1), one}, {getAffineConstantExpr(kUnitsTogether, context), one, one}};
  for (AffineExpr dim : type.getShape().take_front(leaf.getLeading()))
    units = units * dim;
  // Elements of a unit: read of what the units are of, or written.
  constexpr int64_t kMost = int64_t(1) << 40;
  int64_t most = upperOr(symbols, type.getNumElements(), kMost);
  for (Value result : leaf.getOutputs())
    most = std::max(most, upperOr(symbols, tensorType(result).getNumElements(), kMost));
  int64_t elements = std::max<int64_t>(most / upperOr(symbols, units, kMost), 1);
  int64_t tile = std::max<int64_t>(kElementsPerWorkgroup / kLeafCost / elements, 1);
  return {{units, one, one}, {getAffineConstantExpr(tile, context), one, one}};
}

int64_t stint::graph::contractionRows(int64_t rows) {
  rows = std::clamp<int64_t>(rows, 1, int64_t(1) << 40);
  int64_t blocks = llvm::divideCeil(rows, kRowsPerWorkgroup);
  return llvm::alignTo(llvm::divideCeil(rows, blocks), kRowsMultiple);
}

KernelGrid stint::graph::gridOf(KernelKind kind, Block &body) {
  switch (kind) {
  case KernelKind::contraction:
    return contractionGrid(body);
  case KernelKind::leaf:
    return leafGrid(cast<LeafOp>(body.front()));
  case KernelKind::loopnest:
    return loopNestGrid(body);
  }
  llvm_unreachable("a kernel kind without a grid");
}
