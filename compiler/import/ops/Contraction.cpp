// Matrix products and convolutions.
#include "compiler/import/ops/Contractions.h"
#include "compiler/import/ops/Dimensions.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

// Vectors get a dimension for the product only.
FailureOr<Value> stint::import::matmul(NodeContext &n, Value a, Value b) {
  GraphTensorType ta = n.typeOf(a), tb = n.typeOf(b);
  if (ta.getRank() == 0 || tb.getRank() == 0)
    return n.malformed("operands must not be scalars");
  bool vectorA = ta.getRank() == 1, vectorB = tb.getRank() == 1;
  if (vectorA)
    a = n.reshape(a, {n.dim(1), ta.getDim(0)});
  if (vectorB)
    b = n.reshape(b, {tb.getDim(0), n.dim(1)});
  ta = n.typeOf(a);
  tb = n.typeOf(b);
  if (ta.getElementType() != tb.getElementType())
    return n.malformed("operands must have one element type");
  // K: one expression on both sides.
  AffineExpr k = ta.getShape().back(), kb = tb.getDim(tb.getRank() - 2);
  if (!n.assumeEqual(k, kb))
    return n.malformed("the inner dimensions " + n.print(k) + " and " + n.print(kb) + " differ");
  SmallVector<AffineExpr> shape(tb.getShape());
  shape[shape.size() - 2] = k;
  // Batch dimensions: brought to one form as for elementwise operators.
  auto batchA = ta.getShape().drop_back(2), batchB = tb.getShape().drop_back(2);
  for (size_t i = 0; i < std::min(batchA.size(), batchB.size()); ++i) {
    AffineExpr x = batchA[batchA.size() - 1 - i], &y = shape[batchB.size() - 1 - i];
    if (x == 1 || y == 1 || x == y)
      continue;
    if (!n.assumeEqual(x, y))
      return n.malformed("batch dimensions " + n.print(x) + " and " + n.print(y) + " differ");
    y = x;
  }
  b = n.reshape(b, shape);
  Value result = n.make<graph::MatMulOp>(a, b);
  SmallVector<AffineExpr> out(n.typeOf(result).getShape());
  if (vectorB)
    out.pop_back();
  if (vectorA)
    out.erase(out.end() - (vectorB ? 1 : 2));
  return n.reshape(result, out);
}

static LogicalResult matMul(NodeContext &n) {
  if (n.node.blocks)
    return multiplyByBlocks(n, *n.node.blocks);
  auto result = matmul(n, n.in(0), n.in(1));
  if (failed(result))
    return failure();
  n.out(0, *result);
  return success();
}

static LogicalResult gemm(NodeContext &n) {
  if (n.node.blocks) {
    for (StringRef said : {"transA", "transB"}) // and packed accordingly
      (void)n.getInt(said, 0);
    for (StringRef said : {"alpha", "beta"})
      (void)n.getFloat(said, 1);
    return n.rank(0) == 2 ? multiplyByBlocks(n, *n.node.blocks) : n.malformed("A must be a matrix");
  }
  if (n.rank(0) != 2 || n.rank(1) != 2)
    return n.malformed("A and B must be matrices");
  Value a = n.in(0), b = n.in(1);
  if (n.getInt("transA", 0))
    a = n.transpose(a, {1, 0});
  if (n.getInt("transB", 0))
    b = n.transpose(b, {1, 0});
  auto product = matmul(n, a, b);
  if (failed(product))
    return failure();
  Value result = *product;
  if (float alpha = n.getFloat("alpha", 1); alpha != 1)
    result = n.mul(result, n.scalarLike(result, alpha));
  float beta = n.getFloat("beta", 1);
  if (n.has(2) && beta != 0) {
    Value c = n.in(2);
    if (n.element(2) != n.element(0))
      return n.malformed("C must have the element type of A and B");
    if (beta != 1)
      c = n.mul(c, n.scalarLike(c, beta));
    SmallVector<Value> v = {result, c};
    if (failed(n.unify(v)))
      return failure();
    result = n.add(v[0], v[1]);
  }
  n.out(0, result);
  return success();
}

/// Adds a [C] bias to channel dimension 1.
static LogicalResult addBias(NodeContext &n, Value &result, size_t input) {
  if (!n.has(input))
    return success();
  if (n.rank(input) != 1)
    return n.malformed("the bias must be a vector");
  SmallVector<AffineExpr> shape(n.typeOf(result).getRank() - 1, n.dim(1));
  shape[0] = n.type(input).getDim(0);
  SmallVector<Value> v = {result, n.reshape(n.in(input), shape)};
  if (failed(n.unify(v)))
    return failure();
  result = n.add(v[0], v[1]);
  return success();
}

FailureOr<Value> stint::import::convolve(NodeContext &n, Value x, Value weight) {
  GraphTensorType type = n.typeOf(x), weightType = n.typeOf(weight);
  int64_t rank = type.getRank(), spatial = rank - 2;
  if (spatial < 1 || weightType.getRank() != rank)
    return n.malformed("input and weight must have one rank, 3 or more");
  if (spatial > 5)
    return n.unsupported("more than 5 spatial dimensions");
  if (type.getElementType() != weightType.getElementType())
    return n.malformed("input and weight must have one element type");
  SmallVector<int64_t> kernel;
  for (int64_t i = 0; i < spatial; ++i) {
    auto size = weightType.getStaticDim(i + 2);
    if (!size)
      return n.unsupported("the kernel's size is not constant");
    kernel.push_back(*size);
  }
  if (auto stated = n.getInts("kernel_shape"); stated && *stated != kernel)
    return n.malformed("kernel_shape is not that of the weight");
  auto window = readWindow(n, kernel);
  if (failed(window))
    return failure();
  if (failed(checkWindow(n, *window, type.getShape().drop_front(2))))
    return failure();
  int64_t group = n.getInt("group", 1);
  auto outputs = weightType.getStaticDim(0), channels = weightType.getStaticDim(1);
  if (!outputs || !channels)
    return n.unsupported("the number of channels is not constant");
  if (group < 1 || *outputs % group)
    return n.malformed("output channels are not a multiple of the groups");
  x = withDim(n, x, 1, n.dim(group * *channels));
  if (!x)
    return n.malformed("the input's channels are not groups times the weight's");
  SmallVector<AffineExpr> shape = {n.dim(group), n.dim(*outputs / group), n.dim(*channels)};
  for (int64_t size : kernel)
    shape.push_back(n.dim(size));
  x = padFirst(n, x, *window, n.scalarLike(x, 0));
  return n.make<graph::ConvOp>(x, n.reshape(weight, shape), window->strides, window->dilations, window->padLow,
                               window->padHigh);
}

static LogicalResult conv(NodeContext &n) {
  auto result = convolve(n, n.in(0), n.in(1));
  if (failed(result) || failed(addBias(n, *result, 2)))
    return failure();
  n.out(0, *result);
  return success();
}

/// A transposed convolution whose windows neither overlap nor leave gaps (kernel =
/// stride, no pads): each element of the input gives a block of its own. A 1x1
/// convolution gives the blocks' elements as channels, [N, G·k…·O, D…], which then
/// go to their places.
static Value convolveToBlocks(NodeContext &n, Value x, ArrayRef<int64_t> w, int64_t group) {
  int64_t spatial = w.size() - 2, in = w[0] / group, out = w[1], blocks = out;
  SmallVector<AffineExpr> split = {n.dim(group), n.dim(in), n.dim(out)};
  SmallVector<int64_t> order = {0};
  for (int64_t i = 0; i < spatial; ++i) {
    split.push_back(n.dim(w[i + 2]));
    order.push_back(i + 3);
    blocks *= w[i + 2];
  }
  order.append({2, 1});
  SmallVector<AffineExpr> shape = {n.dim(group), n.dim(blocks), n.dim(in)};
  shape.append(spatial, n.dim(1));
  Value weight = n.reshape(n.transpose(n.reshape(n.in(1), split), order), shape);
  SmallVector<int64_t> ones(spatial, 1), zeros(spatial, 0);
  Value result = n.make<graph::ConvOp>(x, weight, ones, ones, zeros, zeros);

  // Moved with channels last, as the convolution leaves them and the next one
  // wants them. Without groups there is one dimension less.
  auto dims = n.typeOf(result).getShape();
  SmallVector<AffineExpr> apart = {dims[0]}, merged = {dims[0]};
  SmallVector<int64_t> places = {0}, back = {0, spatial + 1};
  if (group > 1)
    apart.push_back(n.dim(group));
  int64_t first = apart.size();
  for (int64_t i = 0; i < spatial; ++i)
    apart.push_back(n.dim(w[i + 2]));
  apart.push_back(n.dim(out));
  for (int64_t i = 0; i < spatial; ++i) {
    apart.push_back(dims[i + 2]);
    places.append({first + spatial + 1 + i, first + i});
    merged.push_back(n.simplify(dims[i + 2] * w[i + 2]));
    back.push_back(i + 1);
  }
  if (group > 1)
    places.push_back(1);
  places.push_back(first + spatial);
  merged.push_back(n.dim(group * out));
  return n.transpose(n.reshape(n.transpose(n.reshape(result, apart), places), merged), back);
}

/// Input with zeros between its elements, convolved with the mirrored kernel.
static LogicalResult convTranspose(NodeContext &n) {
  int64_t rank = n.rank(0), spatial = rank - 2;
  if (spatial < 1 || n.rank(1) != rank || n.element(0) != n.element(1))
    return n.malformed("input and weight must have one rank, 3 or more, and one element type");
  if (rank + spatial > GraphTensorType::kMaxRank)
    return n.unsupported("more than 3 spatial dimensions");
  GraphTensorType weightType = n.type(1);
  if (!weightType.hasStaticShape())
    return n.unsupported("the weight's shape is not constant");
  auto w = weightType.getStaticShape();
  int64_t group = n.getInt("group", 1);
  Value x = group < 1 || w[0] % group ? Value() : withDim(n, n.in(0), 1, n.dim(w[0]));
  if (!x)
    return n.malformed("the input's channels are not those of the weight");
  SmallVector<int64_t> ones(spatial, 1), zeros(spatial, 0), kernel(ArrayRef<int64_t>(w).drop_front(2));
  auto strides = n.getInts("strides").value_or(ones), dilations = n.getInts("dilations").value_or(ones);
  auto extra = n.getInts("output_padding").value_or(zeros);
  auto pads = n.getInts("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  auto outputShape = n.getInts("output_shape");
  if (outputShape && static_cast<int64_t>(outputShape->size()) == rank)
    outputShape->erase(outputShape->begin(), outputShape->begin() + 2);
  std::string autoPad = n.getString("auto_pad", "NOTSET");
  for (const auto &list : {strides, dilations, extra})
    if (static_cast<int64_t>(list.size()) != spatial)
      return n.malformed("attributes must have one value per spatial dimension");
  if (static_cast<int64_t>(pads.size()) != 2 * spatial ||
      (outputShape && static_cast<int64_t>(outputShape->size()) != spatial))
    return n.malformed("pads or output_shape has the wrong length");
  for (int64_t i = 0; i < spatial; ++i)
    if (std::abs(pads[i]) > 1 << 20 || std::abs(pads[spatial + i]) > 1 << 20 || kernel[i] > 1 << 20 || strides[i] < 1 ||
        dilations[i] < 1 || strides[i] > 1 << 20 || dilations[i] > 1 << 20 || extra[i] < 0 ||
        extra[i] >= std::max(strides[i], dilations[i]) + 1 || kernel[i] < 1)
      return n.malformed("strides, dilations or output_padding out of range");

  // Pads from the output's shape.
  SmallVector<int64_t> low(spatial), high(spatial);
  SmallVector<AffineExpr> cutLow;
  for (int64_t i = 0; i < spatial; ++i) {
    low[i] = pads[i];
    high[i] = pads[spatial + i];
    bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
    if (!outputShape && !same)
      continue;
    int64_t total;
    if (outputShape) {
      if (std::abs((*outputShape)[i]) > int64_t(1) << 40)
        return n.malformed("output_shape out of range");
      auto in = n.type(0).getStaticDim(i + 2);
      if (!in) { // the whole result is computed, and cut to the middle
        AffineExpr whole = (n.type(0).getDim(i + 2) - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 + extra[i];
        AffineExpr cut = n.simplify(whole - (*outputShape)[i]);
        if (n.symbols.range(cut).lower < 0)
          return n.unsupported("output_shape may be larger than what dimension " + n.print(n.type(0).getDim(i + 2)) +
                               " gives; raise the lower bound of --dim");
        cutLow.resize(rank, n.dim(0));
        AffineExpr less = n.simplify(cut.floorDiv(2));
        cutLow[i + 2] = autoPad == "SAME_UPPER" ? less : n.simplify(cut - less);
        low[i] = high[i] = 0;
        continue;
      }
      total = (*in - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 + extra[i] - (*outputShape)[i];
    } else { // output = input · stride
      total = dilations[i] * (kernel[i] - 1) + 1 + extra[i] - strides[i];
    }
    if (total < 0) {
      extra[i] -= total;
      total = 0;
    }
    low[i] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
    high[i] = total - low[i];
  }

  bool apart = cutLow.empty() && 2 * spatial + (group > 1 ? 3 : 2) <= GraphTensorType::kMaxRank;
  for (int64_t i = 0; i < spatial; ++i)
    apart &= kernel[i] == strides[i] && dilations[i] == 1 && low[i] == 0 && high[i] == 0 && extra[i] == 0;
  if (apart) {
    Value result = convolveToBlocks(n, x, w, group);
    if (failed(addBias(n, result, 2)))
      return failure();
    n.out(0, result);
    return success();
  }

  Window window{kernel, strides, dilations, low, high};
  auto spread = convolveTransposed(n, x, n.in(1), window, extra, group);
  if (failed(spread))
    return failure();
  Value result = *spread;
  if (!cutLow.empty()) {
    SmallVector<AffineExpr> sizes(n.typeOf(result).getShape());
    for (int64_t i = 0; i < spatial; ++i)
      if (!n.type(0).getStaticDim(i + 2))
        sizes[i + 2] = n.dim((*outputShape)[i]);
    result = n.slice(result, cutLow, sizes);
  }
  if (failed(addBias(n, result, 2)))
    return failure();
  n.out(0, result);
  return success();
}

FailureOr<Value> stint::import::convolveTransposed(NodeContext &n, Value x, Value w, const Window &window,
                                                   ArrayRef<int64_t> extra, int64_t group) {
  ArrayRef<int64_t> kernel = window.kernel, strides = window.strides, dilations = window.dilations;
  auto sizes = n.typeOf(w).getStaticShape();
  int64_t spatial = kernel.size();
  SmallVector<int64_t> ones(spatial, 1);
  // Zeros between the elements: [N, C, D…] -> [N, C, D, 1, …] -> pad -> [N, C, D·s, …].
  bool strided = llvm::any_of(strides, [](int64_t s) { return s > 1; });
  Value zero = n.scalarLike(x, 0);
  if (strided) {
    SmallVector<AffineExpr> dims(n.typeOf(x).getShape()), split = {dims[0], dims[1]}, padded = split, merged = split;
    for (int64_t i = 0; i < spatial; ++i) {
      AffineExpr d = dims[i + 2];
      split.append({d, n.dim(1)});
      padded.append({d, n.dim(strides[i])});
      merged.push_back(n.simplify(d * strides[i]));
    }
    SmallVector<AffineExpr> none(split.size(), n.dim(0));
    x = n.reshape(x, split);
    x = n.make<graph::PadOp>(n.shaped(n.typeOf(x), padded), x, zero, graph::PadMode::constant,
                             graph::symbolMap(none, n.context()));
    x = n.reshape(x, merged);
  }
  // [G·C, O, k…] -> [G, O, C, k…], mirrored in space.
  int64_t in = sizes[0] / group, out = sizes[1];
  SmallVector<AffineExpr> shape = {n.dim(group), n.dim(in), n.dim(out)}, starts(3, n.dim(0));
  SmallVector<int64_t> permutation = {0, 2, 1}, steps(3, 1);
  for (int64_t i = 0; i < spatial; ++i) {
    shape.push_back(n.dim(kernel[i]));
    permutation.push_back(i + 3);
    starts.push_back(n.dim(kernel[i] - 1));
    steps.push_back(-1);
  }
  Value weight = n.transpose(n.reshape(w, shape), permutation);
  if (llvm::any_of(kernel, [](int64_t k) { return k > 1; }))
    weight = n.slice(weight, starts, n.typeOf(weight).getShape(), steps);
  // The convolution's pads; the zeros after the last element are s - 1 too many.
  SmallVector<int64_t> convLow(spatial), convHigh(spatial);
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t reach = dilations[i] * (kernel[i] - 1);
    convLow[i] = reach - window.padLow[i];
    convHigh[i] = reach - window.padHigh[i] + extra[i] - (strides[i] - 1);
  }
  Window plain{window.kernel, ones, window.dilations, convLow, convHigh};
  if (failed(checkWindow(n, plain, n.typeOf(x).getShape().drop_front(2))))
    return failure();
  return n.make<graph::ConvOp>(x, weight, ones, dilations, convLow, convHigh);
}

void stint::import::addContractions(RuleTable &t) {
  t.add("MatMul", 2, matMul);
  t.add("Gemm", 2, gemm);
  t.add("Conv", 2, conv);
  t.add("ConvTranspose", 2, convTranspose);
}
