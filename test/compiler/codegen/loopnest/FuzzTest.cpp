// Random loop nests: a few operators of all families, one after the other, on
// values that make every operator exact. STINT_FUZZ=n in the environment
// makes n kernels instead of the few of a normal run, STINT_FUZZ_SEED=s begins
// at another one.
#include "test/compiler/codegen/loopnest/LoopNestTest.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace stint::test;

namespace {

struct Dim {
  std::string text;
  int64_t value;
};
using Dims = std::vector<Dim>;

struct TypedValue {
  KernelText::Ref ref;
  Dims dims;
  Element element;
};

Dim number(int64_t value) { return {std::to_string(value), value}; }

std::string text(const Dims &dims) {
  std::string joined;
  for (const Dim &dim : dims)
    joined += (joined.empty() ? "" : ", ") + dim.text;
  return joined;
}

int64_t sizeOf(const Dims &dims) {
  int64_t product = 1;
  for (const Dim &dim : dims)
    product *= dim.value;
  return product;
}

class Fuzzer {
public:
  explicit Fuzzer(uint64_t seed) : random(seed * 7919 + 1) {}

  void addTo(Suite &suite, const std::string &name) {
    n = pick<int64_t>({1, 2, 3, 5, 7, 8, 15, 16, 17, 33, 64, 65, 70});
    k.symbol(1, 70);
    TypedValue value =
        operand(randomDims(), pick<Element>({Element::f32, Element::f32, Element::f16, Element::bf16, Element::f64,
                                             Element::i32, Element::i8, Element::u16, Element::i64, Element::u8}));
    std::vector<TypedValue> all = {value};
    for (int64_t left = 1 + below(6); left > 0; --left) {
      // Mostly on from the newest value.
      TypedValue next = step(below(4) ? all.back() : all[below(all.size())]);
      if (sizeOf(next.dims) > 30000)
        break;
      all.push_back(next);
    }
    TypedValue last = all.back();
    if (below(2))
      last = relayout(last);
    std::vector<KernelText::Ref> results = {last.ref};
    if (resultLayout.empty() && below(3) == 0 && last.element != Element::boolean)
      results.push_back(emit("graph.add", {last, last}, last.dims, last.element).ref);
    Tolerance tolerance;
    tolerance.relative = 1e-6; // exact up to 2^24
    Case &test = suite.add(name, k.text(results), {n}, fills, tolerance);
    for (auto [at, high] : indexOperands) // some are negative or too large
      for (int64_t i = 0; i < test.operands[at].size(); ++i)
        test.operands[at].set(i, static_cast<double>(below(2 * high + 4)) - static_cast<double>(high) - 2);
  }

private:
  uint64_t below(uint64_t limit) { return random() % limit; }
  template <typename T> T pick(std::initializer_list<T> choices) { return *(choices.begin() + below(choices.size())); }

  Dims randomDims() {
    Dims dims;
    for (uint64_t rank = below(10) == 0 ? 0 : 1 + below(4); rank > 0; --rank)
      dims.push_back(below(3) == 0 ? Dim{"s0", n} : number(pick<int64_t>({1, 2, 3, 4, 5, 7, 9, 16, 19})));
    bool seen = false; // n at most once: sizes stay small
    for (Dim &dim : dims) {
      if (dim.text == "s0" && seen)
        dim = number(3);
      seen |= dim.text == "s0";
    }
    return dims;
  }

  std::string randomLayout(const Dims &dims) {
    std::vector<int64_t> order;
    for (size_t d = 0; d < dims.size(); ++d)
      order.push_back(static_cast<int64_t>(d));
    std::shuffle(order.begin(), order.end(), random);
    std::string layout = "[" + list(order) + "]";
    if (!dims.empty() && below(3) == 0)
      layout += ", tile = " + std::to_string(below(dims.size())) + " : " + pick<std::string>({"16", "4", "8"});
    return layout;
  }

  TypedValue operand(const Dims &dims, Element element) {
    std::string layout = dims.size() > 1 && below(4) == 0 ? randomLayout(dims) : "";
    TypedValue value = {k.operand(type(text(dims), element, layout)), dims, element};
    Fill fill = {-3, 3};
    fill.whole = true;
    fills.push_back(fill);
    return value;
  }

  TypedValue emit(const std::string &op, const std::vector<TypedValue> &operands, const Dims &dims, Element element,
                  const std::string &attributes = "") {
    std::vector<KernelText::Ref> refs;
    for (const TypedValue &value : operands)
      refs.push_back(value.ref);
    return {k.op(op, refs, type(text(dims), element, resultLayout), attributes), dims, element};
  }

  TypedValue relayout(const TypedValue &x) {
    if (x.dims.empty())
      return x;
    resultLayout = randomLayout(x.dims);
    return emit("graph.relayout", {x}, x.dims, x.element);
  }

  TypedValue step(const TypedValue &x) {
    switch (below(16)) {
    case 0:
    case 1:
    case 2:
      return binary(x);
    case 3:
      return unary(x);
    case 4:
      return choose(x);
    case 5: {
      Element to = kAllElements[1 + below(12)];
      return emit("graph.cast", {x}, x.dims, to);
    }
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
    default:
      return window(x);
    }
  }

  /// An operand, or a counter, that broadcasts to these dimensions.
  TypedValue partner(const Dims &dims, Element element) {
    Dims own;
    for (size_t d = below(dims.size() + 1); d < dims.size(); ++d)
      own.push_back(below(4) == 0 ? number(1) : dims[d]);
    if (!own.empty() && element != Element::boolean && below(6) == 0) {
      std::string t = type(text(own), element);
      return {k.source("graph.iota", "axis = " + std::to_string(below(own.size())) + " : i64", t), own, element};
    }
    if (element != Element::boolean && below(6) == 0)
      return {k.splat(isFloat(element) ? "2.0" : "2", type("", element)), {}, element};
    return operand(own, element);
  }

  TypedValue binary(const TypedValue &x) {
    TypedValue y = partner(x.dims, x.element);
    std::string op = x.element == Element::boolean ? pick<std::string>({"and", "or", "xor"})
                                                   : pick<std::string>({"add", "sub", "mul", "min", "max"});
    return below(2) ? emit("graph." + op, {x, y}, x.dims, x.element) : emit("graph." + op, {y, x}, x.dims, x.element);
  }

  TypedValue unary(const TypedValue &x) {
    std::string op = x.element == Element::boolean ? "not" : pick<std::string>({"neg", "abs", "sign"});
    return emit("graph." + op, {x}, x.dims, x.element);
  }

  TypedValue choose(const TypedValue &x) {
    TypedValue y = partner(x.dims, x.element);
    TypedValue test =
        emit(pick<std::string>({"graph.compare eq", "graph.compare ne"}), {x, y}, x.dims, Element::boolean);
    return emit("graph.select", {test, x, y}, x.dims, x.element);
  }

  TypedValue transpose(const TypedValue &x) {
    std::vector<int64_t> permutation;
    for (size_t d = 0; d < x.dims.size(); ++d)
      permutation.push_back(static_cast<int64_t>(d));
    std::shuffle(permutation.begin(), permutation.end(), random);
    Dims dims;
    for (int64_t p : permutation)
      dims.push_back(x.dims[p]);
    if (dims.empty())
      return x;
    return emit("graph.transpose", {x}, dims, x.element, "permutation = array<i64: " + list(permutation) + ">");
  }

  TypedValue slice(const TypedValue &x) {
    if (x.dims.empty())
      return x;
    Dims dims;
    std::string starts;
    std::vector<int64_t> steps;
    for (const Dim &dim : x.dims) {
      starts += starts.empty() ? "" : ", ";
      if (dim.text != std::to_string(dim.value) || dim.value == 0) { // of a symbol: all, perhaps backwards
        bool backwards = below(2) && dim.value > 0;
        starts += backwards ? dim.text + " - 1" : "0";
        steps.push_back(backwards ? -1 : 1);
        dims.push_back(dim);
        continue;
      }
      int64_t step = pick<int64_t>({1, 1, 2, 3, -1, -2});
      int64_t count = 1 + static_cast<int64_t>(below((dim.value - 1) / std::abs(step) + 1));
      int64_t span = (count - 1) * std::abs(step), start = static_cast<int64_t>(below(dim.value - span));
      starts += std::to_string(step > 0 ? start : start + span);
      steps.push_back(step);
      dims.push_back(number(count));
    }
    return emit("graph.slice", {x}, dims, x.element,
                "starts = affine_map<()[s0] -> (" + starts + ")>, steps = array<i64: " + list(steps) + ">");
  }

  TypedValue pad(const TypedValue &x) {
    if (x.dims.empty())
      return x;
    Dims dims;
    std::vector<int64_t> low;
    for (const Dim &dim : x.dims) {
      int64_t before = below(2) ? static_cast<int64_t>(below(4)) : 0,
              after = below(2) ? static_cast<int64_t>(below(4)) : 0;
      low.push_back(before);
      int64_t more = before + after;
      dims.push_back(more == 0 ? dim
                     : dim.text == std::to_string(dim.value)
                         ? number(dim.value + more)
                         : Dim{dim.text + " + " + std::to_string(more), dim.value + more});
    }
    std::string mode = sizeOf(x.dims) == 0 ? "constant" : pick<std::string>({"constant", "reflect", "edge", "wrap"});
    std::vector<TypedValue> operands = {x};
    if (mode == "constant")
      operands.push_back(operand({}, x.element));
    return emit("graph.pad " + mode, operands, dims, x.element, "low = affine_map<() -> (" + list(low) + ")>");
  }

  TypedValue concat(const TypedValue &x) {
    std::vector<size_t> axes;
    for (size_t d = 0; d < x.dims.size(); ++d)
      if (x.dims[d].text == std::to_string(x.dims[d].value))
        axes.push_back(d);
    if (axes.empty())
      return x;
    size_t axis = axes[below(axes.size())];
    std::vector<TypedValue> parts = {x};
    Dims dims = x.dims;
    for (uint64_t more = 1 + below(2); more > 0; --more) {
      Dims own = x.dims;
      own[axis] = number(1 + static_cast<int64_t>(below(5)));
      parts.insert(parts.begin() + below(parts.size() + 1), operand(own, x.element));
      dims[axis] = number(dims[axis].value + own[axis].value);
    }
    return emit("graph.concat", parts, dims, x.element, "axis = " + std::to_string(axis) + " : i64");
  }

  TypedValue gather(const TypedValue &x) {
    if (x.dims.empty() || sizeOf(x.dims) == 0)
      return x;
    size_t axis = below(x.dims.size());
    Dims indexDims;
    for (uint64_t rank = below(3); rank > 0 && x.dims.size() + rank < 7; --rank)
      indexDims.push_back(number(1 + static_cast<int64_t>(below(5))));
    indexOperands.push_back({fills.size(), static_cast<uint64_t>(x.dims[axis].value)});
    TypedValue indices = operand(indexDims, pick<Element>({Element::i64, Element::i32}));
    Dims dims(x.dims.begin(), x.dims.begin() + axis);
    dims.insert(dims.end(), indexDims.begin(), indexDims.end());
    dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
    return emit("graph.gather", {x, indices}, dims, x.element, "axis = " + std::to_string(axis) + " : i64");
  }

  /// Adds a dimension of 1, removes all of them, or joins two dimensions.
  TypedValue reshape(const TypedValue &x) {
    Dims dims = x.dims;
    if (below(2) && dims.size() < 6) {
      dims.insert(dims.begin() + below(dims.size() + 1), number(1));
    } else if (below(2) && dims.size() > 1) {
      size_t d = below(dims.size() - 1);
      const Dim &a = dims[d], &b = dims[d + 1];
      bool bothNumbers = a.text == std::to_string(a.value) && b.text == std::to_string(b.value);
      dims[d] = bothNumbers ? number(a.value * b.value) : Dim{"(" + a.text + ") * (" + b.text + ")", a.value * b.value};
      dims.erase(dims.begin() + d + 1);
    } else {
      dims.clear();
      for (const Dim &dim : x.dims)
        if (dim.text != "1")
          dims.push_back(dim);
    }
    return emit("graph.reshape", {x}, dims, x.element);
  }

  TypedValue broadcast(const TypedValue &x) {
    Dims dims = x.dims;
    for (Dim &dim : dims)
      if (dim.text == "1")
        dim = number(1 + static_cast<int64_t>(below(5)));
    if (dims.size() < 6)
      dims.insert(dims.begin(), number(1 + static_cast<int64_t>(below(3))));
    return emit("graph.broadcast", {x}, dims, x.element);
  }

  TypedValue reduce(const TypedValue &x) {
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
      if (x.dims[axes[0]].value == 0)
        return x;
    }
    TypedValue result = emit("graph.reduce " + kind, {x}, dims, element, "axes = array<i64: " + list(axes) + ">");
    // Often what a normalisation does: back to the full shape.
    if (element == x.element && element != Element::boolean && below(2))
      return emit("graph.sub", {x, result}, x.dims, element);
    return result;
  }

  TypedValue window(const TypedValue &x) {
    if (x.element == Element::boolean || x.dims.empty())
      return x;
    std::vector<int64_t> size, strides, dilations, low, high;
    Dims dims;
    for (const Dim &dim : x.dims) {
      bool fixed = dim.text == std::to_string(dim.value);
      bool slides = fixed && dim.value > 2 && below(2);
      size.push_back(slides ? 1 + static_cast<int64_t>(below(3)) : 1);
      strides.push_back(slides ? 1 + static_cast<int64_t>(below(2)) : 1);
      dilations.push_back(1);
      low.push_back(size.back() > 1 ? static_cast<int64_t>(below(2)) : 0); // no window without an element
      high.push_back(size.back() > 1 ? static_cast<int64_t>(below(2)) : 0);
      dims.push_back(slides ? number((dim.value + low.back() + high.back() - size.back()) / strides.back() + 1) : dim);
    }
    return emit("graph.window_reduce " + pick<std::string>({"sum", "max", "min"}), {x}, dims, x.element,
                "window = array<i64: " + list(size) + ">, strides = array<i64: " + list(strides) +
                    ">, dilations = array<i64: " + list(dilations) + ">, padLow = array<i64: " + list(low) +
                    ">, padHigh = array<i64: " + list(high) + ">");
  }

  std::mt19937_64 random;
  int64_t n = 1;
  KernelText k;
  std::string resultLayout;
  std::vector<Fill> fills;
  std::vector<std::pair<size_t, uint64_t>> indexOperands;
};

TEST(LoopNestFuzz, RandomKernels) {
  const char *wanted = getenv("STINT_FUZZ"), *first = getenv("STINT_FUZZ_SEED");
  int count = wanted ? atoi(wanted) : 60, seed = first ? atoi(first) : 0;
  for (int begin = 0; begin < count; begin += 300) {
    Suite suite(lowerLoopNest);
    for (int i = begin; i < std::min(count, begin + 300); ++i)
      Fuzzer(seed + i).addTo(suite, "fuzz " + std::to_string(seed + i));
    check(suite);
  }
}

} // namespace
