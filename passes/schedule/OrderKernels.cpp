// The order of kernel calls decides how many bytes are alive at once. Two
// other orders are tried beside the model's own:
//   * greedy: of the calls that can run, the one after which fewest bytes
//     more are alive;
//   * depth first: each call after its operands, the operand whose own
//     computation takes most beyond its result first (Sethi and Ullman).
// The model's order stays unless one of them has a clearly lower peak.
//
// Control flow and requirements count as calls; a symbol that gets its value while the model
// runs counts as a value without bytes, which whatever names it reads. The
// binds at the end of a function stay there.
#include "passes/Passes.h"
#include "passes/SymbolUses.h"
#include "passes/Views.h"

#include "dialects/Graph/Shapes.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace stint::passes {
#define GEN_PASS_DEF_ORDERKERNELS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

/// An order is worth a change if its peak is below this part of the old one.
static constexpr double kWorthwhile = 0.98;
/// The greedy order looks at all calls that could run next: bounded.
static constexpr size_t kMaxCalls = 20000;

namespace {
/// The calls of a function and the memory between them.
class Orders {
public:
  Orders(Block &body, const Symbols &symbols) : symbols(symbols) {
    Operation *end = passes::endOfWork(body);
    for (Operation &op : llvm::make_range(body.begin(), Block::iterator(end)))
      if (isCall(&op))
        calls.push_back({&op});
    llvm::DenseSet<Value> outputs; // in the application's memory
    for (Value value : body.getTerminator()->getOperands())
      outputs.insert(passes::sourceOf(value));
    for (size_t i = 0; i < calls.size(); ++i) {
      llvm::SetVector<size_t> read;
      for (Value operand : calls[i].op->getOperands())
        if (auto value = valueNumbers.find(passes::sourceOf(operand)); value != valueNumbers.end())
          read.insert(value->second);
      llvm::SmallBitVector symbolsRead = passes::symbolsReadBy(calls[i].op);
      for (unsigned symbol : symbolsRead.set_bits())
        if (auto value = symbolValues.find(symbol); value != symbolValues.end())
          read.insert(value->second);
      calls[i].reads = read.takeVector();
      for (size_t value : calls[i].reads)
        values[value].readers.push_back(i);
      for (Value result : calls[i].op->getResults()) {
        valueNumbers[result] = values.size();
        calls[i].writes.push_back(values.size());
        values.push_back({i, outputs.contains(result) ? 0 : bytesOf(result), {}});
      }
      llvm::SmallBitVector symbolsMade = passes::symbolsMadeBy(calls[i].op);
      for (unsigned symbol : symbolsMade.set_bits()) {
        symbolValues[symbol] = values.size();
        calls[i].writes.push_back(values.size());
        values.push_back({i, 0, {}});
      }
    }
  }

  static bool isCall(Operation *op) { return isa<CallOp, IfOp, LoopOp, BindOp, RequireOp>(op); }
  size_t size() const { return calls.size(); }
  Operation *call(size_t number) const { return calls[number].op; }

  /// Largest sum of bytes alive during any call.
  double peak(ArrayRef<size_t> order) const {
    SmallVector<size_t> left = readersLeft();
    double alive = 0, peak = 0;
    for (size_t number : order) {
      alive += written(number);
      peak = std::max(peak, alive);
      alive -= release(number, left);
    }
    return peak;
  }

  SmallVector<size_t> greedy() const {
    SmallVector<size_t> left = readersLeft(), missing(calls.size(), 0), order;
    std::set<size_t> ready;
    for (auto [i, call] : llvm::enumerate(calls)) {
      missing[i] = call.reads.size();
      if (missing[i] == 0)
        ready.insert(i);
    }
    while (!ready.empty()) {
      size_t best = *ready.begin();
      double bestGrowth = growth(best, left);
      for (size_t candidate : ready)
        if (double g = growth(candidate, left); g < bestGrowth) {
          best = candidate;
          bestGrowth = g;
        }
      ready.erase(best);
      order.push_back(best);
      release(best, left);
      for (size_t value : calls[best].writes)
        for (size_t reader : values[value].readers)
          if (--missing[reader] == 0)
            ready.insert(reader);
    }
    return order;
  }

  SmallVector<size_t> depthFirst() const {
    // Bytes that computing a call takes, seen as a tree.
    SmallVector<double> needs(calls.size(), 0);
    SmallVector<SmallVector<size_t>> before(calls.size());
    for (auto [i, call] : llvm::enumerate(calls)) {
      llvm::SetVector<size_t> makers;
      for (size_t value : call.reads)
        makers.insert(values[value].maker);
      before[i] = SmallVector<size_t>(makers.getArrayRef());
      llvm::sort(before[i], [&](size_t a, size_t b) {
        double aBeyond = needs[a] - written(a), bBeyond = needs[b] - written(b);
        return aBeyond != bBeyond ? aBeyond > bBeyond : a < b;
      });
      double held = 0;
      for (size_t maker : before[i]) {
        needs[i] = std::max(needs[i], held + needs[maker]);
        held += written(maker);
      }
      needs[i] = std::max(needs[i], held + written(i));
    }
    SmallVector<size_t> order;
    SmallVector<char> seen(calls.size(), false);
    for (size_t root = 0; root < calls.size(); ++root) {
      if (llvm::any_of(calls[root].writes, [&](size_t value) { return !values[value].readers.empty(); }))
        continue;
      SmallVector<std::pair<size_t, size_t>> stack = {{root, 0}}; // call, next of `before`
      seen[root] = true;
      while (!stack.empty()) {
        auto &[number, next] = stack.back();
        if (next == before[number].size()) {
          order.push_back(number);
          stack.pop_back();
          continue;
        }
        size_t maker = before[number][next++];
        if (!seen[maker]) {
          seen[maker] = true;
          stack.push_back({maker, 0});
        }
      }
    }
    return order;
  }

private:
  struct Call {
    Operation *op;
    SmallVector<size_t> reads = {}, writes = {};
  };
  struct StoredValue {
    size_t maker;
    double bytes;
    SmallVector<size_t> readers;
  };

  double bytesOf(Value value) const {
    return static_cast<double>(symbols.upper(plan::byteSize(cast<GraphTensorType>(value.getType()))));
  }

  double written(size_t number) const {
    double bytes = 0;
    for (size_t value : calls[number].writes)
      bytes += values[value].bytes;
    return bytes;
  }

  SmallVector<size_t> readersLeft() const {
    return llvm::map_to_vector(values, [](const StoredValue &value) { return value.readers.size(); });
  }

  /// Bytes more that are alive once the call has run.
  double growth(size_t number, ArrayRef<size_t> left) const {
    double bytes = 0;
    for (size_t value : calls[number].writes)
      bytes += values[value].readers.empty() ? 0 : values[value].bytes;
    for (size_t value : calls[number].reads)
      bytes -= left[value] == 1 ? values[value].bytes : 0;
    return bytes;
  }

  /// Counts the call's reads, returns the bytes that die with it.
  double release(size_t number, MutableArrayRef<size_t> left) const {
    double bytes = 0;
    for (size_t value : calls[number].reads)
      if (--left[value] == 0)
        bytes += values[value].bytes;
    for (size_t value : calls[number].writes)
      if (values[value].readers.empty())
        bytes += values[value].bytes;
    return bytes;
  }

  const Symbols &symbols;
  llvm::DenseMap<Value, size_t> valueNumbers;
  llvm::DenseMap<unsigned, size_t> symbolValues;
  SmallVector<Call> calls;
  SmallVector<StoredValue> values;
};

/// Puts the calls in order at the end of the block, each with the views that
/// it reads before it.
void apply(Block &body, const Orders &orders, ArrayRef<size_t> order) {
  Operation *end = passes::endOfWork(body);
  llvm::DenseSet<Operation *> placed;
  SmallVector<Operation *> views;
  for (Operation &op : body.without_terminator())
    if (passes::isView(&op))
      views.push_back(&op);
    else if (!Orders::isCall(&op) || !op.isBeforeInBlock(end))
      placed.insert(&op);
  auto place = [&](Operation *op, auto &place) -> void {
    if (!op || !placed.insert(op).second)
      return;
    if (passes::isView(op))
      place(op->getOperand(0).getDefiningOp(), place);
    op->moveBefore(end);
  };
  for (size_t number : order) {
    Operation *call = orders.call(number);
    for (Value operand : call->getOperands())
      place(operand.getDefiningOp(), place);
    place(call, place);
  }
  for (Operation *view : views)
    place(view, place);
}

struct OrderKernels : passes::impl::OrderKernelsBase<OrderKernels> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(plan::kKindAttr))
        order(function);
  }

  void order(func::FuncOp function) {
    Block &body = function.getBody().front();
    Symbols symbols = Symbols::of(function);
    Orders orders(body, symbols);
    if (orders.size() < 3 || orders.size() > kMaxCalls)
      return;
    SmallVector<size_t> best = llvm::to_vector(llvm::seq<size_t>(0, orders.size()));
    double before = orders.peak(best), lowest = before;
    for (const SmallVector<size_t> &order : {orders.greedy(), orders.depthFirst()})
      if (double peak = orders.peak(order); order.size() == best.size() && peak < lowest) {
        lowest = peak;
        best = order;
      }
    if (lowest < kWorthwhile * before)
      apply(body, orders, best);
  }
};
} // namespace
