// Walks an ONNX graph and builds the module.
//
// Only nodes that the outputs depend on are imported. Every ONNX value is an
// `Operand`; constants and shape arithmetic become operators on first use as
// data. A node that cannot be imported poisons its results; nodes that depend
// on poison are still checked against the rule table, so that one run lists
// every unsupported operator.
#include "compiler/import/Importer.h"
#include "compiler/import/BlockedWeights.h"
#include "compiler/import/Decoder.h"
#include "compiler/import/ImporterImpl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

/// Calls and subgraphs inside each other: what the importer's own recursion takes.
constexpr int kMaxDepth = 256;
/// Elements of one tensor: far beyond any memory, far from overflow.
constexpr int64_t kMaxElements = int64_t(1) << 44;
/// The size of an expression that a dimension of a result may be.
constexpr uint64_t kMaxDimensionSize = 1024;
/// The newest opset of ONNX's own domain that the rules were written for.
constexpr int64_t kNewestOpset = 26;

/// Beyond kMaxElements, or with a dimension beyond it beside one of 0.
static bool isHuge(GraphTensorType type, const graph::Symbols &symbols) {
  return symbols.upper(type.getNumElements()) > kMaxElements ||
         llvm::any_of(type.getShape(), [&](AffineExpr d) { return symbols.upper(d) > kMaxElements; });
}

Importer::Importer(Model &model, const ImportOptions &options, MLIRContext &context, Diagnostics &diagnostics,
                   ImportedModel &result)
    : model(model), options(options), context(context), diagnostics(diagnostics), result(result), builder(&context) {}

Location Importer::locationOf(const Node &node) {
  return NameLoc::get(builder.getStringAttr(node.label() + " (" + node.opType + ")"));
}

OperatorUse &Importer::use(const Node &node, int64_t opset) {
  for (OperatorUse &u : result.operators)
    if (u.domain == node.domain && u.opType == node.opType && u.version == opset)
      return u;
  result.operators.push_back({node.domain, node.opType, opset, 0, 0});
  return result.operators.back();
}

void Importer::reportUnsupported(const Node &node, int64_t opset, std::string types, std::string why) {
  ++use(node, opset).unsupported;
  diagnostics.report(
      UnsupportedNode{node.domain, node.opType, opset, node.label().str(), std::move(types), std::move(why)});
}

// Values.

Operand *Importer::newOperand(StringRef name) {
  operands.emplace_back();
  operands.back().name = name.str();
  return &operands.back();
}

Operand *Importer::Scope::find(StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->parent)
    if (auto it = scope->values.find(name); it != scope->values.end())
      return it->second;
  return nullptr;
}

const Known *Importer::known(Operand &operand) {
  if (!operand.known && operand.tensor)
    operand.known = knownOf(model, *operand.tensor, &context);
  return operand.known ? &*operand.known : nullptr;
}

Value Importer::weight(const Tensor &tensor, Location loc) {
  Type elementType = elementTypeOf(tensor.type, &context);
  SmallVector<AffineExpr> shape;
  for (int64_t d : tensor.dims)
    shape.push_back(builder.getAffineConstantExpr(d));
  int64_t file = tensor.file == Tensor::kInline ? model.files.size() : tensor.file;
  auto extent = graph::ExtentAttr::get(&context, file, tensor.offset, tensor.size, elementType, tensor.dims);
  return builder.create<graph::WeightOp>(loc, GraphTensorType::get(shape, elementType), tensor.name, extent,
                                         builder.getArrayAttr({}));
}

Value Importer::inlineWeight(ArrayRef<uint8_t> bytes, Type elementType, ArrayRef<int64_t> shape, StringRef name,
                             Location loc) {
  Tensor &tensor = tensors.emplace_back();
  tensor.name = name.str();
  assert((elementType.isF32() || elementType.isSignlessInteger(64)) && "other types have no bytes here");
  tensor.type = elementType.isF32() ? DataType::Float : DataType::Int64;
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.size = bytes.size();
  tensor.offset = model.inlineData->add(bytes);
  Operand operand;
  operand.tensor = &tensor;
  operand.type = GraphTensorType::get(
      llvm::map_to_vector(shape, [&](int64_t d) { return builder.getAffineConstantExpr(d); }), elementType);
  return makeSource(operand, loc); // not remembered: the operand lives only here
}

/// The element that all elements of a tensor of up to 4096 bytes equal.
static std::optional<ArrayRef<uint8_t>> splatOf(const Model &model, const Tensor &tensor) {
  ArrayRef<uint8_t> bytes = model.bytes(tensor);
  size_t width = bitsOf(tensor.type) / 8;
  if (bytes.empty() || bytes.size() > 4096)
    return std::nullopt;
  for (size_t i = width; i < bytes.size(); ++i)
    if (bytes[i] != bytes[i - width])
      return std::nullopt;
  return bytes.take_front(width);
}

Value Importer::materialise(Operand &operand, Location loc) {
  if (operand.value && operand.value.getParentBlock() == body)
    return operand.value;
  if (operand.value && !operand.tensor && !operand.known)
    return capture(*current, operand.value);
  if (Value known = current->made.lookup(&operand))
    return known;
  Value value = makeSource(operand, loc);
  return current->made[&operand] = value;
}

/// A constant, a weight, or dimensions as data.
Value Importer::makeSource(Operand &operand, Location loc) {
  if (operand.tensor) {
    const Tensor &tensor = *operand.tensor;
    Location at = NameLoc::get(builder.getStringAttr(tensor.name));
    Type elementType = operand.type.getElementType();
    if (const Known *small = known(operand))
      return builder.create<graph::ConstantOp>(at, denseOf(*small, elementType));
    if (auto splat = splatOf(model, tensor)) {
      Tensor one = tensor;
      one.dims.clear();
      one.size = splat->size();
      auto element = knownOf(model, one, &context);
      auto value = *denseOf(*element, elementType).getValues<Attribute>().begin();
      auto dense = DenseElementsAttr::get(RankedTensorType::get(tensor.dims, elementType), value);
      return builder.create<graph::ConstantOp>(at, dense);
    }
    return weight(tensor, at);
  }
  assert(operand.known && "a live operand has a source");
  Type elementType = operand.type.getElementType();
  if (operand.known->isConstant())
    return builder.create<graph::ConstantOp>(loc, denseOf(*operand.known, elementType));
  // Dimension expressions needed as data.
  auto values = operand.known->expressions();
  int64_t count = operand.known->elements.size();
  Value v = builder.create<graph::DimensionsOp>(
      loc, GraphTensorType::get({builder.getAffineConstantExpr(count)}, builder.getI64Type()),
      AffineMapAttr::get(graph::symbolMap(*values, &context)));
  if (operand.type.getRank() != 1)
    v = builder.create<graph::ReshapeOp>(loc, operand.type.withElementType(builder.getI64Type()), v);
  if (!elementType.isSignlessInteger(64))
    v = builder.create<graph::CastOp>(loc, v, elementType);
  return v;
}

// Inputs, symbols and initializers.

static bool isInitializer(const Graph &graph, StringRef name) {
  return llvm::any_of(graph.initializers, [&](const Tensor &t) { return t.name == name; });
}

static std::string symbolName(const ValueInfo &input, size_t axis) {
  const std::string &param = input.dims[axis].param;
  return param.empty() ? input.name + "_" + std::to_string(axis) : param;
}

/// Gives every dynamic dimension of the inputs its bounds.
bool Importer::declareSymbols() {
  llvm::StringSet<> initializers, used;
  for (const Tensor &t : model.graph.initializers)
    initializers.insert(t.name);
  std::string missing;
  for (const ValueInfo &input : model.graph.inputs) {
    if (initializers.count(input.name))
      continue;
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      const ValueInfo::Dim &d = input.dims[axis];
      if (d.value && *d.value >= 0)
        continue;
      std::string name = symbolName(input, axis);
      std::string where = "input '" + input.name + "' axis " + std::to_string(axis);
      auto it = llvm::find_if(result.dynamicDims, [&](const DynamicDim &dim) { return dim.name == name; });
      if (it != result.dynamicDims.end()) {
        it->where += ", " + where;
        continue;
      }
      DynamicDim dim{name, where, options.otherDims};
      if (auto given = options.dims.find(name); given != options.dims.end()) {
        dim.bounds = given->second;
        used.insert(name);
      }
      if (!dim.bounds) {
        // listed below, with all its places
      } else if (dim.bounds->lower < 0 || dim.bounds->upper < dim.bounds->lower ||
                 dim.bounds->upper > (int64_t(1) << 40) || dim.bounds->step < 1 ||
                 dim.bounds->lower % dim.bounds->step || dim.bounds->upper % dim.bounds->step) {
        diagnostics.report(Problem::Usage, "--dim " + name + "=" + Twine(dim.bounds->lower) + ".." +
                                               Twine(dim.bounds->upper) +
                                               ": bounds must be ordered, not negative, of a size "
                                               "that a tensor can have, and multiples of the step");
      } else if (dim.bounds->lower == dim.bounds->upper) {
        dimByName[name] = builder.getAffineConstantExpr(dim.bounds->lower);
      } else {
        int64_t step = dim.bounds->step;
        dimByName[name] = builder.getAffineSymbolExpr(symbolAttrs.size()) * step;
        symbolAttrs.push_back(graph::SymbolAttr::get(&context, builder.getStringAttr(name), dim.bounds->lower / step,
                                                     dim.bounds->upper / step, step, AffineMap()));
      }
      result.dynamicDims.push_back(dim);
    }
  }
  for (const DynamicDim &dim : result.dynamicDims)
    if (!dim.bounds)
      missing += "\n  --dim " + dim.name + "=LO..HI    (" + dim.where + ")";
  if (!missing.empty())
    diagnostics.report(Problem::Usage, "the model has dimensions without a fixed size; give each a size (--dim NAME=N) "
                                       "or bounds:" +
                                           missing);
  for (const auto &entry : options.dims)
    if (!used.count(entry.getKey()) && !sequenceInputs.count(entry.getKey())) {
      std::string names;
      for (const DynamicDim &dim : result.dynamicDims)
        names += (names.empty() ? "" : ", ") + dim.name;
      diagnostics.report(Problem::Usage,
                         "--dim " + entry.getKey() + ": the model has no dynamic dimension of that name" +
                             (names.empty() ? Twine("; all its sizes are fixed") : "; it has " + names));
    }
  if (symbolAttrs.size() > 64)
    diagnostics.report(Problem::Failed, "the model has " + Twine(symbolAttrs.size()) +
                                            " dynamic dimensions, more than 64; fix some of them with --dim NAME=N");
  symbols = graph::Symbols(symbolAttrs);
  return diagnostics.ok();
}

bool Importer::declareInitializers(const Graph &graph, Scope &scope) {
  for (const std::string &name : graph.sparseInitializers)
    diagnostics.report(Problem::Unsupported, "unsupported: sparse initializer '" + name +
                                                 "'; store it dense (onnx's external tools can convert it)");
  for (const Tensor &tensor : graph.initializers) {
    Operand *operand = newOperand(tensor.name);
    scope.values[tensor.name] = operand;
    Type elementType = tensor.strings ? Type() : elementTypeOf(tensor.type, &context);
    if (!elementType || tensor.dims.size() > GraphTensorType::kMaxRank)
      continue; // poison: reported where it is used
    SmallVector<AffineExpr> shape;
    for (int64_t d : tensor.dims)
      shape.push_back(builder.getAffineConstantExpr(d));
    auto type = GraphTensorType::get(shape, elementType);
    if (isHuge(type, symbols))
      continue;
    operand->tensor = &tensor;
    operand->type = type;
  }
  return diagnostics.ok();
}

bool Importer::addInputs(Scope &scope, func::FuncOp *function) {
  SmallVector<Type> types;
  SmallVector<StringRef> names;
  llvm::StringSet<> initializers;
  for (const Tensor &t : model.graph.initializers)
    initializers.insert(t.name);
  for (const ValueInfo &input : model.graph.inputs) {
    if (initializers.count(input.name))
      continue;
    Type elementType = elementTypeOf(input.type, &context);
    if (input.kind != ValueInfo::Kind::Tensor || !elementType) {
      std::string what = input.kind == ValueInfo::Kind::Tensor ? nameOf(input.type) + " elements" : "no tensor type";
      diagnostics.report(Problem::Unsupported, "unsupported: input '" + input.name + "' has " + what +
                                                   "; inputs must be dense tensors of numbers or booleans");
      continue;
    }
    if (!input.hasShape || input.dims.size() > GraphTensorType::kMaxRank) {
      diagnostics.report(Problem::Unsupported,
                         "unsupported: input '" + input.name + "' has " +
                             (input.hasShape ? "more than 8 dimensions; 8 are the most"
                                             : "no shape, not even its rank, in the model; give the size or bounds of "
                                               "every dimension: --dim " +
                                                   input.name + "_0=N --dim " + input.name + "_1=N …"));
      continue;
    }
    SmallVector<AffineExpr> shape;
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      const ValueInfo::Dim &d = input.dims[axis];
      shape.push_back(d.value && *d.value >= 0 ? builder.getAffineConstantExpr(*d.value)
                                               : dimByName[symbolName(input, axis)]);
    }
    if (isHuge(GraphTensorType::get(shape, elementType), symbols)) {
      diagnostics.report(Problem::Unsupported, "unsupported: input '" + input.name +
                                                   "' may be larger than any memory; "
                                                   "lower the bounds given by --dim");
      continue;
    }
    types.push_back(GraphTensorType::get(shape, elementType));
    names.push_back(input.name);
  }
  if (!diagnostics.ok())
    return false;
  auto type = builder.getFunctionType(types, {});
  *function = builder.create<func::FuncOp>(NameLoc::get(builder.getStringAttr(model.graph.name)), "main", type);
  main.function = *function;
  main.block = body = function->addEntryBlock();
  for (auto [i, name] : llvm::enumerate(names)) {
    function->setArgAttr(i, graph::kNameAttr, builder.getStringAttr(name));
    for (auto [number, state] : llvm::enumerate(options.states))
      if (state.first == name)
        function->setArgAttr(i, graph::kStateAttr, builder.getI64IntegerAttr(number));
    Operand *operand = newOperand(name);
    operand->value = body->getArgument(i);
    operand->type = cast<GraphTensorType>(types[i]);
    scope.values[name] = operand;
  }
  builder.setInsertionPointToEnd(body);
  return true;
}

// Nodes.

bool Importer::importConstant(const Node &node, Operand &operand) {
  Tensor &tensor = tensors.emplace_back();
  const NodeAttribute *a = node.attributes.empty() ? nullptr : &node.attributes.front();
  for (const NodeAttribute &candidate : node.attributes)
    if (StringRef(candidate.name).starts_with("value") || candidate.name == "sparse_value")
      a = &candidate;
  if (!a) {
    diagnostics.report(Problem::Malformed, "node '" + node.label() + "' (Constant) has no value");
    return false;
  }
  auto fill = [&](DataType type, std::vector<int64_t> dims, const void *data, size_t bytes) {
    tensor.type = type;
    tensor.dims = std::move(dims);
    tensor.size = bytes;
    tensor.offset = model.inlineData->add({static_cast<const uint8_t *>(data), bytes});
  };
  using Kind = NodeAttribute::Kind;
  int64_t count;
  switch (a->kind) {
  case Kind::Tensor:
    tensor = *a->tensor;
    break;
  case Kind::Float:
    fill(DataType::Float, {}, &a->f, 4);
    break;
  case Kind::Int:
    fill(DataType::Int64, {}, &a->i, 8);
    break;
  case Kind::Floats:
    count = a->floats.size();
    fill(DataType::Float, {count}, a->floats.data(), count * 4);
    break;
  case Kind::Ints:
    count = a->ints.size();
    fill(DataType::Int64, {count}, a->ints.data(), count * 8);
    break;
  default:
    reportUnsupported(node, model.opsets[node.domain], "", "its value is sparse or of strings");
    return false;
  }
  tensor.name = node.outputs.empty() ? node.name : node.outputs[0];
  Type elementType = tensor.strings ? Type() : elementTypeOf(tensor.type, &context);
  if (!elementType || tensor.dims.size() > GraphTensorType::kMaxRank) {
    reportUnsupported(node, model.opsets[node.domain], "",
                      "its value is of " + nameOf(tensor.type) + " or has more than 8 dimensions");
    return false;
  }
  SmallVector<AffineExpr> shape;
  for (int64_t d : tensor.dims)
    shape.push_back(builder.getAffineConstantExpr(d));
  auto type = GraphTensorType::get(shape, elementType);
  if (isHuge(type, symbols)) {
    reportUnsupported(node, model.opsets[node.domain], "", "its value has a dimension larger than any memory");
    return false;
  }
  operand.tensor = &tensor;
  operand.type = type;
  return true;
}

const Function *Importer::findFunction(const Node &node) const {
  for (const Function &function : model.functions)
    if (function.name == node.opType && function.domain == node.domain)
      return &function;
  return nullptr;
}

/// Fills a function body's attribute references from the call.
static void substitute(Node &node, const Node &call, const Function &function) {
  for (auto it = node.attributes.begin(); it != node.attributes.end();) {
    if (it->reference.empty()) {
      ++it;
      continue;
    }
    const NodeAttribute *given = call.find(it->reference);
    for (const NodeAttribute &fallback : function.defaults)
      if (!given && fallback.name == it->reference)
        given = &fallback;
    if (!given) {
      it = node.attributes.erase(it); // an optional attribute left out
      continue;
    }
    std::string name = it->name;
    *it = *given;
    it->name = name;
    ++it;
  }
}

LogicalResult Importer::importFunctionCall(const Node &node, const Function &function, Scope &scope,
                                           ArrayRef<Operand *> arguments, int depth) {
  Scope inner;
  for (auto [i, name] : llvm::enumerate(function.inputs))
    if (i < arguments.size() && arguments[i])
      inner.values[name] = arguments[i];
  std::vector<Node> nodes = function.nodes;
  for (Node &n : nodes)
    substitute(n, node, function);
  Opsets opsets = model.opsets;
  for (const auto &[domain, version] : function.opsets)
    opsets[domain] = version;
  importNodes(nodes, function.outputs, inner, opsets, depth + 1);
  for (auto [i, name] : llvm::enumerate(node.outputs)) {
    Operand *value = i < function.outputs.size() ? inner.find(function.outputs[i]) : nullptr;
    if (!name.empty())
      scope.values[name] = value ? value : newOperand(name);
  }
  return success();
}

/// Checks the operators a rule made, so that a wrong type is reported at its
/// ONNX node.
bool Importer::verifyNewOps(NodeContext &n, Operation *before) {
  Operation *op = before ? before->getNextNode() : body->empty() ? nullptr : &body->front();
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (text.empty())
      text = d.str();
    return success();
  });
  for (; op; op = op->getNextNode())
    if (failed(mlir::verify(op, /*verifyRecursively=*/false))) {
      (void)n.unsupported("these operands do not fit it: " + text);
      return false;
    }
  for (const Operand &operand : n.results)
    if (operand.type)
      for (auto [axis, d] : llvm::enumerate(operand.type.getShape()))
        if (sizeOf(d) > kMaxDimensionSize) {
          (void)n.unsupported("axis " + Twine(axis) +
                              " of a result depends on the sizes of the inputs in a way that is "
                              "too long to write down; give sizes in place of bounds: --dim NAME=N");
          return false;
        }
  for (const Operand &operand : n.results)
    if (operand.type && isHuge(operand.type, symbols)) {
      (void)n.unsupported("a result of shape " + print(operand.type) +
                          " is larger than any memory; lower the bounds "
                          "given by --dim");
      return false;
    }
  for (const Operand &operand : n.results)
    if (operand.type)
      for (AffineExpr d : operand.type.getShape())
        if (symbols.range(d).lower < 0 && !isa<AffineConstantExpr>(d)) {
          graph::Range r = symbols.range(d);
          (void)n.unsupported("a result dimension, " + print(d) + ", would be negative for small inputs (" +
                              Twine(r.lower) + "); raise the lower bounds of --dim");
          return false;
        }
  return true;
}

void Importer::importNode(const Node &node, Scope &scope, const Opsets &opsets, int depth) {
  auto opsetIt = opsets.find(node.domain);
  int64_t opset = opsetIt == opsets.end() ? 0 : opsetIt->second;
  ++use(node, opset).count;

  bool poisoned = false;
  SmallVector<Operand *> arguments;
  for (const std::string &name : node.inputs) {
    Operand *operand = name.empty() ? nullptr : scope.find(name);
    if (!name.empty() && !operand) {
      diagnostics.report(Problem::Malformed, "node '" + node.label() + "' (" + node.opType + ") reads '" + name +
                                                 "', which nothing before it makes; the model's nodes must be sorted");
      operand = newOperand(name);
    }
    poisoned |= operand && operand->poison();
    arguments.push_back(operand);
  }
  auto poison = [&] {
    for (const std::string &name : node.outputs)
      if (!name.empty())
        scope.values[name] = newOperand(name);
  };
  for (const std::string &name : node.outputs)
    if (!name.empty() && scope.values.count(name))
      diagnostics.report(Problem::Malformed, "node '" + node.label() + "' (" + node.opType + ") makes '" + name +
                                                 "', which is an input, an initializer, or another node's result; "
                                                 "each value has one name of its own");

  if (const Function *function = findFunction(node)) {
    if (llvm::is_contained(calling, function)) {
      diagnostics.report(Problem::Malformed, "function '" + function->name + "' calls itself");
      return poison();
    }
    calling.push_back(function);
    if (depth > kMaxDepth)
      diagnostics.report(Problem::Unsupported,
                         "unsupported: function '" + function->name + "' is called from too deep");
    else
      (void)importFunctionCall(node, *function, scope, arguments, depth);
    calling.pop_back();
    if (depth > kMaxDepth)
      poison();
    return;
  }
  NodeContext n(*this, node, opset, arguments);
  if (node.domain.empty() && node.opType == "Constant") {
    Operand *operand = newOperand(node.outputs.empty() ? "" : node.outputs[0]);
    (void)importConstant(node, *operand);
    if (!operand->name.empty())
      scope.values[operand->name] = operand;
    return;
  }
  ControlFlow import = controlFlow(node) ? controlFlow(node) : sequences(node);
  if (import) {
    if (depth > kMaxDepth)
      (void)n.unsupported("is nested too deeply");
    else if (!poisoned && succeeded((this->*import)(n, scope, opsets, depth)))
      return;
    return poison();
  }
  const RuleTable::Entry *entry = RuleTable::all().find(node.domain, node.opType);
  if (!entry) {
    bool own = node.domain.empty() || opsetIt != opsets.end();
    (void)n.unsupported(own ? "this operator is not supported" : "its domain is not in the model's opset_import");
    return poison();
  }
  if (poisoned) {
    for (auto [i, operand] : llvm::enumerate(arguments))
      if (operand && !operand->type && scope.find(node.inputs[i]) == operand &&
          isInitializer(model.graph, node.inputs[i])) {
        (void)n.unsupported("constant '" + node.inputs[i] + "' is of a type, rank or size that is not supported");
        break;
      }
    return poison();
  }
  bool takesLists = llvm::any_of(arguments, [](Operand *o) { return o && !o->type; });
  if (takesLists && node.opType == "Identity" && node.outputs.size() == 1) {
    scope.values[node.outputs[0]] = arguments[0];
    return;
  }
  if (takesLists) {
    (void)n.malformed("takes tensors, not sequences or optionals");
    return poison();
  }
  if (arguments.size() < entry->minInputs ||
      llvm::any_of(ArrayRef<Operand *>(arguments).take_front(entry->minInputs), [](Operand *o) { return !o; })) {
    (void)n.malformed("needs " + Twine(entry->minInputs) + " inputs");
    return poison();
  }
  if (opset > kNewestOpset && node.domain.empty()) {
    (void)n.unsupported("opset " + Twine(opset) + " is newer than this compiler knows (" + Twine(kNewestOpset) + ")");
    return poison();
  }

  Operation *before = body->empty() ? nullptr : &body->back();
  if (failed(n.checkAttributes()))
    return poison();
  LogicalResult imported = foldShapeArithmetic(n) ? success() : entry->rule(n);
  if (succeeded(imported) && n.reported)
    imported = failure(); // a builder said why
  if (succeeded(imported) && !n.misread.empty())
    imported = n.malformed(n.misread);
  if (succeeded(imported) && !n.done())
    imported = n.unsupported("one of its optional results is not supported");
  if (succeeded(imported) && !verifyNewOps(n, before))
    imported = failure();
  if (failed(imported)) {
    assert(n.reported && "a rule fails with a reason");
    return poison();
  }
  for (auto [i, name] : llvm::enumerate(node.outputs)) {
    if (name.empty())
      continue;
    Operand *operand = newOperand(name);
    *operand = std::move(n.results[i]);
    operand->name = name;
    scope.values[name] = operand;
  }
}

/// Adds the names that a subgraph takes from outside.
static void addCaptures(const Graph &graph, llvm::StringSet<> &needed) {
  for (const Node &node : graph.nodes) {
    for (const std::string &name : node.inputs)
      needed.insert(name);
    for (const NodeAttribute &a : node.attributes)
      if (a.graph)
        addCaptures(*a.graph, needed);
  }
  for (const ValueInfo &output : graph.outputs)
    needed.insert(output.name);
}

void Importer::importNodes(ArrayRef<Node> nodes, ArrayRef<std::string> outputs, Scope &scope, const Opsets &opsets,
                           int depth) {
  llvm::StringSet<> needed;
  for (const std::string &name : outputs)
    needed.insert(name);
  std::vector<bool> live(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    live[i] = llvm::any_of(nodes[i].outputs, [&](const std::string &o) { return !o.empty() && needed.count(o); });
    if (!live[i])
      continue;
    for (const std::string &name : nodes[i].inputs)
      needed.insert(name);
    for (const NodeAttribute &a : nodes[i].attributes)
      if (a.graph)
        addCaptures(*a.graph, needed);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (live[i])
      importNode(nodes[i], scope, opsets, depth);
}

void Importer::run() {
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  if (!checkNames() || !expandSequenceInputs() || !declareSymbols())
    return;
  OwningOpRef<ModuleOp> owned = ModuleOp::create(NameLoc::get(builder.getStringAttr(model.graph.name)));
  module = *owned;
  builder.setInsertionPointToEnd(module.getBody());
  publishSymbols();
  Scope scope;
  func::FuncOp function;
  if (!declareInitializers(model.graph, scope) || !addInputs(scope, &function))
    return;
  for (const auto &entry : sequenceInputs) {
    Operand::List elements;
    for (int64_t i = 0; i < entry.getValue(); ++i)
      elements.push_back(scope.find((entry.getKey() + "." + Twine(i)).str()));
    scope.values[entry.getKey()] = listOf(entry.getKey(), std::move(elements));
  }
  std::vector<std::string> outputs;
  for (const ValueInfo &output : model.graph.outputs)
    outputs.push_back(output.name);
  if (outputs.empty())
    diagnostics.report(Problem::Malformed, "the model has no outputs");
  importNodes(model.graph.nodes, outputs, scope, model.opsets, 0);

  for (const auto &entry : options.bounds)
    if (!usedBounds.count(entry.getKey().str()) && diagnostics.ok())
      diagnostics.report(Problem::Usage, "--bound " + entry.getKey() +
                                             ": the model has no such value with a dimension that is known only "
                                             "while it runs (or nothing that is asked for depends on it)");

  // Results, and the function's final type.
  SmallVector<Value> results;
  std::vector<std::string> names;
  for (const ValueInfo &output : model.graph.outputs) {
    Operand *operand = scope.find(output.name);
    if (operand && operand->list && diagnostics.ok()) {
      for (auto [i, element] : llvm::enumerate(*operand->list))
        if (element->type) {
          results.push_back(materialise(*element, NameLoc::get(builder.getStringAttr(output.name))));
          names.push_back(output.name + "." + std::to_string(i));
        } else {
          diagnostics.report(Problem::Unsupported,
                             "unsupported: output '" + output.name + "' is a sequence of something else than tensors");
        }
      continue;
    }
    if (operand && operand->sequence && diagnostics.ok()) {
      auto [data, shapes] = sequenceOutput(*operand, NameLoc::get(builder.getStringAttr(output.name)));
      results.append({data, shapes});
      names.push_back(output.name + ".data");
      names.push_back(output.name + ".shapes");
      continue;
    }
    names.push_back(output.name);
    if (!operand)
      diagnostics.report(Problem::Malformed, "nothing makes the model's output '" + output.name + "'");
    else if (Type declared = elementTypeOf(output.type, &context);
             operand->type && declared && declared != operand->type.getElementType())
      diagnostics.report(Problem::Malformed, "output '" + output.name + "' is declared as " + nameOf(output.type) +
                                                 ", but what makes it gives " + print(operand->type));
    else if (operand->type && diagnostics.ok())
      results.push_back(materialise(*operand, NameLoc::get(builder.getStringAttr(output.name))));
    else if (!operand->type && diagnostics.ok())
      diagnostics.report(Problem::Unsupported, "unsupported: the type of output '" + output.name + "'");
  }
  if (!diagnostics.ok())
    return;
  if (!checkStates(function, results, names))
    return;
  builder.create<func::ReturnOp>(function.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, graph::kNameAttr, builder.getStringAttr(name));
  for (auto [number, state] : llvm::enumerate(options.states))
    for (auto [i, name] : llvm::enumerate(names))
      if (name == state.second)
        function.setResultAttr(i, graph::kStateAttr, builder.getI64IntegerAttr(number));

  // What only shapes depended on.
  eraseDead(*body);
  SmallVector<Attribute> files;
  for (const Model::File &file : model.files)
    files.push_back(builder.getStringAttr(file.path));
  files.push_back(builder.getStringAttr(InlineData::kPath));
  module->setAttr(graph::kFilesAttr, builder.getArrayAttr(files));

  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    text += (text.empty() ? "" : "; ") + d.str();
    return success();
  });
  if (failed(mlir::verify(module))) {
    diagnostics.report(Problem::Failed, "the imported model does not verify (a bug of the compiler): " + text);
    return;
  }
  result.module = std::move(owned);
}

ImportedModel stint::import::importAsItIs(Model &model, const ImportOptions &options, MLIRContext &context,
                                          Diagnostics &diagnostics) {
  ImportedModel result;
  Importer(model, options, context, diagnostics, result).run();
  result.inlineData = std::move(model.inlineData);
  model.inlineData = std::make_unique<InlineData>();
  return result;
}

ImportedModel stint::import::importModel(Model &model, const ImportOptions &options, MLIRContext &context,
                                         Diagnostics &diagnostics) {
  packBlockedWeights(model);
  bool isDecoder = !options.decoder.plain && hasPast(model);
  return (isDecoder ? importDecoder : importAsItIs)(model, options, context, diagnostics);
}

ImportedModel stint::import::importFile(StringRef path, const ImportOptions &options, MLIRContext &context,
                                        Diagnostics &diagnostics) {
  std::unique_ptr<Model> model = readModel(path, diagnostics);
  for (const auto &entry : options.constants)
    if (model && !addConstant(*model, entry.getKey(), entry.getValue(), diagnostics))
      return {};
  return model ? importModel(*model, options, context, diagnostics) : ImportedModel();
}
