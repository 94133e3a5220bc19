// Builds the text of contraction kernels with the layouts AssignLayouts gives.
#include "test/compiler/codegen/contraction/KernelText.h"

using namespace stint::test;

static std::string join(const Dims &dims) {
  std::string text;
  for (const std::string &dim : dims)
    text += (text.empty() ? "" : ", ") + dim;
  return text;
}

static std::string join(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

static std::string tensor(const Dims &dims, const std::string &element, const std::string &layout = "") {
  return "!graph.tensor<[" + join(dims) + "] x " + element + (layout.empty() ? "" : ", " + layout) + ">";
}

/// Layout of a row-major tensor but for the last two dimensions of an order.
static std::string layoutOf(const std::vector<int64_t> &order, int64_t tiled = -1) {
  return "#graph.layout<[" + join(order) + "]" + (tiled >= 0 ? ", tile = " + std::to_string(tiled) + " : 16" : "") +
         ">";
}

/// `symbols` "1..8, 2..9" as an attribute.
static std::string symbolsOf(const std::string &symbols) {
  std::string text;
  size_t number = 0;
  for (size_t at = 0; at < symbols.size();) {
    size_t end = std::min(symbols.find(',', at), symbols.size()), dots = symbols.find("..", at);
    text += (number ? ", " : "") + ("#graph.symbol<\"s" + std::to_string(number) + "\", ") +
            symbols.substr(at, dots - at) + ", " + symbols.substr(dots + 2, end - dots - 2) + ">";
    ++number;
    at = end + 1;
  }
  return "graph.symbols = [" + text + "]";
}

/// A kernel around `op`, which defines %m of `result` from `arguments`.
static std::string kernel(std::string arguments, const std::string &op, const Dims &shape, const std::string &element,
                          const std::string &layout, const std::string &columns, const std::string &rows,
                          Epilogue epilogue, const std::string &symbols) {
  std::string result = tensor(shape, element, layout), results = result, body = "  " + op + "\n", value = "%m";
  std::string constant = tensor({}, element);
  auto argument = [&](const std::string &name, const std::string &type) { arguments += ", %" + name + ": " + type; };
  auto binary = [&](const std::string &to, const std::string &name, const std::string &a, const std::string &b,
                    const std::string &type) {
    body +=
        "  %" + to + " = graph." + name + " " + a + ", " + b + " : (" + result + ", " + type + ") -> " + result + "\n";
    value = "%" + to;
  };
  switch (epilogue) {
  case Epilogue::none:
    break;
  case Epilogue::biasRelu:
  case Epilogue::residual:
    argument("bias", columns);
    body += "  %zero = graph.constant dense<0.0> : tensor<" + element + "> : " + constant + "\n";
    binary("e", "add", "%m", "%bias", columns);
    binary("f", "max", "%e", "%zero", constant);
    if (epilogue == Epilogue::residual) {
      argument("r", result + " {graph.in_place = 0 : i64}");
      binary("y", "add", "%f", "%r", result);
    }
    break;
  case Epilogue::two:
    body += "  %s = graph.sigmoid %m : (" + result + ") -> " + result + "\n";
    results = "(" + result + ", " + result + ")";
    return "func.func @k(" + arguments + ") -> " + results +
           " attributes {graph.kind = #graph<kernel_kind contraction>, " + symbolsOf(symbols) + "} {\n" + body +
           "  return %m, %s : " + result + ", " + result + "\n}\n";
  case Epilogue::rowScale:
    argument("r", rows);
    binary("y", "mul", "%m", "%r", rows);
    break;
  case Epilogue::greater: {
    argument("bias", columns);
    results = tensor(shape, "i1", layout);
    body += "  %y = graph.compare gt %m, %bias : (" + result + ", " + columns + ") -> " + results + "\n";
    value = "%y";
    break;
  }
  }
  return "func.func @k(" + arguments + ") -> " + results +
         " attributes {graph.kind = #graph<kernel_kind contraction>, " + symbolsOf(symbols) + "} {\n" + body +
         "  return " + value + " : " + results + "\n}\n";
}

std::string stint::test::textOf(const MatMul &matmul) {
  const Dims &left = matmul.left, &right = matmul.right;
  std::vector<int64_t> order;
  int64_t rank = right.size();
  for (int64_t i = 0; i < rank - 2; ++i)
    order.push_back(i);
  order.push_back(rank - 1);
  order.push_back(rank - 2);
  Dims shape;
  size_t leading = std::max(left.size(), right.size()) - 2;
  for (size_t i = 0; i < leading; ++i) {
    auto dim = [&](const Dims &dims) {
      size_t skip = leading + 2 - dims.size();
      return i < skip ? std::string("1") : dims[i - skip];
    };
    shape.push_back(dim(left) == "1" ? dim(right) : dim(left));
  }
  shape.push_back(left[left.size() - 2]);
  shape.push_back(right.back());
  std::string a = tensor(left, matmul.element), b = tensor(right, matmul.element, layoutOf(order, rank - 1));
  std::string result = tensor(shape, matmul.element);
  return kernel("%a: " + a + ", %b: " + b, "%m = graph.matmul %a, %b : (" + a + ", " + b + ") -> " + result, shape,
                matmul.element, "", tensor({right.back()}, matmul.element),
                tensor({left[left.size() - 2], "1"}, matmul.element), matmul.epilogue, matmul.symbols);
}

std::string stint::test::textOf(const Conv &conv) {
  size_t spatial = conv.size.size();
  auto filled = [&](const std::vector<int64_t> &values, int64_t value) {
    return values.empty() ? std::vector<int64_t>(spatial, value) : values;
  };
  std::vector<int64_t> strides = filled(conv.strides, 1), dilations = filled(conv.dilations, 1);
  std::vector<int64_t> low = filled(conv.padLow, 0), high = filled(conv.padHigh, 0);
  Dims input = {std::to_string(conv.batch), std::to_string(conv.groups * conv.channels)};
  Dims weight = {std::to_string(conv.groups), std::to_string(conv.outputs), std::to_string(conv.channels)};
  Dims shape = {input[0], std::to_string(conv.groups * conv.outputs)};
  Dims columns = {shape[1]}, rows = {"1", "1"};
  std::vector<int64_t> lastOrder = {0}, weightOrder = {0, 1};
  for (size_t i = 0; i < spatial; ++i) {
    bool symbolic = i == 0 && conv.symbolUpper > 0;
    int64_t extra = low[i] + high[i] - dilations[i] * (conv.kernel[i] - 1) - 1;
    input.push_back(symbolic ? "s0" : std::to_string(conv.size[i]));
    weight.push_back(std::to_string(conv.kernel[i]));
    shape.push_back(symbolic ? "(s0 + " + std::to_string(extra) + ") floordiv " + std::to_string(strides[i]) + " + 1"
                             : std::to_string((conv.size[i] + extra) / strides[i] + 1));
    columns.push_back("1");
    rows.push_back(shape.back());
    lastOrder.push_back(i + 2);
    weightOrder.push_back(i + 3);
  }
  lastOrder.push_back(1);
  weightOrder.push_back(2);
  std::string x = tensor(input, conv.element, layoutOf(lastOrder));
  std::string w = tensor(weight, conv.element, layoutOf(weightOrder, 1));
  std::string layout = layoutOf(lastOrder), result = tensor(shape, conv.element, layout);
  std::string op = "%m = graph.conv %x, %w {strides = array<i64: " + join(strides) +
                   ">, dilations = array<i64: " + join(dilations) + ">, padLow = array<i64: " + join(low) +
                   ">, padHigh = array<i64: " + join(high) + ">} : (" + x + ", " + w + ") -> " + result;
  std::string symbols = conv.symbolUpper > 0 ? "1.." + std::to_string(conv.symbolUpper) : "";
  return kernel("%x: " + x + ", %w: " + w, op, shape, conv.element, layout, tensor(columns, conv.element),
                tensor(rows, conv.element), conv.epilogue, symbols);
}
