// A loop nest walks the memory of its first result: rows of the innermost
// memory dimension, each cut into vectors of several registers, vectors of one
// register, and single elements. What an element is, the element emitter says;
// it also moves what is the same for a whole row out of the row.
//
//   for row in [begin0, end0):
//     indices of the outer dimensions
//     for i in [begin1 * kInnerBlock, min(end1 * kInnerBlock, inner)) by vectors:
//       emit all results at (row, i), then store them
//
// A tiled result has tiles for rows: the lanes beyond the tensor's end are
// stored as zeros.
#include "compiler/codegen/loopnest/LoopNest.h"

#include "compiler/codegen/emitter/ElementEmitter.h"
#include "dialects/Graph/KernelGrid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::GraphTensorType;

namespace {
class LoopNest {
public:
  LoopNest(func::FuncOp source, const target::Variant &variant, ModuleOp into)
      : kernel(source, variant, into), emitter(kernel), type(kernel.resultType(0)),
        extents(graph::memoryExtents(type)) {
    inner = extents.empty() ? getAffineConstantExpr(1, type.getContext()) : extents.pop_back_val();
  }

  int64_t lower() {
    kernel.loop(kernel.begin(0), kernel.end(0), kernel.constant(1), [&](Value row) {
      SmallVector<Index> indices = rowIndices(row);
      if (type.getLayout() && type.getLayout().isTiled())
        lowerTile(indices);
      else
        lowerRow(indices);
    });
    kernel.finish();
    return kernel.scratchBytes();
  }

private:
  /// Logical indices of a row: the row's number taken apart in memory order;
  /// the innermost dimension is 0 (of a tiled layout: the tile's first).
  SmallVector<Index> rowIndices(Value row) {
    SmallVector<Index> indices(type.getRank(), Index{kernel.constant(0)});
    SmallVector<int64_t> order = type.getOrder();
    graph::LayoutAttr layout = type.getLayout();
    for (int64_t i = static_cast<int64_t>(extents.size()) - 1; i >= 0; --i) {
      Value size = kernel.evaluate(extents[i]);
      Value at = i == 0 ? row : kernel.rem(row, size);
      if (i > 0)
        row = kernel.div(row, size);
      if (layout && layout.getTiledDim() == order[i])
        indices[order[i]] = {kernel.mul(at, layout.getTileSize()), 0, layout.getTileSize()};
      else
        indices[order[i]] = {at};
    }
    return indices;
  }

  void emitAndStore(ArrayRef<Index> indices, int64_t width) {
    SmallVector<Value> values;
    for (Value result : kernel.results())
      values.push_back(emitter.emit(result, indices, width));
    for (auto [number, value] : llvm::enumerate(values))
      emitter.store(number, indices, width, value);
  }

  void lowerRow(SmallVector<Index> indices) {
    if (type.getRank() == 0)
      return emitAndStore(indices, 1);
    int64_t dim = type.getOrder().back();
    Value size = kernel.evaluate(inner);
    Value block = kernel.constant(graph::kInnerBlock);
    Value at = kernel.mul(kernel.begin(1), block), end = kernel.min(kernel.mul(kernel.end(1), block), size);
    std::optional<int64_t> fixed = kernel.constantOf(size);
    int64_t most = kernel.symbols.upper(inner);
    bool done = false;
    for (int64_t width : widths()) {
      if (done || most < width)
        continue;
      // Blocks begin at multiples of every width.
      Value stop = end;
      if (width > 1 && !(fixed && *fixed % width == 0))
        stop = kernel.sub(end, kernel.rem(end, kernel.constant(width)));
      else
        done = true;
      kernel.loop(at, stop, kernel.constant(width), [&](Value i) {
        indices[dim] = {i, width > 1 ? 1 : 0, width};
        emitAndStore(indices, width);
      });
      at = kernel.max(at, stop);
    }
  }

  /// Vectors of several registers, of one, and single elements. A body that
  /// needs many registers gets fewer for each value.
  SmallVector<int64_t> widths() {
    int64_t bits = 8, values = 0;
    kernel.source.getBody().walk([&](Operation *op) {
      for (Value result : op->getResults()) {
        auto resultType = cast<GraphTensorType>(result.getType());
        bits = std::max<int64_t>(bits, registerType(resultType.getElementType()).getIntOrFloatBitWidth());
        ++values;
      }
      if (isa<graph::GatherOp, graph::GatherElementsOp, graph::GatherNDOp>(op))
        ++values;
    });
    for (BlockArgument argument : kernel.source.getArguments()) {
      Type element = cast<GraphTensorType>(argument.getType()).getElementType();
      bits = std::max<int64_t>(bits, registerType(element).getIntOrFloatBitWidth());
    }
    int64_t lanes = std::min<int64_t>(kernel.variant.lanes(bits), graph::kInnerBlock);
    int64_t registers = values > 8 ? 2 : 4;
    SmallVector<int64_t> widths;
    if (int64_t width = std::min<int64_t>(lanes * registers, graph::kInnerBlock); width > lanes)
      widths.push_back(width);
    if (lanes > 1)
      widths.push_back(lanes);
    widths.push_back(1);
    return widths;
  }

  void lowerTile(SmallVector<Index> indices) {
    graph::LayoutAttr layout = type.getLayout();
    int64_t dim = layout.getTiledDim(), tile = layout.getTileSize();
    Value first = indices[dim].base, size = kernel.evaluate(type.getDim(dim));
    Value isFull = kernel.lessEqual(kernel.add(first, tile), size);
    SmallVector<Value> values;
    indices[dim].laneStride = 1;
    for (Value result : kernel.results()) {
      Type element = cast<GraphTensorType>(result.getType()).getElementType();
      Type registers = registerType(element);
      auto zero = [&](Type like) -> Value {
        return kernel.builder.create<arith::ConstantOp>(kernel.loc, kernel.builder.getZeroAttr(like));
      };
      values.push_back(kernel.select(
          isFull, vectorOf(registers, tile), [&] { return emitter.emit(result, indices, tile); },
          [&] {
            return emitter.lanes(indices, tile, element, [&](ArrayRef<Index> lane) {
              return kernel.select(
                  kernel.less(lane[dim].base, size), registers, [&] { return emitter.emit(result, lane, 1); },
                  [&] { return zero(registers); });
            });
          }));
    }
    for (auto [number, value] : llvm::enumerate(values))
      emitter.store(number, indices, tile, value);
  }

  KernelBuilder kernel;
  ElementEmitter emitter;
  GraphTensorType type;
  SmallVector<AffineExpr> extents; // of the rows
  AffineExpr inner;
};
} // namespace

llvm::Expected<int64_t> codegen::lowerLoopNest(func::FuncOp kernel, const target::Variant &variant, ModuleOp into) {
  return LoopNest(kernel, variant, into).lower();
}
