// Sliding windows and sums of products as loops: pooling, depthwise
// convolution, and the products that the contraction generator does not take.
//
// A tap lies inside the input for a range of k that is computed once per
// output position, so that no tap is tested. Where the whole window is inside
// and small, its taps are written out.
#include "compiler/codegen/emitter/ElementEmitter.h"
#include "compiler/codegen/emitter/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;
using graph::ReduceKind;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

/// Taps that are written out at most.
static constexpr int64_t kMaxUnrolledTaps = 25;

namespace {
/// One dimension of a window, for one output position.
struct WindowDim {
  int64_t dim; // of the input
  int64_t window, dilation;
  Value origin;       // input position of tap 0
  Value lower, upper; // taps inside the input
};

class Window {
public:
  explicit Window(KernelBuilder &kernel) : kernel(kernel) {}

  void add(int64_t dim, Value output, AffineExpr size, int64_t window, int64_t stride, int64_t dilation, int64_t padLow,
           int64_t padHigh) {
    WindowDim d{dim,
                window,
                dilation,
                kernel.add(kernel.mul(output, stride), -padLow),
                kernel.constant(0),
                kernel.constant(window)};
    Value step = kernel.constant(dilation);
    // origin + k·dilation >= 0; ceil(-origin / dilation)
    if (padLow > 0) {
      d.lower = kernel.max(kernel.constant(0), kernel.sub(kernel.constant(0), kernel.floorDiv(d.origin, step)));
      guard(kernel.lessEqual(kernel.constant(0), d.origin));
    }
    // origin + k·dilation <= size - 1
    if (padHigh > 0) {
      Value room = kernel.sub(kernel.sub(kernel.evaluate(size), kernel.constant(1)), d.origin);
      d.upper = kernel.min(d.upper, kernel.add(kernel.floorDiv(room, step), 1));
      guard(kernel.lessEqual(kernel.constant((window - 1) * dilation), room));
    }
    taps *= window;
    dims.push_back(d);
  }

  using Body = function_ref<SmallVector<Value>(ArrayRef<Value> positions, ArrayRef<Value> tap, ValueRange state)>;
  /// The state after all taps inside, in row-major order. `positions` and
  /// `tap` have one value per dimension added.
  SmallVector<Value> run(ValueRange state, Body body) {
    auto all = [&](bool whole) {
      SmallVector<Value> positions, tap;
      return nest(0, whole, SmallVector<Value>(state), positions, tap, body);
    };
    bool unroll = taps <= kMaxUnrolledTaps;
    if (!interior)
      return all(unroll);
    if (!unroll || state.size() != 1)
      return all(false);
    return {kernel.select(interior, state[0].getType(), [&] { return all(true)[0]; }, [&] { return all(false)[0]; })};
  }

  /// Number of taps inside, as i64.
  Value count() {
    Value count = kernel.constant(1);
    for (const WindowDim &d : dims)
      count = kernel.mul(count, kernel.max(kernel.sub(d.upper, d.lower), kernel.constant(0)));
    return count;
  }

private:
  void guard(Value inside) {
    interior = interior ? kernel.builder.create<arith::AndIOp>(kernel.loc, interior, inside).getResult() : inside;
  }

  SmallVector<Value> nest(size_t level, bool whole, SmallVector<Value> state, SmallVector<Value> &positions,
                          SmallVector<Value> &tap, Body body) {
    if (level == dims.size())
      return body(positions, tap, state);
    const WindowDim &d = dims[level];
    auto at = [&](Value k, ValueRange now) {
      positions.push_back(kernel.add(d.origin, kernel.mul(k, d.dilation)));
      tap.push_back(k);
      SmallVector<Value> next = nest(level + 1, whole, SmallVector<Value>(now), positions, tap, body);
      positions.pop_back();
      tap.pop_back();
      return next;
    };
    if (whole) {
      for (int64_t k = 0; k < d.window; ++k)
        state = at(kernel.constant(k), state);
      return state;
    }
    if (d.window == 1 && kernel.constantOf(d.lower) == 0 && kernel.constantOf(d.upper) == 1)
      return at(kernel.constant(0), state);
    ValueRange results =
        kernel.loop(d.lower, d.upper, kernel.constant(1), state, [&](Value k, ValueRange now) { return at(k, now); });
    return SmallVector<Value>(results);
  }

  KernelBuilder &kernel;
  SmallVector<WindowDim> dims;
  Value interior; // all taps are inside; null: always
  int64_t taps = 1;
};
} // namespace

Value ElementEmitter::emitWindowReduce(graph::WindowReduceOp op, unsigned number, ArrayRef<Index> indices,
                                       int64_t width) {
  GraphTensorType type = tensorType(op.getInput());
  Type element = type.getElementType();
  int64_t rank = type.getRank();
  auto slides = [&](int64_t d) {
    return op.getWindow()[d] != 1 || op.getStrides()[d] != 1 || op.getPadLow()[d] != 0 || op.getPadHigh()[d] != 0;
  };
  for (int64_t d = 0; d < rank; ++d)
    if (slides(d) && indices[d].laneStride != 0)
      return lanes(indices, width, tensorType(op->getResult(number)).getElementType(),
                   [&](ArrayRef<Index> lane) { return emit(op->getResult(number), lane, 1); });

  OpBuilder &builder = kernel.builder;
  OpBuilder::InsertPoint saved = hoistFor(op, indices);
  Arithmetic arith(builder, kernel.loc, kernel.variant);
  Window window(kernel), padded(kernel);
  SmallVector<int64_t> sliding;
  for (int64_t d = 0; d < rank; ++d) {
    if (!slides(d))
      continue;
    sliding.push_back(d);
    int64_t low = op.getPadLow()[d], high = op.getPadHigh()[d];
    window.add(d, indices[d].base, type.getDim(d), op.getWindow()[d], op.getStrides()[d], op.getDilations()[d], low,
               high);
    if (auto count = op.getCountPadding()) {
      // The widened input begins countLow before the input.
      int64_t countLow = (*count)[d], countHigh = (*count)[rank + d];
      padded.add(d, indices[d].base, type.getDim(d) + countLow + countHigh, op.getWindow()[d], op.getStrides()[d],
                 op.getDilations()[d], low - countLow, high - countHigh);
    }
  }
  SmallVector<Index> at(indices);
  auto input = [&](ArrayRef<Value> positions) {
    for (auto [i, d] : llvm::enumerate(sliding))
      at[d] = {positions[i]};
    return emit(op.getInput(), at, width);
  };
  bool isMax = op.getKind() == ReduceKind::max, isMin = op.getKind() == ReduceKind::min;
  Type registers = vectorOf(registerType(element), width);
  Value start = arith.constant(registers, 0);
  if (isMax || isMin)
    start = arith.lowest(registers, element, /*highest=*/isMin);

  if (op.getIndices()) {
    Value none = splat(kernel.constant(-1), width);
    SmallVector<Value> state = window.run(ValueRange{start, none}, [&](auto positions, auto, ValueRange now) {
      Value x = input(positions);
      Value better = arith.compare(graph::ComparePredicate::gt, x, now[0], element);
      Value first =
          arith.compare(graph::ComparePredicate::lt, now[1], splat(kernel.constant(0), width), builder.getI64Type());
      better = builder.create<arith::OrIOp>(kernel.loc, better, first);
      if (isa<FloatType>(element)) { // the first NaN beats every number
        Value ordered = builder.create<arith::CmpFOp>(kernel.loc, arith::CmpFPredicate::ORD, now[0], now[0]);
        better = builder.create<arith::OrIOp>(kernel.loc, better,
                                              builder.create<arith::AndIOp>(kernel.loc, arith.isNaN(x), ordered));
      }
      Value position = linearIndex(type, at, width);
      return SmallVector<Value>{builder.create<arith::SelectOp>(kernel.loc, better, x, now[0]),
                                builder.create<arith::SelectOp>(kernel.loc, better, position, now[1])};
    });
    builder.restoreInsertionPoint(saved);
    // The other result is likely to be asked for next.
    emitted[op->getResult(1 - number)].push_back({SmallVector<Index>(indices), width, state[1 - number]});
    return state[number];
  }

  Value result = window.run(start, [&](auto positions, auto, ValueRange now) {
    Value x = input(positions);
    Value next =
        isMax ? arith.max(now[0], x, element) : (isMin ? arith.min(now[0], x, element) : arith.add(now[0], x, element));
    return SmallVector<Value>{next};
  })[0];
  if (op.getKind() == ReduceKind::mean) {
    Value count = op.getCountPadding() ? padded.count() : window.count();
    Type countType = isa<FloatType>(element) ? registerType(element) : element;
    result = arith.div(result, splat(arith.cast(count, builder.getI64Type(), countType), width), element);
  }
  builder.restoreInsertionPoint(saved);
  return result;
}

Value ElementEmitter::linearIndex(GraphTensorType type, ArrayRef<Index> indices, int64_t width) {
  OpBuilder &builder = kernel.builder;
  Value base = kernel.constant(0), step = kernel.constant(0);
  for (int64_t d = 0; d < type.getRank(); ++d) {
    base = kernel.add(kernel.mul(base, type.getDim(d)), indices[d].base);
    step = kernel.add(kernel.mul(step, type.getDim(d)), indices[d].laneStride);
  }
  if (width == 1)
    return base;
  SmallVector<int64_t> lane;
  for (int64_t l = 0; l < width; ++l)
    lane.push_back(l);
  Value lanes = builder.create<arith::ConstantOp>(
      kernel.loc, DenseElementsAttr::get(VectorType::get({width}, builder.getI64Type()), ArrayRef<int64_t>(lane)));
  Value offsets = builder.create<arith::MulIOp>(kernel.loc, lanes, splat(step, width));
  return builder.create<arith::AddIOp>(kernel.loc, splat(base, width), offsets);
}

Value ElementEmitter::emitConv(graph::ConvOp op, ArrayRef<Index> indices, int64_t width) {
  GraphTensorType input = tensorType(op.getInput()), weight = tensorType(op.getWeight());
  Type element = input.getElementType();
  bool oneGroup = weight.getDim(0) == 1, oneOutput = weight.getDim(1) == 1, oneChannel = weight.getDim(2) == 1;
  bool lanesVary = !oneGroup && !oneOutput && indices[1].laneStride != 0;
  for (const Index &index : indices.drop_front(2))
    lanesVary |= index.laneStride != 0;
  if (lanesVary)
    return lanes(indices, width, element, [&](ArrayRef<Index> lane) { return emit(op.getResult(), lane, 1); });

  OpBuilder::InsertPoint saved = hoistFor(op, indices);
  Arithmetic arith(kernel.builder, kernel.loc, kernel.variant);
  Index zero{kernel.constant(0)}, group = zero, output = zero;
  if (oneGroup)
    output = indices[1];
  else if (oneOutput)
    group = indices[1];
  else {
    Value outputs = kernel.evaluate(weight.getDim(1));
    group = {kernel.div(indices[1].base, outputs)};
    output = {kernel.rem(indices[1].base, outputs)};
  }
  Window window(kernel);
  int64_t spatial = op.getSpatialRank();
  for (int64_t d = 0; d < spatial; ++d)
    window.add(2 + d, indices[2 + d].base, input.getDim(2 + d), *weight.getStaticDim(3 + d), op.getStrides()[d],
               op.getDilations()[d], op.getPadLow()[d], op.getPadHigh()[d]);
  auto product = [&](Index channel, ArrayRef<Value> positions, ArrayRef<Value> tap, Value sum) {
    Index inputChannel = group;
    if (!oneChannel) {
      inputChannel = {kernel.add(kernel.mul(group.base, weight.getDim(2)), channel.base), 0};
      assert(group.laneStride == 0 || width == 1);
    }
    SmallVector<Index> at{indices[0], inputChannel}, of{group, output, channel};
    for (int64_t d = 0; d < spatial; ++d) {
      at.push_back({positions[d]});
      of.push_back({tap[d]});
    }
    return arith.mulAdd(emit(op.getInput(), at, width), emit(op.getWeight(), of, width), sum, element);
  };
  Value start = arith.constant(vectorOf(registerType(element), width), 0);
  Value result = window.run(start, [&](auto positions, auto tap, ValueRange now) {
    if (oneChannel)
      return SmallVector<Value>{product(zero, positions, tap, now[0])};
    return SmallVector<Value>(kernel.loop(
        kernel.constant(0), kernel.evaluate(weight.getDim(2)), kernel.constant(1), now,
        [&](Value c, ValueRange sums) { return SmallVector<Value>{product({c}, positions, tap, sums[0])}; }));
  })[0];
  kernel.builder.restoreInsertionPoint(saved);
  return result;
}

Value ElementEmitter::emitMatMul(graph::MatMulOp op, ArrayRef<Index> indices, int64_t width) {
  GraphTensorType lhs = tensorType(op.getLhs());
  Type element = lhs.getElementType();
  OpBuilder::InsertPoint saved = hoistFor(op, indices);
  Arithmetic arith(kernel.builder, kernel.loc, kernel.variant);
  Value start = arith.constant(vectorOf(registerType(element), width), 0);
  Value result =
      kernel.loop(kernel.constant(0), kernel.evaluate(lhs.getShape().back()), kernel.constant(1), start,
                  [&](Value k, ValueRange sums) {
                    SmallVector<Index> a = broadcastTo(op.getLhs(), indices), b = broadcastTo(op.getRhs(), indices);
                    a.back() = {k};
                    b[b.size() - 2] = {k};
                    return SmallVector<Value>{
                        arith.mulAdd(emit(op.getLhs(), a, width), emit(op.getRhs(), b, width), sums[0], element)};
                  })[0];
  kernel.builder.restoreInsertionPoint(saved);
  return result;
}
