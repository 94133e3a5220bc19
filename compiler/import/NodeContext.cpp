// Short-hands of the import rules.
#include "compiler/import/NodeContext.h"
#include "compiler/import/ImporterImpl.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

NodeContext::NodeContext(Importer &importer, const Node &node, int64_t opset, SmallVector<Operand *> operands)
    : node(node), opset(opset), b(importer.builder), symbols(importer.symbols), loc(importer.locationOf(node)),
      importer(importer), operands(std::move(operands)), results(node.outputs.size()) {}

Value NodeContext::in(size_t i) { return importer.materialise(*operands[i], loc); }
const Known *NodeContext::known(size_t i) const { return has(i) ? importer.known(*operands[i]) : nullptr; }
const Model &NodeContext::model() const { return importer.model; }

// Attributes.

const NodeAttribute *NodeContext::attributeOf(StringRef name, NodeAttribute::Kind kind, StringRef kindName) const {
  const NodeAttribute *a = attribute(name);
  if (!a || a->kind == kind || a->kind == NodeAttribute::Kind::Undefined)
    return a;
  misread = ("attribute '" + name + "' must be " + kindName).str();
  return nullptr;
}

static bool isModest(int64_t value) { return value >= -kMostInteger && value <= kMostInteger; }

int64_t NodeContext::getInt(StringRef name, int64_t otherwise) const {
  const NodeAttribute *a = attributeOf(name, NodeAttribute::Kind::Int, "an integer");
  if (a && !isModest(a->i))
    misread = ("attribute '" + name + "' = " + Twine(a->i) + " is out of range").str();
  return a && isModest(a->i) ? a->i : otherwise;
}
float NodeContext::getFloat(StringRef name, float otherwise) const {
  const NodeAttribute *a = attributeOf(name, NodeAttribute::Kind::Float, "a number");
  return a ? a->f : otherwise;
}
std::string NodeContext::getString(StringRef name, StringRef otherwise) const {
  const NodeAttribute *a = attributeOf(name, NodeAttribute::Kind::String, "a string");
  return a ? a->s : otherwise.str();
}
std::optional<SmallVector<int64_t>> NodeContext::getInts(StringRef name) const {
  const NodeAttribute *a = attributeOf(name, NodeAttribute::Kind::Ints, "a list of integers");
  if (!a)
    return std::nullopt;
  SmallVector<int64_t> values(a->ints.begin(), a->ints.end());
  for (int64_t &value : values)
    if (!isModest(value)) {
      misread = ("attribute '" + name + "' holds " + Twine(value) + ", which is out of range").str();
      value = 0;
    }
  return values;
}

FailureOr<std::optional<SmallVector<int64_t>>> NodeContext::getIntsOrInput(StringRef name, size_t input) {
  if (!has(input))
    return getInts(name);
  const Known *k = known(input);
  auto values = k ? k->integers() : std::nullopt;
  if (!values)
    return unsupported("'" + name + "' (input " + Twine(input) +
                       ") is computed while the model runs; it must be constant");
  for (int64_t value : *values)
    if (!isModest(value))
      return malformed("'" + name + "' (input " + Twine(input) + ") holds " + Twine(value) + ", which is out of range");
  return values;
}

FailureOr<int64_t> NodeContext::axis(int64_t value, int64_t rank) {
  if (value < -rank || value >= rank)
    return malformed("axis " + Twine(value) + " does not exist in a tensor of rank " + Twine(rank));
  return value < 0 ? value + rank : value;
}

FailureOr<SmallVector<int64_t>> NodeContext::axes(ArrayRef<int64_t> values, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t value : values) {
    auto one = axis(value, rank);
    if (failed(one))
      return failure();
    result.push_back(*one);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return malformed("names an axis twice");
  return result;
}

// Results.

void NodeContext::out(size_t i, Value value) {
  if (!wants(i))
    return;
  results[i].value = value;
  results[i].type = typeOf(value);
}

void NodeContext::outKnown(size_t i, Type elementType, Known known) {
  if (!wants(i))
    return;
  SmallVector<AffineExpr> shape;
  for (int64_t d : known.shape)
    shape.push_back(dim(d));
  if (!exists(shape))
    return;
  results[i].type = GraphTensorType::get(shape, elementType);
  results[i].known = std::move(known);
}

void NodeContext::forward(size_t i, size_t input) {
  if (!wants(i))
    return;
  std::string name = results[i].name;
  results[i] = *operands[input];
}

bool NodeContext::done() const {
  for (size_t i = 0; i < results.size(); ++i)
    if (wants(i) && !results[i].type)
      return false;
  return true;
}

LogicalResult NodeContext::checkAttributes() {
  static const llvm::StringMap<StringRef> table = [] {
    llvm::StringMap<StringRef> t;
#define STINT_ATTRIBUTES(domain, op, names) t[domain "." op] = names;
#include "compiler/import/Attributes.def"
    return t;
  }();
  auto entry = table.find(node.domain + "." + node.opType);
  if (entry == table.end())
    return success();
  SmallVector<StringRef> names;
  entry->second.split(names, ' ', -1, /*KeepEmpty=*/false);
  for (const NodeAttribute &a : node.attributes)
    if (!llvm::is_contained(names, a.name))
      return malformed("it has no attribute '" + a.name + "'" +
                       (names.empty() ? Twine() : "; those it has are " + llvm::join(names, ", ")));
  return success();
}

LogicalResult NodeContext::unsupported(const Twine &why) {
  if (!reported)
    importer.reportUnsupported(node, opset, operandTypes(), why.str());
  reported = true;
  return failure();
}

LogicalResult NodeContext::malformed(const Twine &why) {
  if (!reported)
    importer.diagnostics.report(Problem::Malformed,
                                "node '" + node.label() + "' (" + node.opType +
                                    "): " + (misread.empty() ? why : Twine(misread)) + "; operands: " + operandTypes(),
                                /*aboutOperands=*/true);
  reported = true;
  return failure();
}

bool NodeContext::broadcast(ArrayRef<Value> values) {
  SmallVector<AffineExpr> shape;
  for (Value value : values) {
    auto joined = graph::broadcastShapes(shape, typeOf(value).getShape());
    if (!joined) {
      (void)malformed("values of " + print(typeOf(values.front())) + " and " + print(typeOf(value)) +
                      " do not broadcast");
      return false;
    }
    shape = *joined;
  }
  return true;
}

// Printing.

// With the dimensions' names in place of symbols.
std::string Importer::print(AffineExpr expr) const {
  if (auto symbol = symbols.dimensionOf(expr))
    return symbols[*symbol].getName().str();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()].getName().str() + " / " +
           std::to_string(symbols[symbol.getPosition()].getStep());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << expr;
    return text;
  }
  auto side = [&](AffineExpr e) {
    std::string text = print(e);
    return isa<AffineBinaryOpExpr>(e) && !symbols.dimensionOf(e) ? "(" + text + ")" : text;
  };
  std::string left = side(binary.getLHS());
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    if (constant && constant.getValue() < 0)
      return left + " - " + std::to_string(-constant.getValue());
    return left + " + " + side(binary.getRHS());
  case AffineExprKind::Mul:
    return left + " * " + side(binary.getRHS());
  case AffineExprKind::FloorDiv:
    return left + " floordiv " + side(binary.getRHS());
  case AffineExprKind::CeilDiv:
    return left + " ceildiv " + side(binary.getRHS());
  default:
    return left + " mod " + side(binary.getRHS());
  }
}

std::string Importer::print(GraphTensorType type) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.getElementType() << "[";
  llvm::interleaveComma(type.getShape(), os, [&](AffineExpr d) { os << print(d); });
  os << "]";
  return text;
}

std::string NodeContext::print(AffineExpr expr) const { return importer.print(expr); }
std::string NodeContext::print(GraphTensorType type) const { return importer.print(type); }

std::string NodeContext::operandTypes() const {
  std::string text;
  for (const Operand *operand : operands) {
    text += text.empty() ? "" : ", ";
    text += !operand                             ? "none"
            : operand->list || operand->sequence ? "a sequence"
            : operand->optional || operand->none ? "an optional"
            : !operand->type                     ? "unknown"
                                                 : print(operand->type);
  }
  return text;
}

// Builders.

Value NodeContext::local(Value value) { return importer.capture(*importer.current, value); }

SmallVector<Value> NodeContext::loop(AffineExpr trips, ArrayRef<Value> inits, size_t scans, LoopStep step) {
  return importer.buildLoop(trips, inits, scans, step, *this);
}

AffineExpr NodeContext::dataDependent(Value count, AffineExpr most, size_t result, int64_t axis) {
  StringRef name = wants(result) ? StringRef(node.outputs[result]) : node.label();
  return importer.dataDependent(count, most, name, axis, loc);
}

AffineExpr NodeContext::measured(Value count, AffineExpr most, graph::Range limits, size_t result, int64_t axis,
                                 StringRef suffix) {
  StringRef name = wants(result) ? StringRef(node.outputs[result]) : node.label();
  if (suffix.empty())
    if (auto bound = importer.boundOf(name, axis))
      limits.upper = std::max(limits.lower, std::min(limits.upper, *bound));
  return importer.measured(count, most, limits, (name + suffix + "." + Twine(axis)).str(), loc);
}

void NodeContext::require(Value condition, const Twine &what) { importer.requireTrue(condition, what, node, loc); }

Value NodeContext::constant(const Known &known, Type elementType) {
  return make<graph::ConstantOp>(denseOf(known, elementType));
}

Value NodeContext::scalar(Type elementType, double value) {
  Known known;
  known.elements.push_back(Scalar::of(value, context()));
  return constant(known, elementType);
}

Value NodeContext::weightF32(ArrayRef<float> values, ArrayRef<int64_t> shape, StringRef name) {
  ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(values.data()), values.size() * 4);
  return importer.inlineWeight(bytes, b.getF32Type(), shape, name, loc);
}

Value NodeContext::weightI64(ArrayRef<int64_t> values, ArrayRef<int64_t> shape, StringRef name) {
  ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(values.data()), values.size() * 8);
  return importer.inlineWeight(bytes, b.getI64Type(), shape, name, loc);
}

Value NodeContext::cast(Value x, Type elementType) {
  return typeOf(x).getElementType() == elementType ? x : make<graph::CastOp>(x, elementType);
}

Value NodeContext::reduce(graph::ReduceKind kind, Value x, ArrayRef<int64_t> axes) {
  return make<graph::ReduceOp>(kind, x, axes);
}

bool NodeContext::exists(ArrayRef<AffineExpr> shape) {
  if (static_cast<int64_t>(shape.size()) > GraphTensorType::kMaxRank)
    return (void)unsupported("it makes a tensor of " + Twine(shape.size()) + " dimensions; 8 is the most"), false;
  for (AffineExpr size : shape)
    if (auto constant = dyn_cast<AffineConstantExpr>(size); constant && constant.getValue() < 0)
      return (void)malformed("it makes a tensor with a dimension of " + Twine(constant.getValue())), false;
  return true;
}

Value NodeContext::reshape(Value x, ArrayRef<AffineExpr> shape) {
  if (!exists(shape))
    return x;
  GraphTensorType type = typeOf(x).withShape(shape);
  if (type == x.getType())
    return x;
  if (type.hasStaticShape()) {
    auto dims = type.getStaticShape();
    if (auto weight = x.getDefiningOp<graph::WeightOp>()) {
      SmallVector<Attribute> steps(weight.getSteps().begin(), weight.getSteps().end());
      steps.push_back(graph::StepAttr::get(context(), "reshape", dims));
      return make<graph::WeightOp>(type, weight.getName(), weight.getExtent(), b.getArrayAttr(steps));
    }
    if (auto constant = x.getDefiningOp<graph::ConstantOp>())
      if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
        return make<graph::ConstantOp>(dense.reshape(RankedTensorType::get(dims, type.getElementType())));
  }
  return make<graph::ReshapeOp>(type, x);
}

Value NodeContext::transpose(Value x, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return x;
  if (auto weight = x.getDefiningOp<graph::WeightOp>()) {
    SmallVector<AffineExpr> shape;
    for (int64_t d : permutation)
      shape.push_back(typeOf(x).getDim(d));
    SmallVector<Attribute> steps(weight.getSteps().begin(), weight.getSteps().end());
    steps.push_back(graph::StepAttr::get(context(), "transpose", permutation));
    return make<graph::WeightOp>(typeOf(x).withShape(shape), weight.getName(), weight.getExtent(),
                                 b.getArrayAttr(steps));
  }
  return make<graph::TransposeOp>(x, permutation);
}

Value NodeContext::broadcast(Value x, ArrayRef<AffineExpr> shape) {
  if (!exists(shape))
    return x;
  GraphTensorType type = typeOf(x).withShape(shape);
  return type == x.getType() ? x : make<graph::BroadcastOp>(type, x);
}

Value NodeContext::slice(Value x, ArrayRef<AffineExpr> starts, ArrayRef<AffineExpr> sizes, ArrayRef<int64_t> steps) {
  if (!exists(sizes))
    return x;
  SmallVector<int64_t> ones(starts.size(), 1);
  return make<graph::SliceOp>(typeOf(x).withShape(sizes), x, AffineMapAttr::get(graph::symbolMap(starts, context())),
                              b.getDenseI64ArrayAttr(steps.empty() ? ArrayRef<int64_t>(ones) : steps));
}

Value NodeContext::iota(ArrayRef<AffineExpr> shape, int64_t axis) {
  if (!exists(shape))
    return scalar(b.getI64Type(), 0);
  return make<graph::IotaOp>(GraphTensorType::get(shape, b.getI64Type()), axis);
}

ResultRange NodeContext::leaf(StringRef name, ValueRange inputs, ArrayRef<GraphTensorType> results,
                              ArrayRef<int64_t> params, ArrayRef<float> fparams, int64_t leading) {
  SmallVector<Type> types(results.begin(), results.end());
  return b.create<graph::LeafOp>(loc, types, name, inputs, params, fparams, leading).getOutputs();
}

FailureOr<AffineExpr> NodeContext::boundedSize(Value count, size_t result, int64_t axis) {
  std::string name = node.outputs[result] + "." + std::to_string(axis);
  auto bound = importer.boundOf(node.outputs[result], axis);
  if (bound)
    return dataDependent(count, dim(*bound), result, axis);
  if (!reported)
    importer.diagnostics.report(Problem::Usage, "node '" + node.label() + "' (" + node.opType +
                                                    "): the size of its result depends on values and nothing bounds "
                                                    "it; give a bound: --bound " +
                                                    name + "=N");
  reported = true;
  return failure();
}

Value NodeContext::dimension(AffineExpr expr, Type elementType) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return scalar(elementType, static_cast<double>(constant.getValue()));
  Value v = make<graph::DimensionsOp>(GraphTensorType::get({dim(1)}, b.getI64Type()),
                                      AffineMapAttr::get(graph::symbolMap({expr}, context())));
  return cast(reshape(v, {}), elementType);
}

bool NodeContext::assumeEqual(AffineExpr x, AffineExpr y) {
  std::optional<bool> equal = symbols.equal(x, y);
  if (!equal)
    importer.require(x, y, print(x) + " to equal " + print(y), node, loc);
  return equal != false;
}

/// 0 where `expr` is not negative, negative where it is.
static AffineExpr signOf(AffineExpr expr) { return expr.floorDiv(int64_t(1) << 60); }

bool NodeContext::assumeAtMost(AffineExpr x, AffineExpr y) {
  std::optional<bool> atMost = symbols.lessEqual(x, y);
  if (!atMost)
    importer.require(signOf(simplify(y - x)), dim(0), print(x) + " to be at most " + print(y), node, loc);
  return atMost != false;
}

bool NodeContext::atLeast(AffineExpr &size, int64_t least, const Twine &what) {
  size = simplify(size);
  graph::Range range = symbols.range(size);
  if (range.lower >= least)
    return true;
  std::string text = (what + (isa<AffineConstantExpr>(size) ? Twine() : " (" + print(size) + ")")).str();
  if (range.upper < least)
    return (void)malformed(text + " is " + (isa<AffineConstantExpr>(size) ? print(size) + ", " : "") + "less than " +
                           Twine(least)),
           false;
  importer.require(signOf(simplify(size - least)), dim(0), text + " to be " + Twine(least) + " or more", node, loc);
  std::string name = (node.label() + ": " + what).str();
  size = importer.measured(dimension(size, b.getI64Type()), size, {least, range.upper}, name, loc);
  return true;
}

LogicalResult NodeContext::unify(MutableArrayRef<Value> values) {
  int64_t rank = 0;
  for (Value v : values)
    rank = std::max(rank, typeOf(v).getRank());
  SmallVector<AffineExpr> joined(rank, dim(1));
  for (Value &v : values) {
    SmallVector<AffineExpr> shape(typeOf(v).getShape());
    int64_t shift = rank - shape.size();
    for (auto [i, d] : llvm::enumerate(shape)) {
      AffineExpr &other = joined[shift + i];
      if (d == other || d == 1)
        continue;
      if (other == 1) {
        other = d;
      } else if (assumeEqual(d, other)) {
        shape[i] = other;
      } else {
        return malformed("dimensions " + print(d) + " and " + print(other) + " do not broadcast");
      }
    }
    v = reshape(v, shape);
  }
  return success();
}

// RuleTable.

void RuleTable::add(StringRef opType, unsigned minInputs, Rule rule, StringRef domain) {
  entries[(domain + "." + opType).str()] = {rule, minInputs};
}

const RuleTable::Entry *RuleTable::find(StringRef domain, StringRef opType) const {
  auto it = entries.find((domain + "." + opType).str());
  return it == entries.end() ? nullptr : &it->second;
}

const RuleTable &RuleTable::all() {
  static const RuleTable table = [] {
    RuleTable t;
    addActivations(t);
    addAttentions(t);
    addBlockQuantisations(t);
    addContractions(t);
    addEinsum(t);
    addElementwise(t);
    addIntegerContractions(t);
    addLosses(t);
    addMovements(t);
    addSlicings(t);
    addNormalisations(t);
    addPagedAttentions(t);
    addPoolings(t);
    addQuantisations(t);
    addRandoms(t);
    addReductions(t);
    addRecurrent(t);
    addResizes(t);
    addSignals(t);
    addTraining(t);
    addSamplings(t);
    addScatters(t);
    addSelections(t);
    addSortings(t);
    addTexts(t);
    return t;
  }();
  return table;
}
