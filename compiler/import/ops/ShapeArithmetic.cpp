// Folds operators on values known while importing: Shape and everything that
// exporters compute from it, up to 64 elements. Elements are affine
// expressions over the model's symbols; minimum, maximum and comparisons fold
// where the symbols' bounds decide them.
#include "compiler/import/NodeContext.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace stint;
using namespace stint::import;

namespace {
/// One fold: fills nothing and fails when it cannot decide.
class Folder {
public:
  explicit Folder(NodeContext &n) : n(n), isFloat(n.has(0) && graph::isFloat(n.element(0))) {}
  bool run();

private:
  std::optional<Scalar> binary(StringRef op, const Scalar &a, const Scalar &b) const;
  std::optional<Scalar> compute(StringRef op, const Scalar &a, const Scalar &b) const;
  std::optional<Scalar> unary(StringRef op, const Scalar &a) const;
  std::optional<Scalar> convert(const Scalar &a, Type from, Type to) const;
  bool elementwise();
  bool shapeOf();
  bool reshaping();
  bool gather();
  bool slice();
  bool concat();
  bool transpose();
  bool reduce();
  bool give(Type type, Known known) {
    if (static_cast<int64_t>(known.elements.size()) > Known::kMaxElements ||
        static_cast<int64_t>(known.shape.size()) > graph::GraphTensorType::kMaxRank)
      return false;
    n.outKnown(0, type, std::move(known));
    return true;
  }
  Scalar number(double v) const { return Scalar::of(v, n.context()); }

  NodeContext &n;
  bool isFloat;
};
} // namespace

/// Whether the bounds are no saturated ones: where the run may wrap, as the
/// element type does, an expression would not.
static bool isExact(graph::Range range) {
  return range.lower > std::numeric_limits<int64_t>::min() && range.upper < std::numeric_limits<int64_t>::max();
}

std::optional<Scalar> Folder::binary(StringRef op, const Scalar &a, const Scalar &b) const {
  std::optional<Scalar> result = compute(op, a, b);
  return result && result->expr && sizeOf(result->expr) > Known::kMaxSize ? std::nullopt : result;
}

std::optional<Scalar> Folder::compute(StringRef op, const Scalar &a, const Scalar &b) const {
  auto x = a.number(), y = b.number();
  auto truth = [&](std::optional<bool> v) { return v ? std::optional<Scalar>(number(*v)) : std::nullopt; };
  if (isFloat) {
    if (!x || !y)
      return std::nullopt;
    Type type = n.element(0);
    auto rounded = [&](double v) { return number(roundTo(type, v)); };
    return llvm::StringSwitch<std::optional<Scalar>>(op)
        .Case("Add", rounded(*x + *y))
        .Case("Sub", rounded(*x - *y))
        .Case("Mul", rounded(*x * *y))
        .Case("Div", rounded(*x / *y))
        .Case("Min", std::isnan(*x)              ? a
                     : std::isnan(*y) || *y < *x ? b
                                                 : a)
        .Case("Max", std::isnan(*x)              ? a
                     : std::isnan(*y) || *y > *x ? b
                                                 : a)
        .Case("Equal", number(*x == *y))
        .Case("Less", number(*x < *y))
        .Case("Greater", number(*x > *y))
        .Case("LessOrEqual", number(*x <= *y))
        .Case("GreaterOrEqual", number(*x >= *y))
        .Default(std::nullopt);
  }
  AffineExpr p = a.expr, q = b.expr;
  if (!p || !q)
    return std::nullopt;
  graph::Range rp = n.symbols.range(p), rq = n.symbols.range(q);
  if (op == "Add" || op == "Sub" || op == "Mul") {
    if (a.integer() && b.integer()) { // wraps, as the element type does
      uint64_t u = *a.integer(), v = *b.integer();
      return Scalar::of(static_cast<int64_t>(op == "Add" ? u + v : op == "Sub" ? u - v : u * v), n.context());
    }
    AffineExpr made = n.simplify(op == "Add" ? p + q : op == "Sub" ? p - q : p * q);
    return isExact(n.symbols.range(made)) ? std::optional<Scalar>(made) : std::nullopt;
  }
  if (op == "Div") { // truncates
    if (a.integer() && b.integer())
      return *b.integer() == 0 || (*b.integer() == -1)
                 ? std::nullopt
                 : std::optional<Scalar>(Scalar::of(*a.integer() / *b.integer(), n.context()));
    if (auto exact = graph::divideExactly(p, q); exact && (rq.lower > 0 || rq.upper < 0))
      return Scalar(n.simplify(*exact));
    return rp.lower >= 0 && rq.lower > 0 ? std::optional<Scalar>(n.simplify(p.floorDiv(q))) : std::nullopt;
  }
  if (op == "Mod")
    return rq.lower > 0 && (n.getInt("fmod", 0) == 0 || rp.lower >= 0) ? std::optional<Scalar>(n.simplify(p % q))
                                                                       : std::nullopt;
  if (op == "Min" || op == "Max") {
    auto le = n.symbols.lessEqual(p, q);
    if (!le && n.symbols.lessEqual(q, p) == true)
      le = false;
    return le ? std::optional<Scalar>(*le == (op == "Min") ? a : b) : std::nullopt;
  }
  auto negate = [](std::optional<bool> v) { return v ? std::optional<bool>(!*v) : v; };
  if (op == "Equal")
    return truth(n.symbols.equal(p, q));
  if (op == "LessOrEqual")
    return truth(n.symbols.lessEqual(p, q));
  if (op == "GreaterOrEqual")
    return truth(n.symbols.lessEqual(q, p));
  if (op == "Less")
    return truth(negate(n.symbols.lessEqual(q, p)));
  if (op == "Greater")
    return truth(negate(n.symbols.lessEqual(p, q)));
  if ((op == "And" || op == "Or" || op == "Xor") && a.integer() && b.integer()) {
    bool u = *a.integer() != 0, v = *b.integer() != 0;
    return number(op == "And" ? u && v : op == "Or" ? u || v : u != v);
  }
  return std::nullopt;
}

std::optional<Scalar> Folder::unary(StringRef op, const Scalar &a) const {
  if (op == "Neg")
    return a.expr ? Scalar(-a.expr) : number(-a.value);
  auto x = a.number();
  if (op == "Not")
    return x ? std::optional<Scalar>(number(*x == 0)) : std::nullopt;
  if (op == "Abs" && a.expr && n.symbols.range(a.expr).lower >= 0)
    return a;
  if (op == "Floor" || op == "Ceil" || op == "Round") {
    if (a.expr)
      return a; // integers stay
    return number(op == "Floor" ? std::floor(a.value) : op == "Ceil" ? std::ceil(a.value) : std::nearbyint(a.value));
  }
  if (op == "Sqrt" && x)
    return number(roundTo(n.element(0), std::sqrt(*x)));
  return std::nullopt;
}

std::optional<Scalar> Folder::convert(const Scalar &a, Type from, Type to) const {
  auto x = a.number();
  if (graph::isBool(to)) {
    if (x)
      return number(*x != 0);
    return n.symbols.range(a.expr).lower > 0 ? std::optional<Scalar>(number(1)) : std::nullopt;
  }
  if (graph::isFloat(to)) {
    if (x)
      return number(roundTo(to, *x));
    // Dimensions stay exact as long as the type holds such integers.
    int64_t exact = to.isF64() ? int64_t(1) << 53 : to.isF32() ? 1 << 24 : to.isF16() ? 2048 : 256;
    graph::Range r = n.symbols.range(a.expr);
    return r.lower >= -exact && r.upper <= exact ? std::optional<Scalar>(a) : std::nullopt;
  }
  if (!a.expr) {
    if (!(std::abs(a.value) < 9e15))
      return std::nullopt;
    // Also of -0, which is no integer before.
    return convert(Scalar(n.dim(static_cast<int64_t>(a.value))), from, to);
  }
  unsigned width = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  graph::Range r = n.symbols.range(a.expr);
  if (width == 64)
    return !isUnsigned || r.lower >= 0 ? std::optional<Scalar>(a) : std::nullopt;
  int64_t low = isUnsigned ? 0 : -(int64_t(1) << (width - 1));
  int64_t high = (int64_t(1) << (isUnsigned ? width : width - 1)) - 1;
  return r.lower >= low && r.upper <= high ? std::optional<Scalar>(a) : std::nullopt;
}

/// Row-major index into an operand of `shape` for element `index` of `result`.
static int64_t broadcastIndex(int64_t index, ArrayRef<int64_t> result, ArrayRef<int64_t> shape) {
  int64_t offset = 0, stride = 1;
  for (int64_t i = result.size() - 1; i >= 0; --i) {
    int64_t at = index % result[i];
    index /= result[i];
    int64_t own = i - (static_cast<int64_t>(result.size()) - static_cast<int64_t>(shape.size()));
    if (own < 0)
      continue;
    if (shape[own] != 1)
      offset += at * stride;
    stride *= shape[own];
  }
  return offset;
}

bool Folder::elementwise() {
  StringRef op = n.node.opType;
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < n.numInputs(); ++i) {
    const Known *k = n.known(i);
    if (!k || n.attribute("axis") || n.attribute("broadcast"))
      return false;
    if (k->shape.size() > shape.size())
      shape.insert(shape.begin(), k->shape.size() - shape.size(), 1);
    for (size_t d = 0; d < k->shape.size(); ++d) {
      int64_t &dim = shape[shape.size() - k->shape.size() + d];
      if (dim != k->shape[d] && dim != 1 && k->shape[d] != 1)
        return false;
      dim = dim == 1 ? k->shape[d] : dim;
    }
  }
  int64_t count = 1;
  for (int64_t d : shape)
    count *= d;
  if (count > Known::kMaxElements)
    return false;
  Known result{shape, {}};
  Type type = n.element(0);
  bool comparison = llvm::is_contained({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}, op);
  for (int64_t e = 0; e < count; ++e) {
    auto operand = [&](size_t i) { return n.known(i)->elements[broadcastIndex(e, shape, n.known(i)->shape)]; };
    std::optional<Scalar> value;
    if (op == "Where") {
      auto condition = operand(0).integer();
      if (condition)
        value = operand(*condition ? 1 : 2);
    } else if (n.numInputs() == 1) {
      value = llvm::is_contained({"Sum", "Max", "Min", "Mean"}, op) ? operand(0) : unary(op, operand(0));
    } else {
      value = operand(0);
      for (size_t i = 1; value && i < n.numInputs(); ++i)
        value = binary(op == "Sum" ? "Add" : op, *value, operand(i));
    }
    // Integer results must still fit their type.
    if (value && op != "Where" && !comparison && graph::isInteger(type))
      value = convert(*value, type, type);
    if (!value)
      return false;
    result.elements.push_back(*value);
  }
  return give(comparison ? n.b.getI1Type() : op == "Where" ? n.element(1) : type, std::move(result));
}

bool Folder::shapeOf() {
  graph::GraphTensorType type = n.type(0);
  if (n.node.opType == "Size") {
    return give(n.b.getI64Type(), Known{{}, {Scalar(n.simplify(type.getNumElements()))}});
  }
  int64_t rank = type.getRank();
  auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  int64_t start = clamp(n.getInt("start", 0)), end = clamp(n.getInt("end", rank));
  Known result{{std::max<int64_t>(end - start, 0)}, {}};
  for (int64_t i = start; i < end; ++i)
    result.elements.push_back(Scalar(type.getDim(i)));
  return give(n.b.getI64Type(), std::move(result));
}

/// Reshape, Squeeze, Unsqueeze, Flatten, Identity, Cast, Expand to one element
/// more: operators that keep the order of elements.
bool Folder::reshaping() {
  const Known *k = n.known(0);
  if (!k)
    return false;
  StringRef op = n.node.opType;
  Known result = *k;
  Type type = n.element(0);
  int64_t rank = k->shape.size(), count = k->elements.size();
  if (op == "Cast" || op == "CastLike") {
    Type to = op == "Cast" ? elementTypeOf(static_cast<DataType>(n.getInt("to", 0)), n.context())
              : n.has(1)   ? n.element(1)
                           : Type();
    if (!to)
      return false;
    for (Scalar &scalar : result.elements) {
      auto value = convert(scalar, type, to);
      if (!value)
        return false;
      scalar = *value;
    }
    return give(to, std::move(result));
  }
  if (op == "Identity")
    return give(type, std::move(result));
  if (op == "Squeeze" || op == "Unsqueeze") {
    SmallVector<int64_t> list;
    bool given = false;
    if (auto attribute = n.getInts("axes")) {
      list = *attribute;
      given = true;
    } else if (n.has(1)) {
      auto values = n.known(1) ? n.known(1)->integers() : std::nullopt;
      if (!values)
        return false;
      list = *values;
      given = true;
    }
    int64_t outer = op == "Squeeze" ? rank : rank + list.size();
    llvm::SmallBitVector chosen(std::max<int64_t>(outer, 0));
    for (int64_t a : list) {
      a += a < 0 ? outer : 0;
      if (a < 0 || a >= outer || chosen[a])
        return false;
      chosen.set(a);
    }
    result.shape.clear();
    if (op == "Squeeze") {
      for (int64_t i = 0; i < rank; ++i) {
        bool drop = given ? chosen[i] : k->shape[i] == 1;
        if (drop && k->shape[i] != 1)
          return false;
        if (!drop)
          result.shape.push_back(k->shape[i]);
      }
    } else {
      for (int64_t i = 0, next = 0; i < outer; ++i)
        result.shape.push_back(chosen[i] ? 1 : k->shape[next++]);
    }
    return give(type, std::move(result));
  }
  if (op == "Reshape") {
    auto target = n.getInts("shape");
    if (n.has(1)) {
      target = n.known(1) ? n.known(1)->integers() : std::nullopt;
    }
    if (!target)
      return false;
    int64_t product = 1, unknown = -1;
    for (auto [i, d] : llvm::enumerate(*target)) {
      if (d == 0 && !n.getInt("allowzero", 0)) {
        if (static_cast<int64_t>(i) >= rank)
          return false;
        d = k->shape[i];
      }
      if (d == -1)
        unknown = i;
      else if (d < 0 || d > count)
        return false;
      else
        product *= d;
      if (product > 1 << 20)
        return false;
    }
    if (unknown >= 0) {
      if (product == 0 || count % product)
        return false;
      (*target)[unknown] = count / product;
      product = count;
    }
    if (product != count)
      return false;
    result.shape.assign(target->begin(), target->end());
    return give(type, std::move(result));
  }
  return false;
}

bool Folder::transpose() {
  const Known *k = n.known(0);
  if (!k || k->shape.size() > 8)
    return false;
  int64_t rank = k->shape.size();
  auto perm = n.getInts("perm");
  if (!perm)
    perm = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  SmallVector<int64_t> sorted(*perm);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return false;
  SmallVector<int64_t> stride(rank, 1);
  for (int64_t i = rank - 2; i >= 0; --i)
    stride[i] = stride[i + 1] * k->shape[i + 1];
  Known result;
  for (int64_t p : *perm)
    result.shape.push_back(k->shape[p]);
  for (size_t e = 0; e < k->elements.size(); ++e) {
    int64_t rest = e, from = 0;
    for (int64_t i = rank - 1; i >= 0; --i) {
      from += rest % result.shape[i] * stride[(*perm)[i]];
      rest /= result.shape[i];
    }
    result.elements.push_back(k->elements[from]);
  }
  return give(n.element(0), std::move(result));
}

/// Outer and inner extents around an axis.
static std::pair<int64_t, int64_t> around(ArrayRef<int64_t> shape, int64_t axis) {
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < axis; ++i)
    outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i)
    inner *= shape[i];
  return {outer, inner};
}

bool Folder::gather() {
  const Known *data = n.known(0), *indices = n.known(1);
  auto list = indices ? indices->integers() : std::nullopt;
  if (!data || !list || data->shape.empty())
    return false;
  int64_t rank = data->shape.size(), axis = n.getInt("axis", 0);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return false;
  auto [outer, inner] = around(data->shape, axis);
  int64_t size = data->shape[axis];
  Known result;
  result.shape.assign(data->shape.begin(), data->shape.begin() + axis);
  result.shape.append(indices->shape);
  result.shape.append(data->shape.begin() + axis + 1, data->shape.end());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : *list) {
      index += index < 0 ? size : 0;
      if (index < 0 || index >= size)
        return false;
      for (int64_t i = 0; i < inner; ++i)
        result.elements.push_back(data->elements[(o * size + index) * inner + i]);
    }
  return give(n.element(0), std::move(result));
}

bool Folder::slice() {
  const Known *k = n.known(0);
  if (!k)
    return false;
  auto list = [&](StringRef name, size_t input) -> std::optional<SmallVector<int64_t>> {
    if (n.has(input))
      return n.known(input) ? n.known(input)->integers() : std::nullopt;
    return n.getInts(name);
  };
  auto starts = list("starts", 1), ends = list("ends", 2);
  if (!starts || !ends || starts->size() != ends->size())
    return false;
  auto axes = list("axes", 3), steps = list("steps", 4);
  if ((n.has(3) && !axes) || (n.has(4) && !steps))
    return false;
  Known result = *k;
  for (size_t j = 0; j < starts->size(); ++j) {
    int64_t rank = k->shape.size(), axis = axes ? (j < axes->size() ? (*axes)[j] : -99) : j;
    axis += axis < 0 ? rank : 0;
    int64_t step = steps ? (j < steps->size() ? (*steps)[j] : 0) : 1;
    if (axis < 0 || axis >= rank || step == 0 || std::abs(step) > (1 << 30))
      return false;
    int64_t size = result.shape[axis], start = (*starts)[j], end = (*ends)[j];
    if (step < 0 && (end == std::numeric_limits<int32_t>::max() || end == std::numeric_limits<int64_t>::max()))
      end = std::numeric_limits<int64_t>::min(); // to the end, as in ONNX Runtime
    start = start < 0 ? std::max<int64_t>(start, -size - 1) + size : start;
    end = end < 0 ? std::max<int64_t>(end, -size - 1) + size : end;
    start = step > 0 ? std::clamp<int64_t>(start, 0, size) : std::clamp<int64_t>(start, -1, size - 1);
    if (step < 0 && start < 0)
      start = 0;
    end = step > 0 ? std::clamp<int64_t>(end, 0, size) : std::clamp<int64_t>(end, -1, size - 1);
    auto [outer, inner] = around(result.shape, axis);
    SmallVector<Scalar> elements;
    int64_t count = 0;
    for (int64_t o = 0; o < outer; ++o) {
      count = 0;
      for (int64_t at = start; size > 0 && (step > 0 ? at < end : at > end); at += step, ++count)
        for (int64_t i = 0; i < inner; ++i)
          elements.push_back(result.elements[(o * size + at) * inner + i]);
    }
    if (outer == 0)
      return false;
    result.shape[axis] = count;
    result.elements = std::move(elements);
  }
  return give(n.element(0), std::move(result));
}

bool Folder::concat() {
  int64_t axis = n.getInt("axis", n.opset < 4 ? 1 : 0);
  Known result;
  int64_t rank = n.rank(0);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return false;
  int64_t total = 0, outer = 0;
  for (size_t i = 0; i < n.numInputs(); ++i) {
    const Known *k = n.known(i);
    if (!k || static_cast<int64_t>(k->shape.size()) != rank || n.element(i) != n.element(0))
      return false;
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis && k->shape[d] != n.known(0)->shape[d])
        return false;
    total += k->shape[axis];
    outer = around(k->shape, axis).first;
  }
  result.shape = n.known(0)->shape;
  result.shape[axis] = total;
  for (int64_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < n.numInputs(); ++i) {
      const Known *k = n.known(i);
      int64_t run = k->shape[axis] * around(k->shape, axis).second;
      result.elements.append(k->elements.begin() + o * run, k->elements.begin() + (o + 1) * run);
    }
  return give(n.element(0), std::move(result));
}

/// ReduceProd, ReduceSum, ReduceMax and ReduceMin of a whole vector.
bool Folder::reduce() {
  const Known *k = n.known(0);
  if (!k || isFloat || k->shape.size() != 1 || k->elements.empty())
    return false;
  if (n.has(1) || n.getInt("noop_with_empty_axes", 0))
    return false;
  StringRef op = llvm::StringSwitch<StringRef>(n.node.opType)
                     .Case("ReduceProd", "Mul")
                     .Case("ReduceSum", "Add")
                     .Case("ReduceMax", "Max")
                     .Default("Min");
  std::optional<Scalar> value = k->elements[0];
  for (const Scalar &next : ArrayRef<Scalar>(k->elements).drop_front())
    if (value)
      value = binary(op, *value, next);
  if (value)
    value = convert(*value, n.element(0), n.element(0));
  if (!value)
    return false;
  Known result;
  if (n.getInt("keepdims", 1))
    result.shape.push_back(1);
  result.elements.push_back(*value);
  return give(n.element(0), std::move(result));
}

bool Folder::run() {
  using Method = bool (Folder::*)();
  Method method =
      llvm::StringSwitch<Method>(n.node.opType)
          .Cases("Shape", "Size", &Folder::shapeOf)
          .Cases("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Sum", "Where", &Folder::elementwise)
          .Cases("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", &Folder::elementwise)
          .Cases("Neg", "Not", "Abs", "Floor", "Ceil", "Round", "Sqrt", &Folder::elementwise)
          .Cases("Reshape", "Squeeze", "Unsqueeze", "Identity", "Cast", "CastLike", &Folder::reshaping)
          .Case("Transpose", &Folder::transpose)
          .Case("Gather", &Folder::gather)
          .Case("Slice", &Folder::slice)
          .Case("Concat", &Folder::concat)
          .Cases("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin", &Folder::reduce)
          .Default(nullptr);
  return method && n.node.outputs.size() == 1 && (this->*method)();
}

bool stint::import::foldShapeArithmetic(NodeContext &n) { return n.node.domain.empty() && n.has(0) && Folder(n).run(); }
