// Tensors of the code generation tests: logical, dense, row-major.
#ifndef STINT_TEST_COMPILER_CODEGEN_HARNESS_TENSOR_H
#define STINT_TEST_COMPILER_CODEGEN_HARNESS_TENSOR_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stint::test {

enum class Element : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 };

/// As in the text of a type: "i1", "ui8", "bf16".
const char *nameOf(Element element);
Element elementOf(mlir::Type type);
int64_t bytesOf(Element element);
bool isFloat(Element element);
bool isUnsigned(Element element); // and boolean
int64_t bitsOf(Element element);  // 1 for boolean

/// The value of the type nearest to `value`, ties to even.
double roundTo(double value, Element element);
/// `value` modulo 2^bits, sign- or zero-extended as the type says (u64: its
/// bit pattern); booleans: value & 1.
int64_t wrapTo(int64_t value, Element element);

struct Tensor {
  std::vector<int64_t> shape;
  Element element = Element::f32;
  /// As in memory: a boolean is a byte, f16 and bf16 are two.
  std::vector<char> bytes;

  Tensor() = default;
  Tensor(std::vector<int64_t> shape, Element element);

  int64_t size() const; // elements
  /// Elements as numbers. Integers beyond 2^53 lose bits here.
  double at(int64_t i) const;
  void set(int64_t i, double value); // rounds; integers must fit
  /// Integer and boolean elements, exactly (u64: the bit pattern).
  int64_t integer(int64_t i) const;
  void setInteger(int64_t i, int64_t value); // wraps
  uint64_t bits(int64_t i) const;
  std::string print(int64_t i) const;
};

/// What a random operand holds: floats uniform in [low, high] but never 0,
/// integers uniform in [low, high] clipped to their type, and every seventh
/// element one of `specials`, if there are any.
struct Fill {
  double low = -2, high = 2;
  std::vector<double> specials = {};
  /// Integers: all bits random, with the extremes of the type among them.
  bool wide = false;
  /// Floats: whole numbers, also 0.
  bool whole = false;
};
/// Floats that find mistakes: zeros, infinities, NaN, denormals, extremes.
std::vector<double> specialFloats(Element element);
Tensor randomTensor(std::vector<int64_t> shape, Element element, uint64_t seed, const Fill &fill = {});
Tensor tensorOf(std::vector<int64_t> shape, Element element, const std::vector<double> &values);

/// How far a result may be from the reference. An element passes if it is
/// within `ulps` units in the last place of its type, or if its error is at
/// most `relative` times the largest finite magnitude expected in the tensor.
/// NaN matches NaN; zeros match whatever their sign, unless `signedZero`.
struct Tolerance {
  double ulps = 0, relative = 0;
  bool signedZero = false;
};
/// Empty if `actual` is as expected, else what differs.
std::string compare(const Tensor &actual, const Tensor &expected, const Tolerance &tolerance);

} // namespace stint::test

#endif
