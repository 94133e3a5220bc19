// If, and what it shares with loops: branches and bodies become private
// functions of the module.
//
// A body sees the values around it. Constants and shape arithmetic are made
// again inside it; other values are captured: they become arguments of the
// function, one per enclosing function on the way. The shape of what a branch
// returns, or a loop carries, may differ from run to run: such dimensions
// become symbols that the functions bind. Sequences and optionals are handed
// over as the tensors that they are made of (see Forms.h).
#include "compiler/import/RuntimeSequences.h"
#include "runtime/schema/plan_file.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

// Functions.

void Importer::enter(Body &inner, StringRef name) {
  inner.parent = current;
  OpBuilder atEnd(module.getBodyRegion());
  atEnd.setInsertionPointToEnd(module.getBody());
  inner.function =
      atEnd.create<func::FuncOp>(NameLoc::get(builder.getStringAttr(name)), (name + "_" + Twine(functionCount++)).str(),
                                 builder.getFunctionType({}, {}));
  inner.function.setPrivate();
  inner.block = inner.function.addEntryBlock();
  current = &inner;
  body = inner.block;
  builder.setInsertionPointToEnd(body);
}

void Importer::leave() {
  current = current->parent;
  body = current->block;
  builder.setInsertionPointToEnd(body);
}

void Importer::finish(ArrayRef<Value> results, Location loc) {
  builder.create<func::ReturnOp>(loc, results);
  current->function.setType(builder.getFunctionType(body->getArgumentTypes(), ValueRange(results).getTypes()));
  eraseDead(*body);
}

bool Importer::nests(NodeContext &n) {
  uint32_t levels = 1;
  for (const Body *inside = current; inside->parent; inside = inside->parent)
    ++levels;
  if (levels <= STINT_MAX_NESTING)
    return true;
  (void)n.unsupported(
      "If, Loop and Scan are " + Twine(levels) + " deep inside each other here, and " + Twine(STINT_MAX_NESTING) +
      " is the most; an If whose condition is constant, or a Loop of one constant trip, does not count");
  return false;
}

Value Importer::capture(Body &inner, Value value) {
  if (value.getParentBlock() == inner.block)
    return value;
  assert(inner.parent && "a value of an enclosing function");
  if (Value known = inner.arguments.lookup(value))
    return known;
  Value outer = capture(*inner.parent, value);
  Value argument = inner.block->addArgument(value.getType(), value.getLoc());
  inner.captured.push_back(outer);
  inner.arguments[value] = argument;
  return argument;
}

void Importer::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && isMemoryEffectFree(&op) && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

Importer::Checkpoint Importer::checkpoint() {
  return {body->empty() ? nullptr : &body->back(),
          &module.getBody()->back(),
          symbolAttrs.size(),
          diagnostics.all().size(),
          result.operators,
          required};
}

void Importer::rollBack(const Checkpoint &to) {
  while (&module.getBody()->back() != to.lastFunction)
    module.getBody()->back().erase();
  llvm::DenseSet<Operation *> gone;
  for (Operation &op : llvm::reverse(*body)) {
    if (&op == to.last)
      break;
    gone.insert(&op);
  }
  SmallVector<const Operand *> stale;
  for (auto [operand, value] : current->made)
    if (gone.contains(value.getDefiningOp()))
      stale.push_back(operand);
  for (const Operand *operand : stale)
    current->made.erase(operand);
  while (!body->empty() && &body->back() != to.last)
    body->back().erase();
  builder.setInsertionPointToEnd(body);
  symbolAttrs.resize(to.symbols);
  publishSymbols();
  diagnostics.forgetSince(to.problems);
  result.operators = to.operators;
  required = to.required;
}

// Symbols.

AffineExpr Importer::newSymbol(StringRef name, int64_t lower, int64_t upper, AffineExpr bound) {
  AffineExpr symbol = builder.getAffineSymbolExpr(symbolAttrs.size());
  AffineMap map = bound ? graph::symbolMap({bound}, &context) : AffineMap();
  symbolAttrs.push_back(graph::SymbolAttr::get(&context, builder.getStringAttr(name), lower, upper, int64_t(1), map));
  publishSymbols();
  return symbol;
}

void Importer::publishSymbols() {
  symbols = graph::Symbols(symbolAttrs);
  module->setAttr(graph::kSymbolsAttr,
                  builder.getArrayAttr(SmallVector<Attribute>(symbolAttrs.begin(), symbolAttrs.end())));
}

void Importer::require(AffineExpr x, AffineExpr y, const Twine &what, const Node &node, Location loc) {
  if (required.contains({x, y}))
    return;
  if (current == &main)
    required.insert({x, y});
  builder.create<graph::RequireOp>(loc, AffineMapAttr::get(graph::symbolMap({x, y}, &context)),
                                   builder.getStringAttr(node.opType + " '" + node.label() + "' needs " + what));
}

std::optional<int64_t> Importer::boundOf(StringRef value, int64_t axis) {
  std::string key = (value + "." + Twine(axis)).str();
  auto it = options.bounds.find(key);
  if (it == options.bounds.end())
    return std::nullopt;
  usedBounds.insert(key);
  return it->second;
}

AffineExpr Importer::dataDependent(Value count, AffineExpr most, StringRef name, int64_t axis, Location loc) {
  int64_t upper = symbols.upper(most);
  std::optional<int64_t> given = boundOf(name, axis);
  return measured(count, most, {0, given ? std::min(*given, upper) : upper}, (name + "." + Twine(axis)).str(), loc);
}

AffineExpr Importer::measured(Value count, AffineExpr most, graph::Range limits, StringRef name, Location loc) {
  AffineExpr symbol = newSymbol(name, limits.lower, limits.upper, most);
  builder.create<graph::BindOp>(loc, cast<AffineSymbolExpr>(symbol).getPosition(), count, AffineMapAttr());
  return symbol;
}

void Importer::requireTrue(Value condition, const Twine &what, const Node &node, Location loc) {
  Value flag = builder.create<graph::CastOp>(loc, condition, builder.getI64Type());
  AffineExpr one = builder.getAffineConstantExpr(1);
  AffineExpr symbol = measured(flag, one, {0, 1}, (node.label() + ".holds").str(), loc);
  builder.create<graph::RequireOp>(loc, AffineMapAttr::get(graph::symbolMap({symbol, one}, &context)),
                                   builder.getStringAttr(node.opType + " '" + node.label() + "' needs " + what));
}

Value Importer::flagOf(Operand &operand, Location loc) {
  Value value = materialise(operand, loc);
  auto type = cast<GraphTensorType>(value.getType());
  if (!type.getElementType().isSignlessInteger(64))
    value = builder.create<graph::CastOp>(loc, value, builder.getI64Type());
  return value;
}

Importer::ControlFlow Importer::controlFlow(const Node &node) {
  if (!node.domain.empty())
    return nullptr;
  return llvm::StringSwitch<ControlFlow>(node.opType)
      .Case("If", &Importer::importIf)
      .Case("Loop", &Importer::importLoop)
      .Case("Scan", &Importer::importScan)
      .Default(nullptr);
}

// If.

std::vector<Operand *> Importer::importGraph(const Graph &graph, Scope &scope, const Opsets &opsets, int depth) {
  declareInitializers(graph, scope);
  std::vector<std::string> outputs;
  for (const ValueInfo &output : graph.outputs)
    outputs.push_back(output.name);
  importNodes(graph.nodes, outputs, scope, opsets, depth + 1);
  std::vector<Operand *> results;
  for (const std::string &name : outputs)
    results.push_back(scope.find(name));
  return results;
}

void Importer::setResult(const Node &node, size_t i, Scope &scope, Operand *operand) {
  if (i < node.outputs.size() && !node.outputs[i].empty())
    scope.values[node.outputs[i]] = operand ? operand : newOperand(node.outputs[i]);
}

Operand *Importer::computed(StringRef name, Value value) {
  Operand *operand = newOperand(name);
  operand->value = value;
  operand->type = cast<GraphTensorType>(value.getType());
  return operand;
}

LogicalResult Importer::importIf(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  const Node &node = n.node;
  const NodeAttribute *branches[] = {node.find("then_branch"), node.find("else_branch")};
  if (!branches[0] || !branches[0]->graph || !branches[1] || !branches[1]->graph || !n.has(0))
    return n.malformed("needs a condition and two branches");
  if (auto value = onlyInteger(n.known(0))) {
    Scope inner;
    inner.parent = &scope;
    std::vector<Operand *> results = importGraph(*branches[*value ? 0 : 1]->graph, inner, opsets, depth);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      setResult(node, i, scope, i < results.size() ? results[i] : nullptr);
    return success();
  }
  if (!n.type(0) || !(n.type(0).getNumElements() == 1))
    return n.malformed("its condition must be one boolean");
  if (!nests(n))
    return failure();
  Value condition = flagOf(*n.operands[0], n.loc);

  Body bodies[2];
  std::vector<Operand *> made[2];
  std::string traps[2]; // why a branch can't run with these shapes
  bool runs[2] = {false, false};
  size_t count = node.outputs.size(), problems = diagnostics.all().size(), symbolsBefore = symbolAttrs.size();
  auto resume = [&](int i) {
    current = &bodies[i];
    body = bodies[i].block;
    builder.setInsertionPointToEnd(body);
  };
  for (int i : {0, 1}) {
    size_t before = diagnostics.all().size();
    enter(bodies[i], i == 0 ? "then" : "else");
    Scope inner;
    inner.parent = &scope;
    made[i] = importGraph(*branches[i]->graph, inner, opsets, depth);
    if (made[i].size() < count)
      return leave(), n.malformed("a branch has fewer results than the node");
    made[i].resize(count);
    runs[i] = llvm::all_of(made[i], [](Operand *operand) { return operand && !operand->poison(); });
    if (!runs[i]) {
      auto news = diagnostics.all().drop_front(before);
      if (!news.empty() && llvm::all_of(news, [](const Diagnostics::Entry &e) { return e.aboutOperands; }))
        traps[i] = news.front().message;
    }
    leave();
  }
  for (int i : {0, 1})
    // The other branch is what the model is for at these shapes.
    if (!runs[i] && (traps[i].empty() || !runs[1 - i]))
      return failure(); // said where it happened

  // What they return has one form.
  std::vector<Form> forms;
  auto local = [&](AffineExpr dim) {
    bool is = false;
    dim.walk([&](AffineExpr e) {
      auto symbol = dyn_cast<AffineSymbolExpr>(e);
      is |= symbol && symbol.getPosition() >= symbolsBefore;
    });
    return is;
  };
  for (size_t j = 0; j < count; ++j) {
    Form a = Form::of(*made[runs[0] ? 0 : 1][j], symbols), b = Form::of(*made[runs[1] ? 1 : 0][j], symbols);
    std::string why;
    auto form = join(a, b, local, symbols, why);
    if (!form && a.kind == Form::Kind::Tensor && b.kind == Form::Kind::Tensor)
      return n.unsupported("its branches return " + print(made[0][j]->type) + " and " + print(made[1][j]->type) + ": " +
                           why);
    if (!form)
      return n.unsupported("its branches return values that have no form in common: " + why);
    forms.push_back(*form);
  }
  SmallVector<Value> results[2];
  for (int i : {0, 1}) {
    if (!runs[i])
      continue;
    resume(i);
    for (size_t j = 0; j < count; ++j)
      pack(n, *made[i][j], forms[j], results[i]);
    leave();
  }
  for (int i : {0, 1}) {
    if (runs[i])
      continue;
    diagnostics.forgetSince(problems);
    resume(i);
    eraseDead(*body);
    builder.create<graph::TrapOp>(n.loc, "If '" + node.label().str() + "' takes its " + (i == 0 ? "then" : "else") +
                                             " branch, which is in error with inputs of these shapes: " + traps[i]);
    for (Value like : results[1 - i]) {
      auto type = cast<GraphTensorType>(like.getType());
      SmallVector<AffineExpr> ones(type.getRank(), n.dim(1)), shape;
      for (AffineExpr dim : type.getShape())
        shape.push_back(local(dim) ? n.dim(0) : dim);
      results[i].push_back(n.broadcast(n.reshape(n.scalar(type.getElementType(), 0), ones), shape));
    }
    leave();
  }
  count = results[0].size();

  SmallVector<Type> types;
  SmallVector<std::pair<AffineExpr, std::pair<AffineExpr, AffineExpr>>> binds; // symbol, then, else
  for (size_t j = 0; j < count; ++j) {
    auto a = cast<GraphTensorType>(results[0][j].getType()), b = cast<GraphTensorType>(results[1][j].getType());
    SmallVector<AffineExpr> shape;
    for (int64_t axis = 0; axis < a.getRank(); ++axis) {
      AffineExpr x = a.getDim(axis), y = b.getDim(axis);
      if (symbols.equal(x, y) == true) {
        shape.push_back(x);
        continue;
      }
      graph::Range rx = symbols.range(x), ry = symbols.range(y);
      // Where one is never smaller, it says how large the result is at most.
      AffineExpr larger = symbols.lessEqual(x, y) == true ? y : symbols.lessEqual(y, x) == true ? x : AffineExpr();
      AffineExpr symbol = newSymbol(node.outputs[0] + "." + std::to_string(j) + "." + std::to_string(axis),
                                    std::min(rx.lower, ry.lower), std::max(rx.upper, ry.upper),
                                    larger && !local(larger) ? larger : AffineExpr());
      binds.push_back({symbol, {x, y}});
      shape.push_back(symbol);
    }
    types.push_back(GraphTensorType::get(shape, a.getElementType()));
  }
  for (int i : {0, 1}) {
    resume(i);
    for (auto [symbol, values] : binds)
      builder.create<graph::BindOp>(
          n.loc, cast<AffineSymbolExpr>(symbol).getPosition(), Value(),
          AffineMapAttr::get(graph::symbolMap({i == 0 ? values.first : values.second}, &context)));
    finish(results[i], n.loc);
    leave();
  }
  auto op = builder.create<graph::IfOp>(n.loc, types, condition, bodies[0].captured, bodies[1].captured,
                                        bodies[0].function.getName(), bodies[1].function.getName());
  SmallVector<Value> outputs(op.getOutputs());
  ArrayRef<Value> rest = outputs;
  for (size_t j = 0; j < forms.size(); ++j)
    setResult(node, j, scope, unpack(n, forms[j], rest, node.outputs[j]));
  return success();
}

// What is handed over.

void Importer::pack(NodeContext &n, Operand &operand, const Form &form, SmallVectorImpl<Value> &values) {
  switch (form.kind) {
  case Form::Kind::None:
    return;
  case Form::Kind::Tensor:
    values.push_back(materialise(operand, n.loc));
    return;
  case Form::Kind::List:
    for (auto [element, part] : llvm::zip(*operand.list, form.parts))
      pack(n, *element, part, values);
    return;
  case Form::Kind::Sequence: {
    LocalSequence sequence = RuntimeSequences(*this, n).bring(operand, form);
    if (sequence.sizes)
      values.push_back(sequence.sizes);
    values.push_back(sequence.data);
    return;
  }
  case Form::Kind::Optional:
    if (operand.optional) {
      values.push_back(materialise(*operand.optional->has, n.loc));
      return pack(n, *operand.optional->value, form.parts.front(), values);
    }
    if (operand.none)
      return packNothing(n, form, values);
    values.push_back(n.scalar(builder.getI64Type(), 1));
    return pack(n, operand, form.parts.front(), values);
  }
}

/// Stands for an optional without an element: as small as the form allows.
void Importer::packNothing(NodeContext &n, const Form &form, SmallVectorImpl<Value> &values) {
  switch (form.kind) {
  case Form::Kind::None:
    return;
  case Form::Kind::Tensor: {
    SmallVector<AffineExpr> ones(form.shape.size(), n.dim(1)), shape;
    for (AffineExpr dim : form.shape)
      shape.push_back(isa<AffineConstantExpr>(dim) ? dim : n.dim(0));
    values.push_back(n.broadcast(n.reshape(n.scalar(form.element, 0), ones), shape));
    return;
  }
  case Form::Kind::Sequence:
    return pack(n, *listOf("", {}), form, values);
  case Form::Kind::Optional:
    values.push_back(n.scalar(builder.getI64Type(), 0));
    [[fallthrough]];
  case Form::Kind::List:
    for (const Form &part : form.parts)
      packNothing(n, part, values);
  }
}

Operand *Importer::unpack(NodeContext &n, const Form &form, ArrayRef<Value> &values, StringRef name) {
  auto next = [&] {
    Value value = values.front();
    values = values.drop_front();
    return value;
  };
  switch (form.kind) {
  case Form::Kind::None: {
    Operand *none = newOperand(name);
    none->none = true;
    return none;
  }
  case Form::Kind::Tensor:
    return computed(name, next());
  case Form::Kind::List: {
    Operand::List elements;
    for (const Form &part : form.parts)
      elements.push_back(unpack(n, part, values, name));
    return listOf(name, std::move(elements));
  }
  case Form::Kind::Sequence: {
    Value sizes = form.varying() ? next() : Value();
    return RuntimeSequences(*this, n).unpack(form, sizes, next(), name);
  }
  case Form::Kind::Optional:
    break;
  }
  Operand *operand = newOperand(name);
  operand->optional = std::make_shared<RuntimeOptional>();
  operand->optional->has = computed(name, next());
  operand->optional->value = unpack(n, form.parts.front(), values, name);
  return operand;
}
