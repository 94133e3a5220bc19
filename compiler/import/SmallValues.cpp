// SmallValues: see the header of that name. Operators follow ONNX's text; one
// that is not here is a problem, never a guess.
#include "compiler/import/SmallValues.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <cstring>
#include <functional>

using namespace llvm;
using namespace stint::import;

/// Nodes below each other, and elements of one value.
constexpr int kMaxDepth = 256;
constexpr int64_t kMaxCount = 1 << 20;

/// More than kMaxCount where there are too many elements or dimensions.
static int64_t countOf(ArrayRef<int64_t> dims) {
  int64_t count = 1;
  if (dims.size() > 8)
    return kMaxCount + 1;
  for (int64_t d : dims) {
    if (d < 0 || d > kMaxCount || (d && count > kMaxCount / d))
      return kMaxCount + 1;
    count *= d;
  }
  return count;
}

/// The nearest integer towards zero that is far from overflow; 0 for NaN.
static int64_t integerOf(double x) {
  constexpr double kMost = 1ll << 53;
  return x != x ? 0 : static_cast<int64_t>(std::clamp(x, -kMost, kMost));
}

int64_t SmallValue::count() const { return countOf(dims); }

SmallValues::SmallValues(const Model &model, StringMap<SmallValue> inputs) : model(model), values(std::move(inputs)) {
  for (const Node &node : model.graph.nodes)
    for (const std::string &output : node.outputs)
      if (!output.empty())
        makers[output] = &node;
}

bool SmallValues::fail(const Node &node, const Twine &why) {
  problem = ("node '" + node.label() + "' (" + node.opType + ") " + why).str();
  return false;
}

static std::optional<SmallValue> constantOf(const Model &model, const Tensor &tensor) {
  SmallValue value;
  value.dims = tensor.dims;
  if (tensor.strings || value.count() > kMaxCount)
    return std::nullopt;
  ArrayRef<uint8_t> bytes = model.bytes(tensor);
  size_t count = value.count(), width = bitsOf(tensor.type) / 8;
  if (!width || bytes.size() < count * width)
    return std::nullopt;
  value.elements.resize(count);
  value.integer = tensor.type != DataType::Float && tensor.type != DataType::Double;
  auto read = [&](auto zero) {
    for (size_t i = 0; i < count; ++i) {
      auto element = zero;
      std::memcpy(&element, bytes.data() + i * width, sizeof(element));
      value.elements[i] = static_cast<double>(element);
    }
  };
  switch (tensor.type) {
  case DataType::Float:
    read(float());
    break;
  case DataType::Double:
    read(double());
    break;
  case DataType::Int32:
    read(int32_t());
    break;
  case DataType::Int64:
    read(int64_t());
    break;
  case DataType::Bool:
  case DataType::UInt8:
    read(uint8_t());
    break;
  default:
    return std::nullopt;
  }
  return value;
}

const SmallValue *SmallValues::get(StringRef name) {
  if (auto known = values.find(name); known != values.end())
    return &known->second;
  for (const Tensor &tensor : model.graph.initializers)
    if (tensor.name == name) {
      SmallValue shape;
      shape.dims = tensor.dims;
      shape.onlyShape = true;
      return &(values[name] = constantOf(model, tensor).value_or(shape));
    }
  const Node *node = makers.lookup(name);
  if (!node) {
    problem = ("'" + name + "' is needed, which is not known while compiling").str();
    return nullptr;
  }
  if (node->outputs.size() != 1 || depth >= kMaxDepth) {
    fail(*node, "is not understood here");
    return nullptr;
  }
  ++depth;
  SmallValue result;
  bool good = evaluate(*node, result);
  --depth;
  budget -= result.count();
  if (good && budget < 0)
    good = fail(*node, "computes more than a mask or positions need");
  if (!good)
    return nullptr;
  return &(values[name] = std::move(result));
}

// Broadcasting.

static std::optional<std::vector<int64_t>> broadcastOf(ArrayRef<const SmallValue *> values) {
  std::vector<int64_t> dims;
  for (const SmallValue *value : values) {
    ArrayRef<int64_t> other = value->dims;
    if (other.size() > dims.size())
      dims.insert(dims.begin(), other.size() - dims.size(), 1);
    for (size_t i = 0; i < other.size(); ++i) {
      int64_t &d = dims[dims.size() - other.size() + i];
      if (d == 1)
        d = other[i];
      else if (other[i] != 1 && other[i] != d)
        return std::nullopt;
    }
  }
  return dims;
}

/// Calls `visit` with the position of every element of `dims`, in order.
static void eachPosition(ArrayRef<int64_t> dims, function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> at(dims.size(), 0);
  for (int64_t left = countOf(dims); left > 0; --left) {
    visit(at);
    for (size_t i = dims.size(); i-- > 0;) {
      if (++at[i] < dims[i])
        break;
      at[i] = 0;
    }
  }
}

/// The element that broadcasting puts at `at`.
static double elementAt(const SmallValue &value, ArrayRef<int64_t> at) {
  int64_t index = 0;
  ArrayRef<int64_t> own = at.take_back(value.dims.size());
  for (size_t i = 0; i < own.size(); ++i)
    index = index * value.dims[i] + (value.dims[i] == 1 ? 0 : own[i]);
  return value.elements[index];
}

using Elementwise = std::function<double(ArrayRef<double>)>;

/// What an elementwise operator computes; `integers`: of integer operands.
static Elementwise elementwise(StringRef op, bool integers) {
  auto quotient = [integers](ArrayRef<double> x) { return integers ? std::trunc(x[0] / x[1]) : x[0] / x[1]; };
  return StringSwitch<Elementwise>(op)
      .Case("Identity", [](ArrayRef<double> x) { return x[0]; })
      .Case("Neg", [](ArrayRef<double> x) { return -x[0]; })
      .Case("Abs", [](ArrayRef<double> x) { return std::fabs(x[0]); })
      .Case("Not", [](ArrayRef<double> x) { return x[0] == 0; })
      .Case("Add", [](ArrayRef<double> x) { return x[0] + x[1]; })
      .Case("Sub", [](ArrayRef<double> x) { return x[0] - x[1]; })
      .Case("Mul", [](ArrayRef<double> x) { return x[0] * x[1]; })
      .Case("Div", quotient)
      .Case("Min", [](ArrayRef<double> x) { return *std::min_element(x.begin(), x.end()); })
      .Case("Max", [](ArrayRef<double> x) { return *std::max_element(x.begin(), x.end()); })
      .Case("Equal", [](ArrayRef<double> x) { return x[0] == x[1]; })
      .Case("Less", [](ArrayRef<double> x) { return x[0] < x[1]; })
      .Case("LessOrEqual", [](ArrayRef<double> x) { return x[0] <= x[1]; })
      .Case("Greater", [](ArrayRef<double> x) { return x[0] > x[1]; })
      .Case("GreaterOrEqual", [](ArrayRef<double> x) { return x[0] >= x[1]; })
      .Case("And", [](ArrayRef<double> x) { return x[0] != 0 && x[1] != 0; })
      .Case("Or", [](ArrayRef<double> x) { return x[0] != 0 || x[1] != 0; })
      .Case("Xor", [](ArrayRef<double> x) { return (x[0] != 0) != (x[1] != 0); })
      .Case("Where", [](ArrayRef<double> x) { return x[0] != 0 ? x[1] : x[2]; })
      .Default(nullptr);
}

std::optional<std::vector<int64_t>> SmallValues::integers(const Node &node, size_t input, StringRef attribute) {
  if (const NodeAttribute *a = node.find(attribute))
    return a->ints;
  if (input >= node.inputs.size() || node.inputs[input].empty())
    return std::nullopt;
  const SmallValue *value = get(node.inputs[input]);
  if (!value || value->onlyShape)
    return std::nullopt;
  std::vector<int64_t> result;
  for (double element : value->elements)
    result.push_back(integerOf(element));
  return result;
}

/// How many operands an operator has, at least and at most; {0, 0} if it isn't
/// known.
static std::pair<size_t, size_t> arityOf(StringRef op) {
  using Arity = std::pair<size_t, size_t>;
  return StringSwitch<Arity>(op)
      .Cases("Identity", "Neg", "Abs", "Not", "Cast", Arity(1, 1))
      .Cases("Shape", "Transpose", "ConstantOfShape", Arity(1, 1))
      .Cases("Add", "Sub", "Mul", "Div", "Equal", Arity(2, 2))
      .Cases("Less", "LessOrEqual", "Greater", "GreaterOrEqual", Arity(2, 2))
      .Cases("And", "Or", "Xor", "Gather", "CumSum", "Expand", Arity(2, 2))
      .Cases("Where", "Range", Arity(3, 3))
      .Cases("Min", "Max", "Concat", Arity(1, 1024))
      .Cases("Unsqueeze", "Squeeze", "Reshape", "ReduceSum", "Trilu", Arity(1, 2))
      .Case("Slice", Arity(3, 5))
      .Default(Arity(0, 0));
}

static int64_t attributeOr(const Node &node, StringRef name, int64_t otherwise) {
  const NodeAttribute *a = node.find(name);
  return a ? a->i : otherwise;
}

/// Operators that read shapes or change them; `known` if it is one of them.
bool SmallValues::evaluateShapes(const Node &node, SmallValue &result, bool &known) {
  StringRef op = node.opType;
  known = true;
  const SmallValue &x = *get(node.inputs[0]);
  int64_t rank = x.dims.size();
  if (op == "Shape") {
    int64_t start = attributeOr(node, "start", 0), end = attributeOr(node, "end", rank);
    start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
    end = std::clamp<int64_t>(end < 0 ? end + rank : end, 0, rank);
    for (int64_t i = start; i < end; ++i)
      result.elements.push_back(static_cast<double>(x.dims[i]));
    result.dims = {static_cast<int64_t>(result.elements.size())};
    return true;
  }
  if (x.onlyShape)
    return fail(node, "reads '" + node.inputs[0] + "', whose elements are not known while compiling");
  result.integer = x.integer;
  if (op == "Unsqueeze" || op == "Squeeze") {
    auto axes = integers(node, 1, "axes");
    bool more = op == "Unsqueeze";
    if ((!axes && (more || node.inputs.size() > 1)) || (axes && axes->size() > 8))
      return fail(node, "has axes that are not known");
    result = x;
    if (!axes) {
      llvm::erase_if(result.dims, [](int64_t d) { return d == 1; });
      return true;
    }
    int64_t after = more ? rank + static_cast<int64_t>(axes->size()) : rank;
    for (int64_t &axis : *axes)
      axis += axis < 0 ? after : 0;
    llvm::sort(*axes);
    for (int64_t axis : more ? *axes : std::vector<int64_t>(axes->rbegin(), axes->rend())) {
      if (axis < 0 || axis > static_cast<int64_t>(result.dims.size()) - (more ? 0 : 1))
        return fail(node, "has axes outside its rank");
      if (more)
        result.dims.insert(result.dims.begin() + axis, 1);
      else
        result.dims.erase(result.dims.begin() + axis);
    }
    return result.count() == x.count() || fail(node, "squeezes what is not 1");
  }
  if (op == "Reshape" || op == "Expand") {
    auto shape = integers(node, 1, "shape");
    if (!shape)
      return fail(node, "has a shape that is not known");
    if (op == "Expand") {
      SmallValue target;
      target.dims = *shape;
      auto dims = broadcastOf({&x, &target});
      if (!dims || countOf(*dims) > kMaxCount)
        return fail(node, "does not fit");
      result.dims = *dims;
      eachPosition(result.dims, [&](ArrayRef<int64_t> at) { result.elements.push_back(elementAt(x, at)); });
      return true;
    }
    int64_t rest = 1, open = -1;
    for (size_t i = 0; i < shape->size(); ++i) {
      int64_t &d = (*shape)[i];
      if (d == 0 && static_cast<int64_t>(i) < rank)
        d = x.dims[i];
      if (d == -1 && open < 0)
        open = i;
      else if (d < 0 || d > kMaxCount || (rest = rest * d) > kMaxCount)
        return fail(node, "does not fit");
    }
    if (open >= 0)
      (*shape)[open] = rest ? x.count() / rest : 0;
    result.elements = x.elements;
    result.dims = *shape;
    return result.count() == x.count() || fail(node, "does not fit");
  }
  if (op == "Transpose") {
    const NodeAttribute *given = node.find("perm");
    std::vector<int64_t> order;
    for (int64_t i = 0; i < rank; ++i)
      order.push_back(given && i < static_cast<int64_t>(given->ints.size()) ? given->ints[i] : rank - 1 - i);
    std::vector<bool> seen(rank, false);
    for (int64_t from : order) {
      if (from < 0 || from >= rank || seen[from])
        return fail(node, "has no such order");
      seen[from] = true;
      result.dims.push_back(x.dims[from]);
    }
    eachPosition(result.dims, [&](ArrayRef<int64_t> at) {
      SmallVector<int64_t> source(rank, 0);
      for (int64_t i = 0; i < rank; ++i)
        source[order[i]] = at[i];
      result.elements.push_back(elementAt(x, source));
    });
    return true;
  }
  known = false;
  return false;
}

bool SmallValues::evaluate(const Node &node, SmallValue &result) {
  StringRef op = node.opType;
  if (!node.domain.empty())
    return fail(node, "is not understood here");
  if (op == "Constant") {
    const NodeAttribute *a = node.attributes.empty() ? nullptr : &node.attributes.front();
    std::optional<SmallValue> value;
    if (a && a->tensor)
      value = constantOf(model, *a->tensor);
    else if (a && (a->kind == NodeAttribute::Kind::Int || a->kind == NodeAttribute::Kind::Float)) {
      value.emplace();
      value->integer = a->kind == NodeAttribute::Kind::Int;
      value->elements = {value->integer ? static_cast<double>(a->i) : a->f};
    } else if (a && a->kind == NodeAttribute::Kind::Ints) {
      value.emplace();
      value->dims = {static_cast<int64_t>(a->ints.size())};
      value->elements.assign(a->ints.begin(), a->ints.end());
    }
    if (!value)
      return fail(node, "has a value that is not understood here");
    result = std::move(*value);
    return true;
  }
  SmallVector<const SmallValue *> x;
  for (const std::string &input : node.inputs)
    if (!input.empty() && !get(input))
      return false;
  for (const std::string &input : node.inputs)
    x.push_back(input.empty() ? nullptr : get(input));
  auto [least, most] = arityOf(op);
  if (x.size() < std::max<size_t>(least, 1) || x.size() > most || llvm::is_contained(x, nullptr))
    return fail(node, "is not understood here");
  bool known = false;
  if (bool good = evaluateShapes(node, result, known); known || !problem.empty())
    return good;
  for (auto [i, value] : llvm::enumerate(x))
    if (value->onlyShape)
      return fail(node, "reads '" + node.inputs[i] + "', whose elements are not known while compiling");

  result.integer = llvm::all_of(x, [](const SmallValue *v) { return v->integer; });
  if (Elementwise function = elementwise(op, result.integer)) {
    auto dims = broadcastOf(x);
    if (!dims || countOf(*dims) > kMaxCount)
      return fail(node, "has operands that do not fit");
    if (op == "Where")
      result.integer = x[1]->integer && x[2]->integer;
    result.dims = *dims;
    SmallVector<double> operandsAt(x.size());
    eachPosition(result.dims, [&](ArrayRef<int64_t> at) {
      for (auto [i, value] : llvm::enumerate(x))
        operandsAt[i] = elementAt(*value, at);
      result.elements.push_back(function(operandsAt));
    });
    return true;
  }
  if (op == "Cast") {
    result = *x[0];
    int64_t to = attributeOr(node, "to", 0);
    bool toFloat = to == 1 || to == 10 || to == 11 || to == 16;
    for (double &element : result.elements)
      element = to == 9 ? element != 0 : toFloat ? element : std::trunc(element);
    result.integer = !toFloat;
    return true;
  }
  if (op == "Gather") {
    int64_t rank = x[0]->dims.size(), axis = attributeOr(node, "axis", 0);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
      return fail(node, "has no such axis");
    result.integer = x[0]->integer;
    ArrayRef<int64_t> dims = x[0]->dims;
    result.dims.assign(dims.begin(), dims.begin() + axis);
    result.dims.insert(result.dims.end(), x[1]->dims.begin(), x[1]->dims.end());
    result.dims.insert(result.dims.end(), dims.begin() + axis + 1, dims.end());
    bool inside = result.count() <= kMaxCount;
    if (inside)
      eachPosition(result.dims, [&](ArrayRef<int64_t> at) {
        auto index = integerOf(elementAt(*x[1], at.slice(axis, x[1]->dims.size())));
        index += index < 0 ? dims[axis] : 0;
        inside &= index >= 0 && index < dims[axis];
        SmallVector<int64_t> source(at.take_front(axis));
        source.push_back(inside ? index : 0);
        source.append(at.begin() + axis + x[1]->dims.size(), at.end());
        result.elements.push_back(inside ? elementAt(*x[0], source) : 0);
      });
    return inside || fail(node, "reads outside its operand");
  }
  if (op == "Range") {
    for (const SmallValue *value : x)
      if (value->count() != 1)
        return fail(node, "needs three numbers");
    double start = x[0]->elements[0], limit = x[1]->elements[0], step = x[2]->elements[0];
    double count = step != 0 ? std::ceil((limit - start) / step) : -1;
    if (!(count <= kMaxCount) || step == 0)
      return fail(node, "makes too many numbers");
    for (int64_t i = 0; i < integerOf(count); ++i)
      result.elements.push_back(start + static_cast<double>(i) * step);
    result.dims = {static_cast<int64_t>(result.elements.size())};
    return true;
  }
  if (op == "ConstantOfShape") {
    for (double element : x[0]->elements)
      result.dims.push_back(integerOf(element));
    double fill = 0;
    result.integer = false;
    if (const NodeAttribute *value = node.find("value"); value && value->tensor)
      if (auto constant = constantOf(model, *value->tensor); constant && constant->count() == 1) {
        fill = constant->elements[0];
        result.integer = constant->integer;
      }
    if (result.count() > kMaxCount)
      return fail(node, "is too large");
    result.elements.assign(result.count(), fill);
    return true;
  }
  if (op == "Concat") {
    int64_t axis = attributeOr(node, "axis", 0), rank = x[0]->dims.size();
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
      return fail(node, "has no such axis");
    result.dims = x[0]->dims;
    for (const SmallValue *value : ArrayRef(x).drop_front()) {
      if (value->dims.size() != x[0]->dims.size())
        return fail(node, "has operands that do not fit");
      for (int64_t i = 0; i < rank; ++i)
        if (i != axis && value->dims[i] != x[0]->dims[i])
          return fail(node, "has operands that do not fit");
      result.dims[axis] += value->dims[axis];
    }
    if (result.count() > kMaxCount)
      return fail(node, "is too large");
    eachPosition(result.dims, [&](ArrayRef<int64_t> at) {
      SmallVector<int64_t> source(at);
      for (const SmallValue *value : x) {
        if (source[axis] < value->dims[axis]) {
          result.elements.push_back(elementAt(*value, source));
          break;
        }
        source[axis] -= value->dims[axis];
      }
    });
    return true;
  }
  if (op == "ReduceSum" || op == "CumSum") {
    auto axes = op == "CumSum" ? integers(node, 1, "") : integers(node, 1, "axes");
    int64_t rank = x[0]->dims.size();
    if (node.inputs.size() > 1 && !axes)
      return fail(node, "has axes that are not known");
    if (axes && axes->empty() && !attributeOr(node, "noop_with_empty_axes", 0))
      axes.reset();
    SmallVector<bool> reduced(rank, !axes);
    for (int64_t axis : axes.value_or(std::vector<int64_t>())) {
      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank)
        return fail(node, "has no such axis");
      reduced[axis] = true;
    }
    if (op == "CumSum") {
      if (attributeOr(node, "exclusive", 0) || attributeOr(node, "reverse", 0) || !axes || axes->size() != 1)
        return fail(node, "is not understood here");
      result = *x[0];
      int64_t axis = llvm::find(reduced, true) - reduced.begin();
      int64_t inner = countOf(ArrayRef(x[0]->dims).drop_front(axis + 1));
      for (int64_t i = inner, size = x[0]->dims[axis], n = result.elements.size(); i < n; ++i)
        if (i / inner % size != 0)
          result.elements[i] += result.elements[i - inner];
      return true;
    }
    SmallVector<int64_t> kept;
    for (int64_t i = 0; i < rank; ++i)
      kept.push_back(reduced[i] ? 1 : x[0]->dims[i]);
    result.elements.assign(countOf(kept), 0);
    eachPosition(x[0]->dims, [&](ArrayRef<int64_t> at) {
      int64_t index = 0;
      for (int64_t i = 0; i < rank; ++i)
        index = index * kept[i] + (reduced[i] ? 0 : at[i]);
      result.elements[index] += elementAt(*x[0], at);
    });
    for (int64_t i = 0; i < rank; ++i)
      if (!reduced[i] || attributeOr(node, "keepdims", 1))
        result.dims.push_back(kept[i]);
    return true;
  }
  if (op == "Slice") {
    auto starts = integers(node, 1, ""), ends = integers(node, 2, ""), axes = integers(node, 3, ""),
         steps = integers(node, 4, "");
    result.integer = x[0]->integer;
    result.dims = x[0]->dims;
    int64_t rank = result.dims.size();
    SmallVector<int64_t> first(rank, 0);
    if (!starts || !ends || starts->size() != ends->size())
      return fail(node, "has bounds that are not known");
    for (size_t i = 0; i < starts->size(); ++i) {
      int64_t axis = axes && i < axes->size() ? (*axes)[i] : i;
      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank || (steps && i < steps->size() && (*steps)[i] != 1))
        return fail(node, "is not understood here");
      int64_t size = x[0]->dims[axis];
      auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
      first[axis] = place((*starts)[i]);
      result.dims[axis] = std::max<int64_t>(place((*ends)[i]) - first[axis], 0);
    }
    eachPosition(result.dims, [&](ArrayRef<int64_t> at) {
      SmallVector<int64_t> source;
      for (int64_t i = 0; i < rank; ++i)
        source.push_back(at[i] + first[i]);
      result.elements.push_back(elementAt(*x[0], source));
    });
    return true;
  }
  if (op == "Trilu") {
    auto k = integers(node, 1, "");
    int64_t rank = x[0]->dims.size(), shift = k && !k->empty() ? k->front() : 0;
    bool upper = attributeOr(node, "upper", 1);
    if (rank < 2)
      return fail(node, "needs two dimensions");
    result.integer = x[0]->integer;
    result.dims = x[0]->dims;
    eachPosition(result.dims, [&](ArrayRef<int64_t> at) {
      int64_t behind = at[rank - 1] - at[rank - 2] - shift;
      result.elements.push_back((upper ? behind >= 0 : behind <= 0) ? elementAt(*x[0], at) : 0);
    });
    return true;
  }
  return fail(node, "is not understood here");
}
