// Weights of 2, 4 or 8 bits in blocks along the contracted dimension:
// com.microsoft's MatMulNBits and GatherBlockQuantized. Constant ones of 4 and
// 8 bits are tables that leaf kernels read as they are; all others become plain
// arithmetic on their bytes, which is computed when compiling if it is constant.
#include "compiler/import/ops/BlockTables.h"
#include "compiler/import/ops/Contractions.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;

/// The `bits` wide unsigned numbers in the bytes of the last dimension of `x`,
/// low bits first, as f32: `count` of them, what is behind is padding.
static FailureOr<Value> unpack(NodeContext &n, Value x, int64_t bits, AffineExpr count) {
  SmallVector<AffineExpr> shape(n.typeOf(x).getShape()), column = shape;
  column.push_back(n.dim(1));
  if (column.size() > graph::GraphTensorType::kMaxRank)
    return n.unsupported("more than 7 dimensions");
  Value all = x;
  if (int64_t perByte = 8 / bits; perByte > 1) {
    Value low = n.scalarLike(x, static_cast<double>((1 << bits) - 1));
    SmallVector<Value> parts;
    for (int64_t i = 0; i < perByte; ++i) {
      Value shifted = i ? n.make<graph::ShiftRightOp>(x, n.scalarLike(x, static_cast<double>(i * bits))) : x;
      parts.push_back(n.reshape(n.make<graph::BitAndOp>(shifted, low), column));
    }
    all = n.make<graph::ConcatOp>(ValueRange(parts), static_cast<int64_t>(shape.size()));
    shape.back() = n.simplify(shape.back() * perByte);
    all = n.reshape(all, shape);
  }
  if (n.symbols.lessEqual(count, shape.back()) != true)
    return n.malformed("its bytes hold " + n.print(shape.back()) + " numbers of " + n.print(count));
  SmallVector<AffineExpr> starts(shape.size(), n.dim(0)), sizes = shape;
  sizes.back() = count;
  return n.cast(n.slice(all, starts, sizes), n.b.getF32Type());
}

static AffineExpr elements(NodeContext &n, Value value) {
  AffineExpr product = n.dim(1);
  for (AffineExpr dim : n.typeOf(value).getShape())
    product = product * dim;
  return n.simplify(product);
}

/// (q - zero) · scale for `numbers` [rows, blocks, block size]; scales and zero
/// points, where there are some, have one element a block. Integer zero points
/// are packed like the weights, each row by itself.
static FailureOr<Value> dequantise(NodeContext &n, Value numbers, Value scales, Value zeros, int64_t bits) {
  SmallVector<AffineExpr> shape(n.typeOf(numbers).getShape()), perBlock = {shape[0], shape[1], n.dim(1)};
  AffineExpr blocks = n.simplify(shape[0] * shape[1]);
  if (!n.same(elements(n, scales), blocks))
    return n.malformed("needs one scale for each of " + n.print(blocks) + " blocks");
  Value zero;
  if (!zeros) {
    zero = n.scalarLike(numbers, static_cast<double>(1 << (bits - 1)));
  } else if (graph::isInteger(n.typeOf(zeros).getElementType())) {
    int64_t perByte = 8 / bits;
    AffineExpr bytes = n.simplify((shape[1] + (perByte - 1)).floorDiv(perByte));
    if (!n.same(elements(n, zeros), n.simplify(shape[0] * bytes)))
      return n.malformed("needs zero points for " + n.print(blocks) + " blocks");
    auto packed = unpack(n, n.reshape(zeros, {shape[0], bytes}), bits, shape[1]);
    if (failed(packed))
      return failure();
    zero = n.reshape(*packed, perBlock);
  } else {
    if (!n.same(elements(n, zeros), blocks))
      return n.malformed("needs one zero point for each of " + n.print(blocks) + " blocks");
    zero = n.cast(n.reshape(zeros, perBlock), n.b.getF32Type());
  }
  Value scale = n.cast(n.reshape(scales, perBlock), n.b.getF32Type());
  return n.mul(n.sub(numbers, zero), scale);
}

static bool isBlockSize(int64_t size) { return size >= 16 && size <= 65536 && llvm::isPowerOf2_64(size); }

/// The node's result: the product and, if there is one, the bias.
static LogicalResult addBias(NodeContext &n, Value product, size_t input) {
  if (n.has(input)) {
    SmallVector<Value> v = {product, n.in(input)};
    if (n.rank(input) != 1 || failed(n.unify(v)))
      return n.malformed("the bias must have N elements");
    product = n.add(v[0], v[1]);
  }
  n.out(0, product);
  return success();
}

/// A [.., K] times the transpose of B [N, K], which is [N, blocks, bytes].
static LogicalResult multiply(NodeContext &n, int64_t k, int64_t columns, int64_t bits, int64_t size) {
  int64_t blocks = (k + size - 1) / size, bytes = size * bits / 8;
  if (!n.element(1).isUnsignedInteger(8) || n.type(1).getNumElements() != columns * blocks * bytes)
    return n.malformed("B must be " + Twine(columns) + " x " + Twine(blocks) + " blocks of " + Twine(bytes) + " bytes");
  if (n.rank(0) > 0 && !n.assumeEqual(n.type(0).getShape().back(), n.dim(k)))
    return n.malformed("A must have K columns");
  Value zeros = n.has(3) ? n.in(3) : Value();
  if (auto table = BlockTable::of(n, n.in(1), n.in(2), zeros, bits, size, columns, blocks); n.rank(0) > 0 && table) {
    Value product = n.cast(table->multiply(n, n.cast(n.in(0), n.b.getF32Type())), n.element(0));
    return addBias(n, product, 5);
  }
  auto numbers = unpack(n, n.reshape(n.in(1), {n.dim(columns), n.dim(blocks), n.dim(bytes)}), bits, n.dim(size));
  if (failed(numbers))
    return failure();
  auto weights = dequantise(n, *numbers, n.in(2), n.has(3) ? n.in(3) : Value(), bits);
  if (failed(weights))
    return failure();
  Value b = n.reshape(*weights, {n.dim(columns), n.dim(blocks * size)});
  if (blocks * size != k)
    b = n.slice(b, {n.dim(0), n.dim(0)}, {n.dim(columns), n.dim(k)});
  auto product = matmul(n, n.in(0), n.cast(n.transpose(b, {1, 0}), n.element(0)));
  if (failed(product))
    return failure();
  return addBias(n, *product, 5);
}

static LogicalResult matMulNBits(NodeContext &n) {
  int64_t k = n.getInt("K", 0), columns = n.getInt("N", 0), bits = n.getInt("bits", 4),
          size = n.getInt("block_size", 0);
  (void)n.getInt("accuracy_level", 0); // at least as good as asked for
  if (k < 1 || columns < 1 || k > INT32_MAX || columns > INT32_MAX || !isBlockSize(size))
    return n.malformed("K, N and block_size (a power of two, 16 or more) must be positive");
  if (bits != 2 && bits != 4 && bits != 8)
    return n.unsupported("bits = " + Twine(bits) + ", other than 2, 4 or 8");
  if (n.has(4))
    return n.unsupported("g_idx; export the weights in the order of their groups");
  return multiply(n, k, columns, bits, size);
}

LogicalResult stint::import::multiplyByBlocks(NodeContext &n, const Node::Blocks &blocks) {
  return multiply(n, blocks.k, blocks.n, blocks.bits, blocks.size);
}

/// Rows of a table whose last dimension is quantised in blocks. `bits` wide
/// numbers are packed into bytes.
static LogicalResult gatherBlockQuantized(NodeContext &n) {
  int64_t bits = n.getInt("bits", 4), size = n.getInt("block_size", 128), rank = n.rank(0);
  auto gatherAxis = n.axis(n.getInt("gather_axis", 0), rank), axis = n.axis(n.getInt("quantize_axis", 1), rank);
  if (failed(gatherAxis) || failed(axis))
    return failure();
  if (rank != 2 || *gatherAxis != 0 || *axis != 1)
    return n.unsupported("a table other than [rows, width] with rows gathered and blocks along the width");
  if ((bits != 4 && bits != 8) || !n.element(0).isUnsignedInteger(8))
    return n.unsupported("a table of other than 4 or 8 bits in bytes");
  auto rows = n.type(0).getStaticDim(0), bytes = n.type(0).getStaticDim(1);
  auto blocks = n.rank(2) == 2 ? n.type(2).getStaticDim(1) : std::nullopt;
  if (!rows || !bytes || !blocks || !isBlockSize(size) || *bytes * 8 / bits != *blocks * size)
    return n.malformed("table and scales do not fit blocks of " + Twine(size));
  SmallVector<AffineExpr> shape(n.type(1).getShape());
  shape.push_back(n.dim(*blocks * size));
  if (shape.size() > graph::GraphTensorType::kMaxRank)
    return n.unsupported("a result of more than 8 dimensions");
  if (n.has(3) && (n.rank(3) != 2 || n.type(3).getDim(0) != *rows))
    return n.malformed("zero points must have a row for each of the table's");
  if (auto table = BlockTable::of(n, n.in(0), n.in(2), n.has(3) ? n.in(3) : Value(), bits, size, *rows, *blocks)) {
    Value taken = table->gather(n, n.reshape(n.in(1), {elements(n, n.in(1))}));
    n.out(0, n.cast(n.reshape(taken, shape), n.element(2)));
    return success();
  }
  // The rows are taken out as they are: the table stays small.
  AffineExpr count = elements(n, n.in(1));
  Value at = n.reshape(n.in(1), {count});
  auto take = [&](Value table) { return n.make<graph::GatherOp>(table, at, 0); };
  Value zeros;
  if (n.has(3))
    zeros = take(n.in(3));
  auto numbers =
      unpack(n, n.reshape(take(n.in(0)), {count, n.dim(*blocks), n.dim(size * bits / 8)}), bits, n.dim(size));
  if (failed(numbers))
    return failure();
  auto table = dequantise(n, *numbers, take(n.in(2)), zeros, bits);
  if (failed(table))
    return failure();
  n.out(0, n.cast(n.reshape(*table, shape), n.element(2)));
  return success();
}

void stint::import::addBlockQuantisations(RuleTable &t) {
  t.add("MatMulNBits", 3, matMulNBits, "com.microsoft");
  t.add("GatherBlockQuantized", 3, gatherBlockQuantized, "com.microsoft");
}
