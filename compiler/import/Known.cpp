// Reading and writing values known while importing.
#include "compiler/import/Known.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;

Scalar Scalar::of(double value, MLIRContext *context) {
  bool negativeZero = value == 0 && std::signbit(value);
  if (value == std::floor(value) && std::abs(value) < 9e15 && !negativeZero)
    return getAffineConstantExpr(static_cast<int64_t>(value), context);
  Scalar scalar;
  scalar.value = value;
  return scalar;
}

std::optional<int64_t> Scalar::integer() const {
  if (auto constant = llvm::dyn_cast_or_null<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

std::optional<double> Scalar::number() const {
  if (!expr)
    return value;
  if (auto i = integer())
    return static_cast<double>(*i);
  return std::nullopt;
}

static uint64_t sizeOf(AffineExpr expr, llvm::SmallDenseMap<AffineExpr, uint64_t, 16> &sizes) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 1;
  if (auto it = sizes.find(expr); it != sizes.end())
    return it->second;
  uint64_t size = llvm::SaturatingAdd(uint64_t(1), sizeOf(binary.getLHS(), sizes), sizeOf(binary.getRHS(), sizes));
  sizes[expr] = size;
  return size;
}

uint64_t stint::import::sizeOf(AffineExpr expr) {
  llvm::SmallDenseMap<AffineExpr, uint64_t, 16> sizes;
  return ::sizeOf(expr, sizes);
}

bool Known::isConstant() const {
  return llvm::all_of(elements, [](const Scalar &s) { return s.number().has_value(); });
}

std::optional<SmallVector<int64_t>> Known::integers() const {
  SmallVector<int64_t> result;
  for (const Scalar &scalar : elements) {
    auto value = scalar.integer();
    if (!value)
      return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

std::optional<SmallVector<AffineExpr>> Known::expressions() const {
  SmallVector<AffineExpr> result;
  for (const Scalar &scalar : elements) {
    if (!scalar.expr)
      return std::nullopt;
    result.push_back(scalar.expr);
  }
  return result;
}

Type stint::import::elementTypeOf(DataType type, MLIRContext *context) {
  auto integer = [&](unsigned width, bool isUnsigned = false) -> Type {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case DataType::Float:
    return Float32Type::get(context);
  case DataType::Double:
    return Float64Type::get(context);
  case DataType::Float16:
    return Float16Type::get(context);
  case DataType::BFloat16:
    return BFloat16Type::get(context);
  case DataType::Int8:
    return integer(8);
  case DataType::Int16:
    return integer(16);
  case DataType::Int32:
    return integer(32);
  case DataType::Int64:
    return integer(64);
  case DataType::UInt8:
    return integer(8, true);
  case DataType::UInt16:
    return integer(16, true);
  case DataType::UInt32:
    return integer(32, true);
  case DataType::UInt64:
    return integer(64, true);
  case DataType::Bool:
    return integer(1);
  default:
    return {};
  }
}

static APFloat floatFromBits(Type type, uint64_t bits) {
  auto floatType = cast<FloatType>(type);
  return APFloat(floatType.getFloatSemantics(), APInt(floatType.getWidth(), bits));
}

std::optional<Known> stint::import::knownOf(const Model &model, const Tensor &tensor, MLIRContext *context) {
  Type type = elementTypeOf(tensor.type, context);
  if (!type || tensor.strings || tensor.elements() > Known::kMaxElements)
    return std::nullopt;
  Known known;
  known.shape.assign(tensor.dims.begin(), tensor.dims.end());
  ArrayRef<uint8_t> bytes = model.bytes(tensor);
  unsigned width = bitsOf(tensor.type) / 8;
  for (uint64_t i = 0; i < tensor.elements(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, width);
    if (isa<FloatType>(type)) {
      APFloat value = floatFromBits(type, bits);
      bool lost;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
      known.elements.push_back(Scalar::of(value.convertToDouble(), context));
      continue;
    }
    int64_t value = static_cast<int64_t>(bits);
    if (tensor.type == DataType::Bool)
      value = bits != 0;
    else if (!type.isUnsignedInteger() && width < 8)
      value = static_cast<int64_t>(bits << (64 - 8 * width)) >> (64 - 8 * width);
    known.elements.push_back(Scalar::of(value, context));
  }
  return known;
}

double stint::import::roundTo(Type type, double value) {
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return value;
  APFloat rounded(value);
  bool lost;
  rounded.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return rounded.convertToDouble();
}

/// A constant as an integer: exact, or towards zero and saturating.
static uint64_t integerBits(const Scalar &scalar) {
  if (auto exact = scalar.integer())
    return static_cast<uint64_t>(*exact);
  double value = *scalar.number();
  if (value >= 0x1p63)
    return value >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(value);
  return static_cast<uint64_t>(value >= -0x1p63 ? static_cast<int64_t>(value) : value < 0 ? INT64_MIN : 0);
}

DenseElementsAttr stint::import::denseOf(const Known &known, Type elementType) {
  auto shaped = RankedTensorType::get(known.shape, elementType);
  SmallVector<Attribute> values;
  for (const Scalar &scalar : known.elements) {
    if (auto floatType = dyn_cast<FloatType>(elementType)) {
      APFloat value(*scalar.number());
      bool lost;
      value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
      values.push_back(FloatAttr::get(elementType, value));
    } else {
      unsigned width = elementType.getIntOrFloatBitWidth();
      APInt value(64, integerBits(scalar));
      values.push_back(IntegerAttr::get(elementType, width == 1 ? APInt(1, !value.isZero()) : value.trunc(width)));
    }
  }
  return DenseElementsAttr::get(shaped, values);
}
