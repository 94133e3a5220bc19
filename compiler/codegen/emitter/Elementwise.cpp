// Elementwise operators as arith and LLVM operations on scalars and vectors.
#include "compiler/codegen/emitter/Elementwise.h"

#include "compiler/codegen/math/Math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using graph::ComparePredicate;
using graph::GraphTensorType;

static bool isFloatLike(Value value) { return isa<FloatType>(getElementTypeOrSelf(value)); }

/// `type` with another element type.
static Type sameShape(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value Arithmetic::constant(Type like, double value) {
  Type element = getElementTypeOrSelf(like);
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(FloatAttr::get(element, value))
                                           : TypedAttr(IntegerAttr::get(element, static_cast<int64_t>(value)));
  if (auto vector = dyn_cast<VectorType>(like))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return builder.create<arith::ConstantOp>(loc, attr);
}

Value Arithmetic::constantInt(Type like, int64_t value) {
  Type element = getElementTypeOrSelf(like);
  unsigned bits = element.getIntOrFloatBitWidth();
  TypedAttr attr = IntegerAttr::get(element, APInt(64, value).sextOrTrunc(bits));
  if (auto vector = dyn_cast<VectorType>(like))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return builder.create<arith::ConstantOp>(loc, attr);
}

Value Arithmetic::lowest(Type like, Type elementType, bool highest) {
  if (isa<FloatType>(elementType))
    return constant(like, highest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
  unsigned bits = getElementTypeOrSelf(like).getIntOrFloatBitWidth();
  uint64_t value; // truncated to the type's bits
  if (elementType.isUnsignedInteger() || bits == 1)
    value = highest ? ~0ull : 0;
  else
    value = highest ? ~(~0ull << (bits - 1)) : ~0ull << (bits - 1);
  return constantInt(like, static_cast<int64_t>(value));
}

/// A constant that is not NaN.
static bool isOrderedConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return false;
  Attribute attr = constant.getValue();
  if (auto dense = dyn_cast<SplatElementsAttr>(attr))
    attr = dense.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(attr);
  return number && !number.getValue().isNaN();
}

Value Arithmetic::isNaN(Value a) { return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, a, a); }

Value Arithmetic::extreme(Value a, Value b, Type type, bool wantMax) {
  if (isFloatLike(a)) {
    if (variant.machine == target::Machine::aarch64) // FMAX and FMIN propagate NaN
      return wantMax ? builder.create<arith::MaximumFOp>(loc, a, b).getResult()
                     : builder.create<arith::MinimumFOp>(loc, a, b).getResult();
    // MAXPS gives its second operand if either is NaN: right if that is b.
    if (isOrderedConstant(b) && !isOrderedConstant(a))
      std::swap(a, b);
    Value first =
        builder.create<arith::CmpFOp>(loc, wantMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, a, b);
    Value chosen = builder.create<arith::SelectOp>(loc, first, a, b);
    return isOrderedConstant(a) ? chosen : builder.create<arith::SelectOp>(loc, isNaN(a), a, chosen).getResult();
  }
  if (type.isUnsignedInteger() || type.isInteger(1))
    return wantMax ? builder.create<arith::MaxUIOp>(loc, a, b).getResult()
                   : builder.create<arith::MinUIOp>(loc, a, b).getResult();
  return wantMax ? builder.create<arith::MaxSIOp>(loc, a, b).getResult()
                 : builder.create<arith::MinSIOp>(loc, a, b).getResult();
}

Value Arithmetic::min(Value a, Value b, Type type) { return extreme(a, b, type, false); }
Value Arithmetic::max(Value a, Value b, Type type) { return extreme(a, b, type, true); }

Value Arithmetic::add(Value a, Value b, Type type) {
  if (isFloatLike(a))
    return builder.create<arith::AddFOp>(loc, a, b);
  return builder.create<arith::AddIOp>(loc, a, b);
}

Value Arithmetic::mul(Value a, Value b, Type type) {
  if (isFloatLike(a))
    return builder.create<arith::MulFOp>(loc, a, b);
  return builder.create<arith::MulIOp>(loc, a, b);
}

Value Arithmetic::mulAdd(Value a, Value b, Value c, Type type) {
  if (isFloatLike(a) && variant.hasFma)
    return builder.create<LLVM::FMAOp>(loc, a.getType(), ValueRange{a, b, c});
  return add(mul(a, b, type), c, type);
}

static Value equals(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a, b);
}

Value Arithmetic::div(Value a, Value b, Type type) {
  if (isFloatLike(a))
    return builder.create<arith::DivFOp>(loc, a, b);
  Value zero = constantInt(a.getType(), 0), one = constantInt(a.getType(), 1);
  Value byZero = equals(builder, loc, b, zero), quotient;
  if (type.isUnsignedInteger()) {
    Value safe = builder.create<arith::SelectOp>(loc, byZero, one, b);
    quotient = builder.create<arith::DivUIOp>(loc, a, safe);
  } else {
    // The lowest integer by -1 traps: negate instead, which wraps.
    Value byMinusOne = equals(builder, loc, b, constantInt(a.getType(), -1));
    Value unsafe = builder.create<arith::OrIOp>(loc, byZero, byMinusOne);
    Value safe = builder.create<arith::SelectOp>(loc, unsafe, one, b);
    quotient = builder.create<arith::DivSIOp>(loc, a, safe);
    quotient = builder.create<arith::SelectOp>(loc, byMinusOne, builder.create<arith::SubIOp>(loc, zero, a), quotient);
  }
  return builder.create<arith::SelectOp>(loc, byZero, zero, quotient);
}

Value Arithmetic::remainder(Value a, Value b, Type type, bool signOfDivisor) {
  if (isFloatLike(a))
    return emitFmod(builder, loc, variant, a, b);
  Value zero = constantInt(a.getType(), 0), one = constantInt(a.getType(), 1);
  // x % 1 is 0, which is also what 0 and -1 shall give.
  Value unsafe = equals(builder, loc, b, zero);
  if (!type.isUnsignedInteger())
    unsafe = builder.create<arith::OrIOp>(loc, unsafe, equals(builder, loc, b, constantInt(a.getType(), -1)));
  Value safe = builder.create<arith::SelectOp>(loc, unsafe, one, b);
  if (type.isUnsignedInteger())
    return builder.create<arith::RemUIOp>(loc, a, safe);
  Value rest = builder.create<arith::RemSIOp>(loc, a, safe);
  if (!signOfDivisor)
    return rest;
  Value differ = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                               builder.create<arith::XOrIOp>(loc, rest, safe), zero);
  Value nonZero = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, rest, zero);
  Value adjust = builder.create<arith::AndIOp>(loc, differ, nonZero);
  return builder.create<arith::SelectOp>(loc, adjust, builder.create<arith::AddIOp>(loc, rest, safe), rest);
}

/// By squaring; a negative exponent gives 1 / base^|exponent| rounded towards
/// zero.
Value Arithmetic::integerPower(Value base, Value exponent, Type type) {
  Type t = base.getType();
  unsigned bits = getElementTypeOrSelf(t).getIntOrFloatBitWidth();
  Value zero = constantInt(t, 0), one = constantInt(t, 1);
  Value lower = builder.create<arith::ConstantIntOp>(loc, 0, 64),
        step = builder.create<arith::ConstantIntOp>(loc, 1, 64);
  Value upper = builder.create<arith::ConstantIntOp>(loc, bits, 64);
  auto loop = builder.create<scf::ForOp>(
      loc, lower, upper, step, ValueRange{one, base, exponent}, [&](OpBuilder &b, Location l, Value, ValueRange state) {
        Value odd =
            b.create<arith::CmpIOp>(l, arith::CmpIPredicate::ne, b.create<arith::AndIOp>(l, state[2], one), zero);
        Value product = b.create<arith::MulIOp>(l, state[0], state[1]);
        Value result = b.create<arith::SelectOp>(l, odd, product, state[0]);
        Value square = b.create<arith::MulIOp>(l, state[1], state[1]);
        Value rest = b.create<arith::ShRUIOp>(l, state[2], one);
        b.create<scf::YieldOp>(l, ValueRange{result, square, rest});
      });
  Value power = loop.getResult(0);
  if (type.isUnsignedInteger())
    return power;
  // Only 1 and -1 have an inverse that is not 0; their powers for the bits of
  // a negative exponent are right (parity).
  Value negative = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, exponent, zero);
  Value unit = builder.create<arith::OrIOp>(loc, equals(builder, loc, base, one),
                                            equals(builder, loc, base, constantInt(t, -1)));
  Value inverse = builder.create<arith::SelectOp>(loc, unit, power, zero);
  return builder.create<arith::SelectOp>(loc, negative, inverse, power);
}

Value Arithmetic::compare(ComparePredicate predicate, Value a, Value b, Type type) {
  if (isFloatLike(a)) {
    static constexpr arith::CmpFPredicate table[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
                                                     arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
                                                     arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return builder.create<arith::CmpFOp>(loc, table[static_cast<unsigned>(predicate)], a, b);
  }
  static constexpr arith::CmpIPredicate asSigned[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                                      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static constexpr arith::CmpIPredicate asUnsigned[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                        arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                                                        arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  auto *table = type.isUnsignedInteger() || type.isInteger(1) ? asUnsigned : asSigned;
  return builder.create<arith::CmpIOp>(loc, table[static_cast<unsigned>(predicate)], a, b);
}

Value Arithmetic::sign(Value value, Type type) {
  Type t = value.getType();
  Value zero = constant(t, 0), one = constant(t, 1);
  Value positive = compare(ComparePredicate::gt, value, zero, type);
  if (type.isUnsignedInteger())
    return builder.create<arith::SelectOp>(loc, positive, one, zero);
  Value negative = compare(ComparePredicate::lt, value, zero, type);
  Value rest = builder.create<arith::SelectOp>(loc, negative, constant(t, -1), value); // zero, or NaN
  return builder.create<arith::SelectOp>(loc, positive, one, rest);
}

Value Arithmetic::shift(Value a, Value b, Type type, bool left) {
  unsigned bits = getElementTypeOrSelf(a.getType()).getIntOrFloatBitWidth();
  Value inside = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, b, constantInt(b.getType(), bits));
  Value zero = constantInt(a.getType(), 0);
  Value amount = builder.create<arith::SelectOp>(loc, inside, b, zero), shifted;
  if (left)
    shifted = builder.create<arith::ShLIOp>(loc, a, amount);
  else if (type.isUnsignedInteger())
    shifted = builder.create<arith::ShRUIOp>(loc, a, amount);
  else
    shifted = builder.create<arith::ShRSIOp>(loc, a, amount);
  return builder.create<arith::SelectOp>(loc, inside, shifted, zero);
}

// Conversions.

/// Truncates; saturates; NaN gives 0.
Value Arithmetic::floatToInteger(Value value, Type to) {
  Type t = value.getType();
  unsigned bits = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  // Conversion is wide where the machine's is: of 32 bits at least.
  unsigned wide = std::max(bits, 32u);
  Type result = sameShape(t, builder.getIntegerType(wide));
  // Powers of two are exact: [lowest, limit) converts as it is.
  double limit = std::ldexp(1.0, isUnsigned ? bits : bits - 1);
  double lowest = isUnsigned ? 0.0 : -limit;
  Value low = constant(t, lowest), high = constant(t, limit);
  auto cmp = [&](arith::CmpFPredicate p, Value a, Value b) { return builder.create<arith::CmpFOp>(loc, p, a, b); };
  auto select = [&](Value c, Value a, Value b) -> Value { return builder.create<arith::SelectOp>(loc, c, a, b); };
  Value inRange = builder.create<arith::AndIOp>(loc, cmp(arith::CmpFPredicate::OGE, value, low),
                                                cmp(arith::CmpFPredicate::OLT, value, high));
  Value safe = select(inRange, value, constant(t, 0));
  Value converted = isUnsigned ? builder.create<arith::FPToUIOp>(loc, result, safe).getResult()
                               : builder.create<arith::FPToSIOp>(loc, result, safe).getResult();
  Value most = constantInt(result, isUnsigned ? static_cast<int64_t>(bits == 64 ? ~0ull : (1ull << bits) - 1)
                                              : static_cast<int64_t>((1ull << (bits - 1)) - 1));
  Value least = constantInt(result, isUnsigned ? 0 : static_cast<int64_t>(~0ull << (bits - 1)));
  converted = select(cmp(arith::CmpFPredicate::OGE, value, high), most, converted);
  converted = select(cmp(arith::CmpFPredicate::OLT, value, low), least, converted);
  return wide == bits
             ? converted
             : builder.create<arith::TruncIOp>(loc, sameShape(t, builder.getIntegerType(bits)), converted).getResult();
}

Value Arithmetic::cast(Value value, Type from, Type to) {
  if (from == to)
    return value;
  Type t = value.getType();
  bool toBool = graph::isBool(to), fromBool = graph::isBool(from);
  bool isUnsigned = from.isUnsignedInteger() || fromBool;
  if (isFloatLike(value)) {
    if (toBool)
      return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, value, constant(t, 0));
    if (!isa<FloatType>(to))
      return floatToInteger(value, to);
    if (to.isF64())
      return t == sameShape(t, to) ? value : builder.create<arith::ExtFOp>(loc, sameShape(t, to), value).getResult();
    if (getElementTypeOrSelf(t).isF64())
      value = builder.create<arith::TruncFOp>(loc, sameShape(t, builder.getF32Type()), value);
    return to.isF32() ? value : fromMemory(toMemory(value, to), to);
  }
  if (toBool)
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, value, constantInt(t, 0));
  if (isa<FloatType>(to)) {
    Type result = sameShape(t, to.isF64() ? builder.getF64Type() : builder.getF32Type());
    Value converted = isUnsigned ? builder.create<arith::UIToFPOp>(loc, result, value).getResult()
                                 : builder.create<arith::SIToFPOp>(loc, result, value).getResult();
    return to.isF64() || to.isF32() ? converted : fromMemory(toMemory(converted, to), to);
  }
  unsigned bits = to.getIntOrFloatBitWidth(), had = from.getIntOrFloatBitWidth();
  Type result = sameShape(t, builder.getIntegerType(bits));
  if (bits == had)
    return value;
  if (bits < had)
    return builder.create<arith::TruncIOp>(loc, result, value);
  return isUnsigned ? builder.create<arith::ExtUIOp>(loc, result, value).getResult()
                    : builder.create<arith::ExtSIOp>(loc, result, value).getResult();
}

Value Arithmetic::fromMemory(Value value, Type elementType) {
  Type t = value.getType();
  if (graph::isBool(elementType))
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, value, constantInt(t, 0));
  if (elementType.isBF16())
    return bfloatToSingle(value);
  if (elementType.isF16()) {
    if (!variant.hasF16Conversions)
      return halfToSingle(value);
    Value half = builder.create<arith::BitcastOp>(loc, sameShape(t, builder.getF16Type()), value);
    Value single = builder.create<arith::ExtFOp>(loc, sameShape(t, builder.getF32Type()), half);
    // Without the fence LLVM compares and selects halves, and calls fminf.
    return builder.create<LLVM::CallIntrinsicOp>(loc, single.getType(), "llvm.arithmetic.fence", ValueRange{single})
        .getResult(0);
  }
  return value;
}

Value Arithmetic::toMemory(Value value, Type elementType) {
  Type t = value.getType();
  if (graph::isBool(elementType))
    return builder.create<arith::ExtUIOp>(loc, sameShape(t, builder.getI8Type()), value);
  if (elementType.isBF16())
    return singleToBfloat(value);
  if (elementType.isF16()) {
    if (!variant.hasF16Conversions)
      return singleToHalf(value);
    Value half = builder.create<arith::TruncFOp>(loc, sameShape(t, builder.getF16Type()), value);
    return builder.create<arith::BitcastOp>(loc, sameShape(t, builder.getI16Type()), half);
  }
  return value;
}

namespace {
/// 32-bit integer arithmetic with constants, for the conversions below.
struct Bits {
  OpBuilder &b;
  Location loc;
  Arithmetic &arith;
  Value constant(Value like, int64_t v) { return arith.constantInt(like.getType(), v); }
  Value band(Value a, int64_t m) { return b.create<arith::AndIOp>(loc, a, constant(a, m)); }
  Value bor(Value a, Value c) { return b.create<arith::OrIOp>(loc, a, c); }
  Value shl(Value a, int64_t n) { return b.create<arith::ShLIOp>(loc, a, constant(a, n)); }
  Value shr(Value a, int64_t n) { return b.create<arith::ShRUIOp>(loc, a, constant(a, n)); }
  Value add(Value a, int64_t n) { return b.create<arith::AddIOp>(loc, a, constant(a, n)); }
  Value add(Value a, Value c) { return b.create<arith::AddIOp>(loc, a, c); }
  Value less(Value a, int64_t n) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a, constant(a, n)); }
  Value select(Value c, Value x, Value y) { return b.create<arith::SelectOp>(loc, c, x, y); }
  Value asFloat(Value a) { return b.create<arith::BitcastOp>(loc, sameShape(a.getType(), b.getF32Type()), a); }
  Value asInt(Value a) { return b.create<arith::BitcastOp>(loc, sameShape(a.getType(), b.getI32Type()), a); }
  Value widen(Value a) { return b.create<arith::ExtUIOp>(loc, sameShape(a.getType(), b.getI32Type()), a); }
  Value narrow(Value a) { return b.create<arith::TruncIOp>(loc, sameShape(a.getType(), b.getI16Type()), a); }
};
} // namespace

/// Shifts exponent and mantissa into place, then scales by 2^112, which also
/// normalises subnormals; infinities and NaN get the full exponent.
Value Arithmetic::halfToSingle(Value bits) {
  Bits x{builder, loc, *this};
  Value wide = x.widen(bits);
  Value magnitude = x.shl(x.band(wide, 0x7fff), 13);
  Value scaled = x.asInt(mul(x.asFloat(magnitude), constant(x.asFloat(magnitude).getType(), 0x1p112), {}));
  Value special = x.bor(magnitude, x.constant(magnitude, 0x7f800000));
  Value isFinite = x.less(magnitude, 0x0f800000);
  Value sign = x.shl(x.band(wide, 0x8000), 16);
  return x.asFloat(x.bor(x.select(isFinite, scaled, special), sign));
}

/// Rounds to nearest even: normal numbers by adding half an ulp less one plus
/// the last bit kept, subnormal ones by the float addition of 0.5, whose unit
/// is the smallest half.
Value Arithmetic::singleToHalf(Value value) {
  Bits x{builder, loc, *this};
  Value bits = x.asInt(value);
  Value magnitude = x.band(bits, 0x7fffffff);
  Value last = x.band(x.shr(magnitude, 13), 1);
  Value normal = x.shr(x.add(x.add(magnitude, static_cast<int32_t>(0xc8000fff)), last), 13);
  Value half = constant(value.getType(), 0.5);
  Value subnormal = x.add(x.asInt(add(x.asFloat(magnitude), half, {})), -0x3f000000);
  Value result = x.select(x.less(magnitude, 0x38800000), subnormal, normal);          // below 2^-14
  result = x.select(x.less(magnitude, 0x477ff000), result, x.constant(bits, 0x7c00)); // 65520 and up
  result = x.select(x.less(magnitude, 0x7f800001), result, x.constant(bits, 0x7e00)); // NaN
  return x.narrow(x.bor(result, x.band(x.shr(bits, 16), 0x8000)));
}

Value Arithmetic::bfloatToSingle(Value bits) {
  Bits x{builder, loc, *this};
  return x.asFloat(x.shl(x.widen(bits), 16));
}

Value Arithmetic::singleToBfloat(Value value) {
  Bits x{builder, loc, *this};
  Value bits = x.asInt(value);
  Value rounded = x.shr(x.add(x.add(bits, 0x7fff), x.band(x.shr(bits, 16), 1)), 16);
  Value nan = x.bor(x.shr(bits, 16), x.constant(bits, 0x40));
  return x.narrow(x.select(x.less(x.band(bits, 0x7fffffff), 0x7f800001), rounded, nan));
}

static std::optional<MathFunction> mathFunctionOf(Operation *op) {
  using F = MathFunction;
  return llvm::TypeSwitch<Operation *, std::optional<F>>(op)
      .Case([](graph::ExpOp) { return F::exp; })
      .Case([](graph::LogOp) { return F::log; })
      .Case([](graph::SinOp) { return F::sin; })
      .Case([](graph::CosOp) { return F::cos; })
      .Case([](graph::TanOp) { return F::tan; })
      .Case([](graph::AsinOp) { return F::asin; })
      .Case([](graph::AcosOp) { return F::acos; })
      .Case([](graph::AtanOp) { return F::atan; })
      .Case([](graph::SinhOp) { return F::sinh; })
      .Case([](graph::CoshOp) { return F::cosh; })
      .Case([](graph::TanhOp) { return F::tanh; })
      .Case([](graph::AsinhOp) { return F::asinh; })
      .Case([](graph::AcoshOp) { return F::acosh; })
      .Case([](graph::AtanhOp) { return F::atanh; })
      .Case([](graph::ErfOp) { return F::erf; })
      .Case([](graph::SigmoidOp) { return F::sigmoid; })
      .Default(std::optional<F>());
}

Value Arithmetic::emit(Operation *op, ArrayRef<Value> x) {
  if (auto function = mathFunctionOf(op))
    return emitMath(*function, builder, loc, variant, x[0]);
  Type from = llvm::cast<GraphTensorType>(op->getOperand(0).getType()).getElementType();
  Type to = llvm::cast<GraphTensorType>(op->getResult(0).getType()).getElementType();
  Type t = x[0].getType();
  bool isFloat = isFloatLike(x[0]);
  auto create = [&](auto tag) -> Value {
    using Op = typename decltype(tag)::type;
    return builder.create<Op>(loc, t, x);
  };
#define INTRINSIC(OP) create(std::common_type<LLVM::OP>())
#define BINARY(OP) builder.create<arith::OP>(loc, x[0], x[1]).getResult()
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::AbsOp) -> Value {
        if (isFloat)
          return INTRINSIC(FAbsOp);
        if (from.isUnsignedInteger())
          return x[0];
        return builder.create<arith::MaxSIOp>(loc, x[0], builder.create<arith::SubIOp>(loc, constantInt(t, 0), x[0]));
      })
      .Case([&](graph::NegOp) -> Value {
        if (isFloat)
          return builder.create<arith::NegFOp>(loc, x[0]);
        return builder.create<arith::SubIOp>(loc, constantInt(t, 0), x[0]);
      })
      .Case([&](graph::SignOp) { return sign(x[0], from); })
      .Case([&](graph::SqrtOp) { return INTRINSIC(SqrtOp); })
      .Case([&](graph::ReciprocalOp) { return div(constant(t, 1), x[0], from); })
      .Case([&](graph::FloorOp) { return INTRINSIC(FFloorOp); })
      .Case([&](graph::CeilOp) { return INTRINSIC(FCeilOp); })
      .Case([&](graph::RoundOp) { return INTRINSIC(RoundEvenOp); })
      .Case<graph::NotOp, graph::BitNotOp>(
          [&](Operation *) -> Value { return builder.create<arith::XOrIOp>(loc, x[0], constantInt(t, -1)); })
      .Case([&](graph::IsNaNOp) { return isNaN(x[0]); })
      .Case([&](graph::IsInfOp test) -> Value {
        double inf = std::numeric_limits<double>::infinity();
        auto is = [&](double v) -> Value {
          return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, x[0], constant(t, v));
        };
        Value no = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::AlwaysFalse, x[0], x[0]);
        Value positive = test.getPositive() ? is(inf) : no, negative = test.getNegative() ? is(-inf) : no;
        return builder.create<arith::OrIOp>(loc, positive, negative);
      })
      .Case([&](graph::AddOp) { return add(x[0], x[1], from); })
      .Case([&](graph::SubOp) { return isFloat ? BINARY(SubFOp) : BINARY(SubIOp); })
      .Case([&](graph::MulOp) { return mul(x[0], x[1], from); })
      .Case([&](graph::DivOp) { return div(x[0], x[1], from); })
      .Case([&](graph::RemOp) { return remainder(x[0], x[1], from, false); })
      .Case([&](graph::ModOp) { return remainder(x[0], x[1], from, true); })
      .Case([&](graph::PowOp) {
        return isFloat ? emitPow(builder, loc, variant, x[0], x[1]) : integerPower(x[0], x[1], from);
      })
      .Case([&](graph::MinOp) { return min(x[0], x[1], from); })
      .Case([&](graph::MaxOp) { return max(x[0], x[1], from); })
      .Case<graph::AndOp, graph::BitAndOp>([&](Operation *) { return BINARY(AndIOp); })
      .Case<graph::OrOp, graph::BitOrOp>([&](Operation *) { return BINARY(OrIOp); })
      .Case<graph::XorOp, graph::BitXorOp>([&](Operation *) { return BINARY(XOrIOp); })
      .Case([&](graph::ShiftLeftOp) { return shift(x[0], x[1], from, true); })
      .Case([&](graph::ShiftRightOp) { return shift(x[0], x[1], from, false); })
      .Case([&](graph::CompareOp compareOp) { return compare(compareOp.getPredicate(), x[0], x[1], from); })
      .Case([&](graph::SelectOp) -> Value { return builder.create<arith::SelectOp>(loc, x[0], x[1], x[2]); })
      .Case([&](graph::CastOp) { return cast(x[0], from, to); })
      .Case([&](graph::BroadcastOp) { return x[0]; })
      .Default([](Operation *) -> Value { llvm_unreachable("not an elementwise operator"); });
#undef INTRINSIC
#undef BINARY
}
