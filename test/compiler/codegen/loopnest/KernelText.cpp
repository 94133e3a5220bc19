// Text of kernels.
#include "test/compiler/codegen/loopnest/KernelText.h"

using namespace stint::test;

std::string stint::test::type(const std::string &dims, Element element, const std::string &layout) {
  return "!graph.tensor<[" + dims + "] x " + nameOf(element) +
         (layout.empty() ? "" : ", #graph.layout<" + layout + ">") + ">";
}

std::string stint::test::list(const std::vector<int64_t> &values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text;
}

static std::string braces(const std::string &attributes) { return attributes.empty() ? "" : " {" + attributes + "}"; }

KernelText::Ref KernelText::operand(const std::string &type, const std::string &attributes) {
  Ref ref = "%x" + std::to_string(count++);
  types[ref] = type;
  arguments += (arguments.empty() ? "" : ", ") + ref + ": " + type + braces(attributes);
  return ref;
}

KernelText::Ref KernelText::op(const std::string &name, const std::vector<Ref> &operands, const std::string &type,
                               const std::string &attributes) {
  Ref ref = "%v" + std::to_string(count++);
  types[ref] = type;
  std::string operandTypes;
  body += "  " + ref + " = " + name + " ";
  for (size_t i = 0; i < operands.size(); ++i) {
    body += (i ? ", " : "") + operands[i];
    operandTypes += (i ? ", " : "") + types.at(operands[i]);
  }
  body += braces(attributes) + " : (" + operandTypes + ") -> " + type + "\n";
  return ref;
}

KernelText::Ref KernelText::op2(const std::string &name, const std::vector<Ref> &operands, const std::string &first,
                                const std::string &second, const std::string &attributes) {
  Ref ref = op(name, operands, "(" + first + ", " + second + ")", attributes);
  size_t at = body.rfind(ref + " = ");
  body.replace(at, ref.size(), ref + ":2");
  types[ref + "#0"] = first;
  types[ref + "#1"] = second;
  return ref;
}

KernelText::Ref KernelText::splat(const std::string &value, const std::string &type) {
  // The attribute has a shape of its own: !graph.tensor<[2, 3] x f32> -> tensor<2x3xf32>.
  size_t open = type.find('['), close = type.find(']');
  std::string dims = type.substr(open + 1, close - open - 1), shape;
  for (char c : dims)
    shape += c == ',' ? "x" : c == ' ' ? "" : std::string(1, c);
  size_t end = type.find_first_of(",>", close);
  std::string element = type.substr(close + 4, end - close - 4);
  Ref ref = "%v" + std::to_string(count++);
  types[ref] = type;
  body += "  " + ref + " = graph.constant dense<" + value + "> : tensor<" + shape + (shape.empty() ? "" : "x") +
          element + "> : " + type + "\n";
  return ref;
}

KernelText::Ref KernelText::source(const std::string &name, const std::string &attributes, const std::string &type) {
  Ref ref = "%v" + std::to_string(count++);
  types[ref] = type;
  body += "  " + ref + " = " + name + braces(attributes) + " : " + type + "\n";
  return ref;
}

void KernelText::symbol(int64_t lower, int64_t upper) {
  symbols += (symbols.empty() ? "" : ", ") + ("#graph.symbol<\"s\", " + std::to_string(lower)) + ", " +
             std::to_string(upper) + ">";
}

std::string KernelText::text(const std::vector<Ref> &results, const std::string &kind) const {
  std::string values, resultTypes;
  for (const Ref &result : results) {
    values += (values.empty() ? "" : ", ") + result;
    resultTypes += (resultTypes.empty() ? "" : ", ") + types.at(result);
  }
  return "func.func @k(" + arguments + ") -> (" + resultTypes + ")\n    attributes {graph.kind = #graph<kernel_kind " +
         kind + ">, graph.symbols = [" + symbols + "]} {\n" + body + "  return " + values + " : " + resultTypes +
         "\n}\n";
}
