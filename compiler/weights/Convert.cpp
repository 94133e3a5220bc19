// Every element goes through one of three carriers that hold it exactly:
// double for floats, int64 and uint64 for integers.
#include "compiler/weights/Convert.h"

#include "dialects/Graph/GraphDialect.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace stint;

namespace {

struct Carrier {
  enum Kind { Real, Signed, Unsigned } kind;
  double real = 0;
  int64_t integer = 0; // bits of the unsigned value where kind is Unsigned
};

template <typename T> T read(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <typename T> void write(uint8_t *bytes, T value) { std::memcpy(bytes, &value, sizeof(T)); }

double fromSmallFloat(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool lost;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

uint16_t toSmallFloat(const llvm::fltSemantics &semantics, const Carrier &carrier) {
  llvm::APFloat value(0.0);
  if (carrier.kind == Carrier::Real) {
    value = llvm::APFloat(carrier.real);
    bool lost;
    value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  } else {
    value = llvm::APFloat(semantics);
    value.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(carrier.integer)), carrier.kind == Carrier::Signed,
                           llvm::APFloat::rmNearestTiesToEven);
  }
  return static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
}

Carrier load(Type type, const uint8_t *bytes) {
  if (type.isF32())
    return {Carrier::Real, read<float>(bytes)};
  if (type.isF64())
    return {Carrier::Real, read<double>(bytes)};
  if (type.isF16())
    return {Carrier::Real, fromSmallFloat(llvm::APFloat::IEEEhalf(), read<uint16_t>(bytes))};
  if (type.isBF16())
    return {Carrier::Real, fromSmallFloat(llvm::APFloat::BFloat(), read<uint16_t>(bytes))};
  bool isUnsigned = type.isUnsignedInteger();
  Carrier::Kind kind = isUnsigned ? Carrier::Unsigned : Carrier::Signed;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return {Carrier::Signed, 0, *bytes != 0};
  case 8:
    return {kind, 0, isUnsigned ? int64_t(*bytes) : read<int8_t>(bytes)};
  case 16:
    return {kind, 0, isUnsigned ? int64_t(read<uint16_t>(bytes)) : read<int16_t>(bytes)};
  case 32:
    return {kind, 0, isUnsigned ? int64_t(read<uint32_t>(bytes)) : read<int32_t>(bytes)};
  default:
    return {kind, 0, read<int64_t>(bytes)};
  }
}

template <typename T> T truncate(double value) {
  if (std::isnan(value))
    return 0;
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  if (value <= static_cast<double>(low))
    return low;
  // 2^63 and 2^64 are doubles, the maxima are not.
  if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits))
    return high;
  return static_cast<T>(value);
}

template <typename T> void storeInteger(const Carrier &carrier, uint8_t *bytes) {
  write<T>(bytes, carrier.kind == Carrier::Real ? truncate<T>(carrier.real) : static_cast<T>(carrier.integer));
}

template <typename T> T toFloat(const Carrier &carrier) {
  switch (carrier.kind) {
  case Carrier::Real:
    return static_cast<T>(carrier.real);
  case Carrier::Signed:
    return static_cast<T>(carrier.integer);
  default:
    return static_cast<T>(static_cast<uint64_t>(carrier.integer));
  }
}

void store(Type type, const Carrier &carrier, uint8_t *bytes) {
  if (type.isF32())
    return write<float>(bytes, toFloat<float>(carrier));
  if (type.isF64())
    return write<double>(bytes, toFloat<double>(carrier));
  if (type.isF16())
    return write<uint16_t>(bytes, toSmallFloat(llvm::APFloat::IEEEhalf(), carrier));
  if (type.isBF16())
    return write<uint16_t>(bytes, toSmallFloat(llvm::APFloat::BFloat(), carrier));
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    *bytes = carrier.kind == Carrier::Real ? carrier.real != 0 : carrier.integer != 0;
    return;
  case 8:
    return isUnsigned ? storeInteger<uint8_t>(carrier, bytes) : storeInteger<int8_t>(carrier, bytes);
  case 16:
    return isUnsigned ? storeInteger<uint16_t>(carrier, bytes) : storeInteger<int16_t>(carrier, bytes);
  case 32:
    return isUnsigned ? storeInteger<uint32_t>(carrier, bytes) : storeInteger<int32_t>(carrier, bytes);
  default:
    return isUnsigned ? storeInteger<uint64_t>(carrier, bytes) : storeInteger<int64_t>(carrier, bytes);
  }
}

} // namespace

bool weights::isConvertible(Type type) {
  if (type.isF16() || type.isBF16() || type.isF32() || type.isF64())
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return false;
  unsigned width = integer.getWidth();
  return width == 1 || width == 8 || width == 16 || width == 32 || width == 64;
}

void weights::convert(Type from, const uint8_t *source, Type to, uint8_t *target, int64_t count) {
  int64_t fromBytes = graph::elementBytes(from), toBytes = graph::elementBytes(to);
  if (from == to) {
    std::memmove(target, source, count * toBytes);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    store(to, load(from, source + i * fromBytes), target + i * toBytes);
}
