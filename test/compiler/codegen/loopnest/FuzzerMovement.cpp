// Random loop nests: data movement.
#include "test/compiler/codegen/loopnest/Fuzzer.h"

#include <algorithm>
#include <cstdlib>

using namespace stint::test;

Fuzzer::TypedValue Fuzzer::transpose(const TypedValue &x) {
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

Fuzzer::TypedValue Fuzzer::slice(const TypedValue &x) {
  if (x.dims.empty())
    return x;
  Dims dims;
  std::string starts;
  std::vector<int64_t> steps;
  for (const Dim &dim : x.dims) {
    starts += starts.empty() ? "" : ", ";
    if (!dim.isFixed()) { // of a symbol: all, perhaps backwards
      bool backwards = below(2);
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

Fuzzer::TypedValue Fuzzer::pad(const TypedValue &x) {
  if (x.dims.empty())
    return x;
  Dims dims;
  std::vector<int64_t> low;
  for (const Dim &dim : x.dims) {
    int64_t before = below(2) ? static_cast<int64_t>(below(4)) : 0,
            after = below(2) ? static_cast<int64_t>(below(4)) : 0;
    low.push_back(before);
    int64_t more = before + after;
    dims.push_back(more == 0       ? dim
                   : dim.isFixed() ? number(dim.value + more)
                                   : Dim{dim.text + " + " + std::to_string(more), dim.value + more});
  }
  std::string mode = pick<std::string>({"constant", "reflect", "edge", "wrap"});
  needsElements |= mode != "constant";
  std::vector<TypedValue> operands = {x};
  if (mode == "constant")
    operands.push_back(operand({}, x.element));
  return emit("graph.pad " + mode, operands, dims, x.element, "low = affine_map<() -> (" + list(low) + ")>");
}

Fuzzer::TypedValue Fuzzer::concat(const TypedValue &x) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < x.dims.size(); ++d)
    if (x.dims[d].isFixed())
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

Fuzzer::TypedValue Fuzzer::reshape(const TypedValue &x) {
  Dims dims = x.dims;
  if (below(2) && dims.size() < 6) {
    dims.insert(dims.begin() + below(dims.size() + 1), number(1));
  } else if (below(2) && dims.size() > 1) {
    size_t d = below(dims.size() - 1);
    const Dim &a = dims[d], &b = dims[d + 1];
    bool bothNumbers = a.isFixed() && b.isFixed();
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

Fuzzer::TypedValue Fuzzer::broadcast(const TypedValue &x) {
  Dims dims = x.dims;
  for (Dim &dim : dims)
    if (dim.text == "1")
      dim = number(1 + static_cast<int64_t>(below(5)));
  if (dims.size() < 6)
    dims.insert(dims.begin(), number(1 + static_cast<int64_t>(below(3))));
  return emit("graph.broadcast", {x}, dims, x.element);
}

/// Indices, some of them out of range, for an axis of `size`.
Fuzzer::TypedValue Fuzzer::indices(const Dims &dims, int64_t size) {
  needsElements = true;
  indexOperands.push_back({fills.size(), size});
  return operand(dims, pick<Element>({Element::i64, Element::i32}));
}

Fuzzer::TypedValue Fuzzer::gather(const TypedValue &x) {
  if (x.dims.empty())
    return x;
  size_t axis = below(x.dims.size());
  Dims indexDims;
  for (uint64_t rank = below(3); rank > 0 && x.dims.size() + rank < 7; --rank)
    indexDims.push_back(number(between(1, 5)));
  Dims dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), indexDims.begin(), indexDims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  return emit("graph.gather", {x, indices(indexDims, x.dims[axis].value)}, dims, x.element,
              "axis = " + std::to_string(axis) + " : i64");
}

Fuzzer::TypedValue Fuzzer::gatherElements(const TypedValue &x) {
  if (x.dims.empty())
    return x;
  size_t axis = below(x.dims.size());
  Dims dims = x.dims;
  dims[axis] = number(between(1, 9));
  return emit("graph.gather_elements", {x, indices(dims, x.dims[axis].value)}, dims, x.element,
              "axis = " + std::to_string(axis) + " : i64");
}

Fuzzer::TypedValue Fuzzer::gatherND(const TypedValue &x) {
  if (x.dims.empty())
    return x;
  size_t batch = below(x.dims.size()), tuple = 1 + below(x.dims.size() - batch);
  Dims indexDims(x.dims.begin(), x.dims.begin() + batch);
  indexDims.push_back(number(between(1, 6)));
  Dims dims = indexDims;
  dims.insert(dims.end(), x.dims.begin() + batch + tuple, x.dims.end());
  indexDims.push_back(number(static_cast<int64_t>(tuple)));
  int64_t size = 1;
  for (size_t d = batch; d < batch + tuple; ++d)
    size = std::max(size, x.dims[d].value);
  return emit("graph.gather_nd", {x, indices(indexDims, size)}, dims, x.element,
              "batchDims = " + std::to_string(batch) + " : i64");
}
