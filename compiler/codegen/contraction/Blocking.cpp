// Register tile: as many rows as leave registers for a row of B, for A, and for
// products on their way to an addition where there is no fma.
// Cache blocks: a panel's K steps stay in L1 while the rows of a block pass by
// from L2; partial sums of the block's panels wait in scratch.
#include "compiler/codegen/contraction/Blocking.h"

#include "dialects/Graph/KernelGrid.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;

/// Panels that share a packed block of rows.
static constexpr int64_t kBlockPanels = 16;

/// Panels from which on rows are packed even if they could be read in place.
static constexpr int64_t kPanelsToPack = 4;
/// Rows of a register tile at most: more are hardly faster, and leave more to
/// smaller tiles.
static constexpr int64_t kMostRows = 12;

/// Elements of A's row that are copied as one piece: a kernel's innermost
/// dimension where it is contiguous, else the channels. 0 if not known.
static int64_t runLength(const Problem &problem) {
  graph::ConvOp conv = problem.conv();
  std::optional<int64_t> channels = problem.rightType.getStaticDim(2);
  std::optional<int64_t> width = problem.rightType.getStaticDim(problem.rightType.getRank() - 1);
  if (!channels || !width)
    return 0;
  return problem.grouped || conv.getDilations().back() != 1 ? *channels : *channels * *width;
}

Blocking Blocking::of(const Problem &problem, const graph::Symbols &symbols, const target::Variant &variant) {
  Blocking blocking;
  int64_t rowsUpper = std::max<int64_t>(symbols.upper(problem.rows), 1);
  int64_t panelsUpper = llvm::divideCeil(std::max<int64_t>(symbols.upper(problem.columns), 1), graph::kPanelColumns);
  int64_t kUpper = std::max<int64_t>(symbols.upper(problem.k), 1);

  int64_t registersPerRow =
      std::max<int64_t>(graph::kPanelColumns * problem.accumulatorBytes() / variant.vectorBytes, 1);
  // Where an instruction multiplies by a lane, a register holds several steps
  // of a row of A, else a broadcast of one.
  bool byLane = variant.machine == target::Machine::aarch64;
  int64_t forB = registersPerRow, forTemporaries = byLane ? 0 : variant.hasFma ? 2 : 3;
  int64_t perRow = registersPerRow + (byLane ? 1 : 0);
  int64_t most = std::clamp<int64_t>((variant.vectorRegisters - forB - forTemporaries) / perRow, 1, kMostRows);
  blocking.unroll = byLane ? variant.vectorBytes / problem.accumulatorBytes() : 1;
  for (int64_t rows = most; rows >= 1; rows = llvm::divideCeil(rows, 2)) {
    if (rows < rowsUpper || blocking.tiles.empty() || blocking.tiles.back() > rowsUpper)
      blocking.tiles.push_back(std::min(rows, std::max(rowsUpper, int64_t(1))));
    if (rows == 1)
      break;
  }
  llvm::sort(blocking.tiles, std::greater<int64_t>());
  blocking.tiles.erase(std::unique(blocking.tiles.begin(), blocking.tiles.end()), blocking.tiles.end());

  bool half = problem.elementBytes() < problem.accumulatorBytes();
  // Rows that are used for several panels are worth copying: they then lie
  // close together, whatever their distance in memory.
  bool reused = rowsUpper > blocking.tiles.front() && panelsUpper >= kPanelsToPack;
  blocking.pack = !problem.plainRows || half || (reused && !Problem::isImmediate(problem.left));
  int64_t panelStep = graph::kPanelColumns * problem.elementBytes();
  int64_t target = std::max<int64_t>(variant.l1Bytes / 2 / panelStep, 64);
  blocking.k = kUpper;
  blocking.oneBlock = true;
  // A single tile of rows streams its panels: nothing would be reused.
  bool streams = rowsUpper <= blocking.tiles.front() && !blocking.pack;
  int64_t run = problem.conv() ? runLength(problem) : 1;
  if (kUpper > target * 3 / 2 && !streams) {
    if (run >= 1 && run <= target)
      blocking.k = target / run * run;
    else if (run > target)
      blocking.k = llvm::alignTo(llvm::divideCeil(run, llvm::divideCeil(run, target)), 8);
    else
      blocking.k = target;
    blocking.oneBlock = blocking.k >= kUpper;
  }
  blocking.wholeRuns = blocking.oneBlock || (run > 0 && blocking.k % run == 0);
  blocking.rows = llvm::alignTo(graph::contractionRows(rowsUpper), blocking.tiles.front());
  blocking.panels = std::min(kBlockPanels, panelsUpper);
  // One cache line more, so that rows do not all fall on the same cache sets.
  blocking.packedStride = llvm::alignTo(blocking.k, 16) + 16;
  return blocking;
}
