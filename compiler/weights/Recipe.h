// A weight recipe made ready to run: which source element goes where.
//
// The steps of a recipe (transpose, reshape, cast) and the final layout become
// a nest of loops over the result's memory, in memory order, each with a
// stride in the source. Where a reshape cuts across a transpose no strides
// exist; then the position of each element is worked out step by step.
#ifndef STINT_COMPILER_WEIGHTS_RECIPE_H
#define STINT_COMPILER_WEIGHTS_RECIPE_H

#include "dialects/Graph/GraphDialect.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace stint::weights {

class Recipe {
public:
  /// `source`: the bytes the extent names. Errors: sizes, shapes or types that
  /// do not agree (only a broken importer or pass makes them).
  static llvm::Expected<Recipe> create(llvm::ArrayRef<uint8_t> source, graph::ExtentAttr extent, mlir::ArrayAttr steps,
                                       graph::GraphTensorType type);

  /// Bytes of the result in memory, padding of a tiled layout included.
  uint64_t size() const { return count * elementSize; }

  /// Calls `sink` with the bytes of the result in order, in pieces of at most
  /// `kTileBytes`: memory use does not depend on the weight's size.
  void evaluate(llvm::function_ref<void(llvm::ArrayRef<uint8_t>)> sink) const;

  static constexpr int64_t kTileBytes = 1 << 20;

private:
  /// A strided view: element [i0, i1, …] is at the sum of i * stride.
  struct View {
    llvm::SmallVector<int64_t> shape, strides;
  };
  /// One loop over the result's memory. The logical dimension it walks along
  /// advances by `scale` a step.
  struct Loop {
    int64_t extent;
    unsigned dim;
    int64_t scale;
  };

  /// Source elements [first, first + count) of the result's memory order.
  void gather(int64_t first, int64_t count, uint8_t *out) const;
  int64_t sourceIndex(llvm::ArrayRef<int64_t> index) const;

  llvm::ArrayRef<uint8_t> source;
  llvm::SmallVector<View, 2> views;       // from the result back to the source
  llvm::SmallVector<mlir::Type, 2> types; // the source's, then after each cast
  llvm::SmallVector<int64_t> shape;       // of the result, logical
  llvm::SmallVector<Loop> loops;
  int64_t sourceElementSize = 1, elementSize = 1;
  int64_t count = 1; // elements of the result in memory
};

} // namespace stint::weights

#endif
