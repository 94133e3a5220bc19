// Random loop nests: the frame, elementwise operators and reductions.
#include "test/compiler/codegen/loopnest/Fuzzer.h"

#include <algorithm>

using namespace stint::test;

Fuzzer::Fuzzer(uint64_t seed) : random(seed * 7919 + 1) { layoutsInside = below(3) == 0; }

void Fuzzer::addTo(Suite &suite, const std::string &name) {
  n = pick<int64_t>({1, 2, 3, 5, 7, 8, 15, 16, 17, 33, 64, 65, 70});
  k.symbol(0, 70);
  Element element = pick<Element>({Element::f32, Element::f32, Element::f16, Element::bf16, Element::f64, Element::i32,
                                   Element::i8, Element::u16, Element::i64, Element::u8});
  Dims dims = randomDims();
  all = {operand(dims, element)};
  for (int64_t left = between(1, 7); left > 0; --left) {
    // Mostly on from the newest value.
    TypedValue next = step(below(4) ? all.back() : all[below(all.size())]);
    if (sizeOf(next.dims) > 30000)
      break;
    all.push_back(next);
  }
  TypedValue last = all.back();
  resultLayout.clear();
  layoutsInside = false;
  if (below(2))
    last = relayout(last);
  std::vector<KernelText::Ref> results = {last.ref};
  if (below(3) == 0 && last.element != Element::boolean)
    results.push_back(emit("graph.add", {last, last}, last.dims, last.element).ref);
  // The first result decides: without a relayout its layout is not known.
  if (results.size() > 1 && resultLayout.empty())
    results = {results[1], emit("graph.neg", {last}, last.dims, last.element).ref};
  Tolerance tolerance;
  tolerance.relative = 1e-5; // exact up to 2^24, but for quotients
  std::string kernel = k.text(results);
  for (int64_t size : {n, between(1, 70), needsElements ? int64_t(1) : int64_t(0)}) {
    Case &test = suite.add(name, kernel, {size}, fills, tolerance);
    for (auto [at, limit] : indexOperands) // some are negative or too large
      for (int64_t i = 0; i < test.operands[at].size(); ++i)
        test.operands[at].set(i, static_cast<double>(between(-limit - 2, limit + 1)));
  }
}

std::string Fuzzer::text(const Dims &dims) {
  std::string joined;
  for (const Dim &dim : dims)
    joined += (joined.empty() ? "" : ", ") + dim.text;
  return joined;
}

int64_t Fuzzer::sizeOf(const Dims &dims) {
  int64_t product = 1;
  for (const Dim &dim : dims)
    product *= dim.value;
  return product;
}

Fuzzer::Dims Fuzzer::randomDims() {
  Dims dims;
  bool hasSymbol = false; // once at most: sizes stay small
  for (uint64_t rank = below(10) == 0 ? 0 : 1 + below(4); rank > 0; --rank) {
    bool symbol = below(3) == 0 && !hasSymbol;
    dims.push_back(symbol ? Dim{"s0", n} : number(pick<int64_t>({1, 2, 3, 4, 5, 7, 9, 16, 19})));
    hasSymbol |= symbol;
  }
  return dims;
}

std::string Fuzzer::randomLayout(const Dims &dims) {
  std::vector<int64_t> order;
  for (size_t d = 0; d < dims.size(); ++d)
    order.push_back(static_cast<int64_t>(d));
  std::shuffle(order.begin(), order.end(), random);
  std::string layout = "[" + list(order) + "]";
  if (!dims.empty() && below(3) == 0)
    layout += ", tile = " + std::to_string(below(dims.size())) + " : " + pick<std::string>({"16", "4", "8"});
  return layout;
}

Fuzzer::TypedValue Fuzzer::operand(const Dims &dims, Element element) {
  std::string layout = dims.size() > 1 && below(4) == 0 ? randomLayout(dims) : "";
  TypedValue value = {k.operand(type(text(dims), element, layout)), dims, element};
  Fill fill = {-3, 3};
  fill.whole = true;
  fills.push_back(fill);
  return value;
}

Fuzzer::TypedValue Fuzzer::emit(const std::string &op, const std::vector<TypedValue> &operands, const Dims &dims,
                                Element element, const std::string &attributes) {
  std::vector<KernelText::Ref> refs;
  for (const TypedValue &value : operands)
    refs.push_back(value.ref);
  std::string layout = layoutsInside && dims.size() > 1 ? randomLayout(dims) : resultLayout;
  return {k.op(op, refs, type(text(dims), element, layout), attributes), dims, element};
}

Fuzzer::TypedValue Fuzzer::relayout(const TypedValue &x) {
  if (x.dims.empty())
    return x;
  resultLayout = randomLayout(x.dims);
  return emit("graph.relayout", {x}, x.dims, x.element);
}

Fuzzer::TypedValue Fuzzer::step(const TypedValue &x) {
  switch (below(20)) {
  case 0:
  case 1:
  case 2:
    return binary(x);
  case 3:
    return unary(x);
  case 4:
    return choose(x);
  case 5:
    return emit("graph.cast", {x}, x.dims, kAllElements[1 + below(12)]);
  case 6:
    return transpose(x);
  case 7:
    return slice(x);
  case 8:
    return pad(x);
  case 9:
    return concat(x);
  case 10:
    return gather(x);
  case 11:
    return reshape(x);
  case 12:
    return broadcast(x);
  case 13:
  case 14:
    return reduce(x);
  case 15:
    return gatherElements(x);
  case 16:
    return gatherND(x);
  case 17:
    return depthwise(x);
  case 18:
    return matmul(x);
  default:
    return window(x);
  }
}

/// Something that broadcasts to the dimensions of `x`.
Fuzzer::TypedValue Fuzzer::partner(const TypedValue &x) {
  if (below(3) == 0)
    for (const TypedValue &other : all)
      if (other.ref != x.ref && other.element == x.element && same(other.dims, x.dims))
        return other;
  Dims own;
  for (size_t d = below(x.dims.size() + 1); d < x.dims.size(); ++d)
    own.push_back(below(4) == 0 ? number(1) : x.dims[d]);
  if (!own.empty() && x.element != Element::boolean && below(6) == 0) {
    std::string t = type(text(own), x.element);
    return {k.source("graph.iota", "axis = " + std::to_string(below(own.size())) + " : i64", t), own, x.element};
  }
  if (x.element != Element::boolean && below(6) == 0)
    return {k.splat(isFloat(x.element) ? "2.0" : "2", type("", x.element)), {}, x.element};
  return operand(own, x.element);
}

Fuzzer::TypedValue Fuzzer::binary(const TypedValue &x) {
  TypedValue y = partner(x);
  std::string op;
  if (x.element == Element::boolean)
    op = pick<std::string>({"and", "or", "xor"});
  else if (below(5))
    op = pick<std::string>({"add", "sub", "mul", "min", "max"});
  else if (isFloat(x.element)) // no NaN: argmax and argmin would not be defined
    return emit("graph.div", {x, {k.splat("2.0", type("", x.element)), {}, x.element}}, x.dims, x.element);
  else
    op = pick<std::string>({"div", "rem", "mod", "bit_and", "bit_xor", "shift_left", "shift_right"});
  return below(2) ? emit("graph." + op, {x, y}, x.dims, x.element) : emit("graph." + op, {y, x}, x.dims, x.element);
}

Fuzzer::TypedValue Fuzzer::unary(const TypedValue &x) {
  std::string op = x.element == Element::boolean ? "not" : pick<std::string>({"neg", "abs", "sign"});
  return emit("graph." + op, {x}, x.dims, x.element);
}

Fuzzer::TypedValue Fuzzer::choose(const TypedValue &x) {
  TypedValue y = partner(x);
  std::string predicate =
      x.element == Element::boolean ? pick<std::string>({"eq", "ne"}) : pick<std::string>({"eq", "ne", "lt", "ge"});
  TypedValue test = emit("graph.compare " + predicate, {x, y}, x.dims, Element::boolean);
  return emit("graph.select", {test, x, y}, x.dims, x.element);
}

// Reductions.

Fuzzer::TypedValue Fuzzer::reduce(const TypedValue &x) {
  std::vector<int64_t> axes;
  Dims dims = x.dims;
  for (size_t d = 0; d < dims.size(); ++d)
    if (below(2)) {
      axes.push_back(static_cast<int64_t>(d));
      dims[d] = number(1);
    }
  if (axes.empty())
    return x;
  std::string kind = x.element == Element::boolean ? pick<std::string>({"max", "min"})
                                                   : pick<std::string>({"sum", "max", "min", "argmax", "argmin"});
  Element element = x.element;
  if (kind[0] == 'a') {
    for (int64_t axis : axes)
      dims[axis] = x.dims[axis];
    axes = {axes[0]};
    dims[axes[0]] = number(1);
    element = Element::i64;
    needsElements = true;
  }
  TypedValue result = emit("graph.reduce " + kind, {x}, dims, element, "axes = array<i64: " + list(axes) + ">");
  // Often what a normalisation does: back to the full shape.
  if (kind[0] != 'a' && element != Element::boolean && below(2))
    return emit("graph.sub", {x, result}, x.dims, element);
  return result;
}

Fuzzer::TypedValue Fuzzer::window(const TypedValue &x) {
  if (x.element == Element::boolean || x.dims.empty())
    return x;
  std::vector<int64_t> size, strides, dilations, low, high;
  Dims dims;
  for (const Dim &dim : x.dims) {
    bool slides = dim.isFixed() && dim.value > 4 && below(2);
    size.push_back(slides ? between(1, 3) : 1);
    strides.push_back(slides ? between(1, 2) : 1);
    dilations.push_back(size.back() > 1 ? between(1, 2) : 1);
    low.push_back(size.back() > 1 ? between(0, 1) : 0); // no window without an element
    high.push_back(size.back() > 1 ? between(0, 1) : 0);
    int64_t extra = low.back() + high.back() - dilations.back() * (size.back() - 1) - 1;
    dims.push_back(slides ? number((dim.value + extra) / strides.back() + 1) : dim);
  }
  return emit("graph.window_reduce " + pick<std::string>({"sum", "max", "min"}), {x}, dims, x.element,
              "window = array<i64: " + list(size) + ">, strides = array<i64: " + list(strides) +
                  ">, dilations = array<i64: " + list(dilations) + ">, padLow = array<i64: " + list(low) +
                  ">, padHigh = array<i64: " + list(high) + ">");
}

Fuzzer::TypedValue Fuzzer::depthwise(const TypedValue &x) {
  if (!isFloat(x.element) || x.dims.size() < 3 || x.dims.size() > 5 || !x.dims[1].isFixed() || x.dims[1].value < 2)
    return x;
  std::vector<int64_t> strides, dilations, low, high;
  int64_t multiplier = between(1, 2);
  Dims dims = {x.dims[0], number(x.dims[1].value * multiplier)}, weight = {x.dims[1], number(multiplier), number(1)};
  for (size_t d = 2; d < x.dims.size(); ++d) {
    const Dim &dim = x.dims[d];
    bool slides = dim.isFixed() && dim.value > 4;
    int64_t size = slides ? between(1, 3) : 1;
    weight.push_back(number(size));
    strides.push_back(slides ? between(1, 2) : 1);
    dilations.push_back(slides ? between(1, 2) : 1);
    low.push_back(slides ? between(0, 2) : 0);
    high.push_back(slides ? between(0, 2) : 0);
    int64_t extra = low.back() + high.back() - dilations.back() * (size - 1) - 1;
    dims.push_back(slides ? number((dim.value + extra) / strides.back() + 1) : dim);
  }
  return emit("graph.conv", {x, operand(weight, x.element)}, dims, x.element,
              "strides = array<i64: " + list(strides) + ">, dilations = array<i64: " + list(dilations) +
                  ">, padLow = array<i64: " + list(low) + ">, padHigh = array<i64: " + list(high) + ">");
}

Fuzzer::TypedValue Fuzzer::matmul(const TypedValue &x) {
  if (isFloat(x.element) || x.element == Element::boolean || x.dims.size() < 2)
    return x;
  Dims dims = x.dims;
  dims.back() = number(between(1, 20));
  return emit("graph.matmul", {x, operand({x.dims.back(), dims.back()}, x.element)}, dims, x.element);
}
