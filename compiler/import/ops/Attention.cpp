// Attention and rotary positions, as plain operators on past and present keys:
// Attention and RotaryEmbedding (opset 23 and 24), and com.microsoft's
// RotaryEmbedding and GroupQueryAttention.
//
// Everything is brought to [batch, heads, sequence, head size]. Heads that
// share a key head are rows of one product, so keys are never repeated.
#include "compiler/import/ops/Attentions.h"
#include "compiler/import/ops/Contractions.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;
using graph::ReduceKind;

static SmallVector<AffineExpr> shapeOf(NodeContext &n, Value value) {
  return SmallVector<AffineExpr>(n.typeOf(value).getShape());
}

Value stint::import::part(NodeContext &n, Value x, int64_t axis, AffineExpr start, AffineExpr size) {
  SmallVector<AffineExpr> starts(n.typeOf(x).getRank(), n.dim(0)), sizes = shapeOf(n, x);
  starts[axis] = start;
  sizes[axis] = size;
  return n.slice(x, starts, sizes);
}

static Value join(NodeContext &n, ArrayRef<Value> values, int64_t axis) {
  return n.make<graph::ConcatOp>(ValueRange(values), axis);
}

// [B, S, heads · H] and [B, heads, S, H].

static FailureOr<Value> splitHeads(NodeContext &n, Value x, int64_t heads) {
  SmallVector<AffineExpr> shape = shapeOf(n, x);
  auto width = n.typeOf(x).getStaticDim(2);
  if (!width || heads < 1 || *width % heads)
    return n.malformed("its width " + n.print(shape[2]) + " must be a constant multiple of " + Twine(heads) + " heads");
  return n.transpose(n.reshape(x, {shape[0], shape[1], n.dim(heads), n.dim(*width / heads)}), {0, 2, 1, 3});
}

static Value joinHeads(NodeContext &n, Value x) {
  SmallVector<AffineExpr> shape = shapeOf(n, x);
  return n.reshape(n.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], n.simplify(shape[1] * shape[3])});
}

// Rotary positions.

FailureOr<Value> stint::import::rotate(NodeContext &n, Value x, Value cosine, Value sine, bool interleaved) {
  SmallVector<AffineExpr> shape = shapeOf(n, x), angles = shapeOf(n, cosine);
  auto size = n.typeOf(x).getStaticDim(3), half = n.typeOf(cosine).getStaticDim(2);
  if (!size || !half || 2 * *half > *size || *half < 1)
    return n.malformed("angles for " + n.print(angles.back()) + " pairs do not fit heads of " + n.print(shape.back()));
  AffineExpr pairs = n.dim(*half), turned = n.dim(2 * *half);
  Value turns = part(n, x, 3, n.dim(0), turned), first, second;
  if (interleaved) {
    Value apart = n.reshape(turns, {shape[0], shape[1], shape[2], pairs, n.dim(2)});
    SmallVector<AffineExpr> one = {shape[0], shape[1], shape[2], pairs};
    first = n.reshape(part(n, apart, 4, n.dim(0), n.dim(1)), one);
    second = n.reshape(part(n, apart, 4, n.dim(1), n.dim(1)), one);
  } else {
    first = part(n, turns, 3, n.dim(0), pairs);
    second = part(n, turns, 3, pairs, pairs);
  }
  SmallVector<AffineExpr> perHead = {angles[0], n.dim(1), angles[1], pairs};
  SmallVector<Value> v = {first, second, n.reshape(cosine, perHead), n.reshape(sine, perHead)};
  if (failed(n.unify(v)))
    return failure();
  Value real = n.sub(n.mul(v[0], v[2]), n.mul(v[1], v[3]));
  Value imaginary = n.add(n.mul(v[0], v[3]), n.mul(v[1], v[2]));
  Value result;
  if (interleaved) {
    SmallVector<AffineExpr> column = {shape[0], shape[1], shape[2], pairs, n.dim(1)};
    result = n.reshape(join(n, {n.reshape(real, column), n.reshape(imaginary, column)}, 4),
                       {shape[0], shape[1], shape[2], turned});
  } else {
    result = join(n, {real, imaginary}, 3);
  }
  if (2 * *half < *size)
    result = join(n, {result, part(n, x, 3, turned, n.dim(*size - 2 * *half))}, 3);
  return result;
}

FailureOr<Value> stint::import::anglesAt(NodeContext &n, size_t table, Value positions) {
  if (n.rank(table) != 2)
    return n.malformed("a table of angles must be [positions, pairs]");
  return n.make<graph::GatherOp>(n.in(table), positions, 0);
}

/// `x` is [B, S, heads · H] or [B, heads, S, H].
static LogicalResult rotaryEmbedding(NodeContext &n, size_t cosine, size_t sine, size_t positions, int64_t heads,
                                     bool interleaved, int64_t rotated) {
  if (n.rank(0) != 3 && n.rank(0) != 4)
    return n.malformed("its input must have 3 or 4 dimensions");
  if (n.rank(cosine) < 1)
    return n.malformed("the angles must have dimensions");
  Value x = n.in(0);
  if (n.rank(0) == 3) {
    if (heads < 1) {
      auto pairs = n.type(cosine).getStaticDim(n.rank(cosine) - 1), width = n.type(0).getStaticDim(2);
      if (!pairs || !width || *pairs < 1 || rotated)
        return n.malformed("an input of 3 dimensions needs num_heads");
      heads = *width / (2 * *pairs);
    }
    auto split = splitHeads(n, x, heads);
    if (failed(split))
      return failure();
    x = *split;
  }
  SmallVector<AffineExpr> shape = shapeOf(n, x);
  FailureOr<Value> c = n.in(cosine), s = n.in(sine);
  if (n.has(positions)) {
    Value at = n.cast(n.in(positions), n.b.getI64Type());
    if (n.typeOf(at).getNumElements() == 1 && n.typeOf(at).getRank() <= 1) {
      // com.microsoft: where the first token is.
      at = n.add(n.reshape(at, {n.dim(1), n.dim(1)}), n.iota({n.dim(1), shape[2]}, 1));
    } else if (n.rank(positions) != 2) {
      return n.malformed("position_ids must be [batch, sequence]");
    }
    c = anglesAt(n, cosine, at);
    s = anglesAt(n, sine, at);
    if (failed(c) || failed(s))
      return failure();
  }
  if (n.typeOf(*c).getRank() != 3 || n.typeOf(*s).getRank() != 3)
    return n.malformed("without position_ids, the angles must be [batch, sequence, pairs]");
  if (auto pairs = n.typeOf(*c).getStaticDim(2); rotated && (!pairs || *pairs * 2 != rotated))
    return n.malformed("rotary_embedding_dim must be twice the pairs of the angles");
  auto result = rotate(n, x, *c, *s, interleaved);
  if (failed(result))
    return failure();
  n.out(0, n.rank(0) == 3 ? joinHeads(n, *result) : *result);
  return success();
}

static LogicalResult rotaryOnnx(NodeContext &n) {
  return rotaryEmbedding(n, 1, 2, 3, n.getInt("num_heads", 0), n.getInt("interleaved", 0) != 0,
                         n.getInt("rotary_embedding_dim", 0));
}

static LogicalResult rotaryMicrosoft(NodeContext &n) {
  if (float scale = n.getFloat("scale", 1); scale != 1)
    return n.unsupported("a scale other than 1");
  (void)n.getInt("is_packed_batching", 0);
  return rotaryEmbedding(n, 2, 3, 1, n.getInt("num_heads", 0), n.getInt("interleaved", 0) != 0,
                         n.getInt("rotary_embedding_dim", 0));
}

// Attention.

namespace {
/// One attention, all of it [B, heads, S or T, …]. `bias` and `mask` broadcast
/// to the scores [B, query heads, S, T].
struct Attention {
  Value query, key, value;
  double scale = 0;
  double softcap = 0; // 0: none
  Value bias;         // added after the cap
  Value mask;         // true where a query sees a key
  Value sink;         // [query heads]: one more logit that has no value
  // What the last run left on the way.
  Value raw, capped, biased, weights;

  FailureOr<Value> run(NodeContext &n);
};
} // namespace

FailureOr<Value> Attention::run(NodeContext &n) {
  SmallVector<AffineExpr> q = shapeOf(n, query), k = shapeOf(n, key);
  auto heads = n.typeOf(query).getStaticDim(1), shared = n.typeOf(key).getStaticDim(1);
  if (!heads || !shared || *shared < 1 || *heads % *shared)
    return n.malformed("query heads (" + n.print(q[1]) + ") must be a multiple of key heads (" + n.print(k[1]) + ")");
  // One product for each key head: [B, key heads, group · S, H].
  auto grouped = [&](AffineExpr width) {
    return SmallVector<AffineExpr>{q[0], k[1], n.simplify(q[2] * (*heads / *shared)), width};
  };
  auto product = matmul(n, n.reshape(query, grouped(q[3])), n.transpose(key, {0, 1, 3, 2}));
  if (failed(product))
    return failure();
  raw = n.reshape(n.mul(*product, n.scalarLike(*product, scale)), {q[0], q[1], q[2], k[2]});
  capped = raw;
  if (softcap != 0)
    capped = n.mul(n.make<graph::TanhOp>(n.div(raw, n.scalarLike(raw, softcap))), n.scalarLike(raw, softcap));
  biased = capped;
  double nothing = -std::numeric_limits<double>::infinity();
  if (bias) {
    SmallVector<Value> v = {biased, bias};
    if (failed(n.unify(v)))
      return failure();
    biased = n.add(v[0], v[1]);
  }
  if (mask) {
    SmallVector<Value> v = {mask, biased};
    if (failed(n.unify(v)))
      return failure();
    biased = n.select(v[0], v[1], n.scalarLike(biased, nothing));
  }
  Value top = n.reduce(ReduceKind::max, biased, {3}), drain;
  if (sink) {
    drain = n.reshape(sink, {n.dim(1), q[1], n.dim(1), n.dim(1)});
    top = n.max(top, drain);
  }
  Value e = n.make<graph::ExpOp>(n.sub(biased, top));
  Value sum = n.reduce(ReduceKind::sum, e, {3});
  if (sink)
    sum = n.add(sum, n.make<graph::ExpOp>(n.sub(drain, top)));
  weights = n.div(e, sum);
  auto result = matmul(n, n.reshape(weights, grouped(k[2])), value);
  if (failed(result))
    return failure();
  return n.reshape(*result, {q[0], q[1], q[2], shapeOf(n, value)[3]});
}

FailureOr<bool> stint::import::pair(NodeContext &n, size_t first, size_t second) {
  if (n.has(first) != n.has(second))
    return n.malformed("inputs " + Twine(first) + " and " + Twine(second) + " come together");
  return n.has(first);
}

/// A past [B, heads, P, H] in front of what is new. The batch of both becomes
/// one expression.
static FailureOr<Value> append(NodeContext &n, size_t past, Value fresh) {
  GraphTensorType type = n.type(past);
  SmallVector<AffineExpr> shape = shapeOf(n, fresh);
  if (type.getRank() != 4 || type.getElementType() != n.typeOf(fresh).getElementType())
    return n.malformed("a past must have 4 dimensions and the element type of what is new");
  for (int64_t d : {0, 1, 3})
    if (!n.assumeEqual(type.getDim(d), shape[d]))
      return n.malformed("past " + n.print(type) + " and new " + n.print(n.typeOf(fresh)) + " do not fit");
  shape[2] = type.getDim(2);
  return join(n, {n.reshape(n.in(past), shape), fresh}, 2);
}

/// [S, T] of i64: how far key j lies behind query i, which is at `offset` + i.
/// `offset` broadcasts to [B, 1, 1, 1].
static Value distance(NodeContext &n, AffineExpr queries, AffineExpr keys, Value offset) {
  Value i = n.iota({n.dim(1), n.dim(1), queries, n.dim(1)}, 2), j = n.iota({n.dim(1), n.dim(1), n.dim(1), keys}, 3);
  return n.sub(n.add(i, offset), j);
}

static Value zeroOrMore(NodeContext &n, Value x) {
  return n.compare(graph::ComparePredicate::ge, x, n.scalarLike(x, 0));
}

static LogicalResult attentionOnnx(NodeContext &n) {
  Attention a;
  SmallVector<Value> values;
  int64_t queryHeads = n.getInt("q_num_heads", 0), keyHeads = n.getInt("kv_num_heads", 0);
  bool flat = n.rank(0) == 3;
  for (size_t i : {0, 1, 2}) {
    if (n.rank(i) != n.rank(0) || (!flat && n.rank(0) != 4))
      return n.malformed("query, key and value must all have 3 dimensions, or all 4");
    FailureOr<Value> value = n.in(i);
    if (flat)
      value = splitHeads(n, *value, i ? keyHeads : queryHeads);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  // One expression for the batch, and for the keys' number.
  SmallVector<AffineExpr> batch = shapeOf(n, values[0]);
  for (size_t i : {1, 2}) {
    SmallVector<AffineExpr> shape = shapeOf(n, values[i]), keys = shapeOf(n, values[1]);
    if (!n.assumeEqual(shape[0], batch[0]) || !n.assumeEqual(shape[1], keys[1]) || !n.assumeEqual(shape[2], keys[2]))
      return n.malformed("query, key and value do not fit each other");
    shape[0] = batch[0];
    shape[1] = keys[1];
    shape[2] = keys[2];
    values[i] = n.reshape(values[i], shape);
  }
  auto past = pair(n, 4, 5);
  if (failed(past))
    return failure();
  AffineExpr before = n.dim(0);
  if (*past) {
    if (n.rank(4) != 4)
      return n.malformed("a past must have 4 dimensions");
    before = n.type(4).getDim(2);
    for (size_t i : {1, 2}) {
      auto all = append(n, i + 3, values[i]);
      if (failed(all))
        return failure();
      values[i] = *all;
    }
  }
  n.out(1, values[1]);
  n.out(2, values[2]);
  a.query = values[0];
  a.key = values[1];
  a.value = values[2];
  SmallVector<AffineExpr> q = shapeOf(n, a.query), k = shapeOf(n, a.key);
  auto size = n.typeOf(a.query).getStaticDim(3);
  if (!size)
    return n.unsupported("the head's size is not constant");
  a.scale = n.attribute("scale") ? n.getFloat("scale", 0) : 1 / std::sqrt(static_cast<double>(*size));
  a.softcap = n.getFloat("softcap", 0);
  (void)n.getInt("softmax_precision", 0); // sums are f32 in any case

  Type i64 = n.b.getI64Type();
  Value offset = n.dimension(before, i64);
  if (n.has(6)) {
    // How many keys of each batch element are there at all.
    if (n.rank(6) != 1 || !n.assumeEqual(n.type(6).getDim(0), q[0]))
      return n.malformed("nonpad_kv_seqlen must have one element a batch element");
    Value there = n.reshape(n.cast(n.in(6), i64), {q[0], n.dim(1), n.dim(1), n.dim(1)});
    Value j = n.iota({n.dim(1), n.dim(1), n.dim(1), k[2]}, 3);
    a.mask = n.compare(graph::ComparePredicate::lt, j, there);
    offset = n.sub(there, n.dimension(q[2], i64));
  }
  if (n.getInt("is_causal", 0)) {
    Value causal = zeroOrMore(n, distance(n, q[2], k[2], offset));
    a.mask = a.mask ? n.make<graph::AndOp>(a.mask, causal) : causal;
  }
  if (n.has(3)) {
    Value given = n.in(3);
    int64_t rank = n.rank(3);
    if (rank < 1 || rank > 4)
      return n.malformed("attn_mask must broadcast to the scores");
    AffineExpr width = n.type(3).getDim(rank - 1);
    bool isMask = n.element(3).isSignlessInteger(1);
    if (width != 1 && n.symbols.lessEqual(k[2], width) != true && !n.assumeEqual(width, k[2])) {
      // A short one: what is behind it is not seen.
      SmallVector<AffineExpr> rest = shapeOf(n, given);
      rest.back() = n.simplify(k[2] - width);
      if (n.symbols.range(rest.back()).lower < 0)
        return n.malformed("attn_mask is wider than the scores");
      Value hidden = n.scalarLike(given, isMask ? 0 : -std::numeric_limits<double>::infinity());
      given = join(n, {given, n.broadcast(hidden, rest)}, rank - 1);
    }
    if (!isMask)
      a.bias = given;
    else if (!a.mask)
      a.mask = given;
    else {
      SmallVector<Value> v = {a.mask, given};
      if (failed(n.unify(v)))
        return failure();
      a.mask = n.make<graph::AndOp>(v[0], v[1]);
    }
  }
  auto result = a.run(n);
  if (failed(result))
    return failure();
  n.out(0, flat ? joinHeads(n, *result) : *result);
  int64_t mode = n.getInt("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return n.malformed("qk_matmul_output_mode must be 0 to 3");
  n.out(3, mode == 0 ? a.raw : mode == 1 ? a.capped : mode == 2 ? a.biased : a.weights);
  return success();
}

/// com.microsoft GroupQueryAttention. Keys and values of batch element b fill
/// the cache up to seqlens_k[b] + 1; the new ones are its last S, and in the
/// first run, where there is no past, all of them from position 0.
static LogicalResult groupQueryAttention(NodeContext &n) {
  int64_t heads = n.getInt("num_heads", 0), shared = n.getInt("kv_num_heads", 0);
  if (heads < 1 || shared < 1 || heads % shared)
    return n.malformed("num_heads (" + Twine(heads) + ") must be a positive multiple of kv_num_heads (" +
                       Twine(shared) + ")");
  for (auto [name, plain] : {std::pair("k_quant_type", "NONE"), std::pair("v_quant_type", "NONE")})
    if (n.getString(name, plain) != plain)
      return n.unsupported("a quantised cache");
  (void)n.getInt("kv_cache_bit_width", 0);
  if (n.getInt("qk_output", 0))
    return n.unsupported("qk_output");
  for (size_t i : {12, 13, 14, 15})
    if (n.has(i))
      return n.unsupported("input " + Twine(i));
  auto separate = pair(n, 1, 2), past = pair(n, 3, 4);
  if (failed(separate) || failed(past))
    return failure();
  if (n.rank(0) != 3 || !n.has(5) || !n.has(6))
    return n.malformed("needs a query [batch, sequence, width], seqlens_k and total_sequence_length");
  AffineExpr batch = n.type(0).getDim(0), length = n.type(0).getDim(1);

  SmallVector<Value> values = {n.in(0)};
  if (*separate) {
    for (size_t i : {1, 2}) {
      if (n.rank(i) != 3 || !n.assumeEqual(n.type(i).getDim(0), batch) || !n.assumeEqual(n.type(i).getDim(1), length))
        return n.malformed("query, key and value do not fit each other");
      values.push_back(n.reshape(n.in(i), {batch, length, n.type(i).getDim(2)}));
    }
  } else {
    auto width = n.type(0).getStaticDim(2);
    if (!width || *width % (heads + 2 * shared))
      return n.malformed("a packed query must be as wide as the heads of query, key and value");
    int64_t size = *width / (heads + 2 * shared), at = 0;
    values.clear();
    for (int64_t count : {heads, shared, shared}) {
      values.push_back(part(n, n.in(0), 2, n.dim(at * size), n.dim(count * size)));
      at += count;
    }
  }
  for (size_t i : {0, 1, 2}) {
    auto split = splitHeads(n, values[i], i ? shared : heads);
    if (failed(split))
      return failure();
    values[i] = *split;
  }

  // How many keys each batch element has had before: [B, 1, 1, 1].
  Type i64 = n.b.getI64Type();
  if (*past && n.rank(3) != 4)
    return n.malformed("a past must have 4 dimensions");
  AffineExpr before = *past ? n.type(3).getDim(2) : n.dim(0), all = n.simplify(before + length);
  if (const Known *total = n.known(6); total && total->elements.size() == 1 && total->elements[0].expr)
    if (!n.assumeEqual(total->elements[0].expr, all))
      return n.malformed("total_sequence_length must be the past's length plus the new one");
  if (n.type(5).getNumElements() != 1 && (n.rank(5) < 1 || !n.assumeEqual(n.type(5).getDim(0), batch)))
    return n.malformed("seqlens_k must have one element a batch element");
  Value had = n.reshape(n.cast(n.in(5), i64), {batch, n.dim(1), n.dim(1), n.dim(1)});
  had = n.sub(n.add(had, n.scalar(i64, 1)), n.dimension(length, i64));
  Value zero = n.scalar(i64, 0);
  had = n.select(n.compare(graph::ComparePredicate::eq, n.dimension(before, i64), zero), zero, n.max(had, zero));
  had = n.min(had, n.dimension(before, i64));

  if (n.getInt("do_rotary", 0)) {
    auto tables = pair(n, 7, 8);
    if (failed(tables) || !*tables)
      return n.malformed("do_rotary needs cos_cache and sin_cache");
    Value positions = n.add(n.reshape(had, {batch, n.dim(1)}), n.iota({n.dim(1), length}, 1));
    if (n.has(9)) {
      if (n.rank(9) != 2)
        return n.malformed("position_ids must be [batch, sequence]");
      positions = n.cast(n.in(9), i64);
    }
    auto c = anglesAt(n, 7, positions), s = anglesAt(n, 8, positions);
    if (failed(c) || failed(s))
      return failure();
    for (size_t i : {0, 1}) {
      auto turned = rotate(n, values[i], *c, *s, n.getInt("rotary_interleaved", 0) != 0);
      if (failed(turned))
        return failure();
      values[i] = *turned;
    }
  }

  if (*past) {
    for (size_t i : {1, 2}) {
      auto joined = append(n, i + 2, values[i]);
      if (failed(joined))
        return failure();
      values[i] = *joined;
    }
    // Key j is past key j, or new key j - had.
    all = n.typeOf(values[1]).getDim(2);
    Value j = n.iota({n.dim(1), n.dim(1), all, n.dim(1)}, 2);
    Value fresh = n.add(n.sub(j, had), n.dimension(before, i64));
    fresh = n.min(fresh, n.dimension(n.simplify(all - 1), i64));
    Value from = n.select(n.compare(graph::ComparePredicate::lt, j, had), j, fresh);
    for (size_t i : {1, 2}) {
      GraphTensorType type = n.typeOf(values[i]);
      values[i] = n.make<graph::GatherElementsOp>(type, values[i], n.broadcast(from, type.getShape()), 2);
    }
  }
  n.out(1, values[1]);
  n.out(2, values[2]);

  Attention a;
  a.query = values[0];
  a.key = values[1];
  a.value = values[2];
  auto size = n.typeOf(a.query).getStaticDim(3);
  double scale = n.getFloat("scale", 0);
  a.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(*size));
  a.softcap = n.getFloat("softcap", 0);
  Value behind = distance(n, length, all, had);
  a.mask = zeroOrMore(n, behind);
  int64_t window = n.getInt("local_window_size", -1);
  if (window < -1 || window == 0)
    return n.malformed("local_window_size must be positive, or -1 for none");
  if (window > 0)
    a.mask = n.make<graph::AndOp>(
        a.mask, n.compare(graph::ComparePredicate::lt, behind, n.scalar(i64, static_cast<double>(window))));
  if (n.has(10))
    a.bias = n.in(10);
  if (n.has(11))
    a.sink = n.cast(n.in(11), n.element(0));
  else if (n.getInt("smooth_softmax", 0) > 0)
    a.sink = n.broadcast(n.scalar(n.element(0), 0), {n.dim(heads)});
  auto result = a.run(n);
  if (failed(result))
    return failure();
  n.out(0, joinHeads(n, *result));
  return success();
}

void stint::import::addAttentions(RuleTable &t) {
  t.add("Attention", 3, attentionOnnx);
  t.add("RotaryEmbedding", 3, rotaryOnnx);
  t.add("RotaryEmbedding", 4, rotaryMicrosoft, "com.microsoft");
  t.add("GroupQueryAttention", 1, groupQueryAttention, "com.microsoft");
}
