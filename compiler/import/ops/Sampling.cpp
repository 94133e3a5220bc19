// Operators that read pictures at computed places: GridSample and AffineGrid,
// RoiAlign, MaxRoiPool; and other irregular ones: Col2Im, CenterCropPad,
// ReverseSequence, Det.
#include "compiler/import/ops/Contractions.h"
#include "compiler/import/ops/Dimensions.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// The float type that a leaf for f32 and f64 computes in.
static Type workType(NodeContext &n, Type element) { return element.isF64() ? element : n.b.getF32Type(); }

/// The number of `name` among `names`, or -1.
static int64_t indexOf(StringRef name, ArrayRef<StringRef> names) {
  auto it = llvm::find(names, name);
  return it == names.end() ? -1 : it - names.begin();
}

static LogicalResult gridSample(NodeContext &n) {
  int64_t rank = n.rank(0);
  std::string modeName = n.getString("mode", n.opset < 20 ? "bilinear" : "linear");
  int64_t mode = indexOf(modeName, {"nearest", "linear", "cubic", "bilinear", "bicubic"});
  int64_t padding = indexOf(n.getString("padding_mode", "zeros"), {"zeros", "border", "reflection"});
  mode = mode > 2 ? mode - 2 : mode;
  if (mode < 0 || padding < 0)
    return n.malformed("mode or padding_mode does not exist");
  if (rank != 4 && rank != 5)
    return n.unsupported("an input of rank " + Twine(rank) + "; it may have 2 or 3 spatial dimensions");
  if (n.rank(1) != rank || !n.assumeEqual(n.type(1).getDim(rank - 1), n.dim(rank - 2)) ||
      !n.assumeEqual(n.type(0).getDim(0), n.type(1).getDim(0)))
    return n.malformed("the grid does not fit the input");
  if (!graph::isFloat(n.element(1)))
    return n.malformed("the grid must be of floats");
  Type element = n.element(0), work = workType(n, element);
  SmallVector<AffineExpr> shape(n.type(0).getShape().take_front(2));
  shape.append(n.type(1).getShape().begin() + 1, n.type(1).getShape().end() - 1);
  Value grid = withDim(n, n.in(1), 0, n.type(0).getDim(0));
  Value y = n.leaf("grid_sample", {n.cast(n.in(0), work), n.cast(grid, work)}, n.shaped(shape, work),
                   {mode, padding, n.getInt("align_corners", 0) != 0}, {}, rank - 2)[0];
  n.out(0, n.cast(y, element));
  return success();
}

static LogicalResult roiAlign(NodeContext &n) {
  if (n.rank(0) != 4 || n.rank(1) != 2 || !n.assumeEqual(n.type(1).getDim(1), n.dim(4)) || n.rank(2) != 1 ||
      !n.assumeEqual(n.type(1).getDim(0), n.type(2).getDim(0)) || !graph::isIndex(n.element(2)))
    return n.malformed("the regions do not fit the input");
  int64_t mode = indexOf(n.getString("mode", "avg"), {"avg", "max"});
  std::string transform =
      n.getString("coordinate_transformation_mode", n.opset < 16 ? "output_half_pixel" : "half_pixel");
  int64_t half = indexOf(transform, {"output_half_pixel", "half_pixel"});
  int64_t rows = n.getInt("output_height", 1), columns = n.getInt("output_width", 1);
  if (mode < 0 || half < 0 || rows < 1 || columns < 1)
    return n.malformed("mode, coordinate_transformation_mode or output size does not exist");
  Type element = n.element(0), work = workType(n, element);
  SmallVector<AffineExpr> shape = {n.type(1).getDim(0), n.type(0).getDim(1), n.dim(rows), n.dim(columns)};
  Value batches = withDim(n, n.in(2), 0, shape[0]);
  Value y = n.leaf("roi_align", {n.cast(n.in(0), work), n.cast(n.in(1), work), n.cast(batches, n.b.getI64Type())},
                   n.shaped(shape, work), {mode, n.getInt("sampling_ratio", 0), half}, {n.getFloat("spatial_scale", 1)},
                   1)[0];
  n.out(0, n.cast(y, element));
  return success();
}

static LogicalResult maxRoiPool(NodeContext &n) {
  auto size = n.getInts("pooled_shape");
  if (n.rank(0) != 4 || n.rank(1) != 2 || !n.assumeEqual(n.type(1).getDim(1), n.dim(5)) || !size || size->size() != 2 ||
      (*size)[0] < 1 || (*size)[1] < 1)
    return n.malformed("the regions or pooled_shape do not fit the input");
  Type element = n.element(0), work = workType(n, element);
  SmallVector<AffineExpr> shape = {n.type(1).getDim(0), n.type(0).getDim(1), n.dim((*size)[0]), n.dim((*size)[1])};
  Value y = n.leaf("max_roi_pool", {n.cast(n.in(0), work), n.cast(n.in(1), work)}, n.shaped(shape, work), {},
                   {n.getFloat("spatial_scale", 1)}, 2)[0];
  n.out(0, n.cast(y, element));
  return success();
}

static LogicalResult reverseSequence(NodeContext &n) {
  int64_t batch = n.getInt("batch_axis", 1), time = n.getInt("time_axis", 0);
  if (n.rank(0) < 2 || n.rank(1) != 1 || batch + time != 1 || batch * time != 0 ||
      !n.assumeEqual(n.type(1).getDim(0), n.type(0).getDim(batch)) || !graph::isIndex(n.element(1)))
    return n.malformed("batch_axis and time_axis must be 0 and 1, with a length for each sequence");
  n.out(0, n.leaf("reverse_sequence", {n.in(0), n.cast(n.in(1), n.b.getI64Type())}, n.type(0), {time}, {}, 2)[0]);
  return success();
}

static LogicalResult det(NodeContext &n) {
  int64_t rank = n.rank(0);
  if (rank < 2 || !n.assumeEqual(n.type(0).getDim(rank - 2), n.type(0).getDim(rank - 1)))
    return n.malformed("the input must be square matrices");
  Type element = n.element(0), work = workType(n, element);
  GraphTensorType matrices = n.type(0).withElementType(work);
  Value y = n.leaf("det", n.cast(n.in(0), work), {n.shaped(matrices, matrices.getShape().drop_back(2)), matrices}, {},
                   {}, rank - 2)[0];
  n.out(0, n.cast(y, element));
  return success();
}

/// grid[n, p…, k] = theta[n, k, :S] · coordinates of p, last first, + theta[n, k, S].
static LogicalResult affineGrid(NodeContext &n) {
  const Known *known = n.known(1);
  auto size = known ? known->expressions() : std::nullopt;
  if (!size)
    return n.unsupported("'size' depends on the input's values");
  int64_t spatial = static_cast<int64_t>(size->size()) - 2;
  Type element = n.element(0), i64 = n.b.getI64Type();
  if (spatial < 2 || spatial > 3 || n.rank(0) != 3 || !graph::isFloat(element) ||
      !n.assumeEqual(n.type(0).getDim(0), (*size)[0]) || !n.assumeEqual(n.type(0).getDim(1), n.dim(spatial)) ||
      !n.assumeEqual(n.type(0).getDim(2), n.dim(spatial + 1)))
    return n.malformed("theta must be [N, 2, 3] for a size of 4 values, [N, 3, 4] for one of 5");
  bool corners = n.getInt("align_corners", 0) != 0;
  Type work = workType(n, element);
  Value theta = n.reshape(n.cast(n.in(0), work), {(*size)[0], n.dim(spatial), n.dim(spatial + 1)});
  // Column `j` of theta, [N, 1…, S].
  auto column = [&](int64_t j) {
    SmallVector<AffineExpr> shape(spatial + 2, n.dim(1));
    shape.front() = (*size)[0];
    shape.back() = n.dim(spatial);
    return n.reshape(n.slice(theta, {n.dim(0), n.dim(0), n.dim(j)}, {(*size)[0], n.dim(spatial), n.dim(1)}), shape);
  };
  Value grid = column(spatial);
  for (int64_t j = 0; j < spatial; ++j) {
    AffineExpr d = (*size)[spatial + 1 - j];
    if (!n.atLeast(d, 0, "the size of axis " + Twine(spatial + 1 - j)))
      return failure();
    // -1 to 1, from the first element's middle to the last one's, or from edge to edge.
    Value i = n.cast(n.iota({d}, 0), work);
    Value steps =
        n.cast(corners ? n.max(n.dimension(n.simplify(d - 1), i64), n.scalar(i64, 1)) : n.dimension(d, i64), work);
    Value at = n.mul(i, n.scalar(work, 2));
    at = n.sub(n.div(corners ? at : n.add(at, n.scalar(work, 1)), steps), n.scalar(work, 1));
    SmallVector<AffineExpr> shape(spatial + 2, n.dim(1));
    shape[spatial - j] = d;
    grid = n.add(grid, n.mul(column(j), n.reshape(at, shape)));
  }
  n.out(0, n.cast(grid, element));
  return success();
}

/// Blocks [N, C·k…, L] back to where they came from, added where they overlap:
/// a transposed convolution of each channel with a weight that puts element i
/// of a block at position i.
static LogicalResult col2Im(NodeContext &n) {
  const Known *imageKnown = n.known(1), *blockKnown = n.known(2);
  auto image = imageKnown ? imageKnown->integers() : std::nullopt,
       block = blockKnown ? blockKnown->integers() : std::nullopt;
  if (!image || !block)
    return n.unsupported("'image_shape' or 'block_shape' depends on the input");
  size_t spatial = image->size();
  if (spatial < 1 || block->size() != spatial || n.rank(0) != 3 || !graph::isFloat(n.element(0)))
    return n.malformed("needs floats [N, channels of blocks, blocks], and as many block as image dimensions");
  if (2 * spatial + 2 > GraphTensorType::kMaxRank)
    return n.unsupported("more than 3 spatial dimensions");
  auto window = readWindow(n, *block);
  if (failed(window))
    return failure();
  int64_t count = 1, positions = 1;
  SmallVector<int64_t> extra;
  SmallVector<AffineExpr> steps;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t reach = window->dilations[i] * (window->kernel[i] - 1) + 1;
    int64_t room = (*image)[i] + window->padLow[i] + window->padHigh[i] - reach;
    if (room < 0 || (*image)[i] > 1 << 24 || count > 1 << 12)
      return n.malformed("its blocks do not fit the image");
    extra.push_back(room % window->strides[i]);
    steps.push_back(n.dim(room / window->strides[i] + 1));
    positions *= room / window->strides[i] + 1;
    count *= window->kernel[i];
  }
  if (count > 1 << 12)
    return n.unsupported("blocks of more than 4096 elements");
  AffineExpr channels = n.simplify(n.type(0).getDim(1).floorDiv(count));
  Value x = withDim(n, n.in(0), 1, n.simplify(channels * count));
  x = x ? withDim(n, x, 2, n.dim(positions)) : x;
  if (!x)
    return n.malformed("its input must be [N, channels · " + Twine(count) + ", " + Twine(positions) + "]");
  AffineExpr batch = n.type(0).getDim(0);
  SmallVector<AffineExpr> shape = {n.simplify(batch * channels), n.dim(count)}, result = {batch, channels};
  shape.append(steps);
  SmallVector<int64_t> places = {count, 1};
  places.append(window->kernel);
  SmallVector<float> ones(count * count, 0);
  for (int64_t i = 0; i < count; ++i)
    ones[i * count + i] = 1;
  Value weight = n.cast(n.weightF32(ones, places, (n.node.label() + "/places").str()), n.element(0));
  auto y = convolveTransposed(n, n.reshape(x, shape), weight, *window, extra, 1);
  if (failed(y))
    return failure();
  for (int64_t d : *image)
    result.push_back(n.dim(d));
  n.out(0, n.reshape(*y, result));
  return success();
}

/// Cuts off or adds zeros at both ends of some axes, half of it at each.
static LogicalResult centerCropPad(NodeContext &n) {
  const Known *known = n.known(1);
  auto wanted = known ? known->expressions() : std::nullopt;
  if (!wanted)
    return n.unsupported("'shape' depends on the input's values");
  int64_t rank = n.rank(0);
  auto axes = n.getInts("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  if (axes.size() != wanted->size())
    return n.malformed("shape must have one size an axis");
  SmallVector<AffineExpr> starts(rank, n.dim(0)), low(rank, n.dim(0)), cut(n.type(0).getShape()), shape = cut;
  for (auto [given, size] : llvm::zip(axes, *wanted)) {
    auto axis = n.axis(given, rank);
    if (failed(axis))
      return failure();
    AffineExpr d = n.type(0).getDim(*axis);
    if (!n.atLeast(size, 0, "the size of axis " + Twine(*axis)))
      return failure();
    shape[*axis] = size;
    if (n.symbols.lessEqual(size, d) == true) {
      starts[*axis] = n.simplify((d - size).floorDiv(2));
      cut[*axis] = size;
    } else if (n.symbols.lessEqual(d, size) == true) {
      low[*axis] = n.simplify((size - d).floorDiv(2));
    } else {
      return n.unsupported("whether dimension " + n.print(d) + " is larger than " + n.print(size) +
                           " depends on the input; narrow its bounds with --dim");
    }
  }
  Value x = n.in(0);
  if (cut != n.type(0).getShape())
    x = n.slice(x, starts, cut);
  if (shape != cut)
    x = n.make<graph::PadOp>(n.shaped(n.type(0), shape), x, n.scalarLike(x, 0), graph::PadMode::constant,
                             graph::symbolMap(low, n.context()));
  n.out(0, x);
  return success();
}

void stint::import::addSamplings(RuleTable &t) {
  t.add("GridSample", 2, gridSample);
  t.add("RoiAlign", 3, roiAlign);
  t.add("MaxRoiPool", 2, maxRoiPool);
  t.add("ReverseSequence", 2, reverseSequence);
  t.add("Det", 1, det);
  t.add("AffineGrid", 2, affineGrid);
  t.add("Col2Im", 3, col2Im);
  t.add("CenterCropPad", 2, centerCropPad);
}
