// Sequences and optionals, which are no values of the graph. An operand holds
// the list of its tensors while the model is imported, as long as how many there
// are and which one is meant are known: operators that take lists apart or put
// them together leave nothing behind, and a loop that carries one is unrolled
// where it is known how often it runs. Where the run decides, a list becomes a
// descriptor (see Forms.h).
//
// A model's input that is a sequence becomes one input per tensor, NAME.0,
// NAME.1, …, as many as --dim NAME=N says; an output likewise.
#include "compiler/import/RuntimeSequences.h"

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

/// The list that input `i` is, or null if it is none.
const Operand::List *Importer::listAt(NodeContext &n, size_t i) {
  return n.has(i) ? n.operands[i]->list.get() : nullptr;
}

/// Input `i` and, if it is there, `element` as one sequence whose length the
/// run decides; nullopt (reported) if they can't be.
std::optional<Form> Importer::runtimeForm(NodeContext &n, size_t i, const Operand *element) {
  if (!n.has(i) || !(n.operands[i]->list || n.operands[i]->sequence)) {
    (void)n.malformed("input " + Twine(i) + " must be a sequence");
    return std::nullopt;
  }
  auto never = [](AffineExpr) { return false; };
  std::string why;
  Form nothing, more;
  nothing.kind = more.kind = Form::Kind::List;
  if (element)
    more.parts.push_back(Form::of(*element, symbols));
  // Lists of different lengths join to a sequence.
  Form own = Form::of(*n.operands[i], symbols);
  while (own.kind == Form::Kind::List && more.parts.size() == own.parts.size())
    if (own.parts.empty()) {
      (void)n.malformed("the sequence is empty");
      return std::nullopt;
    } else {
      more.parts.push_back(own.parts.front());
    }
  auto form = join(own, more, never, symbols, why);
  if (!form)
    (void)n.unsupported(why);
  return form;
}

/// The position that input `i` holds, counted from the end where it is
/// negative, [0, size) being the positions of a list of `length`; nullopt where
/// it is not known, or (reported) outside.
std::optional<size_t> Importer::positionAt(NodeContext &n, size_t i, size_t size, size_t length) {
  const Known *known = n.known(i);
  auto value = known && known->elements.size() == 1 ? known->elements[0].integer() : std::nullopt;
  if (!value)
    return std::nullopt;
  int64_t position = *value < 0 ? *value + static_cast<int64_t>(length) : *value;
  if (position >= 0 && position < static_cast<int64_t>(size))
    return static_cast<size_t>(position);
  (void)n.malformed("position " + Twine(*value) + " is outside a sequence of " + Twine(length));
  return std::nullopt;
}

LogicalResult Importer::importSequenceConstruct(NodeContext &n, Scope &scope, const Opsets &, int) {
  for (size_t i = 0; i < n.operands.size(); ++i)
    if (!n.has(i))
      return n.malformed("input " + Twine(i) + " is missing");
  setResult(n.node, 0, scope, listOf(n.node.outputs[0], Operand::List(n.operands.begin(), n.operands.end())));
  return success();
}

LogicalResult Importer::importSequenceInsert(NodeContext &n, Scope &scope, const Opsets &, int) {
  if (!n.has(1))
    return n.malformed("needs a tensor");
  if (const Operand::List *list = listAt(n, 0); list && list->size() < kMaxLength) {
    // One past the end is a place to insert at.
    std::optional<size_t> at = n.has(2) ? positionAt(n, 2, list->size() + 1, list->size()) : list->size();
    if (n.reported)
      return failure();
    if (at) {
      Operand::List longer = *list;
      longer.insert(longer.begin() + *at, n.operands[1]);
      setResult(n.node, 0, scope, listOf(n.node.outputs[0], std::move(longer)));
      return success();
    }
  }
  auto form = runtimeForm(n, 0, n.operands[1]);
  if (!form)
    return failure();
  RuntimeSequences sequences(*this, n);
  LocalSequence before = sequences.bring(*n.operands[0], *form);
  LocalSequence one = sequences.bring(*listOf("", {n.operands[1]}), *form);
  SmallVector<LocalSequence> parts = {before, one};
  if (n.has(2)) {
    auto at = sequences.position(2, n.simplify(before.length + 1), before.length);
    if (failed(at))
      return failure();
    if (!n.same(*at, before.length)) {
      AffineExpr rest = sequences.notNegative(before.length - *at, "number of tensors behind the position");
      parts = {sequences.slice(before, n.dim(0), *at), one, sequences.slice(before, *at, rest)};
    }
  }
  setResult(n.node, 0, scope, sequences.give(sequences.join(parts), n.node.outputs[0]));
  return success();
}

LogicalResult Importer::importSequenceErase(NodeContext &n, Scope &scope, const Opsets &, int) {
  if (const Operand::List *list = listAt(n, 0)) {
    if (list->empty())
      return n.malformed("the sequence is empty");
    std::optional<size_t> at = n.has(1) ? positionAt(n, 1, list->size(), list->size()) : list->size() - 1;
    if (n.reported)
      return failure();
    if (at) {
      Operand::List shorter = *list;
      shorter.erase(shorter.begin() + *at);
      setResult(n.node, 0, scope, listOf(n.node.outputs[0], std::move(shorter)));
      return success();
    }
  }
  auto form = runtimeForm(n, 0);
  if (!form)
    return failure();
  RuntimeSequences sequences(*this, n);
  LocalSequence before = sequences.bring(*n.operands[0], *form);
  AffineExpr left = sequences.notNegative(before.length - 1, "number of tensors left");
  LocalSequence result;
  if (!n.has(1)) {
    result = sequences.slice(before, n.dim(0), left);
  } else {
    auto at = sequences.position(1, before.length, before.length);
    if (failed(at))
      return failure();
    AffineExpr rest = sequences.notNegative(before.length - *at - 1, "number of tensors behind the position");
    result = sequences.join({sequences.slice(before, n.dim(0), *at), sequences.slice(before, *at + 1, rest)});
  }
  setResult(n.node, 0, scope, sequences.give(result, n.node.outputs[0]));
  return success();
}

LogicalResult Importer::importSequenceAt(NodeContext &n, Scope &scope, const Opsets &, int) {
  if (!n.has(1))
    return n.malformed("needs a position");
  if (const Operand::List *list = listAt(n, 0)) {
    std::optional<size_t> at = positionAt(n, 1, list->size(), list->size());
    if (n.reported)
      return failure();
    if (at) {
      setResult(n.node, 0, scope, (*list)[*at]);
      return success();
    }
  }
  auto form = runtimeForm(n, 0);
  if (!form)
    return failure();
  RuntimeSequences sequences(*this, n);
  LocalSequence sequence = sequences.bring(*n.operands[0], *form);
  auto at = sequences.position(1, sequence.length, sequence.length);
  if (failed(at))
    return failure();
  setResult(n.node, 0, scope, computed(n.node.outputs[0], sequences.at(sequence, *at)));
  return success();
}

LogicalResult Importer::importSequenceLength(NodeContext &n, Scope &scope, const Opsets &, int) {
  const Operand::List *list = listAt(n, 0);
  if (!list && !(n.has(0) && n.operands[0]->sequence))
    return n.malformed("input 0 must be a sequence");
  AffineExpr length = list ? n.dim(list->size()) : n.operands[0]->sequence->length();
  setResult(n.node, 0, scope, knownScalar(n.node.outputs[0], length, builder.getI64Type()));
  return success();
}

Operand *Importer::knownScalar(StringRef name, AffineExpr value, Type elementType) {
  Operand *operand = newOperand(name);
  Known known;
  known.elements.push_back(value);
  operand->type = GraphTensorType::get({}, elementType);
  operand->known = std::move(known);
  return operand;
}

LogicalResult Importer::importSplitToSequence(NodeContext &n, Scope &scope, const Opsets &, int) {
  if (!n.has(0) || !n.operands[0]->type || n.rank(0) == 0)
    return n.malformed("needs a tensor with an axis to split");
  if (n.has(1) && (!n.type(1) || !graph::isIndex(n.element(1)) || n.rank(1) > 1))
    return n.malformed("the sizes of its parts must be integers: one number or a list");
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
    return splitAtRunTime(n, scope, *axis);
  if (given && !known->shape.empty()) {
    sizes = *given;
  } else {
    auto part = given ? dyn_cast<AffineConstantExpr>((*given)[0]) : AffineConstantExpr();
    int64_t size = part ? part.getValue() : 1;
    if (part && size < 1)
      return n.malformed("parts of " + Twine(size) + " elements");
    if (!whole || (given && !part) || whole.getValue() / size > kMaxLength)
      return splitAtRunTime(n, scope, *axis);
    for (int64_t at = 0; at < whole.getValue(); at += size)
      sizes.push_back(n.dim(std::min(size, whole.getValue() - at)));
    keep = given || n.getInt("keepdims", 1) != 0;
  }
  AffineExpr start = n.dim(0), sum = n.dim(0);
  for (AffineExpr size : sizes)
    sum = n.simplify(sum + size);
  if (!n.assumeEqual(sum, total))
    return n.malformed("the parts add up to " + n.print(sum) + ", not " + n.print(total));
  SmallVector<AffineExpr> summed(n.type(0).getShape());
  summed[*axis] = sum;
  Value x = n.reshape(n.in(0), summed);
  Operand::List parts;
  for (AffineExpr size : sizes) {
    AffineExpr known = size;
    if (!n.atLeast(known, 0, "the size of part " + Twine(parts.size())))
      return failure();
    SmallVector<AffineExpr> starts(n.rank(0), n.dim(0)), shape(n.type(0).getShape());
    starts[*axis] = start;
    shape[*axis] = known;
    Value part = n.slice(x, starts, shape);
    if (!keep) {
      shape.erase(shape.begin() + *axis);
      part = n.reshape(part, shape);
    }
    parts.push_back(computed(n.node.outputs[0], part));
    start = n.simplify(start + size);
  }
  setResult(n.node, 0, scope, listOf(n.node.outputs[0], std::move(parts)));
  return success();
}

/// Into parts whose number or sizes the run decides.
LogicalResult Importer::splitAtRunTime(NodeContext &n, Scope &scope, int64_t axis) {
  if (!stacks(n.type(0)))
    return n.unsupported("input '" + n.operands[0]->name + kTooManyDims);
  RuntimeSequences sequences(*this, n);
  AffineExpr total = n.type(0).getDim(axis);
  int64_t most = symbols.upper(total);
  Type i64 = builder.getI64Type();
  LocalSequence result;
  if (n.has(1) && n.rank(1) == 1) {
    // Sizes: none negative, and they add up.
    Value sizes = n.cast(n.in(1), i64), all = n.dimension(total, i64);
    Value least = n.min(n.reshape(n.reduce(graph::ReduceKind::min, sizes, {0}), {}), all);
    sequences.bound(least, "least part of SplitToSequence '" + n.node.label() + "'", 0, most);
    Value apart = n.make<graph::AbsOp>(n.sub(n.reshape(n.reduce(graph::ReduceKind::sum, sizes, {0}), {}), all));
    sequences.bound(
        apart, "difference of the axis and the sum of the parts of SplitToSequence '" + n.node.label() + "'", 0, 0);
    result = sequences.split(n.in(0), axis, sizes, most);
    setResult(n.node, 0, scope, sequences.give(result, n.node.outputs[0]));
    return success();
  }
  // Parts of one size; the last may be smaller.
  const Known *known = n.known(1);
  AffineExpr part = !n.has(1)                              ? n.dim(1)
                    : known && known->elements.size() == 1 ? known->elements[0].expr
                                                           : AffineExpr();
  if (!part)
    part =
        sequences.bound(n.min(n.cast(n.reshape(n.in(1), {}), i64), n.scalar(i64, std::max<int64_t>(most, 1))),
                        "size of the parts of SplitToSequence '" + n.node.label() + "'", 1, std::max<int64_t>(most, 1));
  if (symbols.range(part).lower < 1)
    part = sequences.bound(n.dimension(part, i64), "size of the parts of SplitToSequence '" + n.node.label() + "'", 1,
                           symbols.upper(part));
  AffineExpr length = n.simplify(total.ceilDiv(part));
  if (!isa<AffineConstantExpr>(part) && !(part == total)) {
    Value size = n.dimension(part, i64), all = n.dimension(total, i64);
    Value count = n.div(n.add(all, n.sub(size, n.scalar(i64, 1))), size);
    length = sequences.bound(count, n.node.outputs[0] + ".0", 0, most, total);
  }
  if (auto exact = graph::divideExactly(total, part)) {
    // All of one size.
    SmallVector<AffineExpr> shape(n.type(0).getShape());
    shape[axis] = part;
    shape.insert(shape.begin() + axis, *exact);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0) + 1));
    order.erase(order.begin() + axis);
    order.insert(order.begin(), axis);
    Value stacked = n.transpose(n.reshape(n.in(0), shape), order);
    shape.erase(shape.begin() + axis);
    if (!n.has(1) && n.getInt("keepdims", 1) == 0) {
      shape.erase(shape.begin() + axis);
      SmallVector<AffineExpr> all = {*exact};
      all.append(shape);
      stacked = n.reshape(stacked, all);
    }
    result.form.kind = Form::Kind::Sequence;
    result.form.element = n.element(0);
    result.form.shape = shape;
    for (AffineExpr dim : shape)
      result.form.most.push_back(symbols.upper(dim));
    result.data = stacked;
    result.length = *exact;
  } else {
    Value size = n.dimension(part, i64), start = n.mul(n.iota({length}, 0), size);
    Value sizes = n.min(n.broadcast(n.reshape(size, {n.dim(1)}), {length}), n.sub(n.dimension(total, i64), start));
    result = sequences.split(n.in(0), axis, sizes, symbols.upper(part));
  }
  setResult(n.node, 0, scope, sequences.give(result, n.node.outputs[0]));
  return success();
}

LogicalResult Importer::importConcatFromSequence(NodeContext &n, Scope &scope, const Opsets &, int) {
  const Operand::List *list = listAt(n, 0);
  bool stack = n.getInt("new_axis", 0) != 0;
  if (!list) {
    auto form = runtimeForm(n, 0);
    if (!form)
      return failure();
    int64_t rank = form->shape.size();
    auto axis = n.axis(n.getInt("axis", 0), rank + (stack ? 1 : 0));
    if (failed(axis))
      return failure();
    RuntimeSequences sequences(*this, n);
    Value all = sequences.concat(sequences.bring(*n.operands[0], *form), *axis, stack);
    setResult(n.node, 0, scope, computed(n.node.outputs[0], all));
    return success();
  }
  if (list->empty())
    return n.malformed("the sequence is empty");
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

/// A sequence whose length the run decides: a loop over its tensors that puts
/// together the results.
LogicalResult Importer::mapAtRunTime(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  Scope inner;
  inner.parent = &scope;
  std::string prefix = n.node.label().str() + ".map.";
  Node &loop = rewritten.emplace_back();
  loop.name = n.node.label().str();
  loop.opType = "Loop";
  auto body = std::make_shared<Graph>(*n.node.find("body")->graph);
  std::vector<ValueInfo> arguments = body->inputs;
  std::vector<Node> before;
  std::vector<ValueInfo> results = body->outputs;
  auto named = [&](const Twine &name) {
    ValueInfo info;
    info.name = prefix + name.str();
    return info;
  };
  auto add = [](std::vector<Node> &nodes, StringRef opType, std::vector<std::string> inputs, std::string output) {
    nodes.emplace_back();
    nodes.back().opType = opType.str();
    nodes.back().inputs = std::move(inputs);
    nodes.back().outputs = {std::move(output)};
  };
  body->inputs = {named("iteration"), named("condition")};
  body->outputs = {named("more")};
  add(before, "Identity", {prefix + "condition"}, prefix + "more");
  AffineExpr length;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Operand *operand = n.operands[i];
    std::string from = prefix + "in" + std::to_string(i);
    inner.values[from] = operand;
    if (!operand || operand->type) {
      add(before, "Identity", {from}, arguments[i].name);
      continue;
    }
    add(before, "SequenceAt", {from, prefix + "iteration"}, arguments[i].name);
    AffineExpr own = operand->list ? n.dim(operand->list->size()) : operand->sequence->length();
    if (length && !n.assumeEqual(length, own))
      return n.malformed("its sequences have " + n.print(length) + " and " + n.print(own) + " tensors");
    length = length ? length : own;
  }
  inner.values[prefix + "trips"] = knownScalar(prefix + "trips", length, builder.getI64Type());
  loop.inputs = {prefix + "trips", ""};
  SmallVector<Operand *> operands = {inner.values[prefix + "trips"], nullptr};
  for (size_t j = 0; j < results.size(); ++j) {
    std::string start = prefix + "start" + std::to_string(j);
    operands.push_back(inner.values[start] = listOf(start, {}));
    loop.inputs.push_back(start);
    loop.outputs.push_back(j < n.node.outputs.size() ? n.node.outputs[j] : "");
    body->inputs.push_back(named("before" + Twine(j)));
    body->outputs.push_back(named("after" + Twine(j)));
    add(body->nodes, "SequenceInsert", {body->inputs.back().name, results[j].name}, body->outputs.back().name);
  }
  body->nodes.insert(body->nodes.begin(), before.begin(), before.end());
  NodeAttribute &attribute = loop.attributes.emplace_back();
  attribute.name = "body";
  attribute.kind = NodeAttribute::Kind::Graph;
  attribute.graph = body;
  NodeContext context(*this, loop, n.opset, operands);
  if (failed(importLoop(context, inner, opsets, depth)))
    return failure();
  for (size_t j = 0; j < n.node.outputs.size(); ++j)
    setResult(n.node, j, scope, inner.values.lookup(n.node.outputs[j]));
  return success();
}

LogicalResult Importer::importSequenceMap(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  const NodeAttribute *body = n.node.find("body");
  const Operand::List *list = listAt(n, 0);
  if (!list && !(n.has(0) && n.operands[0]->sequence))
    return n.malformed("input 0 must be a sequence");
  if (!body || !body->graph || body->graph->inputs.size() != n.numInputs())
    return n.malformed("needs a body with as many inputs as it has");
  if (llvm::any_of(n.operands, [](Operand *operand) { return operand && operand->sequence; }))
    return mapAtRunTime(n, scope, opsets, depth);
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
  if (n.has(0) && n.operands[0]->optional) {
    Value has = materialise(*n.operands[0]->optional->has, n.loc);
    setResult(n.node, 0, scope, computed(n.node.outputs[0], n.cast(has, builder.getI1Type())));
    return success();
  }
  bool has = n.has(0) && !n.operands[0]->none;
  setResult(n.node, 0, scope, knownScalar(n.node.outputs[0], n.dim(has), builder.getI1Type()));
  return success();
}

LogicalResult Importer::importOptionalGetElement(NodeContext &n, Scope &scope, const Opsets &, int) {
  if (!n.has(0) || n.operands[0]->none)
    return n.malformed("the optional is empty");
  if (const RuntimeOptional *optional = n.operands[0]->optional.get()) {
    Value has = materialise(*optional->has, n.loc);
    RuntimeSequences(*this, n).bound(has, "element of OptionalGetElement '" + n.node.label() + "'", 1, 1);
    setResult(n.node, 0, scope, optional->value);
    return success();
  }
  setResult(n.node, 0, scope, n.operands[0]);
  return success();
}

/// A loop that carries lists, iteration after iteration; nullopt where the run
/// decides how often it runs.
std::optional<LogicalResult> Importer::unrollLoop(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  const Graph &graph = *n.node.find("body")->graph;
  size_t carried = n.numInputs() - 2, scans = graph.outputs.size() - 1 - carried;
  const Known *trips = n.known(0), *start = n.known(1);
  auto count = onlyInteger(trips);
  auto goes = n.has(1) ? onlyInteger(start) : 1;
  if (!count || !goes || *count > kMaxLength)
    return std::nullopt;
  Checkpoint before = checkpoint();
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
    if (!goes) {
      rollBack(before);
      return std::nullopt;
    }
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

/// An output of a length that the run decides: the tensors' elements, one tensor
/// after the other, and i64 [length, rank] that says their shapes.
std::pair<Value, Value> Importer::sequenceOutput(Operand &operand, Location loc) {
  Node node;
  NodeContext n(*this, node, 0, {});
  n.loc = loc;
  RuntimeSequences sequences(*this, n);
  LocalSequence sequence = sequences.bring(operand, Form::of(operand, symbols));
  AffineExpr count = symbols.simplify(cast<GraphTensorType>(sequence.data.getType()).getNumElements());
  return {n.reshape(sequence.data, {count}), sequences.shapes(sequence)};
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
  // An input without a shape has as many dimensions as are given.
  for (ValueInfo &input : inputs) {
    if (input.hasShape || input.kind != ValueInfo::Kind::Tensor)
      continue;
    // Of one tensor of a sequence, or of all.
    StringRef all = StringRef(input.name).rsplit('.').first;
    for (StringRef name : {StringRef(input.name), sequenceInputs.count(all) ? all : StringRef()})
      for (size_t axis = input.dims.size(); !name.empty(); ++axis) {
        std::string param = (name + "_" + Twine(axis)).str();
        if (!options.dims.count(param))
          break;
        input.dims.push_back({std::nullopt, param});
        input.hasShape = true;
      }
  }
  if (diagnostics.ok())
    model.graph.inputs = std::move(inputs);
  return diagnostics.ok();
}
