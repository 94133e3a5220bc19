// Loop and Scan: bodies become private functions of the module that graph.loop
// runs. The shape of what a loop carries may differ from one iteration to the
// next: such dimensions become symbols that the body binds. Sequences and
// optionals are handed over as the tensors that they are made of (see Forms.h);
// where what goes in and what comes out have different forms, the body is
// imported again with one that fits both.
#include "compiler/import/RuntimeSequences.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// Iterations of a loop that nothing bounds and whose results need no memory
/// for each.
constexpr int64_t kUnboundedTrips = int64_t(1) << 40;
/// Shapes of carried values settle in as many attempts, or not at all.
constexpr int kMaxAttempts = 10;

/// How often a loop runs at most: an expression, a value, or no limit.
struct Trips {
  AffineExpr known;
  Operand *value = nullptr;
};

namespace {
/// A tensor that a loop carries, and what its dimensions are called.
struct CarriedTensor {
  std::string output, input; // the loop's output and its body's input that it belongs to
  std::string suffix;        // what it is of that value
  int64_t rowsOf = -1;       // the tensor whose dimension 0 says of how many tensors this has the rows
  int64_t mostRows = 0;      // of each

  std::string nameOf(int64_t axis) const { return output + suffix + "." + std::to_string(axis); }
  std::optional<int64_t> boundOf(Importer &importer, int64_t axis) const {
    auto bound = importer.boundOf(output + suffix, axis);
    return bound ? bound : importer.boundOf(input + suffix, axis);
  }
  std::string changes(int64_t axis) const {
    return (sequence ? "the length of sequence '" : "axis " + std::to_string(axis) + " of '") + input + "' changes";
  }
  bool sequence = false;
};
} // namespace

/// Appends the tensors of a value of that form.
static void describe(const Form &form, StringRef output, StringRef input, SmallVectorImpl<CarriedTensor> &tensors) {
  CarriedTensor tensor{output.str(), input.str(), ""};
  switch (form.kind) {
  case Form::Kind::None:
    return;
  case Form::Kind::Tensor:
    tensors.push_back(tensor);
    return;
  case Form::Kind::Sequence:
    tensor.sequence = true;
    tensors.push_back(tensor);
    if (!form.varying())
      return;
    tensor.rowsOf = tensors.size() - 1;
    tensor.mostRows = form.mostRows();
    tensor.suffix = ".rows";
    tensors.push_back(tensor);
    return;
  case Form::Kind::Optional:
    tensor.suffix = ".has";
    tensors.push_back(tensor);
    [[fallthrough]];
  case Form::Kind::List:
    for (const Form &part : form.parts)
      describe(part, output, input, tensors);
  }
}

/// The form of a sequence of any length whose tensors are like those of a list,
/// or as `declared`; the list's own where neither tells.
Form Importer::sequenceLike(const Form &list, const ValueInfo &declared) {
  Form longer = list;
  Form one;
  if (!list.parts.empty()) {
    one = list.parts.front();
  } else if (Type element = elementTypeOf(declared.type, &context);
             element && declared.kind == ValueInfo::Kind::Sequence && declared.hasShape) {
    one.kind = Form::Kind::Tensor;
    one.element = element;
    for (const ValueInfo::Dim &dim : declared.dims) {
      if (!dim.value || *dim.value < 0)
        return list;
      one.shape.push_back(builder.getAffineConstantExpr(*dim.value));
      one.most.push_back(*dim.value);
    }
  } else {
    return list;
  }
  longer.parts.push_back(one);
  std::string why;
  return join(list, longer, [](AffineExpr) { return false; }, symbols, why).value_or(list);
}

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
  for (size_t i : {0, 1})
    if (n.has(i) && !n.type(i))
      return n.malformed("its trip count and condition must be tensors, not sequences or optionals");
  if (llvm::any_of(n.operands, [](Operand *o) { return o && (o->list || o->none); }))
    if (auto unrolled = unrollLoop(n, scope, opsets, depth))
      return *unrolled;
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

  if (!nests(n))
    return failure();

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

  // The forms of what is carried, and dimensions of its tensors that change
  // from one iteration to the next: found by trying.
  std::vector<Form> forms;
  for (size_t i = 0; i < carried; ++i)
    forms.push_back(Form::of(*n.operands[i + 2], symbols));
  struct Changing {
    size_t tensor;
    int64_t axis, upper;
  };
  SmallVector<Changing> changes;
  Checkpoint begin = checkpoint();
  for (int attempt = 0;; ++attempt) {
    SmallVector<Value> initial;
    SmallVector<CarriedTensor> tensors;
    for (size_t i = 0; i < carried; ++i) {
      pack(n, *n.operands[i + 2], forms[i], initial);
      describe(forms[i], outputName(i), graph.inputs[i + 2].name, tensors);
    }
    AffineExpr iteration = newSymbol(node.label().str() + ".iteration", 0, std::max<int64_t>(most - 1, 0),
                                     trips.known ? trips.known - 1 : AffineExpr());
    SmallVector<GraphTensorType> types;
    for (Value value : initial)
      types.push_back(cast<GraphTensorType>(value.getType()));
    SmallVector<int64_t> changing; // symbols in `types`
    SmallVector<AffineExpr> inits, next(changes.size());
    for (auto [tensor, axis, upper] : changes) {
      inits.push_back(types[tensor].getDim(axis));
      AffineExpr symbol = newSymbol(tensors[tensor].nameOf(axis), 0, upper);
      changing.push_back(cast<AffineSymbolExpr>(symbol).getPosition());
      SmallVector<AffineExpr> shape(types[tensor].getShape());
      shape[axis] = symbol;
      types[tensor] = GraphTensorType::get(shape, types[tensor].getElementType());
    }
    auto local = [&](AffineExpr dim) {
      bool is = false;
      dim.walk([&](AffineExpr e) {
        auto symbol = dyn_cast<AffineSymbolExpr>(e);
        is |= symbol && symbol.getPosition() >= begin.symbols;
      });
      return is;
    };
    Body loop;
    enter(loop, "loop");
    auto again = [&] {
      leave();
      rollBack(begin);
      return attempt == kMaxAttempts;
    };
    Scope inner;
    inner.parent = &scope;
    bindIteration(graph, inner, iteration);
    SmallVector<Value> arguments;
    for (GraphTensorType type : types)
      arguments.push_back(body->addArgument(type, n.loc));
    ArrayRef<Value> rest = arguments;
    for (size_t i = 0; i < carried; ++i)
      inner.values[graph.inputs[i + 2].name] = unpack(n, forms[i], rest, graph.inputs[i + 2].name);
    std::vector<Operand *> results = importGraph(graph, inner, opsets, depth);
    if (llvm::any_of(results, [](Operand *operand) { return !operand || operand->poison(); })) {
      // What its tensors are may be an error for a list of a length that is
      // only the first.
      std::vector<Form> wider;
      for (auto [form, input] : llvm::zip(forms, ArrayRef<ValueInfo>(graph.inputs).drop_front(2)))
        wider.push_back(form.kind == Form::Kind::List ? sequenceLike(form, input) : form);
      // Or it takes a bound of how often it runs: that of a sequence, which
      // each iteration may make longer.
      int64_t fewer = most;
      for (size_t i = 0; i < carried && most >= kUnboundedTrips; ++i)
        if (auto bound = boundOf(outputName(i), 0); bound && !n.operands[i + 2]->type)
          fewer = std::min(fewer, *bound);
      if ((wider == forms && fewer == most) || attempt == kMaxAttempts)
        return leave(), failure(); // said where it happened
      again();
      most = fewer;
      forms = std::move(wider);
      changes.clear();
      continue;
    }
    for (size_t i = 0; i < results.size(); ++i)
      if (!results[i]->type && (i == 0 || i > carried))
        return leave(), n.malformed("its condition or a scan output is no tensor");

    // One form for what goes in and what comes out.
    std::vector<Form> joined;
    for (size_t i = 0; i < carried; ++i) {
      std::string why;
      Form after = Form::of(*results[i + 1], symbols);
      auto form = join(forms[i], after, local, symbols, why);
      if (!form) {
        auto printed = [&](const Form &f) {
          return f.kind == Form::Kind::Tensor ? print(GraphTensorType::get(f.shape, f.element))
                                              : "a sequence or optional";
        };
        return leave(), n.unsupported("'" + graph.inputs[i + 2].name + "' goes into its body as " + printed(forms[i]) +
                                      " and comes out as " + printed(after) + ": " + why);
      }
      joined.push_back(*form);
    }
    if (joined != forms) {
      if (again())
        return n.unsupported("the shapes of its carried values do not settle");
      forms = std::move(joined);
      changes.clear();
      continue;
    }
    std::optional<int64_t> always = onlyInteger(known(*results[0]));
    bool conditional = always.value_or(0) == 0;
    Value goOn = conditional ? flagOf(*results[0], n.loc) : Value();
    SmallVector<Value> returned;
    if (conditional)
      returned.push_back(goOn);
    for (size_t i = 0; i < carried; ++i)
      pack(n, *results[i + 1], forms[i], returned);
    for (Operand *operand : ArrayRef<Operand *>(results).drop_front(1 + carried))
      returned.push_back(materialise(*operand, n.loc));
    ArrayRef<Value> values = ArrayRef<Value>(returned).drop_front(conditional);

    // Shapes that changed are symbols from now on.
    SmallVector<Changing> fresh;
    for (size_t i = 0; i < types.size(); ++i) {
      auto type = cast<GraphTensorType>(values[i].getType());
      for (int64_t axis = 0; axis < type.getRank(); ++axis) {
        AffineExpr before = types[i].getDim(axis), after = type.getDim(axis);
        auto known = llvm::find_if(changes, [&](const Changing &c) { return c.tensor == i && c.axis == axis; });
        if (known != changes.end()) {
          next[known - changes.begin()] = after;
          continue;
        }
        if (symbols.equal(after, before) == true)
          continue;
        auto bound = tensors[i].boundOf(*this, axis);
        if (!bound && tensors[i].rowsOf >= 0 && axis == 0) {
          // As many rows as that many tensors have.
          auto same = [&](const Changing &c) { return c.tensor == static_cast<size_t>(tensors[i].rowsOf); };
          auto counted = llvm::find_if(fresh, same);
          int64_t count = counted != fresh.end() ? counted->upper : symbols.upper(types[tensors[i].rowsOf].getDim(0));
          int64_t rows;
          bound = llvm::MulOverflow(count, tensors[i].mostRows, rows) ? INT64_MAX : rows;
        }
        if (!bound)
          bound = mostAfter(before, after, most, begin.symbols, cast<AffineSymbolExpr>(iteration).getPosition());
        if (!bound) {
          diagnostics.report(Problem::Usage, "node '" + node.label() + "' (Loop): " + tensors[i].changes(axis) +
                                                 " from one iteration to the next; give a bound: --bound " +
                                                 tensors[i].nameOf(axis) + "=N");
          return leave(), failure();
        }
        fresh.push_back({i, axis, std::max(*bound, symbols.upper(before))});
      }
    }
    if (!fresh.empty()) {
      if (again())
        return n.unsupported("the shapes of its carried values do not settle");
      changes.append(fresh);
      continue;
    }

    // Scan outputs: one more dimension.
    bool counts = scans && (!trips.known || conditional || !startsAlways);
    AffineExpr count = counts ? newSymbol(outputName(carried) + ".0", 0, most, trips.known) : trips.known;
    SmallVector<Type> resultTypes(types.begin(), types.end());
    for (size_t i = 0; i < scans; ++i) {
      auto type = cast<GraphTensorType>(values[types.size() + i].getType());
      if (!stacks(type))
        return leave(), n.unsupported("scan output '" + outputName(carried + i) + kTooManyDims);
      SmallVector<AffineExpr> shape = {count};
      for (AffineExpr dim : type.getShape()) {
        if (local(dim))
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

    Value tripCount = trips.value ? flagOf(*trips.value, n.loc) : Value();
    Value condition = startsAlways ? Value() : flagOf(*n.operands[1], n.loc);
    auto mapOf = [&](ArrayRef<AffineExpr> exprs) { return AffineMapAttr::get(graph::symbolMap(exprs, &context)); };
    auto op = builder.create<graph::LoopOp>(
        n.loc, resultTypes, tripCount, condition, initial, loop.captured, loop.function.getName(),
        trips.known ? mapOf({trips.known}) : AffineMapAttr(), cast<AffineSymbolExpr>(iteration).getPosition(),
        counts ? static_cast<int64_t>(cast<AffineSymbolExpr>(count).getPosition()) : -1, conditional, changing,
        changing.empty() ? AffineMapAttr() : mapOf(inits));
    SmallVector<Value> outputs(op.getOutputs());
    ArrayRef<Value> left = outputs;
    for (size_t i = 0; i < carried; ++i)
      setResult(node, i, scope, unpack(n, forms[i], left, outputName(i)));
    for (size_t i = carried; i < carried + scans; ++i)
      setResult(node, i, scope, computed(outputName(i), left[i - carried]));
    return success();
  }
}

/// The most that a dimension may be that begins as `before` and is `after` it
/// one iteration later, for `trips` iterations; nullopt if nothing says so.
/// Symbols from `first` on belong to the loop.
std::optional<int64_t> Importer::mostAfter(AffineExpr before, AffineExpr after, int64_t trips, unsigned first,
                                           unsigned iteration) {
  // Symbols that are not larger than something else; differences would be.
  bool sum = true;
  after.walk([&](AffineExpr e) {
    auto constant = dyn_cast<AffineConstantExpr>(e);
    sum &= e.getKind() == AffineExprKind::Add || isa<AffineSymbolExpr>(e) || (constant && constant.getValue() >= 0);
  });
  for (unsigned i = symbols.size(); sum && i-- > first;)
    if (AffineMap most = symbols[i].getBound(); most && i != iteration)
      after = after.replace(builder.getAffineSymbolExpr(i), most.getResult(0));
  graph::Range step = symbols.range(symbols.simplify(after - before));
  int64_t grown, most;
  if (trips >= kUnboundedTrips || llvm::MulOverflow(std::max<int64_t>(step.upper, 0), trips, grown) ||
      llvm::AddOverflow(grown, symbols.upper(before), most) || most >= kUnboundedTrips)
    return std::nullopt;
  return most;
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
                                       NodeContext::LoopStep step, NodeContext &n) {
  Location loc = n.loc;
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
  (void)nests(n);
  int64_t most = std::max<int64_t>(symbols.upper(trips), 0);
  AffineExpr iteration = newSymbol((n.node.label() + ".iteration").str(), 0, std::max<int64_t>(most - 1, 0), trips - 1);
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

/// Scan: a loop whose trips are the length of what it scans. Before opset 9,
/// inside a loop over the batch: a length for each element may come first, and
/// what is scanned is [batch, length, …].
LogicalResult Importer::importScan(NodeContext &n, Scope &scope, const Opsets &opsets, int depth) {
  const Node &node = n.node;
  const NodeAttribute *attribute = node.find("body");
  int64_t scanned = n.getInt("num_scan_inputs", 0);
  bool batched = n.opset < 9;
  size_t first = batched ? 1 : 0; // operand
  if (!attribute || !attribute->graph || scanned < 1 || scanned + first > n.numInputs())
    return n.malformed("needs a body and num_scan_inputs");
  const Graph &graph = *attribute->graph;
  size_t states = n.numInputs() - first - scanned;
  if (graph.inputs.size() != states + scanned || graph.outputs.size() < states)
    return n.malformed("its body must take and return what the node does");
  size_t outputs = graph.outputs.size() - states;
  auto list = [&](StringRef name, size_t count) -> std::optional<SmallVector<int64_t>> {
    auto values = n.getInts(name).value_or(SmallVector<int64_t>(count, 0));
    return values.size() == count ? std::optional(values) : std::nullopt;
  };
  auto inputAxes = list("scan_input_axes", scanned),
       inputDirections = list(batched ? "directions" : "scan_input_directions", scanned);
  auto outputAxes = list("scan_output_axes", outputs), outputDirections = list("scan_output_directions", outputs);
  if (!inputAxes || !inputDirections || !outputAxes || !outputDirections)
    return n.malformed("needs one axis and direction per scan input and output");
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (n.has(i) && !n.type(i))
      return n.malformed("takes tensors, not sequences or optionals");
  for (size_t i = first; i < n.numInputs(); ++i)
    if (!n.has(i) || n.rank(i) < static_cast<int64_t>(first + (i >= first + states ? 1 : 0)))
      return n.malformed("input " + Twine(i) + " is left out, or has no axis to scan");
  AffineExpr trips, batch;
  for (int64_t i = 0; i < scanned; ++i) {
    size_t operand = first + states + i;
    auto axis = n.axis((*inputAxes)[i], n.rank(operand) - first);
    if (failed(axis))
      return failure();
    (*inputAxes)[i] = *axis;
    AffineExpr length = n.type(operand).getDim(first + *axis);
    if (trips && !n.assumeEqual(trips, length))
      return n.malformed("what it scans has several lengths: " + n.print(trips) + ", " + n.print(length));
    trips = trips ? trips : length;
  }
  for (size_t i = batched && !n.has(0) ? 1 : 0; batched && i < n.numInputs(); ++i) {
    batch = batch ? batch : n.type(first + states).getDim(0);
    if (n.rank(i) < 1 || !n.assumeEqual(n.type(i).getDim(0), batch))
      return n.malformed("input " + Twine(i) + " has not the batch's size " + n.print(batch));
  }
  if (batched && n.has(0) && (n.rank(0) != 1 || llvm::is_contained(*inputDirections, 1)))
    return n.unsupported("lengths for each element of the batch together with reverse directions");
  bool poisoned = false;
  Value lastTrip; // of this element of the batch; null: all the same
  SmallVector<Value> wholes;
  std::string wrong;
  auto step = [&](AffineExpr iteration, ArrayRef<Value> carried, SmallVectorImpl<Value> &results) {
    Scope inner;
    inner.parent = &scope;
    for (size_t i = 0; i < states; ++i)
      inner.values[graph.inputs[i].name] = computed(graph.inputs[i].name, carried[i]);
    for (int64_t i = 0; i < scanned; ++i) {
      Value whole = n.local(wholes[i]);
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
      if (i >= states && cast<GraphTensorType>(value.getType()).getRank() + first >= GraphTensorType::kMaxRank) {
        wrong = "scan output '" + graph.outputs[i].name + kTooManyDims;
        value = n.scalar(builder.getF32Type(), 0);
      }
      if (lastTrip && !poisoned && wrong.empty()) { // beyond the length: states stay, outputs are 0
        Type i64 = builder.getI64Type();
        Value runs = n.compare(graph::ComparePredicate::lt, n.dimension(iteration, i64), n.local(lastTrip));
        value = n.select(runs, value, i < states ? carried[i] : n.scalarLike(value, 0));
      }
      results.push_back(value);
    }
  };
  auto scan = [&](ArrayRef<Value> operands) {
    wholes.assign(operands.begin() + states, operands.end());
    return buildLoop(trips, operands.take_front(states), outputs, step, n);
  };
  auto scanElement = [&](AffineExpr element, ArrayRef<Value>, SmallVectorImpl<Value> &results) {
    auto part = [&](size_t i) {
      SmallVector<AffineExpr> starts(n.rank(i), n.dim(0)), sizes(n.type(i).getShape());
      starts[0] = element;
      sizes[0] = n.dim(1);
      return n.reshape(n.slice(n.in(i), starts, sizes), ArrayRef<AffineExpr>(sizes).drop_front());
    };
    if (n.has(0))
      lastTrip = n.cast(part(0), builder.getI64Type());
    SmallVector<Value> operands;
    for (size_t i = first; i < n.numInputs(); ++i)
      operands.push_back(part(i));
    results.append(scan(operands));
  };
  SmallVector<Value> values;
  if (batched) {
    values = buildLoop(batch, {}, states + outputs, scanElement, n);
  } else {
    for (size_t i = 0; i < n.numInputs(); ++i)
      values.push_back(n.in(i));
    values = scan(values);
  }
  if (poisoned || n.reported)
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
