// If, Loop and Scan: branches and bodies become private functions of the module.
//
// A body sees the values around it. Constants and shape arithmetic are made
// again inside it; other values are captured: they become arguments of the
// function, one per enclosing function on the way. The shape of what a branch
// returns, or a loop carries, may differ from run to run: such dimensions
// become symbols that the functions bind.
#include "compiler/import/ImporterImpl.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// Iterations of a loop that nothing bounds and whose results need no memory
/// for each.
constexpr int64_t kUnboundedTrips = int64_t(1) << 40;
/// Shapes of carried values settle in as many attempts, or not at all.
constexpr int kMaxAttempts = 10;

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

void Importer::require(AffineExpr x, AffineExpr y, const Node &node, Location loc) {
  if (required.contains({x, y}))
    return;
  if (current == &main)
    required.insert({x, y});
  builder.create<graph::RequireOp>(
      loc, AffineMapAttr::get(graph::symbolMap({x, y}, &context)),
      builder.getStringAttr(node.opType + " '" + node.label() + "' needs " + print(x) + " to equal " + print(y)));
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
  if (!(n.type(0).getNumElements() == 1))
    return n.malformed("its condition must be one boolean");
  Value condition = flagOf(*n.operands[0], n.loc);

  Body bodies[2];
  SmallVector<Value> results[2];
  std::optional<SmallVector<int64_t>> lengths[2]; // of results that are sequences, else -1
  std::string traps[2];                           // why a branch can't run with these shapes
  size_t count = node.outputs.size(), problems = diagnostics.all().size();
  for (int i : {0, 1}) {
    size_t before = diagnostics.all().size();
    enter(bodies[i], i == 0 ? "then" : "else");
    Scope inner;
    inner.parent = &scope;
    std::vector<Operand *> made = importGraph(*branches[i]->graph, inner, opsets, depth);
    if (made.size() < count)
      return leave(), n.malformed("a branch has fewer results than the node");
    made.resize(count);
    if (llvm::all_of(made, [](Operand *operand) { return operand && (operand->type || operand->list); })) {
      lengths[i] = SmallVector<int64_t>();
      for (Operand *operand : made) {
        lengths[i]->push_back(operand->list ? operand->list->size() : -1);
        for (Operand *element : operand->list ? *operand->list : Operand::List{operand})
          if (element->type)
            results[i].push_back(materialise(*element, n.loc));
          else
            return leave(), n.unsupported("a branch returns sequences of something else than tensors");
      }
    } else {
      auto news = diagnostics.all().drop_front(before);
      if (!news.empty() && llvm::all_of(news, [](const Diagnostics::Entry &e) { return e.aboutOperands; }))
        traps[i] = news.front().message;
    }
    leave();
  }
  for (int i : {0, 1}) {
    if (lengths[i])
      continue;
    // The other branch is what the model is for at these shapes.
    if (traps[i].empty() || !lengths[1 - i])
      return failure(); // said where it happened
    diagnostics.forgetSince(problems);
    current = &bodies[i];
    body = bodies[i].block;
    builder.setInsertionPointToEnd(body);
    eraseDead(*body);
    builder.create<graph::TrapOp>(n.loc, "If '" + node.label().str() + "' takes its " + (i == 0 ? "then" : "else") +
                                             " branch, which is in error with inputs of these shapes: " + traps[i]);
    for (Value like : results[1 - i]) {
      auto type = cast<GraphTensorType>(like.getType());
      SmallVector<AffineExpr> ones(type.getRank(), n.dim(1));
      results[i].push_back(n.broadcast(n.reshape(n.scalar(type.getElementType(), 0), ones), type.getShape()));
    }
    lengths[i] = lengths[1 - i];
    leave();
  }
  if (*lengths[0] != *lengths[1])
    return n.unsupported("its branches return sequences of different lengths");
  count = results[0].size();

  SmallVector<Type> types;
  SmallVector<std::pair<AffineExpr, std::pair<AffineExpr, AffineExpr>>> binds; // symbol, then, else
  for (size_t j = 0; j < count; ++j) {
    auto a = cast<GraphTensorType>(results[0][j].getType()), b = cast<GraphTensorType>(results[1][j].getType());
    if (a.getElementType() != b.getElementType() || a.getRank() != b.getRank())
      return n.unsupported("its branches return " + print(a) + " and " + print(b) +
                           ": tensors of one element type and rank are needed");
    SmallVector<AffineExpr> shape;
    for (int64_t axis = 0; axis < a.getRank(); ++axis) {
      AffineExpr x = a.getDim(axis), y = b.getDim(axis);
      if (symbols.equal(x, y) == true) {
        shape.push_back(x);
        continue;
      }
      graph::Range rx = symbols.range(x), ry = symbols.range(y);
      AffineExpr symbol = newSymbol(node.outputs[0] + "." + std::to_string(j) + "." + std::to_string(axis),
                                    std::min(rx.lower, ry.lower), std::max(rx.upper, ry.upper));
      binds.push_back({symbol, {x, y}});
      shape.push_back(symbol);
    }
    types.push_back(GraphTensorType::get(shape, a.getElementType()));
  }
  for (int i : {0, 1}) {
    builder.setInsertionPointToEnd(bodies[i].block);
    for (auto [symbol, values] : binds)
      builder.create<graph::BindOp>(
          n.loc, cast<AffineSymbolExpr>(symbol).getPosition(), Value(),
          AffineMapAttr::get(graph::symbolMap({i == 0 ? values.first : values.second}, &context)));
    current = &bodies[i];
    body = bodies[i].block;
    finish(results[i], n.loc);
    leave();
  }
  auto op = builder.create<graph::IfOp>(n.loc, types, condition, bodies[0].captured, bodies[1].captured,
                                        bodies[0].function.getName(), bodies[1].function.getName());
  size_t next = 0;
  for (auto [j, length] : llvm::enumerate(*lengths[0])) {
    if (length < 0) {
      setResult(node, j, scope, computed(node.outputs[j], op.getOutputs()[next++]));
      continue;
    }
    Operand::List elements;
    for (int64_t i = 0; i < length; ++i)
      elements.push_back(computed(node.outputs[j], op.getOutputs()[next++]));
    setResult(node, j, scope, listOf(node.outputs[j], std::move(elements)));
  }
  return success();
}

// Loop.

/// How often a loop runs at most: an expression, a value, or no limit.
struct Trips {
  AffineExpr known;
  Operand *value = nullptr;
};

LogicalResult Importer::importLoop(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  const Node &node = n.node;
  const NodeAttribute *attribute = node.find("body");
  if (!attribute || !attribute->graph || n.numInputs() < 2)
    return n.malformed("needs a trip count, a condition (either may be left out by an empty name) and a body");
  const Graph &graph = *attribute->graph;
  size_t carried = n.numInputs() - 2;
  if (graph.inputs.size() != carried + 2 || graph.outputs.size() < carried + 1 ||
      node.outputs.size() + 1 > graph.outputs.size())
    return n.malformed("its body must take the iteration, the condition and " + Twine(carried) +
                       " carried values, and return the condition, these, and the scan outputs");
  for (size_t i = 2; i < n.numInputs(); ++i)
    if (!n.has(i))
      return n.malformed("a carried value is left out");
  if (llvm::any_of(n.operands, [](Operand *o) { return o && (o->list || o->none); }))
    return unrollLoop(n, scope, opsets, depth);
  size_t scans = graph.outputs.size() - 1 - carried;
  auto outputName = [&](size_t i) {
    return i < node.outputs.size() && !node.outputs[i].empty() ? node.outputs[i] : graph.outputs[i + 1].name;
  };

  // How often.
  Trips trips;
  if (n.has(0)) {
    const Known *known = n.known(0);
    if (!(n.type(0).getNumElements() == 1))
      return n.malformed("its trip count must be one integer");
    if (known && known->elements[0].expr)
      trips.known = known->elements[0].expr;
    else
      trips.value = n.operands[0];
  }
  std::optional<int64_t> start = n.has(1) ? onlyInteger(n.known(1)) : 1;
  if (start == 0)
    trips = {builder.getAffineConstantExpr(0), nullptr};
  if (trips.known && symbols.range(trips.known).upper < 0)
    trips.known = builder.getAffineConstantExpr(0);
  bool startsAlways = start.has_value();

  // One iteration is no loop.
  if (startsAlways && trips.known && trips.known == 1) {
    Scope inner;
    inner.parent = &scope;
    bindIteration(graph, inner, builder.getAffineConstantExpr(0));
    for (size_t i = 0; i < carried; ++i)
      inner.values[graph.inputs[i + 2].name] = n.operands[i + 2];
    std::vector<Operand *> results = importGraph(graph, inner, opsets, depth);
    for (size_t i = 0; i + 1 < results.size(); ++i) {
      Operand *result = results[i + 1];
      if (!result || !result->type || i < carried) {
        setResult(node, i, scope, result);
        continue;
      }
      if (!stacks(result->type))
        return n.unsupported("scan output '" + outputName(i) + kTooManyDims);
      SmallVector<AffineExpr> shape(result->type.getShape());
      shape.insert(shape.begin(), builder.getAffineConstantExpr(1));
      setResult(node, i, scope, computed(outputName(i), n.reshape(materialise(*result, n.loc), shape)));
    }
    return success();
  }

  // The most iterations that memory is planned for.
  int64_t most = trips.known ? std::max<int64_t>(symbols.upper(trips.known), 0) : kUnboundedTrips;
  for (size_t i = 0; i < scans; ++i)
    if (auto bound = boundOf(outputName(carried + i), 0))
      most = std::min(most, *bound);
  if (scans && most >= kUnboundedTrips) {
    diagnostics.report(Problem::Usage, "node '" + node.label() + "' (Loop): nothing bounds how often it runs, and '" +
                                           outputName(carried) + "' grows each time; give a bound: --bound " +
                                           outputName(carried) + ".0=N");
    return failure();
  }

  SmallVector<GraphTensorType> types;
  for (size_t i = 0; i < carried; ++i)
    types.push_back(n.type(i + 2));
  SmallVector<int64_t> changing; // symbols in `types`
  SmallVector<AffineExpr> inits, next;
  SmallVector<std::pair<size_t, int64_t>> where; // carried value and axis of each
  AffineExpr iteration = newSymbol(node.label().str() + ".iteration", 0, std::max<int64_t>(most - 1, 0),
                                   trips.known ? trips.known - 1 : AffineExpr());
  for (int attempt = 0;; ++attempt) {
    size_t symbolsBefore = symbolAttrs.size();
    auto operatorsBefore = result.operators;
    Body loop;
    enter(loop, "loop");
    Scope inner;
    inner.parent = &scope;
    bindIteration(graph, inner, iteration);
    for (size_t i = 0; i < carried; ++i)
      inner.values[graph.inputs[i + 2].name] = computed(graph.inputs[i + 2].name, body->addArgument(types[i], n.loc));
    std::vector<Operand *> results = importGraph(graph, inner, opsets, depth);
    bool poisoned = llvm::any_of(results, [](Operand *operand) { return !operand || !operand->type; });
    if (poisoned)
      return leave(), failure(); // said where it happened
    std::optional<int64_t> always = onlyInteger(known(*results[0]));
    bool conditional = always.value_or(0) == 0;
    Value goOn = conditional ? flagOf(*results[0], n.loc) : Value();
    SmallVector<Value> returned;
    if (conditional)
      returned.push_back(goOn);
    for (Operand *operand : ArrayRef<Operand *>(results).drop_front())
      returned.push_back(materialise(*operand, n.loc));
    ArrayRef<Value> values = ArrayRef<Value>(returned).drop_front(conditional);

    // Shapes that changed are symbols from now on.
    bool settled = true;
    next.assign(changing.size(), AffineExpr());
    for (size_t i = 0; i < carried; ++i) {
      auto type = cast<GraphTensorType>(values[i].getType());
      if (type.getElementType() != types[i].getElementType() || type.getRank() != types[i].getRank())
        return leave(),
               n.unsupported("'" + graph.inputs[i + 2].name + "' goes into its body as " + print(types[i]) +
                             " and comes out as " + print(type) + ": tensors of one element type and rank are needed");
      for (int64_t axis = 0; axis < type.getRank(); ++axis) {
        auto known = llvm::find(where, std::make_pair(i, axis));
        if (known != where.end()) {
          next[known - where.begin()] = type.getDim(axis);
          continue;
        }
        if (symbols.equal(type.getDim(axis), types[i].getDim(axis)) == true)
          continue;
        settled = false;
        where.push_back({i, axis});
      }
    }
    if (!settled) {
      SmallVector<std::pair<size_t, int64_t>> fresh(ArrayRef(where).drop_front(changing.size()));
      SmallVector<int64_t> uppers;
      for (auto [i, axis] : fresh) {
        auto bound = boundOf(outputName(i), axis);
        if (!bound)
          bound = boundOf(graph.inputs[i + 2].name, axis);
        AffineExpr after = cast<GraphTensorType>(values[i].getType()).getDim(axis);
        int64_t before = symbols.upper(types[i].getDim(axis));
        if (auto step = growsBy(after, types[i].getDim(axis)); step && !bound && most < kUnboundedTrips)
          bound = before + *step * most;
        if (!bound) {
          diagnostics.report(Problem::Usage, "node '" + node.label() + "' (Loop): axis " + Twine(axis) + " of '" +
                                                 graph.inputs[i + 2].name +
                                                 "' changes from one iteration to the next; give a bound: --bound " +
                                                 outputName(i) + "." + Twine(axis) + "=N");
          return leave(), failure();
        }
        uppers.push_back(std::max(*bound, before));
      }
      leave();
      loop.function.erase();
      result.operators = operatorsBefore;
      symbolAttrs.resize(symbolsBefore);
      for (auto [at, upper] : llvm::zip(fresh, uppers)) {
        auto [i, axis] = at;
        inits.push_back(n.type(i + 2).getDim(axis));
        AffineExpr symbol = newSymbol(outputName(i) + "." + std::to_string(axis), 0, upper);
        changing.push_back(cast<AffineSymbolExpr>(symbol).getPosition());
        SmallVector<AffineExpr> shape(types[i].getShape());
        shape[axis] = symbol;
        types[i] = GraphTensorType::get(shape, types[i].getElementType());
      }
      publishSymbols();
      if (attempt == kMaxAttempts)
        return n.unsupported("the shapes of its carried values do not settle");
      continue;
    }

    // Scan outputs: one more dimension.
    bool counts = scans && (!trips.known || conditional || !startsAlways);
    AffineExpr count = counts ? newSymbol(outputName(carried) + ".0", 0, most, trips.known) : trips.known;
    SmallVector<Type> resultTypes(types.begin(), types.end());
    for (size_t i = 0; i < scans; ++i) {
      auto type = cast<GraphTensorType>(values[carried + i].getType());
      if (!stacks(type))
        return leave(), n.unsupported("scan output '" + outputName(carried + i) + kTooManyDims);
      SmallVector<AffineExpr> shape = {count};
      for (AffineExpr dim : type.getShape()) {
        bool varies = false;
        dim.walk([&](AffineExpr e) {
          if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
            varies |= symbol.getPosition() >= symbolsBefore || e == iteration ||
                      llvm::is_contained(changing, static_cast<int64_t>(symbol.getPosition()));
        });
        if (varies)
          return leave(), n.unsupported("scan output '" + outputName(carried + i) + "' has a shape, " + print(type) +
                                        ", that changes from one iteration to the next");
        shape.push_back(dim);
      }
      resultTypes.push_back(GraphTensorType::get(shape, type.getElementType()));
    }
    for (auto [symbol, value] : llvm::zip(changing, next))
      builder.create<graph::BindOp>(n.loc, symbol, Value(), AffineMapAttr::get(graph::symbolMap({value}, &context)));
    finish(returned, n.loc);
    leave();

    SmallVector<Value> initial;
    for (size_t i = 0; i < carried; ++i)
      initial.push_back(n.in(i + 2));
    Value tripCount = trips.value ? flagOf(*trips.value, n.loc) : Value();
    Value condition = startsAlways ? Value() : flagOf(*n.operands[1], n.loc);
    auto mapOf = [&](ArrayRef<AffineExpr> exprs) { return AffineMapAttr::get(graph::symbolMap(exprs, &context)); };
    auto op = builder.create<graph::LoopOp>(
        n.loc, resultTypes, tripCount, condition, initial, loop.captured, loop.function.getName(),
        trips.known ? mapOf({trips.known}) : AffineMapAttr(), cast<AffineSymbolExpr>(iteration).getPosition(),
        counts ? static_cast<int64_t>(cast<AffineSymbolExpr>(count).getPosition()) : -1, conditional, changing,
        changing.empty() ? AffineMapAttr() : mapOf(inits));
    for (size_t i = 0; i < resultTypes.size(); ++i)
      setResult(node, i, scope, computed(outputName(i), op.getOutputs()[i]));
    return success();
  }
}

/// The constant by which `after` exceeds `before`, if it is one.
std::optional<int64_t> Importer::growsBy(AffineExpr after, AffineExpr before) {
  auto difference = dyn_cast<AffineConstantExpr>(symbols.simplify(after - before));
  if (!difference || difference.getValue() < 0)
    return std::nullopt;
  return difference.getValue();
}

/// The body's first two inputs: the iteration, and that it runs.
void Importer::bindIteration(const Graph &graph, Scope &inner, AffineExpr iteration) {
  auto bind = [&](const ValueInfo &input, Type type, AffineExpr value) {
    Operand *operand = newOperand(input.name);
    Known known;
    SmallVector<AffineExpr> shape;
    if (input.hasShape && input.dims.size() == 1) {
      known.shape.push_back(1);
      shape.push_back(builder.getAffineConstantExpr(1));
    }
    known.elements.push_back(value);
    operand->type = GraphTensorType::get(shape, type);
    operand->known = std::move(known);
    inner.values[input.name] = operand;
  };
  bind(graph.inputs[0], builder.getI64Type(), iteration);
  bind(graph.inputs[1], builder.getI1Type(), builder.getAffineConstantExpr(1));
}

/// A loop that an operator's rule makes.
SmallVector<Value> Importer::buildLoop(AffineExpr trips, ArrayRef<Value> inits, size_t scans,
                                       NodeContext::LoopStep step, StringRef name, Location loc) {
  trips = symbols.simplify(trips);
  if (trips == 1) {
    SmallVector<Value> results;
    step(builder.getAffineConstantExpr(0), SmallVector<Value>(inits), results);
    for (Value &scan : MutableArrayRef<Value>(results).drop_front(inits.size())) {
      auto type = cast<GraphTensorType>(scan.getType());
      SmallVector<AffineExpr> shape(type.getShape());
      shape.insert(shape.begin(), builder.getAffineConstantExpr(1));
      scan = builder.create<graph::ReshapeOp>(loc, type.withShape(shape), scan);
    }
    return results;
  }
  int64_t most = std::max<int64_t>(symbols.upper(trips), 0);
  AffineExpr iteration = newSymbol((name + ".iteration").str(), 0, std::max<int64_t>(most - 1, 0), trips - 1);
  Body inner;
  enter(inner, "loop");
  SmallVector<Value> carried, returned;
  for (Value init : inits)
    carried.push_back(body->addArgument(init.getType(), loc));
  step(iteration, carried, returned);
  assert(returned.size() == inits.size() + scans && "a result for every carried value and scan");
  SmallVector<Type> types(inits.size());
  for (auto [i, init] : llvm::enumerate(inits))
    types[i] = init.getType();
  for (Value scan : ArrayRef<Value>(returned).drop_front(inits.size())) {
    auto type = cast<GraphTensorType>(scan.getType());
    SmallVector<AffineExpr> shape(type.getShape());
    shape.insert(shape.begin(), trips);
    types.push_back(type.withShape(shape));
  }
  finish(returned, loc);
  leave();
  auto op = builder.create<graph::LoopOp>(loc, types, Value(), Value(), inits, inner.captured, inner.function.getName(),
                                          AffineMapAttr::get(graph::symbolMap({trips}, &context)),
                                          cast<AffineSymbolExpr>(iteration).getPosition(), -1, false,
                                          ArrayRef<int64_t>(), AffineMapAttr());
  return SmallVector<Value>(op.getOutputs());
}

/// Scan (opset 9 on): a loop whose trips are the length of what it scans.
LogicalResult Importer::importScan(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  const Node &node = n.node;
  const NodeAttribute *attribute = node.find("body");
  int64_t scanned = n.getInt("num_scan_inputs", 0);
  if (n.opset < 9)
    return n.unsupported("this version scans batches; export the model with opset 9 or newer");
  if (!attribute || !attribute->graph || scanned < 1 || scanned > static_cast<int64_t>(n.numInputs()))
    return n.malformed("needs a body and num_scan_inputs");
  const Graph &graph = *attribute->graph;
  size_t states = n.numInputs() - scanned;
  if (graph.inputs.size() != n.numInputs() || graph.outputs.size() < states)
    return n.malformed("its body must take and return what the node does");
  size_t outputs = graph.outputs.size() - states;
  auto list = [&](StringRef name, size_t count) -> std::optional<SmallVector<int64_t>> {
    auto values = n.getInts(name).value_or(SmallVector<int64_t>(count, 0));
    return values.size() == count ? std::optional(values) : std::nullopt;
  };
  auto inputAxes = list("scan_input_axes", scanned), inputDirections = list("scan_input_directions", scanned);
  auto outputAxes = list("scan_output_axes", outputs), outputDirections = list("scan_output_directions", outputs);
  if (!inputAxes || !inputDirections || !outputAxes || !outputDirections)
    return n.malformed("needs one axis and direction per scan input and output");
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (!n.has(i) || (i >= states && n.rank(i) == 0))
      return n.malformed("input " + Twine(i) + " is left out, or has no axis to scan");
  AffineExpr trips;
  for (int64_t i = 0; i < scanned; ++i) {
    auto axis = n.axis((*inputAxes)[i], n.rank(states + i));
    if (failed(axis))
      return failure();
    (*inputAxes)[i] = *axis;
    AffineExpr length = n.type(states + i).getDim(*axis);
    if (trips && !n.same(trips, length))
      return n.malformed("what it scans has several lengths: " + n.print(trips) + ", " + n.print(length));
    trips = length;
  }
  SmallVector<Value> inits;
  for (size_t i = 0; i < states; ++i)
    inits.push_back(n.in(i));
  bool poisoned = false;
  std::string wrong;
  auto step = [&](AffineExpr iteration, ArrayRef<Value> carried, SmallVectorImpl<Value> &results) {
    Scope inner;
    inner.parent = &scope;
    for (size_t i = 0; i < states; ++i)
      inner.values[graph.inputs[i].name] = computed(graph.inputs[i].name, carried[i]);
    for (int64_t i = 0; i < scanned; ++i) {
      Value whole = n.in(states + i);
      auto type = cast<GraphTensorType>(whole.getType());
      int64_t axis = (*inputAxes)[i];
      SmallVector<AffineExpr> starts(type.getRank(), n.dim(0)), sizes(type.getShape());
      starts[axis] = n.simplify((*inputDirections)[i] ? trips - 1 - iteration : iteration);
      sizes[axis] = n.dim(1);
      Value row = n.slice(whole, starts, sizes);
      sizes.erase(sizes.begin() + axis);
      const std::string &name = graph.inputs[states + i].name;
      inner.values[name] = computed(name, n.reshape(row, sizes));
    }
    std::vector<Operand *> made = importGraph(graph, inner, opsets, depth);
    for (size_t i = 0; i < made.size(); ++i) {
      poisoned |= !made[i] || !made[i]->type;
      // A loop is finished even where what it should return is not there.
      Value value = !poisoned    ? materialise(*made[i], n.loc)
                    : i < states ? carried[i]
                                 : n.scalar(builder.getF32Type(), 0);
      if (!poisoned && i < states && value.getType() != carried[i].getType()) {
        wrong = "state '" + graph.inputs[i].name + "' goes into its body as " +
                print(cast<GraphTensorType>(carried[i].getType())) + " and comes out as " +
                print(cast<GraphTensorType>(value.getType())) + ": one shape is needed";
        value = carried[i];
      }
      if (i >= states && !stacks(cast<GraphTensorType>(value.getType()))) {
        wrong = "scan output '" + graph.outputs[i].name + kTooManyDims;
        value = n.scalar(builder.getF32Type(), 0);
      }
      results.push_back(value);
    }
  };
  SmallVector<Value> values = buildLoop(trips, inits, outputs, step, node.label(), n.loc);
  if (poisoned)
    return failure(); // said where it happened
  if (!wrong.empty())
    return n.unsupported(wrong);
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
    auto type = cast<GraphTensorType>(value.getType());
    if (i >= states) {
      auto axis = n.axis((*outputAxes)[i - states], type.getRank());
      if (failed(axis))
        return failure();
      if ((*outputDirections)[i - states]) {
        SmallVector<AffineExpr> starts(type.getRank(), n.dim(0));
        SmallVector<int64_t> steps(type.getRank(), 1);
        starts[0] = n.simplify(trips - 1);
        steps[0] = -1;
        value = n.slice(value, starts, type.getShape(), steps);
      }
      SmallVector<int64_t> order;
      for (int64_t d = 1; d < type.getRank(); ++d)
        order.push_back(d);
      order.insert(order.begin() + *axis, 0);
      if (*axis != 0)
        value = n.transpose(value, order);
    }
    setResult(node, i, scope, computed(i < node.outputs.size() ? node.outputs[i] : "", value));
  }
  return success();
}
