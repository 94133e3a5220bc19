// Elements to numbers and back, random content, comparison.
#include "test/compiler/codegen/harness/Tensor.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace stint::test;
using llvm::APFloat;
using llvm::APInt;

namespace {
struct ElementInfo {
  const char *name;
  int bits;
  bool isFloat, isUnsigned;
};
constexpr ElementInfo kElements[] = {
    {"i1", 1, false, true},    {"i8", 8, false, false},  {"i16", 16, false, false}, {"i32", 32, false, false},
    {"i64", 64, false, false}, {"ui8", 8, false, true},  {"ui16", 16, false, true}, {"ui32", 32, false, true},
    {"ui64", 64, false, true}, {"f16", 16, true, false}, {"bf16", 16, true, false}, {"f32", 32, true, false},
    {"f64", 64, true, false},
};
const ElementInfo &info(Element element) { return kElements[static_cast<int>(element)]; }
} // namespace

const char *stint::test::nameOf(Element element) { return info(element).name; }
int64_t stint::test::bitsOf(Element element) { return info(element).bits; }
int64_t stint::test::bytesOf(Element element) { return (info(element).bits + 7) / 8; }
bool stint::test::isFloat(Element element) { return info(element).isFloat; }
bool stint::test::isUnsigned(Element element) { return info(element).isUnsigned; }

Element stint::test::elementOf(mlir::Type type) {
  bool isFloatType = llvm::isa<mlir::FloatType>(type);
  for (int i = 0; i < 13; ++i) {
    const ElementInfo &e = kElements[i];
    if (e.isFloat != isFloatType || static_cast<unsigned>(e.bits) != type.getIntOrFloatBitWidth())
      continue;
    if (isFloatType ? type.isBF16() == (static_cast<Element>(i) == Element::bf16)
                    : e.bits == 1 || type.isUnsignedInteger() == e.isUnsigned)
      return static_cast<Element>(i);
  }
  llvm_unreachable("not an element type of a graph tensor");
}

static const llvm::fltSemantics &semantics(Element element) {
  return element == Element::f16 ? APFloat::IEEEhalf() : APFloat::BFloat();
}

/// Values of all f16 and bf16 bit patterns.
static const std::vector<double> &halves(Element element) {
  auto make = [](Element e) {
    std::vector<double> table;
    for (unsigned bits = 0; bits < 65536; ++bits) {
      APFloat value(semantics(e), APInt(16, bits));
      bool lossy;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
      table.push_back(value.convertToDouble());
    }
    return table;
  };
  static const std::vector<double> f16 = make(Element::f16), bf16 = make(Element::bf16);
  return element == Element::f16 ? f16 : bf16;
}

static uint16_t halfBits(double value, Element element) {
  APFloat rounded(value);
  bool lossy;
  rounded.convert(semantics(element), APFloat::rmNearestTiesToEven, &lossy);
  return rounded.bitcastToAPInt().getZExtValue();
}

double stint::test::roundTo(double value, Element element) {
  switch (element) {
  case Element::f16:
  case Element::bf16:
    return halves(element)[halfBits(value, element)];
  case Element::f32:
    return static_cast<float>(value);
  default:
    return value;
  }
}

int64_t stint::test::wrapTo(int64_t value, Element element) {
  int shift = 64 - info(element).bits;
  uint64_t up = static_cast<uint64_t>(value) << shift;
  return isUnsigned(element) ? static_cast<int64_t>(up >> shift) : static_cast<int64_t>(up) >> shift;
}

Tensor::Tensor(std::vector<int64_t> shape, Element element) : shape(std::move(shape)), element(element) {
  bytes.resize(size() * bytesOf(element));
}

int64_t Tensor::size() const {
  int64_t product = 1;
  for (int64_t dim : shape)
    product *= dim;
  return product;
}

uint64_t Tensor::bits(int64_t i) const {
  uint64_t value = 0;
  memcpy(&value, bytes.data() + i * bytesOf(element), bytesOf(element));
  return value;
}

int64_t Tensor::integer(int64_t i) const {
  assert(!isFloat(element));
  uint64_t value = bits(i);
  return element == Element::boolean ? static_cast<int64_t>(value) : wrapTo(static_cast<int64_t>(value), element);
}

void Tensor::setInteger(int64_t i, int64_t value) {
  assert(!isFloat(element));
  value = wrapTo(value, element);
  memcpy(bytes.data() + i * bytesOf(element), &value, bytesOf(element));
}

double Tensor::at(int64_t i) const {
  switch (element) {
  case Element::f16:
  case Element::bf16:
    return halves(element)[bits(i)];
  case Element::f32: {
    float value;
    memcpy(&value, bytes.data() + i * 4, 4);
    return value;
  }
  case Element::f64: {
    double value;
    memcpy(&value, bytes.data() + i * 8, 8);
    return value;
  }
  case Element::u64:
    return static_cast<double>(bits(i));
  default:
    return static_cast<double>(integer(i));
  }
}

void Tensor::set(int64_t i, double value) {
  char *to = bytes.data() + i * bytesOf(element);
  switch (element) {
  case Element::f16:
  case Element::bf16: {
    uint16_t half = halfBits(value, element);
    memcpy(to, &half, 2);
    break;
  }
  case Element::f32: {
    float single = static_cast<float>(value);
    memcpy(to, &single, 4);
    break;
  }
  case Element::f64:
    memcpy(to, &value, 8);
    break;
  case Element::u64:
    setInteger(i, static_cast<int64_t>(static_cast<uint64_t>(value)));
    break;
  default:
    setInteger(i, static_cast<int64_t>(value));
  }
}

std::string Tensor::print(int64_t i) const {
  char text[64];
  if (isFloat(element))
    snprintf(text, sizeof text, "%.9g (0x%llx)", at(i), static_cast<unsigned long long>(bits(i)));
  else if (element == Element::u64)
    snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(bits(i)));
  else
    snprintf(text, sizeof text, "%lld", static_cast<long long>(integer(i)));
  return text;
}

// Content.

std::vector<double> stint::test::specialFloats(Element element) {
  double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values = {0.0, -0.0, 1, -1, infinity, -infinity, nan, 0.5, -0.5, 1.5, 2.5, -2.5};
  switch (element) {
  case Element::f16:
    values.insert(values.end(), {65504, -65504, 6e-8, -6e-8, 6.2e-5, 2048});
    break;
  case Element::f64:
    values.insert(values.end(), {1e308, -1e308, 5e-324, -3e-310, 2.3e-308, 4503599627370497.5});
    break;
  default:
    values.insert(values.end(), {3e38, -3e38, 1e-45, -1e-40, 1.2e-38, 8388609});
  }
  return values;
}

static int64_t lowestOf(Element element) {
  return isUnsigned(element) ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bitsOf(element));
}
/// As a bit pattern for u64.
static int64_t highestOf(Element element) { return isUnsigned(element) ? wrapTo(-1, element) : ~lowestOf(element); }

Tensor stint::test::randomTensor(std::vector<int64_t> shape, Element element, uint64_t seed, const Fill &fill) {
  Tensor tensor(std::move(shape), element);
  std::mt19937_64 random(seed * 1000003 + 17);
  for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
    uint64_t bits = random();
    double unit = static_cast<double>(bits >> 11) / 9007199254740992.0;
    if (!fill.specials.empty() && i % 7 == 3) {
      tensor.set(i, fill.specials[bits % fill.specials.size()]);
    } else if (element == Element::boolean) {
      tensor.setInteger(i, bits & 1);
    } else if (isFloat(element)) {
      double value = fill.low + unit * (fill.high - fill.low);
      if (fill.whole)
        value = std::floor(fill.low + unit * (fill.high - fill.low + 1));
      else if (value == 0)
        value = fill.high;
      tensor.set(i, value);
    } else if (fill.wide) {
      int64_t extremes[] = {lowestOf(element), highestOf(element), 0, 1, wrapTo(-1, element)};
      tensor.setInteger(i, bits % 5 == 0 ? extremes[bits / 8 % 5] : static_cast<int64_t>(bits));
    } else {
      double low = fill.low, high = fill.high;
      if (bitsOf(element) < 64) {
        low = std::max(low, static_cast<double>(lowestOf(element)));
        high = std::min(high, static_cast<double>(highestOf(element)));
      } else if (isUnsigned(element)) {
        low = std::max(low, 0.0);
      }
      tensor.set(i, std::floor(low + unit * (high - low + 1)));
    }
  }
  return tensor;
}

Tensor stint::test::tensorOf(std::vector<int64_t> shape, Element element, const std::vector<double> &values) {
  Tensor tensor(std::move(shape), element);
  assert(static_cast<size_t>(tensor.size()) == values.size());
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(i, values[i]);
  return tensor;
}

// Comparison.

/// Position of a float among all floats of its type, in order.
static int64_t rank(const Tensor &tensor, int64_t i) {
  int64_t bits = static_cast<int64_t>(tensor.bits(i)), sign = int64_t(1) << (bitsOf(tensor.element) - 1);
  return bits & sign ? -(bits & ~sign) : bits;
}

static double distance(int64_t a, int64_t b) {
  return static_cast<double>(static_cast<uint64_t>(std::max(a, b)) - static_cast<uint64_t>(std::min(a, b)));
}

static std::string position(const Tensor &tensor, int64_t i) {
  std::vector<int64_t> index(tensor.shape.size());
  for (size_t d = tensor.shape.size(); d-- > 0; i /= tensor.shape[d])
    index[d] = i % tensor.shape[d];
  std::string text = "[";
  for (size_t d = 0; d < index.size(); ++d)
    text += (d ? ", " : "") + std::to_string(index[d]);
  return text + "]";
}

std::string stint::test::compare(const Tensor &actual, const Tensor &expected, const Tolerance &tolerance) {
  if (actual.shape != expected.shape || actual.element != expected.element)
    return "shape or element type differ";
  double largest = 0, worst = 0, worstUlps = 0;
  if (isFloat(expected.element) && tolerance.relative > 0)
    for (int64_t i = 0, n = expected.size(); i < n; ++i)
      if (std::isfinite(expected.at(i)))
        largest = std::max(largest, std::fabs(expected.at(i)));
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0, n = expected.size(); i < n; ++i) {
    if (actual.bits(i) == expected.bits(i))
      continue;
    if (isFloat(expected.element)) {
      double a = actual.at(i), e = expected.at(i);
      if (std::isnan(a) && std::isnan(e))
        continue;
      if (a == e && !tolerance.signedZero)
        continue;
      if (!std::isnan(a) && !std::isnan(e)) {
        double ulps = distance(rank(actual, i), rank(expected, i));
        worstUlps = std::max(worstUlps, ulps);
        if (ulps != 0 && ulps <= tolerance.ulps)
          continue;
        if (std::isfinite(a) && std::isfinite(e)) {
          worst = std::max(worst, std::fabs(a - e));
          if (std::fabs(a - e) <= tolerance.relative * largest && a != e)
            continue;
        }
      }
    }
    if (first < 0)
      first = i;
    ++wrong;
  }
  if (wrong == 0)
    return "";
  std::string text = std::to_string(wrong) + " of " + std::to_string(expected.size()) + " elements differ; at " +
                     position(expected, first) + ": " + actual.print(first) + ", expected " + expected.print(first);
  if (isFloat(expected.element) && worstUlps > 0) {
    char more[96];
    snprintf(more, sizeof more, "; worst: %g ulps, error %g", worstUlps, worst);
    text += more;
  }
  return text;
}
