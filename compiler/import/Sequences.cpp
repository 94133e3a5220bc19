// Sequences and optionals, which are no values of the graph: an operand holds
// the list of its tensors while the model is imported, and operators that take
// lists apart or put them together leave nothing behind. What decides the shape
// of a list (how many there are, which one is meant) must be known by then; a
// loop that carries a list is unrolled.
//
// A model's input that is a sequence becomes one input per tensor, NAME.0,
// NAME.1, …, as many as --dim NAME=N says; an output likewise.
#include "compiler/import/ImporterImpl.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// Tensors of a list, and iterations of a loop that is unrolled.
constexpr int64_t kMaxLength = 1024;

Operand *Importer::listOf(StringRef name, Operand::List elements) {
  assert(llvm::all_of(elements, [](Operand *element) { return element; }) && "an element that failed fails the list");
  Operand *operand = newOperand(name);
  operand->list = std::make_shared<Operand::List>(std::move(elements));
  return operand;
}

Importer::ControlFlow Importer::sequences(const Node &node) {
  if (!node.domain.empty())
    return nullptr;
  return llvm::StringSwitch<ControlFlow>(node.opType)
      .Case("SequenceConstruct", &Importer::importSequenceConstruct)
      .Case("SequenceEmpty", &Importer::importSequenceConstruct)
      .Case("SequenceInsert", &Importer::importSequenceInsert)
      .Case("SequenceErase", &Importer::importSequenceErase)
      .Case("SequenceAt", &Importer::importSequenceAt)
      .Case("SequenceLength", &Importer::importSequenceLength)
      .Case("SplitToSequence", &Importer::importSplitToSequence)
      .Case("ConcatFromSequence", &Importer::importConcatFromSequence)
      .Case("SequenceMap", &Importer::importSequenceMap)
      .Case("Optional", &Importer::importOptional)
      .Case("OptionalHasElement", &Importer::importOptionalHasElement)
      .Case("OptionalGetElement", &Importer::importOptionalGetElement)
      .Default(nullptr);
}

/// The list that input `i` is, or null (reported).
const Operand::List *Importer::listAt(NodeContext &n, size_t i) {
  if (n.has(i) && n.operands[i]->list)
    return n.operands[i]->list.get();
  (void)n.malformed("input " + Twine(i) + " must be a sequence");
  return nullptr;
}

/// The position that input `i` holds, counted from the end where it is
/// negative; nullopt (reported) where it is not known or outside [0, size).
std::optional<size_t> Importer::positionAt(NodeContext &n, size_t i, size_t size) {
  const Known *known = n.known(i);
  auto value = known && known->elements.size() == 1 ? known->elements[0].integer() : std::nullopt;
  if (!value) {
    (void)n.unsupported("the position is computed while the model runs; it must be constant");
    return std::nullopt;
  }
  int64_t position = *value < 0 ? *value + static_cast<int64_t>(size) : *value;
  if (position < 0 || position >= static_cast<int64_t>(size)) {
    (void)n.malformed("position " + Twine(*value) + " is outside a sequence of " + Twine(size));
    return std::nullopt;
  }
  return static_cast<size_t>(position);
}

LogicalResult Importer::importSequenceConstruct(NodeContext &n, Scope &scope, const Opsets &, int) {
  for (size_t i = 0; i < n.operands.size(); ++i)
    if (!n.has(i))
      return n.malformed("input " + Twine(i) + " is missing");
  setResult(n.node, 0, scope, listOf(n.node.outputs[0], Operand::List(n.operands.begin(), n.operands.end())));
  return success();
}

LogicalResult Importer::importSequenceInsert(NodeContext &n, Scope &scope, const Opsets &, int) {
  const Operand::List *list = listAt(n, 0);
  if (!list)
    return failure();
  if (!n.has(1) || list->size() >= kMaxLength)
    return n.malformed(n.has(1) ? "the sequence grows too long" : "needs a tensor");
  // One past the end is a place to insert at.
  std::optional<size_t> at = n.has(2) ? positionAt(n, 2, list->size() + 1) : list->size();
  if (!at)
    return failure();
  Operand::List longer = *list;
  longer.insert(longer.begin() + *at, n.operands[1]);
  setResult(n.node, 0, scope, listOf(n.node.outputs[0], std::move(longer)));
  return success();
}

LogicalResult Importer::importSequenceErase(NodeContext &n, Scope &scope, const Opsets &, int) {
  const Operand::List *list = listAt(n, 0);
  if (!list)
    return failure();
  if (list->empty())
    return n.malformed("the sequence is empty");
  std::optional<size_t> at = n.has(1) ? positionAt(n, 1, list->size()) : list->size() - 1;
  if (!at)
    return failure();
  Operand::List shorter = *list;
  shorter.erase(shorter.begin() + *at);
  setResult(n.node, 0, scope, listOf(n.node.outputs[0], std::move(shorter)));
  return success();
}

LogicalResult Importer::importSequenceAt(NodeContext &n, Scope &scope, const Opsets &, int) {
  const Operand::List *list = listAt(n, 0);
  std::optional<size_t> at = list && n.has(1) ? positionAt(n, 1, list->size()) : std::nullopt;
  if (!at)
    return list && !n.has(1) ? n.malformed("needs a position") : failure();
  setResult(n.node, 0, scope, (*list)[*at]);
  return success();
}

LogicalResult Importer::importSequenceLength(NodeContext &n, Scope &scope, const Opsets &, int) {
  const Operand::List *list = listAt(n, 0);
  if (!list)
    return failure();
  setResult(n.node, 0, scope, knownScalar(n.node.outputs[0], list->size(), builder.getI64Type()));
  return success();
}

Operand *Importer::knownScalar(StringRef name, int64_t value, Type elementType) {
  Operand *operand = newOperand(name);
  Known known;
  known.elements.push_back(builder.getAffineConstantExpr(value));
  operand->type = GraphTensorType::get({}, elementType);
  operand->known = std::move(known);
  return operand;
}

LogicalResult Importer::importSplitToSequence(NodeContext &n, Scope &scope, const Opsets &, int) {
  if (!n.has(0) || n.operands[0]->list || n.rank(0) == 0)
    return n.malformed("needs a tensor with an axis to split");
  auto axis = n.axis(n.getInt("axis", 0), n.rank(0));
  if (failed(axis))
    return failure();
  AffineExpr total = n.type(0).getDim(*axis);
  auto whole = dyn_cast<AffineConstantExpr>(total);
  SmallVector<AffineExpr> sizes;
  bool keep = true;
  const Known *known = n.known(1);
  auto given = known ? known->expressions() : std::nullopt;
  if (n.has(1) && !given)
    return n.unsupported("'split' is computed while the model runs; it must be constant");
  if (given && !known->shape.empty()) {
    sizes = *given;
  } else {
    auto part = given ? dyn_cast<AffineConstantExpr>((*given)[0]) : AffineConstantExpr();
    int64_t size = part ? part.getValue() : 1;
    if (!whole || (given && !part))
      return n.unsupported("how many parts axis " + Twine(*axis) + " is cut into varies: " + n.print(total) +
                           " elements; fix that dimension with --dim");
    if (size < 1 || whole.getValue() / size > kMaxLength)
      return n.malformed("parts of " + Twine(size) + " elements of " + Twine(whole.getValue()));
    for (int64_t at = 0; at < whole.getValue(); at += size)
      sizes.push_back(n.dim(std::min(size, whole.getValue() - at)));
    keep = given || n.getInt("keepdims", 1) != 0;
  }
  Operand::List parts;
  AffineExpr start = n.dim(0);
  for (AffineExpr size : sizes) {
    if (symbols.range(size).lower < 0)
      return n.malformed("a part of " + n.print(size) + " elements");
    SmallVector<AffineExpr> starts(n.rank(0), n.dim(0)), shape(n.type(0).getShape());
    starts[*axis] = start;
    shape[*axis] = size;
    Value part = n.slice(n.in(0), starts, shape);
    if (!keep) {
      shape.erase(shape.begin() + *axis);
      part = n.reshape(part, shape);
    }
    parts.push_back(computed(n.node.outputs[0], part));
    start = n.simplify(start + size);
  }
  if (!n.same(start, total))
    return n.malformed("the parts add up to " + n.print(start) + ", not " + n.print(total));
  setResult(n.node, 0, scope, listOf(n.node.outputs[0], std::move(parts)));
  return success();
}

LogicalResult Importer::importConcatFromSequence(NodeContext &n, Scope &scope, const Opsets &, int) {
  const Operand::List *list = listAt(n, 0);
  if (!list)
    return failure();
  if (list->empty())
    return n.malformed("the sequence is empty");
  bool stack = n.getInt("new_axis", 0) != 0;
  SmallVector<Value> values;
  for (Operand *element : *list) {
    if (!element->type)
      return n.malformed("the sequence holds something else than tensors");
    values.push_back(materialise(*element, n.loc));
  }
  auto first = cast<GraphTensorType>(values[0].getType());
  auto axis = n.axis(n.getInt("axis", 0), first.getRank() + (stack ? 1 : 0));
  if (failed(axis))
    return failure();
  for (Value &value : values) {
    auto type = cast<GraphTensorType>(value.getType());
    bool fits = type.getRank() == first.getRank() && type.getElementType() == first.getElementType();
    for (int64_t d = 0; fits && d < type.getRank(); ++d)
      fits = (!stack && d == *axis) || n.same(type.getDim(d), first.getDim(d));
    if (!fits)
      return n.malformed("tensors of " + n.print(first) + " and " + n.print(type) + " can't be joined");
    if (stack && !stacks(type))
      return n.unsupported("element '" + (*list)[0]->name + kTooManyDims);
    SmallVector<AffineExpr> shape(type.getShape());
    if (stack)
      shape.insert(shape.begin() + *axis, n.dim(1));
    value = n.reshape(value, shape);
  }
  if (first.getRank() == 0 && !stack)
    return n.malformed("scalars need new_axis to be joined");
  setResult(n.node, 0, scope, computed(n.node.outputs[0], n.make<graph::ConcatOp>(ValueRange(values), *axis)));
  return success();
}

LogicalResult Importer::importSequenceMap(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  const NodeAttribute *body = n.node.find("body");
  const Operand::List *list = listAt(n, 0);
  if (!list)
    return failure();
  if (!body || !body->graph || body->graph->inputs.size() != n.numInputs())
    return n.malformed("needs a body with as many inputs as it has");
  std::vector<Operand::List> lists(n.node.outputs.size());
  for (size_t i = 0; i < list->size(); ++i) {
    Scope inner;
    inner.parent = &scope;
    for (size_t j = 0; j < n.numInputs(); ++j) {
      Operand *operand = n.operands[j];
      if (operand && operand->list && operand->list->size() != list->size())
        return n.malformed("its sequences have " + Twine(list->size()) + " and " + Twine(operand->list->size()) +
                           " tensors");
      inner.values[body->graph->inputs[j].name] = operand && operand->list ? (*operand->list)[i] : operand;
    }
    std::vector<Operand *> results = importGraph(*body->graph, inner, opsets, depth);
    for (size_t j = 0; j < lists.size(); ++j) {
      if (j >= results.size() || !results[j] || results[j]->poison())
        return failure(); // said where it happened
      lists[j].push_back(results[j]);
    }
  }
  for (size_t j = 0; j < lists.size(); ++j)
    setResult(n.node, j, scope, listOf(n.node.outputs[j], std::move(lists[j])));
  return success();
}

LogicalResult Importer::importOptional(NodeContext &n, Scope &scope, const Opsets &, int) {
  Operand *operand = n.has(0) ? n.operands[0] : newOperand(n.node.outputs[0]);
  if (!n.has(0))
    operand->none = true;
  setResult(n.node, 0, scope, operand);
  return success();
}

LogicalResult Importer::importOptionalHasElement(NodeContext &n, Scope &scope, const Opsets &, int) {
  bool has = n.has(0) && !n.operands[0]->none;
  setResult(n.node, 0, scope, knownScalar(n.node.outputs[0], has, builder.getI1Type()));
  return success();
}

LogicalResult Importer::importOptionalGetElement(NodeContext &n, Scope &scope, const Opsets &, int) {
  if (!n.has(0) || n.operands[0]->none)
    return n.malformed("the optional is empty");
  setResult(n.node, 0, scope, n.operands[0]);
  return success();
}

/// A loop that carries lists, iteration after iteration.
LogicalResult Importer::unrollLoop(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  const Graph &graph = *n.node.find("body")->graph;
  size_t carried = n.numInputs() - 2, scans = graph.outputs.size() - 1 - carried;
  const Known *trips = n.known(0), *start = n.known(1);
  auto count = onlyInteger(trips);
  auto goes = n.has(1) ? onlyInteger(start) : 1;
  if (!count || !goes)
    return n.unsupported("it carries a sequence, and how often it runs is computed while the model runs");
  if (*count > kMaxLength)
    return n.unsupported("it carries a sequence and runs " + Twine(*count) + " times, more than " + Twine(kMaxLength));
  Operand::List values(n.operands.begin() + 2, n.operands.end());
  std::vector<SmallVector<Value>> stacked(scans);
  for (int64_t i = 0; i < *count && *goes; ++i) {
    Scope inner;
    inner.parent = &scope;
    bindIteration(graph, inner, builder.getAffineConstantExpr(i));
    for (size_t j = 0; j < carried; ++j)
      inner.values[graph.inputs[j + 2].name] = values[j];
    std::vector<Operand *> results = importGraph(graph, inner, opsets, depth);
    for (Operand *result : results)
      if (!result || result->poison())
        return failure(); // said where it happened
    goes = onlyInteger(known(*results[0]));
    if (!goes)
      return n.unsupported("it carries a sequence, and whether it goes on is computed while the model runs");
    for (size_t j = 0; j < carried; ++j)
      values[j] = results[j + 1];
    for (size_t j = 0; j < scans; ++j) {
      if (!results[carried + j + 1]->type)
        return n.malformed("a scan output is no tensor");
      if (!stacks(results[carried + j + 1]->type))
        return n.unsupported("scan output '" + graph.outputs[carried + j + 1].name + kTooManyDims);
      Value value = materialise(*results[carried + j + 1], n.loc);
      SmallVector<AffineExpr> shape(cast<GraphTensorType>(value.getType()).getShape());
      shape.insert(shape.begin(), n.dim(1));
      stacked[j].push_back(n.reshape(value, shape));
    }
  }
  for (size_t j = 0; j < carried; ++j)
    setResult(n.node, j, scope, values[j]);
  for (size_t j = 0; j < scans; ++j) {
    if (carried + j >= n.node.outputs.size() || n.node.outputs[carried + j].empty())
      continue;
    if (stacked[j].empty())
      return n.unsupported("a scan output of no iterations");
    setResult(n.node, carried + j, scope,
              computed(n.node.outputs[carried + j], n.make<graph::ConcatOp>(ValueRange(stacked[j]), 0)));
  }
  return success();
}

/// Inputs that are sequences become one input per tensor.
bool Importer::expandSequenceInputs() {
  std::vector<ValueInfo> inputs;
  for (const ValueInfo &input : model.graph.inputs) {
    if (input.kind != ValueInfo::Kind::Sequence) {
      inputs.push_back(input);
      continue;
    }
    auto given = options.dims.find(input.name);
    if (given == options.dims.end() || given->second.lower != given->second.upper || given->second.lower < 0 ||
        given->second.lower > kMaxLength) {
      diagnostics.report(Problem::Usage, "input '" + input.name +
                                             "' is a sequence: say how many tensors it holds, at most " +
                                             Twine(kMaxLength) + ": --dim " + input.name + "=N");
      continue;
    }
    sequenceInputs[input.name] = given->second.lower;
    for (int64_t i = 0; i < given->second.lower; ++i) {
      inputs.push_back(input);
      inputs.back().kind = ValueInfo::Kind::Tensor;
      inputs.back().name += "." + std::to_string(i);
      for (ValueInfo::Dim &dim : inputs.back().dims)
        dim.param.clear(); // each tensor has a shape of its own
    }
  }
  if (diagnostics.ok())
    model.graph.inputs = std::move(inputs);
  return diagnostics.ok();
}
