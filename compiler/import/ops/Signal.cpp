// Windows, Fourier transforms and the mel filter bank.
//
// A transform is a product with a matrix of cosines and sines, which is folded
// where its size is known. A long one of composite length N = P·Q is P-point
// transforms, twiddle factors, then Q-point ones (Cooley and Tukey), so that
// the matrices stay small. Angles are multiples of 2π/N reduced as integers
// and computed in f64.
#include "compiler/import/ops/Contractions.h"
#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;
using graph::GraphTensorType;

/// A one-element operand as an expression; reports if it is not known.
static FailureOr<AffineExpr> size(NodeContext &n, size_t input, StringRef name) {
  const Known *k = n.known(input);
  if (!k || k->elements.size() != 1 || !k->elements[0].expr)
    return n.unsupported("'" + name + "' depends on the input's values");
  AffineExpr size = k->elements[0].expr;
  if (!n.atLeast(size, 0, "'" + name + "'"))
    return failure();
  if (n.symbols.upper(size) > kMostInteger)
    return n.malformed("'" + name + "' is out of range");
  return size;
}

// Windows.

/// a0 - a1·cos(2πi/N) + a2·cos(4πi/N)
static LogicalResult cosineWindow(NodeContext &n, double a0, double a1, double a2) {
  Value count = n.known(0) ? Value() : n.cast(n.reshape(n.in(0), {}), n.b.getI64Type());
  auto length = count ? n.boundedSize(count, 0, 0) : size(n, 0, "size");
  if (failed(length))
    return failure();
  Type type = elementTypeOf(static_cast<DataType>(n.getInt("output_datatype", 1)), n.context());
  if (!type)
    return n.unsupported("its output_datatype");
  Type f64 = n.b.getF64Type();
  AffineExpr period = n.getInt("periodic", 1) ? *length : n.simplify(*length - 1);
  Value turn = n.div(n.cast(n.iota({*length}, 0), f64), n.dimension(period, f64));
  auto cosine = [&](double turns) { return n.make<graph::CosOp>(n.mul(turn, n.scalar(f64, turns * 2 * M_PI))); };
  Value window = n.sub(n.scalar(f64, a0), n.mul(n.scalar(f64, a1), cosine(1)));
  if (a2 != 0)
    window = n.add(window, n.mul(n.scalar(f64, a2), cosine(2)));
  n.out(0, n.cast(window, type));
  return success();
}

static LogicalResult hannWindow(NodeContext &n) { return cosineWindow(n, 0.5, 0.5, 0); }
static LogicalResult hammingWindow(NodeContext &n) { return cosineWindow(n, 25.0 / 46, 21.0 / 46, 0); }
static LogicalResult blackmanWindow(NodeContext &n) { return cosineWindow(n, 0.42, 0.5, 0.08); }

/// Triangles between three neighbours of frequencies that are even in mel.
static LogicalResult melWeightMatrix(NodeContext &n) {
  auto bands = size(n, 0, "num_mel_bins"), length = size(n, 1, "dft_length");
  if (failed(bands) || failed(length))
    return failure();
  Type type = elementTypeOf(static_cast<DataType>(n.getInt("output_datatype", 1)), n.context());
  if (!type)
    return n.unsupported("its output_datatype");
  Type f64 = n.b.getF64Type();
  auto f = [&](double v) { return n.scalar(f64, v); };
  auto operand = [&](size_t i) { return n.cast(n.reshape(n.in(i), {}), f64); };
  for (size_t i = 2; i < 5; ++i)
    if (n.type(i).getNumElements() != 1)
      return n.malformed("its operands must be scalars");
  double perLog = 2595 / std::log(10.0);
  auto mel = [&](Value hertz) { return n.mul(n.make<graph::LogOp>(n.add(n.div(hertz, f(700)), f(1))), f(perLog)); };
  Value low = mel(operand(3)), high = mel(operand(4));
  AffineExpr points = n.simplify(*bands + 2);
  Value step = n.div(n.sub(high, low), n.dimension(points, f64));
  Value melodic = n.add(n.mul(n.cast(n.iota({points}, 0), f64), step), low);
  Value hertz = n.mul(n.sub(n.make<graph::ExpOp>(n.div(melodic, f(perLog))), f(1)), f(700));
  Value bin = n.make<graph::FloorOp>(n.div(n.mul(hertz, n.dimension(n.simplify(*length + 1), f64)), operand(2)));
  auto neighbour = [&](int64_t i) { return n.slice(bin, {n.dim(i)}, {*bands}); };
  Value lower = neighbour(0), centre = neighbour(1), upper = neighbour(2);
  Value at = n.cast(n.iota({n.simplify(length->floorDiv(2) + 1), n.dim(1)}, 0), f64);
  auto both = [&](Value a, Value b) { return n.make<graph::AndOp>(a, b); };
  auto compare = [&](Value a, ComparePredicate p, Value b) { return n.compare(p, a, b); };
  Value rise = n.sub(centre, lower), fall = n.sub(upper, centre);
  Value rising = both(compare(at, ComparePredicate::ge, lower), compare(at, ComparePredicate::le, centre));
  Value falling = both(compare(at, ComparePredicate::ge, centre), compare(at, ComparePredicate::lt, upper));
  Value up = n.select(rising, n.div(n.sub(at, lower), rise), f(0));
  // Two neighbours in one bin: 1 there.
  Value peak = n.cast(compare(at, ComparePredicate::eq, centre), f64);
  up = n.select(compare(rise, ComparePredicate::eq, f(0)), peak, up);
  Value down = both(falling, compare(fall, ComparePredicate::gt, f(0)));
  n.out(0, n.cast(n.select(down, n.div(n.sub(upper, at), fall), up), type));
  return success();
}

// Fourier transforms.

namespace {
class Fourier {
public:
  Fourier(NodeContext &n, Type element, bool inverse)
      : n(n), element(element), f64(n.b.getF64Type()), i64(n.b.getI64Type()), inverse(inverse) {}

  /// x [B, N, 1 or 2] -> [B, bins, 2], not scaled.
  FailureOr<Value> complex(Value x, AffineExpr bins);
  /// x [B, bins, 2] -> [B, N, 1]: the real signal of half a spectrum, scaled.
  FailureOr<Value> real(Value x, AffineExpr length);
  Value scaled(Value x, AffineExpr length) { return n.div(x, n.cast(n.dimension(length, f64), element)); }

private:
  struct Waves {
    Value cos, sin; // f64
  };
  /// Of the angles ±2π·(i·j mod N)/N, for i along `axisI` and j along `axisJ`.
  Waves waves(ArrayRef<AffineExpr> shape, int64_t axisI, int64_t axisJ, AffineExpr length, bool negative);
  AffineExpr dim(Value x, int64_t i) { return n.typeOf(x).getDim(i); }
  /// A pair of [.., 1] values along the last dimension.
  Value pair(Value re, Value im) { return n.make<graph::ConcatOp>(ValueRange{re, im}, n.typeOf(re).getRank() - 1); }

  NodeContext &n;
  Type element, f64, i64;
  bool inverse;
};
} // namespace

Fourier::Waves Fourier::waves(ArrayRef<AffineExpr> shape, int64_t axisI, int64_t axisJ, AffineExpr length,
                              bool negative) {
  auto line = [&](int64_t axis) {
    SmallVector<AffineExpr> only(shape.size(), n.dim(1));
    only[axis] = shape[axis];
    return n.iota(only, axis);
  };
  Value turn = n.make<graph::ModOp>(n.mul(line(axisI), line(axisJ)), n.dimension(length, i64));
  Value angle =
      n.mul(n.div(n.cast(turn, f64), n.dimension(length, f64)), n.scalar(f64, negative ? -2 * M_PI : 2 * M_PI));
  return {n.make<graph::CosOp>(angle), n.make<graph::SinOp>(angle)};
}

FailureOr<Value> Fourier::complex(Value x, AffineExpr bins) {
  AffineExpr batch = dim(x, 0), length = dim(x, 1), parts = dim(x, 2);
  auto points = n.typeOf(x).getStaticDim(1);
  if (points && *points > int64_t(1) << 28)
    return n.unsupported("a transform of " + Twine(*points) + " points");
  // The divisor next to the square root.
  int64_t factor = 1;
  if (points && *points > 1) {
    int64_t partCount = *n.typeOf(x).getStaticDim(2);
    for (int64_t d = 2; *points * *points * 2 * partCount > (1 << 18) && d * d <= *points; ++d)
      factor = *points % d == 0 ? d : factor;
  }
  if (factor > 1) {
    int64_t p = factor, q = *points / factor;
    // x[q·i + j] -> P-point transforms over i.
    Value columns = n.transpose(n.reshape(x, {batch, n.dim(p), n.dim(q), parts}), {0, 2, 1, 3});
    auto inner = complex(n.reshape(columns, {n.simplify(batch * q), n.dim(p), parts}), n.dim(p));
    if (failed(inner))
      return failure();
    // Times the twiddle factors e^(±2πi·j·k/N): z·cos + (-im, re)·sin.
    Value z = n.reshape(*inner, {batch, n.dim(q), n.dim(p), n.dim(2)});
    Waves w = waves({n.dim(q), n.dim(p), n.dim(1)}, 0, 1, length, !inverse);
    Value swapped = n.slice(z, {n.dim(0), n.dim(0), n.dim(0), n.dim(1)}, n.typeOf(z).getShape(), {1, 1, 1, -1});
    Value sin = n.cast(pair(n.make<graph::NegOp>(w.sin), w.sin), element);
    z = n.add(n.mul(z, n.cast(w.cos, element)), n.mul(swapped, sin));
    // Q-point transforms over j; the result's index is k + p·l.
    z = n.reshape(n.transpose(z, {0, 2, 1, 3}), {n.simplify(batch * p), n.dim(q), n.dim(2)});
    auto outer = complex(z, n.dim(q));
    if (failed(outer))
      return failure();
    Value all = n.transpose(n.reshape(*outer, {batch, n.dim(p), n.dim(q), n.dim(2)}), {0, 2, 1, 3});
    all = n.reshape(all, {batch, length, n.dim(2)});
    return bins == length ? all : n.slice(all, {n.dim(0), n.dim(0), n.dim(0)}, {batch, bins, n.dim(2)});
  }
  // The matrix [N, parts, bins, 2]: (cos, sin) for re, (-sin, cos) for im.
  Waves w = waves({length, n.dim(1), bins, n.dim(1)}, 0, 2, length, !inverse);
  Value matrix = pair(w.cos, w.sin);
  if (parts == 2)
    matrix = n.make<graph::ConcatOp>(ValueRange{matrix, pair(n.make<graph::NegOp>(w.sin), w.cos)}, 1);
  AffineExpr rows = n.simplify(length * parts), columns = n.simplify(bins * 2);
  matrix = n.cast(n.reshape(matrix, {rows, columns}), element);
  auto result = matmul(n, n.reshape(x, {batch, rows}), matrix);
  if (failed(result))
    return failure();
  return n.reshape(*result, {batch, bins, n.dim(2)});
}

FailureOr<Value> Fourier::real(Value x, AffineExpr length) {
  AffineExpr batch = dim(x, 0), bins = dim(x, 1);
  // Bins other than 0 and N/2 stand for their mirror image too.
  Waves w = waves({bins, n.dim(1), length}, 0, 2, length, false);
  Value k = n.iota({bins, n.dim(1), n.dim(1)}, 0);
  auto is = [&](Value a, Value b) { return n.compare(ComparePredicate::eq, a, b); };
  Value single = n.make<graph::OrOp>(is(k, n.scalar(i64, 0)), is(n.mul(k, n.scalar(i64, 2)), n.dimension(length, i64)));
  Value weight = n.div(n.select(single, n.scalar(f64, 1), n.scalar(f64, 2)), n.dimension(length, f64));
  Value matrix =
      n.make<graph::ConcatOp>(ValueRange{n.mul(w.cos, weight), n.mul(n.make<graph::NegOp>(w.sin), weight)}, 1);
  AffineExpr rows = n.simplify(bins * 2);
  matrix = n.cast(n.reshape(matrix, {rows, length}), element);
  auto result = matmul(n, n.reshape(x, {batch, rows}), matrix);
  if (failed(result))
    return failure();
  return n.reshape(*result, {batch, length, n.dim(1)});
}

/// Cuts or pads with zeros dimension `axis` to `length`.
static FailureOr<Value> resized(NodeContext &n, Value x, int64_t axis, AffineExpr length) {
  GraphTensorType type = n.typeOf(x);
  AffineExpr own = type.getDim(axis);
  SmallVector<AffineExpr> shape(type.getShape()), zeros(type.getRank(), n.dim(0));
  shape[axis] = length;
  if (n.same(own, length))
    return n.reshape(x, shape);
  if (n.symbols.lessEqual(length, own) == true)
    return n.slice(x, zeros, shape);
  if (n.symbols.lessEqual(own, length) != true)
    return n.unsupported("whether dimension " + n.print(own) + " is cut or padded to " + n.print(length) +
                         " depends on the input; narrow its bounds with --dim");
  return n.make<graph::PadOp>(n.shaped(type, shape), x, n.scalarLike(x, 0), graph::PadMode::constant,
                              graph::symbolMap(zeros, n.context()));
}

static LogicalResult dft(NodeContext &n) {
  int64_t rank = n.rank(0);
  auto parts = rank >= 2 ? n.type(0).getStaticDim(rank - 1) : std::nullopt;
  if (!parts || (*parts != 1 && *parts != 2) || !graph::isFloat(n.element(0)))
    return n.malformed("needs floats of shape [batch, signal…, 1 or 2]");
  int64_t given = n.getInt("axis", 1);
  if (n.opset >= 20) {
    given = -2;
    if (n.has(2)) {
      auto value = n.getIntsOrInput("axis", 2);
      if (failed(value))
        return failure();
      if ((**value).size() != 1)
        return n.malformed("axis must be one number");
      given = (**value)[0];
    }
  }
  auto axis = n.axis(given, rank);
  if (failed(axis))
    return failure();
  if (*axis == rank - 1)
    return n.malformed("the last dimension holds real and imaginary parts and is no axis");
  bool inverse = n.getInt("inverse", 0) != 0, onesided = n.getInt("onesided", 0) != 0;
  bool toReal = inverse && onesided;
  if (onesided && !inverse && *parts != 1)
    return n.malformed("onesided needs a real input");
  if (toReal && *parts != 2)
    return n.malformed("onesided and inverse need a complex input");
  AffineExpr length = n.type(0).getDim(*axis);
  if (toReal)
    length = n.simplify((length - 1) * 2);
  if (n.has(1)) {
    auto wanted = size(n, 1, "dft_length");
    if (failed(wanted))
      return failure();
    length = *wanted;
  }
  if (!n.atLeast(length, 1, "the length"))
    return failure();
  AffineExpr half = n.simplify(length.floorDiv(2) + 1);
  auto sized = resized(n, n.in(0), *axis, toReal ? half : length);
  if (failed(sized))
    return failure();
  // The axis last, the others as one batch.
  SmallVector<int64_t> permutation, back(rank);
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis && i != rank - 1)
      permutation.push_back(i);
  permutation.append({*axis, rank - 1});
  for (auto [to, from] : llvm::enumerate(permutation))
    back[from] = to;
  Value x = n.transpose(*sized, permutation);
  SmallVector<AffineExpr> shape(n.typeOf(x).getShape());
  AffineExpr batch = n.dim(1);
  for (AffineExpr d : ArrayRef<AffineExpr>(shape).drop_back(2))
    batch = batch * d;
  x = n.reshape(x, {n.simplify(batch), shape[rank - 2], shape[rank - 1]});
  Fourier fourier(n, n.element(0), inverse);
  auto result = toReal ? fourier.real(x, length) : fourier.complex(x, onesided ? half : length);
  if (failed(result))
    return failure();
  Value y = inverse && !toReal ? fourier.scaled(*result, length) : *result;
  shape[rank - 2] = n.typeOf(y).getDim(1);
  shape[rank - 1] = n.typeOf(y).getDim(2);
  n.out(0, n.transpose(n.reshape(y, shape), back));
  return success();
}

/// Frames gathered out of the signal, windowed, transformed.
static LogicalResult stft(NodeContext &n) {
  if (n.rank(0) != 3 || !graph::isFloat(n.element(0)))
    return n.malformed("the signal must be floats of shape [batch, length, 1 or 2]");
  auto parts = n.type(0).getStaticDim(2);
  bool onesided = n.getInt("onesided", 1) != 0;
  if (!parts || (*parts != 1 && *parts != 2) || (onesided && *parts == 2))
    return n.malformed("the signal must be real, or complex where onesided is 0");
  auto step = size(n, 1, "frame_step");
  if (failed(step))
    return failure();
  auto constantStep = dyn_cast<AffineConstantExpr>(*step);
  if (!constantStep || constantStep.getValue() < 1)
    return n.unsupported("'frame_step' must be a positive constant");
  AffineExpr signal = n.type(0).getDim(1), length = signal;
  if (n.has(2)) {
    if (n.rank(2) != 1 || n.element(2) != n.element(0))
      return n.malformed("the window must be a vector of the signal's type");
    length = n.type(2).getDim(0);
  }
  if (n.has(3)) {
    auto given = size(n, 3, "frame_length");
    if (failed(given))
      return failure();
    if (n.has(2) && !n.same(*given, length))
      return n.malformed("frame_length " + n.print(*given) + " is not the window's, " + n.print(length));
    length = n.has(2) ? length : *given;
  }
  if (n.symbols.range(length).lower < 1 || n.symbols.lessEqual(length, signal) != true)
    return n.unsupported("a frame of " + n.print(length) + " may not fit into a signal of " + n.print(signal) +
                         "; raise the lower bound of --dim");
  AffineExpr frames = n.simplify((signal - length).floorDiv(constantStep.getValue()) + 1);
  Type i64 = n.b.getI64Type();
  Value start = n.mul(n.iota({frames, n.dim(1)}, 0), n.scalar(i64, static_cast<double>(constantStep.getValue())));
  Value index = n.add(start, n.iota({n.dim(1), length}, 1));
  Value framed = n.make<graph::GatherOp>(n.in(0), index, 1); // [B, frames, length, parts]
  if (n.has(2))
    framed = n.mul(framed, n.reshape(n.in(2), {length, n.dim(1)}));
  AffineExpr batch = n.type(0).getDim(0), bins = onesided ? n.simplify(length.floorDiv(2) + 1) : length;
  auto result = Fourier(n, n.element(0), false)
                    .complex(n.reshape(framed, {n.simplify(batch * frames), length, n.dim(*parts)}), bins);
  if (failed(result))
    return failure();
  n.out(0, n.reshape(*result, {batch, frames, bins, n.dim(2)}));
  return success();
}

void stint::import::addSignals(RuleTable &t) {
  t.add("HannWindow", 1, hannWindow);
  t.add("HammingWindow", 1, hammingWindow);
  t.add("BlackmanWindow", 1, blackmanWindow);
  t.add("MelWeightMatrix", 5, melWeightMatrix);
  t.add("DFT", 1, dft);
  t.add("STFT", 2, stft);
}
