// A row's coordinates are needed only where some tensor is broadcast along a
// part of the row dimensions; mostly all of them can be taken as one.
#include "compiler/codegen/contraction/Epilogue.h"

#include "dialects/Graph/KernelGrid.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;

static constexpr int64_t kColumns = graph::kPanelColumns;
/// Operators that are worth unrolling for all rows of a register tile.
static constexpr int64_t kCheapOperators = 8;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

/// Everything is an instruction or two on floats as they lie in memory.
static bool isCheap(KernelBuilder &kernel) {
  Block &body = kernel.source.getBody().front();
  int64_t count = 0;
  for (Operation &op : body.without_terminator()) {
    if (isa<graph::MatMulOp, graph::ConvOp, graph::ConstantOp>(op))
      continue;
    if (!isa<graph::AddOp, graph::SubOp, graph::MulOp, graph::MinOp, graph::MaxOp, graph::NegOp, graph::AbsOp>(op) ||
        ++count > kCheapOperators)
      return false;
  }
  return llvm::all_of(kernel.results(), [](Value result) {
    Type element = tensorType(result).getElementType();
    return element.isF32() || element.isF64();
  });
}

Epilogue::Epilogue(KernelBuilder &kernel, ElementEmitter &emitter, const Problem &problem)
    : kernel(kernel), emitter(emitter), problem(problem), columns(kernel.evaluate(problem.columns)),
      cheap(isCheap(kernel)) {
  for (int64_t dim : problem.rowDims)
    if (!(kernel.symbols.simplify(problem.type.getDim(dim)) == 1))
      dims.push_back(dim);
  if (dims.size() > 1 && rowsAreNested()) {
    dims = {dims.back()};
    extents = {kernel.evaluate(problem.rows)};
  } else {
    for (int64_t dim : dims)
      extents.push_back(kernel.evaluate(problem.type.getDim(dim)));
  }
  for (int64_t dim : problem.batchDims)
    batchExtents.push_back(kernel.evaluate(problem.type.getDim(dim)));
}

bool Epilogue::rowsAreNested() {
  auto nested = [&](GraphTensorType type) {
    int64_t shift = problem.type.getRank() - type.getRank();
    auto has = [&](int64_t dim) { return dim >= shift && !(type.getDim(dim - shift) == 1); };
    if (llvm::none_of(dims, has))
      return true;
    if (!llvm::all_of(dims, has))
      return false;
    MemoryMap map = MemoryMap::of(type);
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t dim = dims[i] - shift;
      if (dim == map.tiledDim || type.getDim(dim) != problem.type.getDim(dims[i]))
        return false;
      if (i == 0)
        continue;
      AffineExpr outer = map.strides[dims[i - 1] - shift], inner = map.strides[dim] * type.getDim(dim);
      if (kernel.symbols.simplify(outer) != kernel.symbols.simplify(inner))
        return false;
    }
    return true;
  };
  Block &body = kernel.source.getBody().front();
  for (BlockArgument argument : body.getArguments())
    for (Operation *user : argument.getUsers())
      if (user != problem.op && !nested(tensorType(argument)))
        return false;
  for (Operation &op : body.without_terminator())
    if (&op != problem.op && !isa<graph::ConstantOp>(op) && !op.hasTrait<graph::Elementwise>())
      return false;
  return llvm::all_of(kernel.results(), [&](Value result) { return nested(tensorType(result)); });
}

void Epilogue::enter(Value at) {
  batch = at;
  batchIndices = delinearize(kernel, batch, batchExtents);
}

SmallVector<Value> Epilogue::locate(Value row) {
  return dims.empty() ? SmallVector<Value>() : delinearize(kernel, row, extents);
}

SmallVector<Value> Epilogue::next(ValueRange coordinates) {
  return dims.empty() ? SmallVector<Value>() : advance(kernel, coordinates, extents);
}

Value Epilogue::firstColumn(Value panel) {
  Value column = kernel.mul(panel, kColumns);
  return problem.grouped ? kernel.add(kernel.mul(batch, columns), column) : column;
}

/// What the first column of every panel is a multiple of, in the result.
int64_t Epilogue::columnDivisor() {
  std::optional<int64_t> known = kernel.constantOf(columns);
  return !problem.grouped ? kColumns : known && *known > 0 ? std::gcd(*known, kColumns) : 1;
}

Value Epilogue::isWhole(Value panel) {
  std::optional<int64_t> known = kernel.constantOf(columns);
  if (known && *known % kColumns == 0)
    return Value();
  return kernel.lessEqual(kernel.mul(kernel.add(panel, 1), kColumns), columns);
}

/// `width` elements of all results from `column` on.
void Epilogue::elements(ValueRange coordinates, Value column, int64_t width, int64_t divisor, Provider sums) {
  SmallVector<Index> indices(problem.type.getRank(), Index{kernel.constant(0)});
  for (auto [dim, at] : llvm::zip_equal(problem.batchDims, batchIndices))
    indices[dim] = Index{at};
  for (auto [dim, at] : llvm::zip_equal(dims, coordinates))
    indices[dim] = Index{at};
  indices[problem.columnDim] = Index{column, width > 1 ? 1 : 0, divisor};
  emitter.bind(problem.value, std::move(sums));
  SmallVector<Value> values;
  for (Value result : kernel.results())
    values.push_back(emitter.emit(result, indices, width));
  for (auto [number, value] : llvm::enumerate(values))
    emitter.store(number, indices, width, value);
}

void Epilogue::fromRegisters(Value panel, Value row, ArrayRef<Value> sums) {
  SmallVector<Value> coordinates = locate(row);
  Value first = firstColumn(panel);
  for (Value sum : sums) {
    elements(coordinates, first, kColumns, columnDivisor(), [this, sum, first](ArrayRef<Index> at, int64_t width) {
      if (width == kColumns)
        return sum;
      assert(width == 1 && "all columns, or one");
      Value lane = kernel.sub(at[problem.columnDim].base, first);
      return Value(kernel.builder.create<vector::ExtractElementOp>(kernel.loc, sum, lane));
    });
    coordinates = next(coordinates);
  }
}

void Epilogue::fromMemory(Value panel, Value row, Value count, Value sums) {
  int64_t bytes = problem.accumulatorBytes(), divisor = columnDivisor();
  Value first = firstColumn(panel);
  auto rows = [&](function_ref<void(ValueRange, const Provider &)> emitRow) {
    kernel.loop(kernel.constant(0), count, kernel.constant(1), locate(row), [&](Value i, ValueRange coordinates) {
      Value rowSums = kernel.address(sums, kernel.mul(i, kColumns), bytes);
      emitRow(coordinates, [this, rowSums, first, bytes](ArrayRef<Index> at, int64_t width) {
        Value offset = kernel.sub(at[problem.columnDim].base, first);
        return kernel.load(kernel.address(rowSums, offset, bytes), vectorOf(problem.accumulator, width));
      });
      return next(coordinates);
    });
  };
  auto whole = [&] {
    rows([&](ValueRange coordinates, const Provider &provider) {
      elements(coordinates, first, kColumns, divisor, provider);
    });
  };
  std::optional<int64_t> known = kernel.constantOf(columns);
  auto part = [&] {
    rows([&](ValueRange coordinates, const Provider &provider) {
      if (known) {
        int64_t rest = *known % kColumns;
        for (int64_t at = 0, width = kColumns / 2; width >= 1; width /= 2)
          if (rest & width) {
            elements(coordinates, kernel.add(first, at), width, std::gcd(divisor, width), provider);
            at += width;
          }
        return;
      }
      kernel.loop(kernel.constant(0), kernel.sub(columns, kernel.mul(panel, kColumns)), kernel.constant(1),
                  [&](Value lane) { elements(coordinates, kernel.add(first, lane), 1, 1, provider); });
    });
  };
  Value isAll = isWhole(panel);
  if (!isAll)
    return whole();
  if (known && *known < kColumns)
    return part();
  branch(kernel, isAll, whole, part);
}
