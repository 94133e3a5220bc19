// Arena layout of an entry.
//   1. Live ranges over the order of work. What a loop reads from outside, or
//      leaves behind, is alive all through it.
//   2. A result takes the place of an operand that dies there, if the kernel
//      reads that operand pointwise and both lie alike (their ranges merge).
//   3. Offsets: ranges are placed one by one into the best-fitting gap
//      between those alive at the same time. The order decides how well that
//      goes: by size, by size times length, by start; then the best order is
//      perturbed (deterministically) while it is above the lower bound.
// Ranges are the same for every shape profile; bytes and offsets are not. The
// wanted profiles are the module's `plan.profiles`; without, the one at the
// symbols' upper bounds.
#include "passes/Passes.h"
#include "passes/Views.h"
#include "passes/fuse/KernelRegion.h"

#include "dialects/Graph/Shapes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"

namespace stint::passes {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

static constexpr int64_t kAlignment = 64;
/// Arenas beyond this come from bounds that were never meant.
static constexpr int64_t kMaxBytes = int64_t(1) << 46;
/// However few buffers there are, the search ends after effort / 2^18 tries.
static constexpr unsigned kAttemptShift = 18;

/// Further profiles are searched for by effort / 2^3 each.
static constexpr unsigned kFurtherShift = 3;
/// A further profile is kept if its arena is below this part of the smallest of
/// those that do for its shapes too.
static constexpr double kWorthwhile = 0.9;

namespace {
/// Memory alive from work item `first` to `last`, inclusive.
struct LiveRange {
  int64_t first, last;
  uint64_t bytes;
  uint64_t offset = 0;
  bool overlaps(const LiveRange &other) const { return first <= other.last && other.first <= last; }
};

/// Places `ranges` in `order`; returns the arena's size.
uint64_t place(MutableArrayRef<LiveRange> ranges, ArrayRef<size_t> order) {
  uint64_t arena = 0;
  SmallVector<size_t> placed; // by offset
  for (size_t index : order) {
    LiveRange &range = ranges[index];
    uint64_t end = 0, bestOffset = 0, bestGap = UINT64_MAX;
    bool found = false;
    for (size_t other : placed) {
      if (!ranges[other].overlaps(range))
        continue;
      if (ranges[other].offset > end && ranges[other].offset - end >= range.bytes &&
          ranges[other].offset - end < bestGap) {
        found = true;
        bestOffset = end;
        bestGap = ranges[other].offset - end;
      }
      end = std::max(end, ranges[other].offset + ranges[other].bytes);
    }
    range.offset = found ? bestOffset : end;
    arena = std::max(arena, range.offset + range.bytes);
    placed.insert(
        llvm::upper_bound(placed, index, [&](size_t a, size_t b) { return ranges[a].offset < ranges[b].offset; }),
        index);
  }
  return arena;
}

uint64_t lowerBound(ArrayRef<LiveRange> ranges, int64_t items) {
  uint64_t bound = 0;
  for (int64_t at = 0; at < items; ++at) {
    uint64_t sum = 0;
    for (const LiveRange &range : ranges)
      if (range.first <= at && at <= range.last)
        sum += range.bytes;
    bound = std::max(bound, sum);
  }
  return bound;
}

uint64_t placeWell(SmallVectorImpl<LiveRange> &ranges, uint64_t bound, uint64_t effort, uint64_t seed) {
  SmallVector<size_t> identity = llvm::to_vector(llvm::seq<size_t>(0, ranges.size()));
  SmallVector<size_t> bestOrder = identity;
  uint64_t best = UINT64_MAX;
  auto attempt = [&](ArrayRef<size_t> order) {
    SmallVector<LiveRange> trial(ranges.begin(), ranges.end());
    uint64_t arena = place(trial, order);
    if (arena >= best)
      return false;
    best = arena;
    ranges = trial;
    bestOrder.assign(order.begin(), order.end());
    return true;
  };
  auto by = [&](auto key) {
    SmallVector<size_t> order = identity;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::make_pair(-key(ranges[a]), a) < std::make_pair(-key(ranges[b]), b);
    });
    attempt(order);
  };
  by([](const LiveRange &r) { return static_cast<double>(r.bytes); });
  by([](const LiveRange &r) { return static_cast<double>(r.bytes) * static_cast<double>(r.last - r.first + 1); });
  by([](const LiveRange &r) { return static_cast<double>(r.last - r.first); });
  by([](const LiveRange &r) { return -static_cast<double>(r.first); });
  uint64_t state = 0x9e3779b97f4a7c15 ^ seed;
  uint64_t pairs = std::max<uint64_t>(1, uint64_t(ranges.size()) * ranges.size());
  uint64_t attempts = std::min(effort / pairs, effort >> kAttemptShift);
  for (uint64_t i = 0; i < attempts && best > bound && ranges.size() > 1; ++i) {
    SmallVector<size_t> order = bestOrder;
    for (uint64_t swaps = 0; swaps < 1 + i % 3; ++swaps) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      size_t from = (state >> 33) % order.size(), to = (state >> 13) % order.size();
      size_t moved = order[from];
      order.erase(order.begin() + from);
      order.insert(order.begin() + to, moved);
    }
    attempt(order);
  }
  return best;
}

/// The number of the kernel's result whose elements alone read `argument`,
/// each at its own index, or -1.
int64_t pointwiseResult(func::FuncOp kernel, BlockArgument argument) {
  auto type = cast<GraphTensorType>(argument.getType());
  if (auto leaf = dyn_cast<LeafOp>(kernel.getBody().front().front())) {
    int64_t operand = leaf.getInPlace();
    return operand >= 0 && leaf.getInputs()[operand] == argument && argument.hasOneUse() ? 0 : -1;
  }
  SmallVector<Value> pending = {argument};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (isa<func::ReturnOp>(user) || !seen.insert(user).second)
        continue;
      if (!passes::isElementwise(user) ||
          cast<GraphTensorType>(user->getResult(0).getType()).getShape() != type.getShape())
        return -1;
      pending.push_back(user->getResult(0));
    }
  }
  for (auto [i, result] : llvm::enumerate(kernel.getResultTypes())) {
    auto resultType = cast<GraphTensorType>(result);
    bool tiled = type.getLayout() && type.getLayout().isTiled();
    if (!tiled && elementBytes(resultType.getElementType()) == elementBytes(type.getElementType()) &&
        passes::sameMemory(GraphTensorType::get(type.getShape(), resultType.getElementType(), type.getLayout()),
                           resultType))
      return i;
  }
  return -1;
}

struct PlanMemory : passes::impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    for (auto entry : getOperation().getOps<plan::EntryOp>())
      if (failed(plan(entry)))
        return signalPassFailure();
  }

  LogicalResult plan(plan::EntryOp entry) {
    Symbols symbols = Symbols::of(entry);
    SmallVector<Value> buffers = entry.getBuffers();
    DenseMap<Value, size_t> rangeOf;
    SmallVector<LiveRange> ranges;
    SmallVector<AffineExpr> sizes;
    for (Value value : buffers) {
      auto buffer = value.getDefiningOp<plan::BufferOp>();
      if (!buffer)
        continue;
      AffineExpr size = symbols.simplify(plan::byteSize(cast<GraphTensorType>(buffer.getType())));
      if (int64_t bytes = symbols.upper(size); bytes > kMaxBytes)
        return buffer.emitError() << "needs " << bytes
                                  << " bytes at the bounds of its dimensions: narrow them with --dim";
      rangeOf[value] = ranges.size();
      ranges.push_back({INT64_MAX, -1, aligned(symbols.upper(size))});
      sizes.push_back(size);
    }
    SmallVector<Operation *> work;
    for (Operation &op : entry.getBody().front())
      if (plan::isWork(&op))
        work.push_back(&op);
    findRanges(work, rangeOf, ranges);
    // In place: follow `group` to the range that holds a buffer's memory.
    SmallVector<size_t> group = llvm::to_vector(llvm::seq<size_t>(0, ranges.size()));
    for (auto [at, op] : llvm::enumerate(work))
      if (auto dispatch = dyn_cast<plan::DispatchOp>(op))
        shareInPlace(dispatch, at, rangeOf, ranges, group);

    SmallVector<Attribute> profiles;
    uint64_t largestArena = 0, largestBound = 0;
    SmallVector<plan::ProfileAttr> kept;
    for (ArrayRef<int64_t> maxima : wantedProfiles(symbols)) {
      Symbols bounded = symbols.withUpper(maxima);
      SmallVector<uint64_t> capacities;
      for (AffineExpr size : sizes)
        capacities.push_back(std::max<int64_t>(bounded.upper(size), 0));
      SmallVector<LiveRange> merged;
      SmallVector<size_t> mergedIndex(ranges.size(), SIZE_MAX);
      for (size_t i = 0; i < ranges.size(); ++i)
        if (group[i] == i && ranges[i].last >= 0) {
          mergedIndex[i] = merged.size();
          merged.push_back(ranges[i]);
          merged.back().bytes = 0;
        }
      for (size_t i = 0; i < ranges.size(); ++i)
        if (size_t index = mergedIndex[group[i]]; index != SIZE_MAX)
          merged[index].bytes = std::max(merged[index].bytes, aligned(capacities[i]));
      uint64_t bound = lowerBound(merged, work.size());
      bool first = profiles.empty();
      uint64_t arena = merged.empty() ? 0 : placeWell(merged, bound, first ? effort : effort >> kFurtherShift, seed);
      uint64_t smallest = UINT64_MAX;
      for (plan::ProfileAttr other : kept)
        if (llvm::all_of(llvm::zip_equal(other.getMaxima(), maxima),
                         [](auto pair) { return std::get<0>(pair) >= std::get<1>(pair); }))
          smallest = std::min<uint64_t>(smallest, other.getArenaSize());
      if (!first && static_cast<double>(arena) > kWorthwhile * static_cast<double>(smallest))
        continue; // saves nothing beside those that are there
      SmallVector<int64_t> offsets, held;
      for (Value value : buffers) {
        auto it = rangeOf.find(value);
        bool used = it != rangeOf.end() && mergedIndex[group[it->second]] != SIZE_MAX;
        offsets.push_back(used ? merged[mergedIndex[group[it->second]]].offset : 0);
        held.push_back(used ? capacities[it->second] : 0);
      }
      largestArena = std::max(largestArena, arena);
      largestBound = std::max(largestBound, bound);
      kept.push_back(plan::ProfileAttr::get(&getContext(), maxima, arena, bound, offsets, held));
      profiles.push_back(kept.back());
    }
    arenaBytes += largestArena;
    boundBytes += largestBound;
    entry.setProfilesAttr(ArrayAttr::get(&getContext(), profiles));
    return success();
  }

  static uint64_t aligned(int64_t bytes) { return llvm::alignTo(std::max<int64_t>(bytes, 1), kAlignment); }

  /// Maxima of the symbols, one list per profile, the upper bounds first. One
  /// that covers another comes before it, so that what is kept does not depend
  /// on the order they were asked for in.
  SmallVector<SmallVector<int64_t>> wantedProfiles(const Symbols &symbols) {
    SmallVector<SmallVector<int64_t>> result;
    if (auto wanted = getOperation()->getAttrOfType<ArrayAttr>(plan::kProfilesAttr))
      for (auto maxima : wanted.getAsRange<DenseI64ArrayAttr>())
        result.emplace_back(maxima.asArrayRef());
    if (!result.empty())
      std::sort(result.begin() + 1, result.end(), [](const auto &a, const auto &b) { return a > b; });
    if (result.empty()) {
      result.emplace_back();
      for (size_t i = 0; i < symbols.size(); ++i)
        result.back().push_back(symbols[i].getUpper());
    }
    return result;
  }

  static void findRanges(ArrayRef<Operation *> work, const DenseMap<Value, size_t> &rangeOf,
                         MutableArrayRef<LiveRange> ranges) {
    SmallVector<int64_t> open;
    SmallVector<std::pair<int64_t, int64_t>> loops; // inner before outer
    for (auto [at, op] : llvm::enumerate(work)) {
      for (Value operand : op->getOperands())
        if (auto it = rangeOf.find(operand); it != rangeOf.end()) {
          LiveRange &range = ranges[it->second];
          range.first = std::min<int64_t>(range.first, at);
          range.last = std::max<int64_t>(range.last, at);
        }
      if (isa<plan::LoopOp, plan::IfOp>(op))
        open.push_back(at);
      if (isa<plan::EndOp>(op)) {
        int64_t begin = open.pop_back_val();
        if (isa<plan::LoopOp>(work[begin]))
          loops.push_back({begin, at});
      }
    }
    for (auto [begin, end] : loops)
      for (LiveRange &range : ranges) {
        bool inside = range.first <= end && range.last >= begin;
        if (inside && (range.first < begin || range.last > end)) {
          range.first = std::min(range.first, begin);
          range.last = std::max(range.last, end);
        }
      }
  }

  void shareInPlace(plan::DispatchOp dispatch, int64_t at, const DenseMap<Value, size_t> &rangeOf,
                    MutableArrayRef<LiveRange> ranges, MutableArrayRef<size_t> group) {
    auto kernel = getOperation().lookupSymbol<func::FuncOp>(dispatch.getKernel());
    llvm::SmallSet<int64_t, 4> taken;
    for (auto [i, input] : llvm::enumerate(dispatch.getInputs())) {
      auto from = rangeOf.find(input);
      if (from == rangeOf.end() || llvm::count(dispatch.getInputs(), input) != 1)
        continue;
      size_t source = group[from->second];
      if (ranges[source].last != at)
        continue;
      int64_t result = pointwiseResult(kernel, kernel.getArgument(i));
      if (result < 0 || taken.contains(result))
        continue;
      auto to = rangeOf.find(dispatch.getOutputs()[result]);
      if (to == rangeOf.end() || group[to->second] != to->second || ranges[to->second].first != at ||
          ranges[to->second].bytes != ranges[source].bytes)
        continue;
      taken.insert(result);
      // The kernel is shared: all its dispatches may now alias these.
      kernel.setArgAttr(i, plan::kInPlaceAttr, IntegerAttr::get(IntegerType::get(&getContext(), 64), result));
      ranges[source].last = ranges[to->second].last;
      group[to->second] = source;
    }
  }
};
} // namespace
