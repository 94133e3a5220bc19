// Arithmetic, comparison, logic, selection and conversion.
#include "compiler/import/NodeContext.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;

/// A float operator on its one operand; integers are refused by the verifier.
template <typename Op> static LogicalResult unary(NodeContext &n) {
  n.out(0, n.make<Op>(n.in(0)));
  return success();
}

/// Both operands in one shape. Before opset 7 the second was aligned by the
/// attributes `broadcast` and `axis`.
static LogicalResult operands(NodeContext &n, SmallVectorImpl<Value> &values) {
  values.assign({n.in(0), n.in(1)});
  if (n.opset < 7 && n.getInt("broadcast", 0) && n.attribute("axis")) {
    auto axis = n.axis(n.getInt("axis", 0), n.rank(0));
    if (failed(axis))
      return failure();
    int64_t after = n.rank(0) - *axis - n.rank(1);
    if (after < 0)
      return n.malformed("the second operand does not fit at axis " + Twine(*axis));
    SmallVector<AffineExpr> shape(n.type(1).getShape());
    shape.append(after, n.dim(1));
    values[1] = n.reshape(values[1], shape);
  }
  return n.unify(values);
}

/// Like `operands`, but of one element type.
static LogicalResult sameType(NodeContext &n, SmallVectorImpl<Value> &values) {
  if (n.element(0) != n.element(1))
    return n.malformed("its operands must have one element type");
  return operands(n, values);
}

template <typename Op> static LogicalResult binary(NodeContext &n) {
  SmallVector<Value> v;
  if (failed(sameType(n, v)))
    return failure();
  n.out(0, n.make<Op>(v[0], v[1]));
  return success();
}

template <ComparePredicate predicate> static LogicalResult comparison(NodeContext &n) {
  SmallVector<Value> v;
  if (failed(sameType(n, v)))
    return failure();
  n.out(0, n.compare(predicate, v[0], v[1]));
  return success();
}

/// Sum, Max, Min, Mean of any number of operands.
template <typename Op> static LogicalResult variadic(NodeContext &n) {
  SmallVector<Value> values;
  for (size_t i = 0; i < n.numInputs(); ++i) {
    if (!n.has(i) || n.element(i) != n.element(0))
      return n.malformed("its operands must have one element type");
    values.push_back(n.in(i));
  }
  if (failed(n.unify(values)))
    return failure();
  Value result = values[0];
  for (Value next : ArrayRef<Value>(values).drop_front())
    result = n.make<Op>(result, next);
  if (n.node.opType == "Mean" && values.size() > 1)
    result = n.div(result, n.scalarLike(result, static_cast<double>(values.size())));
  n.out(0, result);
  return success();
}

static LogicalResult pow(NodeContext &n) {
  SmallVector<Value> v;
  if (failed(operands(n, v)))
    return failure();
  Type type = n.element(0);
  // A constant exponent that multiplication computes exactly as well.
  if (const Known *k = n.known(1); k && k->elements.size() == 1 && n.rank(1) <= n.rank(0) && graph::isFloat(type)) {
    auto exponent = k->elements[0].number();
    Value x = v[0];
    Value result = !exponent        ? Value()
                   : *exponent == 1 ? x
                   : *exponent == 2 ? n.mul(x, x)
                   : *exponent == 3 ? n.mul(n.mul(x, x), x)
                                    : Value();
    if (result) {
      n.out(0, result);
      return success();
    }
  }
  // Mixed types: ONNX computes in the base's type, but an integer base with a
  // float exponent as floats.
  bool mixed = graph::isInteger(type) && graph::isFloat(n.element(1));
  Type compute = mixed ? Type(n.b.getF64Type()) : type;
  n.out(0, n.cast(n.make<graph::PowOp>(n.cast(v[0], compute), n.cast(v[1], compute)), type));
  return success();
}

static LogicalResult mod(NodeContext &n) {
  SmallVector<Value> v;
  if (failed(sameType(n, v)))
    return failure();
  bool remainder = n.getInt("fmod", 0) != 0;
  if (!remainder && graph::isFloat(n.element(0)))
    return n.malformed("floats need fmod=1");
  n.out(0, remainder ? n.make<graph::RemOp>(v[0], v[1]) : n.make<graph::ModOp>(v[0], v[1]));
  return success();
}

static LogicalResult bitShift(NodeContext &n) {
  return n.getString("direction") == "LEFT" ? binary<graph::ShiftLeftOp>(n) : binary<graph::ShiftRightOp>(n);
}

static LogicalResult isInf(NodeContext &n) {
  n.out(0, n.make<graph::IsInfOp>(n.type(0).withElementType(n.b.getI1Type()), n.in(0),
                                  n.getInt("detect_negative", 1) != 0, n.getInt("detect_positive", 1) != 0));
  return success();
}

static LogicalResult isNaN(NodeContext &n) {
  n.out(0, n.make<graph::IsNaNOp>(n.type(0).withElementType(n.b.getI1Type()), n.in(0)));
  return success();
}

static LogicalResult where(NodeContext &n) {
  if (n.element(1) != n.element(2))
    return n.malformed("its two choices must have one element type");
  SmallVector<Value> v = {n.in(0), n.in(1), n.in(2)};
  if (failed(n.unify(v)))
    return failure();
  n.out(0, n.select(v[0], v[1], v[2]));
  return success();
}

static LogicalResult castTo(NodeContext &n, Type type) {
  if (type == n.element(0)) {
    n.forward(0, 0);
    return success();
  }
  n.out(0, n.cast(n.in(0), type));
  return success();
}

static LogicalResult cast(NodeContext &n) {
  auto to = static_cast<DataType>(n.getInt("to", 0));
  if (n.opset < 6) // the type's name, as a string
    for (int32_t i = 1; i <= static_cast<int32_t>(DataType::BFloat16); ++i) {
      std::string name = nameOf(static_cast<DataType>(i));
      std::string given = StringRef(n.getString("to")).lower();
      if (given == name || (given == "float" && name == "float32") || (given == "double" && name == "float64"))
        to = static_cast<DataType>(i);
    }
  Type type = elementTypeOf(to, n.context());
  return type ? castTo(n, type) : n.unsupported("conversion to " + nameOf(to));
}

static LogicalResult castLike(NodeContext &n) { return castTo(n, n.element(1)); }

static LogicalResult clip(NodeContext &n) {
  Value x = n.in(0);
  if (n.opset < 11) {
    if (n.attribute("min"))
      x = n.max(x, n.scalarLike(x, n.getFloat("min", 0)));
    if (n.attribute("max"))
      x = n.min(x, n.scalarLike(x, n.getFloat("max", 0)));
    if (x == n.in(0))
      n.forward(0, 0);
    else
      n.out(0, x);
    return success();
  }
  for (size_t i : {1, 2}) {
    if (!n.has(i))
      continue;
    if (n.element(i) != n.element(0))
      return n.malformed("bounds must have the operand's element type");
    if (n.rank(i) > 1 || (n.rank(i) == 1 && n.type(i).getDim(0) != 1))
      return n.malformed("bounds must be scalars");
    Value bound = n.reshape(n.in(i), {});
    x = i == 1 ? n.max(x, bound) : n.min(x, bound);
  }
  if (!n.has(1) && !n.has(2))
    n.forward(0, 0);
  else
    n.out(0, x);
  return success();
}

void stint::import::addElementwise(RuleTable &t) {
  t.add("Abs", 1, unary<graph::AbsOp>);
  t.add("Neg", 1, unary<graph::NegOp>);
  t.add("Sign", 1, unary<graph::SignOp>);
  t.add("Exp", 1, unary<graph::ExpOp>);
  t.add("Log", 1, unary<graph::LogOp>);
  t.add("Sqrt", 1, unary<graph::SqrtOp>);
  t.add("Reciprocal", 1, unary<graph::ReciprocalOp>);
  t.add("Floor", 1, unary<graph::FloorOp>);
  t.add("Ceil", 1, unary<graph::CeilOp>);
  t.add("Round", 1, unary<graph::RoundOp>);
  t.add("Sin", 1, unary<graph::SinOp>);
  t.add("Cos", 1, unary<graph::CosOp>);
  t.add("Tan", 1, unary<graph::TanOp>);
  t.add("Asin", 1, unary<graph::AsinOp>);
  t.add("Acos", 1, unary<graph::AcosOp>);
  t.add("Atan", 1, unary<graph::AtanOp>);
  t.add("Sinh", 1, unary<graph::SinhOp>);
  t.add("Cosh", 1, unary<graph::CoshOp>);
  t.add("Tanh", 1, unary<graph::TanhOp>);
  t.add("Asinh", 1, unary<graph::AsinhOp>);
  t.add("Acosh", 1, unary<graph::AcoshOp>);
  t.add("Atanh", 1, unary<graph::AtanhOp>);
  t.add("Erf", 1, unary<graph::ErfOp>);
  t.add("Sigmoid", 1, unary<graph::SigmoidOp>);
  t.add("Not", 1, unary<graph::NotOp>);
  t.add("BitwiseNot", 1, unary<graph::BitNotOp>);
  t.add("IsNaN", 1, isNaN);
  t.add("IsInf", 1, isInf);
  t.add("Add", 2, binary<graph::AddOp>);
  t.add("Sub", 2, binary<graph::SubOp>);
  t.add("Mul", 2, binary<graph::MulOp>);
  t.add("Div", 2, binary<graph::DivOp>);
  t.add("Pow", 2, pow);
  t.add("Mod", 2, mod);
  t.add("And", 2, binary<graph::AndOp>);
  t.add("Or", 2, binary<graph::OrOp>);
  t.add("Xor", 2, binary<graph::XorOp>);
  t.add("BitwiseAnd", 2, binary<graph::BitAndOp>);
  t.add("BitwiseOr", 2, binary<graph::BitOrOp>);
  t.add("BitwiseXor", 2, binary<graph::BitXorOp>);
  t.add("BitShift", 2, bitShift);
  t.add("Sum", 1, variadic<graph::AddOp>);
  t.add("Mean", 1, variadic<graph::AddOp>);
  t.add("Max", 1, variadic<graph::MaxOp>);
  t.add("Min", 1, variadic<graph::MinOp>);
  t.add("Equal", 2, comparison<ComparePredicate::eq>);
  t.add("Less", 2, comparison<ComparePredicate::lt>);
  t.add("LessOrEqual", 2, comparison<ComparePredicate::le>);
  t.add("Greater", 2, comparison<ComparePredicate::gt>);
  t.add("GreaterOrEqual", 2, comparison<ComparePredicate::ge>);
  t.add("Where", 3, where);
  t.add("Cast", 1, cast);
  t.add("CastLike", 2, castLike);
  t.add("Clip", 1, clip);
}
