// Operators that read pictures at computed places: GridSample, RoiAlign,
// MaxRoiPool; and other irregular ones: ReverseSequence, Det.
#include "compiler/import/NodeContext.h"

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
  if (n.rank(1) != rank || n.type(1).getStaticDim(rank - 1) != rank - 2 ||
      !n.same(n.type(0).getDim(0), n.type(1).getDim(0)))
    return n.malformed("the grid does not fit the input");
  if (!graph::isFloat(n.element(1)))
    return n.malformed("the grid must be of floats");
  Type element = n.element(0), work = workType(n, element);
  SmallVector<AffineExpr> shape(n.type(0).getShape().take_front(2));
  shape.append(n.type(1).getShape().begin() + 1, n.type(1).getShape().end() - 1);
  Value y = n.leaf("grid_sample", {n.cast(n.in(0), work), n.cast(n.in(1), work)}, GraphTensorType::get(shape, work),
                   {mode, padding, n.getInt("align_corners", 0) != 0}, {}, rank - 1)[0];
  n.out(0, n.cast(y, element));
  return success();
}

static LogicalResult roiAlign(NodeContext &n) {
  if (n.rank(0) != 4 || n.rank(1) != 2 || n.type(1).getStaticDim(1) != 4 || n.rank(2) != 1 ||
      !n.same(n.type(1).getDim(0), n.type(2).getDim(0)) || !graph::isIndex(n.element(2)))
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
  Value y = n.leaf("roi_align", {n.cast(n.in(0), work), n.cast(n.in(1), work), n.cast(n.in(2), n.b.getI64Type())},
                   GraphTensorType::get(shape, work), {mode, n.getInt("sampling_ratio", 0), half},
                   {n.getFloat("spatial_scale", 1)}, 2)[0];
  n.out(0, n.cast(y, element));
  return success();
}

static LogicalResult maxRoiPool(NodeContext &n) {
  auto size = n.getInts("pooled_shape");
  if (n.rank(0) != 4 || n.rank(1) != 2 || n.type(1).getStaticDim(1) != 5 || !size || size->size() != 2 ||
      (*size)[0] < 1 || (*size)[1] < 1)
    return n.malformed("the regions or pooled_shape do not fit the input");
  Type element = n.element(0), work = workType(n, element);
  SmallVector<AffineExpr> shape = {n.type(1).getDim(0), n.type(0).getDim(1), n.dim((*size)[0]), n.dim((*size)[1])};
  Value y = n.leaf("max_roi_pool", {n.cast(n.in(0), work), n.cast(n.in(1), work)}, GraphTensorType::get(shape, work),
                   {}, {n.getFloat("spatial_scale", 1)}, 2)[0];
  n.out(0, n.cast(y, element));
  return success();
}

static LogicalResult reverseSequence(NodeContext &n) {
  int64_t batch = n.getInt("batch_axis", 1), time = n.getInt("time_axis", 0);
  if (n.rank(0) < 2 || n.rank(1) != 1 || batch + time != 1 || batch * time != 0 ||
      !n.same(n.type(1).getDim(0), n.type(0).getDim(batch)) || !graph::isIndex(n.element(1)))
    return n.malformed("batch_axis and time_axis must be 0 and 1, with a length for each sequence");
  n.out(0, n.leaf("reverse_sequence", {n.in(0), n.cast(n.in(1), n.b.getI64Type())}, n.type(0), {time}, {}, 2)[0]);
  return success();
}

static LogicalResult det(NodeContext &n) {
  int64_t rank = n.rank(0);
  if (rank < 2 || !n.same(n.type(0).getDim(rank - 2), n.type(0).getDim(rank - 1)))
    return n.malformed("the input must be square matrices");
  Type element = n.element(0), work = workType(n, element);
  GraphTensorType matrices = n.type(0).withElementType(work);
  Value y = n.leaf("det", n.cast(n.in(0), work), {matrices.withShape(matrices.getShape().drop_back(2)), matrices}, {},
                   {}, rank - 2)[0];
  n.out(0, n.cast(y, element));
  return success();
}

void stint::import::addSamplings(RuleTable &t) {
  t.add("GridSample", 2, gridSample);
  t.add("RoiAlign", 3, roiAlign);
  t.add("MaxRoiPool", 2, maxRoiPool);
  t.add("ReverseSequence", 2, reverseSequence);
  t.add("Det", 1, det);
}
