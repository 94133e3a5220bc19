// Interval arithmetic over affine expressions of symbols.
#include "dialects/Graph/Shapes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace stint::graph;

static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

static int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t r;
  return llvm::AddOverflow(a, b, r) ? (a < 0 ? kMin : kMax) : r;
}
static int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t r;
  return llvm::MulOverflow(a, b, r) ? ((a < 0) != (b < 0) ? kMin : kMax) : r;
}
static int64_t floorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
static int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

Symbols Symbols::of(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto array = op->getAttrOfType<ArrayAttr>(kSymbolsAttr))
      return Symbols(llvm::map_to_vector(array, [](Attribute a) { return cast<SymbolAttr>(a); }));
  return Symbols(ArrayRef<SymbolAttr>());
}

std::optional<int64_t> Symbols::dimensionOf(AffineExpr expr) const {
  int64_t step = 1;
  if (expr.getKind() == AffineExprKind::Mul)
    if (auto factor = dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(expr).getRHS())) {
      step = factor.getValue();
      expr = cast<AffineBinaryOpExpr>(expr).getLHS();
    }
  auto symbol = dyn_cast<AffineSymbolExpr>(expr);
  if (!symbol || symbol.getPosition() >= symbols.size() || symbols[symbol.getPosition()].getStep() != step)
    return std::nullopt;
  return symbol.getPosition();
}

namespace {
/// Ranges of the parts of one expression, each computed once.
class Ranges {
public:
  explicit Ranges(ArrayRef<SymbolAttr> symbols) : symbols(symbols) {}
  Range of(AffineExpr expr);

private:
  Range compute(AffineBinaryOpExpr expr);
  Range quotients(AffineExpr sum);

  ArrayRef<SymbolAttr> symbols;
  llvm::SmallDenseMap<AffineExpr, Range, 16> known;
};

/// A sum whose terms are divided by constants, over one denominator. A
/// quotient is what it divides, less a remainder: n - ceil(n / 2) is
/// (n - r) / 2 with r of 0 or 1. So the parts that depend on the same symbol
/// cancel, as they don't in sums of intervals.
struct Quotients {
  static constexpr int64_t kMaxDenominator = int64_t(1) << 20;
  using Wide = __int128;

  Wide denominator = 1, constant = 0, least = 0, most = 0; // the last two: what remainders add
  llvm::SmallDenseMap<AffineExpr, Wide, 8> factors;        // of what is not taken apart
  bool divides = false, fits = true;

  static AffineConstantExpr divisor(AffineExpr expr) {
    if (expr.getKind() != AffineExprKind::FloorDiv && expr.getKind() != AffineExprKind::CeilDiv)
      return {};
    auto constant = dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(expr).getRHS());
    return constant && constant.getValue() > 0 && constant.getValue() <= kMaxDenominator ? constant
                                                                                         : AffineConstantExpr();
  }
  static AffineConstantExpr factor(AffineExpr expr) {
    return expr.getKind() == AffineExprKind::Mul ? dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(expr).getRHS())
                                                 : AffineConstantExpr();
  }

  /// The least common denominator of `expr` times `outer`.
  void measure(AffineExpr expr, int64_t outer) {
    if (!fits)
      return;
    if (expr.getKind() == AffineExprKind::Add || factor(expr)) {
      measure(cast<AffineBinaryOpExpr>(expr).getLHS(), outer);
      if (!factor(expr))
        measure(cast<AffineBinaryOpExpr>(expr).getRHS(), outer);
    } else if (auto by = divisor(expr)) {
      divides = true;
      int64_t all = saturatingMul(outer, by.getValue());
      denominator = std::lcm(static_cast<int64_t>(denominator), std::min(all, kMaxDenominator + 1));
      fits = all <= kMaxDenominator && denominator <= kMaxDenominator;
      measure(cast<AffineBinaryOpExpr>(expr).getLHS(), all);
    }
  }

  /// Adds `expr` · scale / denominator.
  void add(AffineExpr expr, Wide scale) {
    constexpr Wide kMost = Wide(1) << 50;
    fits &= scale < kMost && scale > -kMost;
    if (!fits)
      return;
    if (auto c = dyn_cast<AffineConstantExpr>(expr)) {
      constant += scale * c.getValue();
    } else if (expr.getKind() == AffineExprKind::Add) {
      add(cast<AffineBinaryOpExpr>(expr).getLHS(), scale);
      add(cast<AffineBinaryOpExpr>(expr).getRHS(), scale);
    } else if (auto by = factor(expr)) {
      if (by.getValue() < (Wide(1) << 62) && by.getValue() > -(Wide(1) << 62))
        add(cast<AffineBinaryOpExpr>(expr).getLHS(), scale * by.getValue());
      else
        fits = false;
    } else if (auto by = divisor(expr)) {
      Wide part = scale / by.getValue(); // exact: `measure` saw to it
      Wide remainder = part * (by.getValue() - 1) * (expr.getKind() == AffineExprKind::CeilDiv ? 1 : -1);
      least += std::min<Wide>(remainder, 0);
      most += std::max<Wide>(remainder, 0);
      add(cast<AffineBinaryOpExpr>(expr).getLHS(), part);
    } else {
      factors[expr] += scale;
    }
  }
};
} // namespace

Range Ranges::quotients(AffineExpr sum) {
  constexpr Range kUnknown = {kMin, kMax};
  using Wide = Quotients::Wide;
  Quotients q;
  q.measure(sum, 1);
  if (!q.divides || !q.fits)
    return kUnknown;
  q.add(sum, q.denominator);
  if (!q.fits)
    return kUnknown;
  constexpr Wide kMost = Wide(1) << 120;
  Wide lower = q.constant + q.least, upper = q.constant + q.most;
  for (auto [term, factor] : q.factors) {
    Range r = of(term);
    if (factor == 0)
      continue;
    if (r.lower == kMin || r.upper == kMax || factor >= (Wide(1) << 56) || factor <= -(Wide(1) << 56))
      return kUnknown;
    Wide a = factor * r.lower, b = factor * r.upper;
    lower += std::min(a, b);
    upper += std::max(a, b);
    if (lower < -kMost || upper > kMost)
      return kUnknown;
  }
  auto down = [&](Wide v) { return v / q.denominator - (v % q.denominator < 0); };
  auto clamp = [](Wide v) { return static_cast<int64_t>(std::clamp<Wide>(v, kMin, kMax)); };
  return {clamp(-down(-lower)), clamp(down(upper))};
}

Range Ranges::of(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {constant.getValue(), constant.getValue()};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    if (symbol.getPosition() >= symbols.size())
      return {0, kMax};
    return {symbols[symbol.getPosition()].getLower(), symbols[symbol.getPosition()].getUpper()};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return {kMin, kMax};
  if (auto it = known.find(expr); it != known.end())
    return it->second;
  Range range = compute(binary);
  known[expr] = range;
  return range;
}

Range Symbols::range(AffineExpr expr) const { return Ranges(symbols).of(expr); }

Range Ranges::compute(AffineBinaryOpExpr expr) {
  Range a = of(expr.getLHS()), b = of(expr.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add: {
    Range sum = {saturatingAdd(a.lower, b.lower), saturatingAdd(a.upper, b.upper)};
    Range together = sum.isPoint() ? sum : quotients(expr);
    return {std::max(sum.lower, together.lower), std::min(sum.upper, together.upper)};
  }
  case AffineExprKind::Mul: {
    int64_t corners[] = {saturatingMul(a.lower, b.lower), saturatingMul(a.lower, b.upper),
                         saturatingMul(a.upper, b.lower), saturatingMul(a.upper, b.upper)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv: {
    if (b.lower <= 0)
      return {kMin, kMax};
    auto div = expr.getKind() == AffineExprKind::FloorDiv ? floorDiv : ceilDiv;
    int64_t corners[] = {div(a.lower, b.lower), div(a.lower, b.upper), div(a.upper, b.lower), div(a.upper, b.upper)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  case AffineExprKind::Mod:
    if (b.lower <= 0)
      return {kMin, kMax};
    if (a.lower >= 0 && a.upper < b.lower)
      return a;
    return {0, b.upper - 1};
  default:
    return {kMin, kMax};
  }
}

int64_t Symbols::evaluate(AffineExpr expr, ArrayRef<int64_t> values) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return values[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), values), b = evaluate(binary.getRHS(), values);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return saturatingAdd(a, b);
  case AffineExprKind::Mul:
    return saturatingMul(a, b);
  case AffineExprKind::FloorDiv:
    return b == 0 ? 0 : floorDiv(a, b);
  case AffineExprKind::CeilDiv:
    return b == 0 ? 0 : ceilDiv(a, b);
  case AffineExprKind::Mod:
    return b == 0 ? 0 : a - floorDiv(a, b) * b;
  default:
    llvm_unreachable("not a binary expression");
  }
}

int64_t Symbols::atUpper(AffineExpr expr) const {
  SmallVector<int64_t> values;
  for (SymbolAttr symbol : symbols)
    values.push_back(symbol.getUpper());
  return evaluate(expr, values);
}

Symbols Symbols::withUpper(ArrayRef<int64_t> upper) const {
  SmallVector<SymbolAttr> bounded;
  for (auto [symbol, most] : llvm::zip_equal(symbols, upper))
    bounded.push_back(SymbolAttr::get(symbol.getContext(), symbol.getName(), std::min(symbol.getLower(), most), most,
                                      symbol.getStep(), symbol.getBound()));
  return Symbols(bounded);
}

AffineExpr Symbols::simplify(AffineExpr expr) const {
  MLIRContext *context = expr.getContext();
  if (Range r = range(expr); r.isPoint())
    return getAffineConstantExpr(r.lower, context);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr a = simplify(binary.getLHS()), b = simplify(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return simplifyAffineExpr(a + b, 0, symbols.size());
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    if (auto exact = divideExactly(a, b))
      return *exact;
    return expr.getKind() == AffineExprKind::FloorDiv ? a.floorDiv(b) : a.ceilDiv(b);
  case AffineExprKind::Mod: {
    Range ra = range(a), rb = range(b);
    if (ra.lower >= 0 && ra.upper < rb.lower)
      return a;
    if (divideExactly(a, b))
      return getAffineConstantExpr(0, context);
    return a % b;
  }
  default:
    return expr;
  }
}

std::optional<bool> Symbols::equal(AffineExpr a, AffineExpr b) const {
  if (a == b)
    return true;
  Range r = range(simplify(a - b));
  if (r.isPoint() && r.lower == 0)
    return true;
  if (r.lower > 0 || r.upper < 0)
    return false;
  return std::nullopt;
}

std::optional<bool> Symbols::lessEqual(AffineExpr a, AffineExpr b) const {
  Range r = range(simplify(a - b));
  if (r.upper <= 0)
    return true;
  if (r.lower > 0)
    return false;
  return std::nullopt;
}

/// Splits a product into its constant and its other factors.
static int64_t collectFactors(AffineExpr expr, SmallVectorImpl<AffineExpr> &factors) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (expr.getKind() == AffineExprKind::Mul) {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    int64_t lhs = collectFactors(binary.getLHS(), factors);
    return saturatingMul(lhs, collectFactors(binary.getRHS(), factors));
  }
  factors.push_back(expr);
  return 1;
}

std::optional<AffineExpr> stint::graph::divideExactly(AffineExpr a, AffineExpr b) {
  if (a.getKind() == AffineExprKind::Add) {
    auto sum = cast<AffineBinaryOpExpr>(a);
    auto lhs = divideExactly(sum.getLHS(), b), rhs = divideExactly(sum.getRHS(), b);
    if (lhs && rhs)
      return *lhs + *rhs;
    // A sum may itself be one of the factors below.
  }
  SmallVector<AffineExpr> numerator, denominator;
  int64_t n = collectFactors(a, numerator), d = collectFactors(b, denominator);
  if (n == 0 && d != 0)
    return getAffineConstantExpr(0, a.getContext());
  if (d == 0 || n % d != 0)
    return std::nullopt;
  for (AffineExpr factor : denominator) {
    auto it = llvm::find(numerator, factor);
    if (it == numerator.end())
      return std::nullopt;
    numerator.erase(it);
  }
  AffineExpr result = getAffineConstantExpr(n / d, a.getContext());
  for (AffineExpr factor : numerator)
    result = result * factor;
  return result;
}

AffineMap stint::graph::symbolMap(ArrayRef<AffineExpr> results, MLIRContext *context) {
  unsigned count = 0;
  for (AffineExpr expr : results)
    expr.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        count = std::max(count, symbol.getPosition() + 1);
    });
  return AffineMap::get(0, count, results, context);
}
