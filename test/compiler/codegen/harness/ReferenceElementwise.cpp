// Reference: what the elementwise operators do to one element.
#include "test/compiler/codegen/harness/ReferenceImpl.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace stint;
using namespace stint::test;

static const double kNaN = std::numeric_limits<double>::quiet_NaN();

using FloatUnary = double (*)(double);

static double sign(double x) { return std::isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0; }
static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double reciprocal(double x) { return 1 / x; }
static double negate(double x) { return -x; }

/// Functions of one float, by the operator's name without its dialect.
static FloatUnary floatUnary(llvm::StringRef name) {
  return llvm::StringSwitch<FloatUnary>(name)
      .Case("abs", std::fabs)
      .Case("neg", negate)
      .Case("sign", sign)
      .Case("exp", std::exp)
      .Case("log", std::log)
      .Case("sqrt", std::sqrt)
      .Case("reciprocal", reciprocal)
      .Case("floor", std::floor)
      .Case("ceil", std::ceil)
      .Case("round", std::nearbyint)
      .Case("sin", std::sin)
      .Case("cos", std::cos)
      .Case("tan", std::tan)
      .Case("asin", std::asin)
      .Case("acos", std::acos)
      .Case("atan", std::atan)
      .Case("sinh", std::sinh)
      .Case("cosh", std::cosh)
      .Case("tanh", std::tanh)
      .Case("asinh", std::asinh)
      .Case("acosh", std::acosh)
      .Case("atanh", std::atanh)
      .Case("erf", std::erf)
      .Case("sigmoid", sigmoid)
      .Default(nullptr);
}

static std::optional<double> floatBinary(llvm::StringRef name, double a, double b) {
  bool nan = std::isnan(a) || std::isnan(b);
  if (name == "add")
    return a + b;
  if (name == "sub")
    return a - b;
  if (name == "mul")
    return a * b;
  if (name == "div")
    return a / b;
  if (name == "rem")
    return std::fmod(a, b);
  if (name == "pow")
    return std::pow(a, b);
  if (name == "min")
    return nan ? kNaN : std::min(a, b);
  if (name == "max")
    return nan ? kNaN : std::max(a, b);
  return std::nullopt;
}

static std::optional<int64_t> integerUnary(llvm::StringRef name, int64_t a, Element element) {
  bool negative = !isUnsigned(element) && a < 0;
  if (name == "abs")
    return negative ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a;
  if (name == "neg")
    return static_cast<int64_t>(-static_cast<uint64_t>(a));
  if (name == "sign")
    return negative ? -1 : a != 0;
  if (name == "not" || name == "bit_not")
    return ~a;
  return std::nullopt;
}

static int64_t integerPower(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return static_cast<int64_t>(result);
}

/// Truncated quotient and remainder; 0 for division by zero.
static std::pair<int64_t, int64_t> divide(int64_t a, int64_t b, Element element) {
  uint64_t ua = a, ub = b;
  if (b == 0)
    return {0, 0};
  if (isUnsigned(element))
    return {static_cast<int64_t>(ua / ub), static_cast<int64_t>(ua % ub)};
  if (b == -1) // the quotient may not fit: it wraps
    return {static_cast<int64_t>(-ua), 0};
  return {a / b, a % b};
}

static bool lessThan(int64_t a, int64_t b, Element element) {
  return isUnsigned(element) ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

static std::optional<int64_t> integerBinary(llvm::StringRef name, int64_t a, int64_t b, Element element) {
  uint64_t ua = a, ub = b, bits = bitsOf(element);
  if (name == "add")
    return static_cast<int64_t>(ua + ub);
  if (name == "sub")
    return static_cast<int64_t>(ua - ub);
  if (name == "mul")
    return static_cast<int64_t>(ua * ub);
  if (name == "div")
    return divide(a, b, element).first;
  if (name == "rem")
    return divide(a, b, element).second;
  if (name == "mod") {
    int64_t rest = divide(a, b, element).second;
    return rest != 0 && !isUnsigned(element) && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  if (name == "pow")
    return integerPower(ua, ub);
  if (name == "min")
    return lessThan(b, a, element) ? b : a;
  if (name == "max")
    return lessThan(a, b, element) ? b : a;
  if (name == "and" || name == "bit_and")
    return a & b;
  if (name == "or" || name == "bit_or")
    return a | b;
  if (name == "xor" || name == "bit_xor")
    return a ^ b;
  // A negative amount is a large one.
  uint64_t amount = isUnsigned(element) || b >= 0 ? ub : bits;
  if (name == "shift_left")
    return amount >= bits ? 0 : static_cast<int64_t>(ua << amount);
  if (name == "shift_right") {
    if (amount >= bits)
      return 0;
    return isUnsigned(element) ? static_cast<int64_t>(ua >> amount) : a >> amount;
  }
  return std::nullopt;
}

template <typename T> static bool holds(graph::ComparePredicate predicate, T a, T b) {
  switch (predicate) {
  case graph::ComparePredicate::eq:
    return a == b;
  case graph::ComparePredicate::ne:
    return a != b;
  case graph::ComparePredicate::lt:
    return a < b;
  case graph::ComparePredicate::le:
    return a <= b;
  case graph::ComparePredicate::gt:
    return a > b;
  case graph::ComparePredicate::ge:
    return a >= b;
  }
  return false;
}

static bool compareNumbers(graph::ComparePredicate predicate, Number a, Number b, Element element) {
  if (isFloat(element))
    return holds(predicate, a.f, b.f);
  if (isUnsigned(element))
    return holds(predicate, static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i));
  return holds(predicate, a.i, b.i);
}

static int64_t saturate(double value, Element to) {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  int64_t bits = bitsOf(to);
  if (isUnsigned(to)) {
    if (value <= 0)
      return 0;
    return value >= std::ldexp(1.0, bits) ? wrapTo(-1, to) : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  if (value >= std::ldexp(1.0, bits - 1))
    return std::numeric_limits<int64_t>::max() >> (64 - bits);
  if (value < -std::ldexp(1.0, bits - 1))
    return std::numeric_limits<int64_t>::min() >> (64 - bits);
  return static_cast<int64_t>(value);
}

static Number castNumber(Number x, Element from, Element to) {
  Number result;
  if (isFloat(to)) {
    if (isFloat(from))
      result.f = roundTo(x.f, to);
    else if (to == Element::f64)
      result.f = isUnsigned(from) ? static_cast<double>(static_cast<uint64_t>(x.i)) : static_cast<double>(x.i);
    else
      // To f32 at once: by way of double it would be rounded twice.
      result.f =
          roundTo(isUnsigned(from) ? static_cast<float>(static_cast<uint64_t>(x.i)) : static_cast<float>(x.i), to);
  } else if (to == Element::boolean) {
    result.i = isFloat(from) ? x.f != 0 : x.i != 0;
  } else {
    result.i = isFloat(from) ? saturate(x.f, to) : wrapTo(x.i, to);
  }
  return result;
}

/// One element of the result, or nullopt if the operator is not elementwise.
static std::optional<Number> apply(mlir::Operation *op, llvm::ArrayRef<Number> x, Element from, Element to) {
  llvm::StringRef name = op->getName().stripDialect();
  Number result;
  if (auto compare = llvm::dyn_cast<graph::CompareOp>(op)) {
    result.i = compareNumbers(compare.getPredicate(), x[0], x[1], from);
  } else if (llvm::isa<graph::SelectOp>(op)) {
    result = x[0].i ? x[1] : x[2];
  } else if (llvm::isa<graph::CastOp>(op)) {
    result = castNumber(x[0], from, to);
  } else if (llvm::isa<graph::IsNaNOp>(op)) {
    result.i = std::isnan(x[0].f);
  } else if (auto test = llvm::dyn_cast<graph::IsInfOp>(op)) {
    result.i = std::isinf(x[0].f) && (x[0].f < 0 ? test.getNegative() : test.getPositive());
  } else if (llvm::isa<graph::BroadcastOp>(op)) {
    result = x[0];
  } else if (isFloat(from)) {
    if (x.size() == 1) {
      FloatUnary function = floatUnary(name);
      if (!function)
        return std::nullopt;
      result.f = toRegister(function(x[0].f), to);
    } else {
      std::optional<double> value = floatBinary(name, x[0].f, x[1].f);
      if (!value)
        return std::nullopt;
      result.f = toRegister(*value, to);
    }
  } else {
    std::optional<int64_t> value =
        x.size() == 1 ? integerUnary(name, x[0].i, from) : integerBinary(name, x[0].i, x[1].i, from);
    if (!value)
      return std::nullopt;
    result.i = wrapTo(*value, to);
  }
  return result;
}

bool stint::test::evaluateElementwise(mlir::Operation *op, const Environment &environment,
                                      llvm::ArrayRef<const Array *> operands, std::vector<Array> &results) {
  if (!op->hasTrait<graph::Elementwise>())
    return false;
  Array result = environment.arrayFor(op->getResult(0));
  bool known = true;
  forEach(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    std::vector<Number> x;
    for (const Array *operand : operands)
      x.push_back((*operand)[broadcastIndex(index, operand->shape)]);
    std::optional<Number> value = apply(op, x, operands.front()->element, result.element);
    known &= value.has_value();
    if (value)
      result[index] = *value;
  });
  results.push_back(std::move(result));
  return known;
}
