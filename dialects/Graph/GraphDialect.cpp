// Types, attributes and shared shape rules of the graph dialect.
#include "dialects/Graph/GraphDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stint::graph;

#include "dialects/Graph/GraphDialect.cpp.inc"
#include "dialects/Graph/GraphEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Graph/GraphTypes.cpp.inc"

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Graph/GraphTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Graph/GraphAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/GraphOps.cpp.inc"
      >();
}

// Element types.

bool stint::graph::isFloat(Type type) { return type.isF16() || type.isBF16() || type.isF32() || type.isF64(); }
bool stint::graph::isBool(Type type) { return type.isSignlessInteger(1); }
bool stint::graph::isInteger(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && !integer.isSigned() && llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth());
}
bool stint::graph::isNumber(Type type) { return isFloat(type) || isInteger(type); }
bool stint::graph::isIndex(Type type) { return type.isSignlessInteger(32) || type.isSignlessInteger(64); }
int64_t stint::graph::elementBytes(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

// GraphTensorType.

std::optional<int64_t> GraphTensorType::getStaticDim(int64_t i) const {
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(getDim(i)))
    return constant.getValue();
  return std::nullopt;
}

bool GraphTensorType::hasStaticShape() const {
  return llvm::all_of(getShape(), [](AffineExpr dim) { return llvm::isa<AffineConstantExpr>(dim); });
}

SmallVector<int64_t> GraphTensorType::getStaticShape() const {
  return llvm::map_to_vector(getShape(), [](AffineExpr dim) { return llvm::cast<AffineConstantExpr>(dim).getValue(); });
}

AffineExpr GraphTensorType::getNumElements() const {
  AffineExpr product = getAffineConstantExpr(1, getContext());
  for (AffineExpr dim : getShape())
    product = product * dim;
  return product;
}

SmallVector<int64_t> GraphTensorType::getOrder() const {
  if (getLayout())
    return SmallVector<int64_t>(getLayout().getOrder());
  return llvm::to_vector(llvm::seq<int64_t>(0, getRank()));
}

GraphTensorType GraphTensorType::withShape(ArrayRef<AffineExpr> shape) const { return get(shape, getElementType()); }
GraphTensorType GraphTensorType::withElementType(Type type) const { return get(getShape(), type, getLayout()); }
GraphTensorType GraphTensorType::withLayout(LayoutAttr layout) const {
  if (layout && !layout.isTiled() && llvm::equal(layout.getOrder(), llvm::seq<int64_t>(0, getRank())))
    layout = {};
  return get(getShape(), getElementType(), layout);
}

LogicalResult GraphTensorType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<AffineExpr> shape,
                                      Type elementType, LayoutAttr layout) {
  if (!isNumber(elementType) && !isBool(elementType))
    return emitError() << "element type " << elementType << " is not one of a graph tensor";
  if (static_cast<int64_t>(shape.size()) > kMaxRank)
    return emitError() << "rank " << shape.size() << " is above " << kMaxRank;
  for (AffineExpr dim : shape) {
    if (auto constant = llvm::dyn_cast<AffineConstantExpr>(dim); constant && constant.getValue() < 0)
      return emitError() << "dimension " << constant.getValue() << " is negative";
    if (dim.walk([](AffineExpr e) {
             return llvm::isa<AffineDimExpr>(e) ? WalkResult::interrupt() : WalkResult::advance();
           })
            .wasInterrupted())
      return emitError() << "a dimension may refer to symbols only";
  }
  if (layout && layout.getOrder().size() != shape.size())
    return emitError() << "layout orders " << layout.getOrder().size() << " dimensions of a rank-" << shape.size()
                       << " tensor";
  return success();
}

/// Symbol names s0 … s63 for the parser.
static SmallVector<std::pair<StringRef, AffineExpr>> symbolNames(MLIRContext *context) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (int i = 0; i < 64; ++i)
      result.push_back("s" + std::to_string(i));
    return result;
  }();
  SmallVector<std::pair<StringRef, AffineExpr>> set;
  for (auto [i, name] : llvm::enumerate(names))
    set.emplace_back(name, getAffineSymbolExpr(i, context));
  return set;
}

Type GraphTensorType::parse(AsmParser &parser) {
  SmallVector<AffineExpr> shape;
  Type elementType;
  LayoutAttr layout;
  SMLoc loc = parser.getCurrentLocation();
  auto names = symbolNames(parser.getContext());
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseAffineExpr(names, shape.emplace_back());
      }))
    return {};
  if (parser.parseKeyword("x") || parser.parseType(elementType))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(layout))
    return {};
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape, elementType, layout);
}

void GraphTensorType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getShape(), printer, [&](AffineExpr dim) { printer << dim; });
  printer << "] x " << getElementType();
  if (getLayout())
    printer << ", " << getLayout();
  printer << ">";
}

// LayoutAttr.

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> order,
                                 int64_t tiledDim, int64_t tileSize) {
  llvm::SmallBitVector seen(order.size());
  for (int64_t dim : order) {
    if (dim < 0 || dim >= static_cast<int64_t>(order.size()) || seen[dim])
      return emitError() << "layout order is not a permutation of the dimensions";
    seen[dim] = true;
  }
  if (tiledDim < -1 || tiledDim >= static_cast<int64_t>(order.size()) || (tiledDim >= 0 && tileSize < 2) ||
      (tiledDim < 0 && tileSize != 0))
    return emitError() << "layout tile is not a dimension and a size of at least 2";
  return success();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> order;
  int64_t tiledDim = -1, tileSize = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                                           [&] { return parser.parseInteger(order.emplace_back()); }))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("tile") || parser.parseEqual() || parser.parseInteger(tiledDim) || parser.parseColon() ||
       parser.parseInteger(tileSize)))
    return {};
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), order, tiledDim, tileSize);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getOrder(), printer);
  printer << "]";
  if (isTiled())
    printer << ", tile = " << getTiledDim() << " : " << getTileSize();
  printer << ">";
}

// StepAttr.

Attribute StepAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  SmallVector<int64_t> values;
  Type type;
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  std::string kindCopy = kind.str();
  if (succeeded(parser.parseOptionalComma())) {
    if (kindCopy == "cast") {
      if (parser.parseType(type))
        return {};
    } else if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                              [&] { return parser.parseInteger(values.emplace_back()); }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), kindCopy, values, type);
}

void StepAttr::print(AsmPrinter &printer) const {
  printer << "<" << getKind() << ", ";
  if (getType())
    printer << getType();
  else {
    printer << "[";
    llvm::interleaveComma(getValues(), printer);
    printer << "]";
  }
  printer << ">";
}

// Broadcasting.

std::optional<SmallVector<AffineExpr>> stint::graph::broadcastShapes(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<AffineExpr> result(a);
  auto isOne = [](AffineExpr e) { return e == 1; };
  for (size_t i = 0; i < b.size(); ++i) {
    AffineExpr &dim = result[a.size() - b.size() + i];
    if (dim == b[i] || isOne(b[i]))
      continue;
    if (!isOne(dim))
      return std::nullopt;
    dim = b[i];
  }
  return result;
}

GraphTensorType stint::graph::broadcastType(ValueRange values) {
  auto first = cast<GraphTensorType>(values.front().getType());
  SmallVector<AffineExpr> shape(first.getShape());
  for (Value value : values.drop_front()) {
    auto joined = broadcastShapes(shape, cast<GraphTensorType>(value.getType()).getShape());
    assert(joined && "shapes must broadcast");
    shape = *joined;
  }
  return GraphTensorType::get(shape, first.getElementType());
}

LogicalResult stint::graph::detail::verifyElementwise(Operation *op) {
  auto result = cast<GraphTensorType>(op->getResult(0).getType());
  SmallVector<AffineExpr> shape;
  for (Value operand : op->getOperands()) {
    auto joined = broadcastShapes(shape, cast<GraphTensorType>(operand.getType()).getShape());
    if (!joined)
      return op->emitOpError() << "operand shapes do not broadcast";
    shape = *joined;
  }
  // graph.broadcast stretches further than its operands say.
  if (isa<BroadcastOp>(op)) {
    auto joined = broadcastShapes(shape, result.getShape());
    if (!joined)
      return op->emitOpError() << "operand does not broadcast to the result";
    shape = *joined;
  }
  if (ArrayRef<AffineExpr>(shape) != result.getShape())
    return op->emitOpError() << "result shape is not the broadcast of the operand shapes";
  return success();
}

LogicalResult stint::graph::detail::verifySameElementType(Operation *op) {
  Type type = cast<GraphTensorType>(op->getResult(0).getType()).getElementType();
  for (Value operand : op->getOperands())
    if (cast<GraphTensorType>(operand.getType()).getElementType() != type)
      return op->emitOpError() << "operands and result must have one element type";
  return success();
}
