// Evaluates weight recipes in tiles.
#include "compiler/weights/Recipe.h"

#include "compiler/weights/Convert.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <optional>

using namespace mlir;
using namespace stint;
using namespace stint::weights;

static llvm::Error problem(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static int64_t product(ArrayRef<int64_t> values) {
  int64_t result = 1;
  for (int64_t value : values)
    result *= value;
  return result;
}

static SmallVector<int64_t> rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

/// Strides that give a strided tensor another shape with the same row-major
/// order of elements; nullopt where none do. Runs of old dimensions that
/// follow each other without a gap are matched with runs of new ones.
static std::optional<SmallVector<int64_t>> reshapeStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                                                          ArrayRef<int64_t> target) {
  if (product(target) == 0)
    return rowMajor(target);
  SmallVector<std::pair<int64_t, int64_t>> old; // extent, stride; no 1s
  for (auto [extent, stride] : llvm::zip(shape, strides))
    if (extent != 1)
      old.push_back({extent, stride});
  SmallVector<int64_t> result(target.size(), 0);
  size_t i = 0, j = 0;
  while (i < old.size()) {
    size_t firstOld = i, firstNew = j;
    int64_t oldCount = old[i++].first, newCount = 1;
    while (newCount != oldCount || (j < target.size() && target[j] == 1)) {
      if (newCount < oldCount || newCount == oldCount) {
        if (j == target.size())
          return std::nullopt;
        newCount *= target[j++];
      } else {
        if (i == old.size())
          return std::nullopt;
        oldCount *= old[i++].first;
      }
    }
    for (size_t k = firstOld; k + 1 < i; ++k)
      if (old[k].second != old[k + 1].first * old[k + 1].second)
        return std::nullopt;
    int64_t stride = old[i - 1].second;
    for (size_t k = j; k-- > firstNew;) {
      result[k] = stride;
      stride *= target[k];
    }
  }
  return result;
}

llvm::Expected<Recipe> Recipe::create(ArrayRef<uint8_t> source, graph::ExtentAttr extent, ArrayAttr steps,
                                      graph::GraphTensorType type) {
  Recipe recipe;
  recipe.source = source;
  recipe.types.push_back(extent.getType());
  recipe.sourceElementSize = graph::elementBytes(extent.getType());
  SmallVector<int64_t> shape(extent.getShape());
  for (int64_t dim : shape)
    if (dim < 0)
      return problem("a weight has a negative dimension");
  if (product(shape) * recipe.sourceElementSize != static_cast<int64_t>(source.size()))
    return problem("a weight's size does not match its shape");
  // From the source to the result; the newest view comes last.
  recipe.views.push_back({shape, rowMajor(shape)});
  for (Attribute attribute : steps) {
    auto step = dyn_cast<graph::StepAttr>(attribute);
    if (!step)
      return problem("a recipe's step is no #graph.step");
    View &view = recipe.views.back();
    ArrayRef<int64_t> values = step.getValues();
    if (step.getKind() == "transpose") {
      View next;
      if (values.size() != view.shape.size())
        return problem("a transpose step has the wrong rank");
      for (int64_t from : values) {
        if (from < 0 || from >= static_cast<int64_t>(view.shape.size()))
          return problem("a transpose step names a dimension that is not there");
        next.shape.push_back(view.shape[from]);
        next.strides.push_back(view.strides[from]);
      }
      view = next;
    } else if (step.getKind() == "reshape") {
      if (product(values) != product(view.shape))
        return problem("a reshape step changes the number of elements");
      if (auto strides = reshapeStrides(view.shape, view.strides, values))
        view = {SmallVector<int64_t>(values), *strides};
      else
        recipe.views.push_back({SmallVector<int64_t>(values), rowMajor(values)});
    } else if (step.getKind() == "cast") {
      if (!isConvertible(recipe.types.back()) || !isConvertible(step.getType()))
        return problem("a cast step between types that cannot be converted");
      recipe.types.push_back(step.getType());
    } else {
      return problem("unknown recipe step '" + step.getKind() + "'");
    }
  }
  std::reverse(recipe.views.begin(), recipe.views.end());
  if (!type.hasStaticShape() || type.getStaticShape() != recipe.views.front().shape)
    return problem("a recipe does not give its type's shape");
  if (type.getElementType() != recipe.types.back())
    return problem("a recipe does not give its type's elements");
  recipe.shape = type.getStaticShape();
  recipe.elementSize = graph::elementBytes(type.getElementType());

  auto layout = type.getLayout();
  int64_t tiled = layout && layout.isTiled() ? layout.getTiledDim() : -1;
  for (int64_t dim : type.getOrder())
    if (dim == tiled)
      recipe.loops.push_back({(recipe.shape[dim] + layout.getTileSize() - 1) / layout.getTileSize(),
                              static_cast<unsigned>(dim), layout.getTileSize()});
    else
      recipe.loops.push_back({recipe.shape[dim], static_cast<unsigned>(dim), 1});
  if (tiled >= 0)
    recipe.loops.push_back({layout.getTileSize(), static_cast<unsigned>(tiled), 1});
  for (const Loop &loop : recipe.loops)
    recipe.count *= loop.extent;
  return recipe;
}

int64_t Recipe::sourceIndex(ArrayRef<int64_t> index) const {
  SmallVector<int64_t, 8> current(index);
  int64_t position = 0;
  for (size_t v = 0; v < views.size(); ++v) {
    position = 0;
    for (auto [i, stride] : llvm::zip(current, views[v].strides))
      position += i * stride;
    if (v + 1 == views.size())
      break;
    // A position in the row-major order of the next view.
    const View &next = views[v + 1];
    current.resize(next.shape.size());
    int64_t rest = position;
    for (size_t i = next.shape.size(); i-- > 0;) {
      current[i] = rest % next.shape[i];
      rest /= next.shape[i];
    }
  }
  return position;
}

/// Copies `count` elements `stride` elements apart.
static void copyStrided(const uint8_t *from, int64_t stride, int64_t size, int64_t count, uint8_t *to) {
  if (stride == 1) {
    std::memcpy(to, from, count * size);
    return;
  }
  auto loop = [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * sizeof(T), from + i * stride * sizeof(T), sizeof(T));
  };
  switch (size) {
  case 1:
    return loop(uint8_t());
  case 2:
    return loop(uint16_t());
  case 4:
    return loop(uint32_t());
  default:
    return loop(uint64_t());
  }
}

void Recipe::gather(int64_t first, int64_t wanted, uint8_t *out) const {
  size_t rank = loops.size();
  if (rank == 0) {
    std::memcpy(out, source.data(), sourceElementSize);
    return;
  }
  SmallVector<int64_t, 9> at(rank);
  int64_t rest = first;
  for (size_t i = rank; i-- > 0;) {
    at[i] = rest % loops[i].extent;
    rest /= loops[i].extent;
  }
  const Loop &inner = loops.back();
  bool strided = views.size() == 1;
  int64_t innerStride = strided ? views[0].strides[inner.dim] * inner.scale : 0;
  SmallVector<int64_t, 8> index(shape.size());
  while (wanted > 0) {
    // One run along the innermost loop. Indices past a tiled dimension's end
    // are padding.
    int64_t run = std::min(inner.extent - at[rank - 1], wanted);
    std::fill(index.begin(), index.end(), 0);
    for (size_t i = 0; i < rank; ++i)
      index[loops[i].dim] += at[i] * loops[i].scale;
    bool inside = true;
    for (size_t i = 0; i + 1 < rank; ++i)
      inside &= loops[i].dim == inner.dim || index[loops[i].dim] < shape[loops[i].dim];
    int64_t present = std::clamp<int64_t>(shape[inner.dim] - index[inner.dim], 0, run);
    if (!inside)
      present = 0;
    if (present > 0 && strided) {
      copyStrided(source.data() + sourceIndex(index) * sourceElementSize, innerStride, sourceElementSize, present, out);
    } else {
      SmallVector<int64_t, 8> moving(index);
      for (int64_t i = 0; i < present; ++i, ++moving[inner.dim])
        std::memcpy(out + i * sourceElementSize, source.data() + sourceIndex(moving) * sourceElementSize,
                    sourceElementSize);
    }
    std::memset(out + present * sourceElementSize, 0, (run - present) * sourceElementSize);
    out += run * sourceElementSize;
    wanted -= run;
    at[rank - 1] += run;
    for (size_t i = rank - 1; i > 0 && at[i] == loops[i].extent; --i) {
      at[i] = 0;
      ++at[i - 1];
    }
  }
}

void Recipe::evaluate(llvm::function_ref<void(ArrayRef<uint8_t>)> sink) const {
  constexpr int64_t kWidest = 8; // bytes of the largest element on the way
  int64_t most = kTileBytes / kWidest;
  std::vector<uint8_t> buffer(std::min(most, count) * kWidest), other;
  if (types.size() > 1)
    other.resize(buffer.size());
  for (int64_t first = 0; first < count; first += most) {
    int64_t elements = std::min(most, count - first);
    gather(first, elements, buffer.data());
    for (size_t i = 1; i < types.size(); ++i) {
      convert(types[i - 1], buffer.data(), types[i], other.data(), elements);
      std::swap(buffer, other);
    }
    sink(ArrayRef<uint8_t>(buffer.data(), elements * elementSize));
  }
}
