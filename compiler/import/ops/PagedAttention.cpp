// The nodes of a decoder's step (see Decoder.h), domain kDecoderDomain:
//
//   PagedAttention(query, key, value, key cache, value cache, positions,
//                  sequences, pages[, cos, sin, head sink])
//       -> y, key cache, value cache
//     attributes num_heads, kv_num_heads, scale (0: 1 / √H), softcap, window
//     (0: none), smooth_softmax, do_rotary, rotary_interleaved
//   StepPositions(positions [T]) -> [1, T], of type `to`
//   LogitRows(logits [1, T, V], rows [L]) -> [L, V]
//
// query, key, value are [1, T, heads · H], or [1, heads, T, H]; or key and value
// are empty and the query holds all three. Each token's key and value are put
// where the step table says before any is read. Leaves compute it: see
// compiler/codegen/leaf/kernels/PagedAttention.cpp.
#include "compiler/import/Decoder.h"
#include "compiler/import/ops/Attentions.h"

#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

namespace {
constexpr size_t kKeyCache = 3, kPositions = 5, kSequences = 6, kPages = 7, kCos = 8, kSin = 9, kSink = 10;

class PagedAttention {
public:
  explicit PagedAttention(NodeContext &n) : n(n) {}
  LogicalResult run();

private:
  FailureOr<Value> byToken(Value x, int64_t count);
  LogicalResult split();
  LogicalResult turn();
  FailureOr<Value> append(size_t which);

  NodeContext &n;
  int64_t heads = 0, shared = 0;
  AffineExpr tokens;
  Value parts[3]; // query, key, value: [T, heads, H]
};
} // namespace

/// [T, count, H] of a tensor of `count` heads.
FailureOr<Value> PagedAttention::byToken(Value x, int64_t count) {
  GraphTensorType type = n.typeOf(x);
  bool apart = type.getRank() == 4;
  if ((!apart && type.getRank() != 3) || !n.assumeEqual(type.getDim(0), n.dim(1)) ||
      !n.assumeEqual(type.getDim(apart ? 2 : 1), tokens))
    return n.malformed("query, key and value must be [1, tokens, width] or [1, heads, tokens, size], not " +
                       n.print(type));
  auto width = type.getStaticDim(type.getRank() - 1), given = type.getStaticDim(1);
  if (!width || *width < 1 || (apart ? !given || *given != count : *width % count != 0))
    return n.malformed("a width of " + n.print(type.getShape().back()) + " does not fit " + Twine(count) + " heads");
  if (apart)
    x = n.transpose(x, {0, 2, 1, 3});
  return n.reshape(x, {tokens, n.dim(count), n.dim(apart ? *width : *width / count)});
}

LogicalResult PagedAttention::split() {
  auto separate = pair(n, 1, 2);
  if (failed(separate))
    return failure();
  if (*separate) {
    for (size_t i : {0, 1, 2}) {
      auto part = byToken(n.in(i), i ? shared : heads);
      if (failed(part))
        return failure();
      parts[i] = *part;
    }
    return success();
  }
  auto all = byToken(n.in(0), heads + 2 * shared);
  if (failed(all))
    return failure();
  int64_t first = 0;
  int64_t counts[] = {heads, shared, shared};
  for (auto [i, count] : llvm::enumerate(counts)) {
    parts[i] = part(n, *all, 1, n.dim(first), n.dim(count));
    first += count;
  }
  return success();
}

LogicalResult PagedAttention::turn() {
  if (!n.has(kCos) || !n.has(kSin))
    return n.malformed("do_rotary needs cos_cache and sin_cache");
  Value positions = n.cast(n.reshape(n.in(kPositions), {tokens, n.dim(1)}), n.b.getI64Type());
  auto cosine = anglesAt(n, kCos, positions), sine = anglesAt(n, kSin, positions);
  if (failed(cosine) || failed(sine))
    return failure();
  for (size_t i : {0, 1}) {
    // Each token as a batch of one position.
    SmallVector<AffineExpr> shape(n.typeOf(parts[i]).getShape());
    Value apart = n.reshape(parts[i], {shape[0], shape[1], n.dim(1), shape[2]});
    auto turned = rotate(n, apart, *cosine, *sine, n.getInt("rotary_interleaved", 0) != 0);
    if (failed(turned))
      return failure();
    parts[i] = n.reshape(*turned, shape);
  }
  return success();
}

/// The cache of keys (1) or values (2) with the new ones in it.
FailureOr<Value> PagedAttention::append(size_t which) {
  size_t cache = kKeyCache + which - 1;
  GraphTensorType type = n.type(cache), fresh = n.typeOf(parts[which]);
  int64_t inner = which == 1 ? 2 : 3; // where the head's elements are
  if (type.getRank() != 4 || !type.hasStaticShape() ||
      !(type.getElementType().isF32() || type.getElementType().isF16()) || !fresh.getElementType().isF32() ||
      type.getDim(1) != fresh.getDim(1) || type.getDim(inner) != fresh.getDim(2) ||
      type.getStaticDim(5 - inner) != kPagePositions)
    return n.malformed("a cache " + n.print(type) + " does not take " + n.print(fresh));
  Value inputs[] = {n.in(cache), parts[which], n.in(kPositions), n.in(kSequences), n.in(kPages)};
  Value after = n.leaf("paged_append", inputs, {type}, {which == 1}, {}, 1)[0];
  n.out(which, after);
  return after;
}

LogicalResult PagedAttention::run() {
  heads = n.getInt("num_heads", 0);
  shared = n.getInt("kv_num_heads", 0);
  for (size_t i = 0; i <= kPages; ++i)
    if (!n.has(i) && i != 1 && i != 2)
      return n.malformed("needs its input " + Twine(i));
  bool apart = n.rank(0) == 4;
  if (heads < 1 && apart)
    heads = n.type(0).getStaticDim(1).value_or(0);
  if (heads < 1 || shared < 1 || heads > 1024 || heads % shared)
    return n.malformed("num_heads (" + Twine(heads) + ") must be a positive multiple of kv_num_heads (" +
                       Twine(shared) + "), at most 1024");
  for (size_t i : {kPositions, kSequences, kPages})
    if (!n.element(i).isSignlessInteger(32) || n.rank(i) != (i == kPages ? 2 : 1))
      return n.malformed("its step table must be of i32");
  tokens = n.type(kPositions).getDim(0);
  if (n.type(kSequences).getDim(0) != tokens)
    return n.malformed("positions and sequences must have one element a token");
  if (failed(split()))
    return failure();
  if (n.getInt("do_rotary", 0)) {
    if (failed(turn()))
      return failure();
  } else {
    (void)n.getInt("rotary_interleaved", 0);
  }
  auto keys = append(1), values = append(2);
  if (failed(keys) || failed(values))
    return failure();

  SmallVector<AffineExpr> shape(n.typeOf(parts[0]).getShape());
  AffineExpr size = n.typeOf(parts[2]).getDim(2);
  if (shape[2] != n.typeOf(parts[1]).getDim(2))
    return n.malformed("queries and keys must be of one size");
  AffineExpr group = n.dim(heads / shared);
  auto width = n.typeOf(parts[0]).getStaticDim(2);
  Value query = n.reshape(parts[0], {tokens, n.dim(shared), group, shape[2]});
  SmallVector<Value> inputs = {*keys, *values, query, n.in(kPositions), n.in(kSequences), n.in(kPages)};
  if (n.has(kSink)) {
    if (n.type(kSink).getNumElements() != heads)
      return n.malformed("head_sink must have one element a head");
    inputs.push_back(n.cast(n.reshape(n.in(kSink), {n.dim(heads)}), n.b.getF32Type()));
  } else if (n.getInt("smooth_softmax", 0) > 0) {
    inputs.push_back(n.weightF32(SmallVector<float>(heads, 0), {heads}, "no sink"));
  }
  float scale = n.getFloat("scale", 0), softcap = n.getFloat("softcap", 0);
  int64_t window = n.getInt("window", 0);
  if (window < 0)
    return n.malformed("local_window_size must be positive, or -1 for none");
  if (!std::isfinite(scale) || !std::isfinite(softcap) || softcap < 0)
    return n.malformed("scale and softcap must be finite and not negative");
  if (scale == 0)
    scale = static_cast<float>(1 / std::sqrt(static_cast<double>(*width)));
  auto type = GraphTensorType::get({tokens, n.dim(shared), group, size}, n.b.getF32Type());
  Value y = n.leaf("paged_attention", inputs, {type}, {window, inputs.size() > 6}, {scale, softcap}, 2)[0];
  if (apart)
    y = n.transpose(n.reshape(y, {n.dim(1), tokens, n.dim(heads), size}), {0, 2, 1, 3});
  else
    y = n.reshape(y, {n.dim(1), tokens, n.simplify(size * heads)});
  n.out(0, y);
  return success();
}

static LogicalResult pagedAttention(NodeContext &n) { return PagedAttention(n).run(); }

static LogicalResult stepPositions(NodeContext &n) {
  if (n.rank(0) != 1)
    return n.malformed("positions must be a list");
  Type type = n.getInt("to", 7) == 6 ? n.b.getI32Type() : n.b.getI64Type();
  n.out(0, n.reshape(n.cast(n.in(0), type), {n.dim(1), n.type(0).getDim(0)}));
  return success();
}

static LogicalResult logitRows(NodeContext &n) {
  GraphTensorType type = n.type(0);
  if (n.rank(0) != 3 || n.rank(1) != 1 || !n.assumeEqual(type.getDim(0), n.dim(1)) ||
      !n.element(1).isSignlessInteger(32))
    return n.malformed("logits must be [1, tokens, vocabulary], not " + n.print(type));
  Value all = n.reshape(n.in(0), {type.getDim(1), type.getDim(2)});
  n.out(0, n.make<graph::GatherOp>(all, n.in(1), 0));
  return success();
}

void stint::import::addPagedAttentions(RuleTable &t) {
  t.add(kPagedAttention, 1, pagedAttention, kDecoderDomain);
  t.add("StepPositions", 1, stepPositions, kDecoderDomain);
  t.add("LogitRows", 2, logitRows, kDecoderDomain);
}
