// BlockTables: see the header of that name. What the tables hold and how they
// lie is said in compiler/codegen/leaf/kernels/BlockWeights.h.
#include "compiler/import/ops/BlockTables.h"

#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// What a value reads in the same order of elements.
static Value behindReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

static bool isConstant(Value value) {
  Operation *op = behindReshapes(value).getDefiningOp();
  return op && isa<graph::WeightOp, graph::ConstantOp>(op);
}

/// Whether a weight's elements are in the order of its file, and of its type.
static bool liesAsInFile(graph::WeightOp weight) {
  return llvm::all_of(weight.getSteps(),
                      [](Attribute step) { return cast<graph::StepAttr>(step).getKind() == "reshape"; });
}

/// The bytes of a weight that lie as in its file, read as something else.
static Value reread(NodeContext &n, Value value, Type type, ArrayRef<int64_t> shape) {
  auto weight = behindReshapes(value).getDefiningOp<graph::WeightOp>();
  if (!weight || !liesAsInFile(weight))
    return {};
  graph::ExtentAttr extent = weight.getExtent();
  int64_t bytes = graph::elementBytes(type);
  for (int64_t size : shape)
    bytes *= size;
  if (static_cast<uint64_t>(bytes) != extent.getSize())
    return {};
  auto other = graph::ExtentAttr::get(n.context(), extent.getFile(), extent.getOffset(), extent.getSize(), type, shape);
  SmallVector<AffineExpr> dims = llvm::map_to_vector(shape, [&](int64_t size) { return n.dim(size); });
  return n.b.create<graph::WeightOp>(weight.getLoc(), GraphTensorType::get(dims, type), weight.getNameAttr(), other,
                                     n.b.getArrayAttr({}));
}

/// Whether half precision holds a float, given as its bits, exactly.
static bool fitsHalf(uint32_t bits) {
  int exponent = static_cast<int>(bits >> 23 & 0xff) - 127;
  if ((bits & 0x7fffffff) == 0)
    return true;
  int dropped = exponent < -14 ? 13 + (-14 - exponent) : 13;
  if (exponent > 15 || dropped > 23)
    return false;
  return (bits & ((1u << dropped) - 1)) == 0;
}

/// Whether constants of f32 can be kept in half precision without a loss: those
/// of models that were quantised in it can.
static bool fitHalf(const Model &model, Value value) {
  Operation *op = behindReshapes(value).getDefiningOp();
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return dense && llvm::all_of(dense.getValues<APFloat>(), [](const APFloat &x) {
             return fitsHalf(static_cast<uint32_t>(x.bitcastToAPInt().getZExtValue()));
           });
  }
  auto weight = cast<graph::WeightOp>(op);
  graph::ExtentAttr extent = weight.getExtent();
  if (!extent.getType().isF32() || !liesAsInFile(weight))
    return false;
  Tensor tensor;
  tensor.file = static_cast<size_t>(extent.getFile()) == model.files.size() ? Tensor::kInline : extent.getFile();
  tensor.offset = extent.getOffset();
  tensor.size = extent.getSize();
  ArrayRef<uint8_t> bytes = model.bytes(tensor);
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4)
    if (!fitsHalf(llvm::support::endian::read32le(bytes.data() + i)))
      return false;
  return true;
}

std::optional<BlockTable> BlockTable::of(NodeContext &n, Value bytes, Value scales, Value zeros, int64_t bits,
                                         int64_t size, int64_t rows, int64_t blocks) {
  if ((bits != 4 && bits != 8) || size < kMinBlock || size > kMaxBlock || size % kMinBlock)
    return std::nullopt;
  if (!isConstant(bytes) || !isConstant(scales) || (zeros && !isConstant(zeros)))
    return std::nullopt;
  auto holds = [&](Value value, int64_t width) { return n.typeOf(value).getNumElements() == rows * width; };
  BlockTable table;
  table.words = reread(n, bytes, n.b.getIntegerType(32, /*isSigned=*/false), {rows, blocks * size * bits / 32});
  if (!table.words || !holds(scales, blocks))
    return std::nullopt;
  Type f32 = n.b.getF32Type(), f16 = n.b.getF16Type(), given = n.typeOf(scales).getElementType();
  bool halves = given.isF16() || (given.isF32() && fitHalf(n.model(), scales));
  table.scales = n.cast(n.reshape(scales, {n.dim(rows), n.dim(blocks)}), halves ? f16 : f32);
  int64_t kind = 0;
  if (zeros) {
    bool packed = n.typeOf(zeros).getElementType().isUnsignedInteger(8);
    int64_t width = packed ? (blocks * bits + 7) / 8 : blocks;
    if ((!packed && !graph::isFloat(n.typeOf(zeros).getElementType())) || !holds(zeros, width))
      return std::nullopt;
    table.zeros = n.reshape(zeros, {n.dim(rows), n.dim(width)});
    table.zeros = packed ? table.zeros : n.cast(table.zeros, f32);
    kind = packed ? 1 : 2;
  }
  table.rows = rows;
  table.width = blocks * size;
  table.params = {bits, size, kind, halves};
  return table;
}

Value BlockTable::multiply(NodeContext &n, Value x) const {
  // One dimension of tokens.
  SmallVector<AffineExpr> shape(n.typeOf(x).getShape());
  AffineExpr tokens = n.dim(1);
  for (AffineExpr size : ArrayRef(shape).drop_back())
    tokens = n.simplify(tokens * size);
  SmallVector<Value> inputs = {n.reshape(x, {tokens, shape.back()}), words, scales};
  if (zeros)
    inputs.push_back(zeros);
  Value product =
      n.leaf("block_matmul", inputs, GraphTensorType::get({tokens, n.dim(rows)}, n.b.getF32Type()), params, {}, 1)[0];
  shape.back() = n.dim(rows);
  return n.reshape(product, shape);
}

Value BlockTable::gather(NodeContext &n, Value numbers) const {
  SmallVector<Value> inputs = {numbers, words, scales};
  if (zeros)
    inputs.push_back(zeros);
  return n.leaf("block_gather", inputs,
                GraphTensorType::get({n.typeOf(numbers).getDim(0), n.dim(width)}, n.b.getF32Type()), params, {}, 1)[0];
}
