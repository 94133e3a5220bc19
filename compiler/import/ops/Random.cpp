// Random numbers: a hash of the element's position and the node's seed. A node
// draws the same numbers at every run, whatever the machine and the number of
// threads. The seed is the attribute `seed`, or where there is none made from
// the node's name.
#include "compiler/import/NodeContext.h"
#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;

namespace {
class Generator {
public:
  explicit Generator(NodeContext &n) : n(n), u32(n.b.getIntegerType(32, /*isSigned=*/false)) {
    const NodeAttribute *a = n.attribute("seed");
    if (a && a->kind == NodeAttribute::Kind::Int) { // Dropout
      seed = static_cast<uint32_t>(n.getInt("seed", 0));
    } else if (a) {
      float value = n.getFloat("seed", 0);
      std::memcpy(&seed, &value, sizeof(seed));
    } else {
      seed = 2166136261u; // FNV-1a
      for (char c : n.node.label())
        seed = (seed ^ static_cast<uint8_t>(c)) * 16777619u;
    }
  }

  /// In [0, 1), multiples of 2^-24: f32 of `shape`. Streams of one node are
  /// independent.
  Value uniform(ArrayRef<AffineExpr> shape, uint32_t stream = 0) {
    Value h = n.make<graph::ShiftRightOp>(bits(shape, stream), word(8));
    return n.mul(n.cast(n.cast(h, n.b.getI32Type()), n.b.getF32Type()), n.scalar(n.b.getF32Type(), std::ldexp(1, -24)));
  }
  /// Mean 0, deviation 1 (Box and Muller).
  Value normal(ArrayRef<AffineExpr> shape) {
    Type f32 = n.b.getF32Type();
    Value logarithm = n.make<graph::LogOp>(n.sub(n.scalar(f32, 1), uniform(shape, 1)));
    Value radius = n.make<graph::SqrtOp>(n.mul(logarithm, n.scalar(f32, -2)));
    return n.mul(radius, n.make<graph::CosOp>(n.mul(uniform(shape, 2), n.scalar(f32, 2 * M_PI))));
  }

private:
  Value word(uint32_t v) { return n.scalar(u32, v); }
  /// 32 bits an element: two rounds of a mixing function (Ellis' lowbias32).
  Value bits(ArrayRef<AffineExpr> shape, uint32_t stream) {
    AffineExpr count = n.dim(1);
    for (AffineExpr d : shape)
      count = count * d;
    Value h = n.cast(n.iota({n.simplify(count)}, 0), u32);
    for (uint32_t key : {seed, seed * 0x9e3779b9u + stream * 0x85ebca6bu + 1}) {
      h = n.add(h, word(key));
      h = mix(h, 16);
      h = n.mul(h, word(0x7feb352du));
      h = mix(h, 15);
      h = n.mul(h, word(0x846ca68bu));
      h = mix(h, 16);
    }
    return n.reshape(h, shape);
  }
  Value mix(Value h, uint32_t by) { return n.make<graph::BitXorOp>(h, n.make<graph::ShiftRightOp>(h, word(by))); }

  NodeContext &n;
  Type u32;
  uint32_t seed = 0;
};
} // namespace

/// The type `dtype` names, `otherwise` where it is absent; reports if it is
/// none that the result can have.
static FailureOr<Type> resultType(NodeContext &n, Type otherwise) {
  if (!n.attribute("dtype"))
    return otherwise;
  Type type = elementTypeOf(static_cast<DataType>(n.getInt("dtype", 0)), n.context());
  if (!type)
    return n.unsupported("its dtype");
  return type;
}

/// The shape a Random* node asks for, by attribute or by operand 0.
static FailureOr<SmallVector<AffineExpr>> wantedShape(NodeContext &n) {
  if (n.numInputs() > 0 && n.has(0))
    return SmallVector<AffineExpr>(n.type(0).getShape());
  auto given = n.getInts("shape");
  if (!given || given->size() > graph::GraphTensorType::kMaxRank ||
      llvm::any_of(*given, [](int64_t d) { return d < 0; }))
    return n.malformed("needs a shape of at most 8 dimensions");
  return llvm::map_to_vector(*given, [&](int64_t d) { return n.dim(d); });
}

static LogicalResult random(NodeContext &n, bool normal) {
  auto shape = wantedShape(n);
  Type f32 = n.b.getF32Type();
  auto type = resultType(n, n.has(0) ? n.element(0) : f32);
  if (failed(shape) || failed(type))
    return failure();
  if (!graph::isFloat(*type))
    return n.malformed("random numbers are floats; it needs a dtype");
  Generator generator(n);
  double base = normal ? n.getFloat("mean", 0) : n.getFloat("low", 0);
  double range = normal ? n.getFloat("scale", 1) : n.getFloat("high", 1) - n.getFloat("low", 0);
  Value v = normal ? generator.normal(*shape) : generator.uniform(*shape);
  n.out(0, n.cast(n.add(n.mul(v, n.scalar(f32, range)), n.scalar(f32, base)), *type));
  return success();
}

static LogicalResult randomUniform(NodeContext &n) { return random(n, false); }
static LogicalResult randomNormal(NodeContext &n) { return random(n, true); }

static LogicalResult bernoulli(NodeContext &n) {
  auto type = resultType(n, n.element(0));
  if (failed(type))
    return failure();
  if (!graph::isFloat(n.element(0)))
    return n.malformed("probabilities must be floats");
  Value u = n.cast(Generator(n).uniform(n.type(0).getShape()), n.element(0));
  n.out(0, n.cast(n.compare(ComparePredicate::lt, u, n.in(0)), *type));
  return success();
}

/// Draws classes by their logarithmic probabilities: the largest after adding
/// Gumbel noise.
static LogicalResult multinomial(NodeContext &n) {
  auto type = resultType(n, n.b.getI32Type());
  if (failed(type))
    return failure();
  int64_t samples = n.getInt("sample_size", 1);
  if (n.rank(0) != 2 || samples < 1 || samples > 1 << 24 || !graph::isFloat(n.element(0)))
    return n.malformed("needs logarithms of shape [batch, classes] and a positive sample_size");
  AffineExpr batch = n.type(0).getDim(0), classes = n.type(0).getDim(1);
  if (!n.atLeast(classes, 1, "the number of classes"))
    return failure();
  Type f32 = n.b.getF32Type();
  // 2^-25 keeps the logarithms finite.
  Value u = n.add(Generator(n).uniform({batch, n.dim(samples), classes}), n.scalar(f32, std::ldexp(1, -25)));
  auto minusLog = [&](Value v) { return n.make<graph::NegOp>(n.make<graph::LogOp>(v)); };
  Value logits = n.cast(n.reshape(n.in(0), {batch, n.dim(1), classes}), f32);
  Value drawn = n.reduce(graph::ReduceKind::argmax, n.add(logits, minusLog(minusLog(u))), {2});
  n.out(0, n.cast(n.reshape(drawn, {batch, n.dim(samples)}), *type));
  return success();
}

/// Inference passes the operand on; training zeroes a share of it and scales
/// the rest up. Since opset 12 the share and whether to train are operands.
static LogicalResult dropout(NodeContext &n) {
  Type maskType = n.opset < 10 ? n.element(0) : Type(n.b.getI1Type());
  auto knownNumber = [&](size_t input) -> std::optional<double> {
    const Known *k = n.known(input);
    return k && k->elements.size() == 1 ? k->elements[0].number() : std::nullopt;
  };
  std::optional<double> ratio = n.opset < 12 ? double(n.getFloat("ratio", 0.5f)) : n.has(1) ? knownNumber(1) : 0.5;
  std::optional<double> training = n.opset >= 12 ? (n.has(2) ? knownNumber(2) : 0.0)
                                   : n.opset < 7 ? double(!n.getInt("is_test", 0))
                                                 : 0.0;
  if (training == 0.0 || ratio == 0.0) {
    n.forward(0, 0);
    if (n.wants(1)) // everything is kept
      n.out(1, n.broadcast(n.scalar(maskType, 1), n.type(0).getShape()));
    return success();
  }
  Type f32 = n.b.getF32Type(), type = n.element(0);
  for (size_t i : {1, 2})
    if (n.has(i) && n.type(i).getNumElements() != 1)
      return n.malformed("ratio and training_mode must be scalars");
  Value share = ratio ? n.scalar(f32, *ratio) : n.cast(n.reshape(n.in(1), {}), f32);
  if (!training)
    share = n.select(n.reshape(n.in(2), {}), share, n.scalar(f32, 0));
  Value keep = n.compare(ComparePredicate::ge, Generator(n).uniform(n.type(0).getShape()), share);
  // A share of 1 keeps nothing, and its scale must not be infinite.
  Value all = n.compare(ComparePredicate::ge, share, n.scalar(f32, 1));
  Value scale = n.div(n.scalar(f32, 1), n.select(all, n.scalar(f32, 1), n.sub(n.scalar(f32, 1), share)));
  Value x = n.in(0);
  n.out(0, n.select(keep, n.mul(x, n.cast(scale, type)), n.scalarLike(x, 0)));
  n.out(1, n.cast(keep, maskType));
  return success();
}

void stint::import::addRandoms(RuleTable &t) {
  t.add("RandomUniform", 0, randomUniform);
  t.add("RandomUniformLike", 1, randomUniform);
  t.add("RandomNormal", 0, randomNormal);
  t.add("RandomNormalLike", 1, randomNormal);
  t.add("Bernoulli", 1, bernoulli);
  t.add("Multinomial", 1, multinomial);
  t.add("Dropout", 1, dropout);
}
