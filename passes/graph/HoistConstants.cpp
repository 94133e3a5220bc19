// Work on constants, in @main and in the functions of control flow, moves to @constants, for the driver to run at
// compile time on the baseline kernels, so that what is folded has the bits that the device would have computed.
//   1. An operation is constant if it has a static shape, names no symbol and
//      has constant operands only, and if computing it takes neither much more
//      memory nor much more time than reading the weights it is made from.
//   2. Of those, what is not worth storing stays in @main if something there
//      wants it: it is computed from what is stored.
//   3. What @main reads from the rest becomes a result of @constants.
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace stint::passes {
#define GEN_PASS_DEF_HOISTCONSTANTS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

/// A stored value may take this, however little it is made from.
static constexpr double kSmallBytes = 1 << 20;
/// A larger one may be this many times as large as the weights it is made
/// from: int4 becomes f32, but no mask is blown up from a few numbers.
static constexpr double kMaxGrowth = 8;
/// What is computed on the way may take this, or kMaxGrowth times its weights.
static constexpr double kMaxBytes = 64 << 20;
/// Element operations of a function that may be run at compile time, seconds of
/// work; those that a few for each byte of the weights are made of are free.
static constexpr double kMaxWork = double(1ull << 31);
static constexpr double kFreeWork = 16;

/// Reads its value from the file or from an attribute.
static bool isLeaf(Operation *op) { return isa<WeightOp, ConstantOp>(op); }

static bool namesSymbols(Operation *op) {
  return llvm::any_of(op->getAttrs(), [](NamedAttribute attribute) {
    auto map = dyn_cast<AffineMapAttr>(attribute.getValue());
    return map && !llvm::all_of(map.getValue().getResults(), llvm::IsaPred<AffineConstantExpr>);
  });
}

static double elementsOf(Value value) {
  double elements = 1;
  for (int64_t dim : cast<GraphTensorType>(value.getType()).getStaticShape())
    elements *= static_cast<double>(dim);
  return elements;
}

static double bytesOf(Value value) {
  return elementsOf(value) * elementBytes(cast<GraphTensorType>(value.getType()).getElementType());
}

static double bytesOf(Operation *op) {
  double bytes = 0;
  for (Value result : op->getResults())
    bytes += bytesOf(result);
  return bytes;
}

/// How many elements are read or made, one after the other.
static double workOf(Operation *op) {
  double work = 0;
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      work = std::max(work, elementsOf(value));
  double made = elementsOf(op->getResult(0));
  if (auto matmul = dyn_cast<MatMulOp>(op)) {
    auto lhs = cast<GraphTensorType>(matmul.getLhs().getType());
    return std::max(work, made * lhs.getStaticShape().back());
  }
  if (auto conv = dyn_cast<ConvOp>(op)) {
    auto shape = cast<GraphTensorType>(conv.getWeight().getType()).getStaticShape(); // [G, O, C, K…]
    for (int64_t taps : ArrayRef(shape).drop_front(2))
      made *= static_cast<double>(taps);
    return std::max(work, made);
  }
  if (auto window = dyn_cast<WindowReduceOp>(op)) {
    for (int64_t taps : window.getWindow())
      made *= static_cast<double>(taps);
    return std::max(work, made);
  }
  return work;
}

namespace {
/// The constant operations of a function, each with the bytes of the largest
/// weight that it is made from.
using Constants = llvm::MapVector<Operation *, double>;

Constants findConstants(Block &body) {
  Constants constants;
  double work = 0;
  for (Operation &op : body.without_terminator()) {
    double source = 0;
    bool known = isMemoryEffectFree(&op) && !namesSymbols(&op);
    for (Value operand : op.getOperands()) {
      auto made = operand.getDefiningOp() ? constants.find(operand.getDefiningOp()) : constants.end();
      known &= made != constants.end();
      source = known ? std::max(source, made->second) : 0;
    }
    known &= llvm::all_of(op.getResults(),
                          [](Value result) { return cast<GraphTensorType>(result.getType()).hasStaticShape(); });
    if (auto weight = dyn_cast<WeightOp>(op))
      source = static_cast<double>(weight.getExtent().getSize());
    if (known && !isLeaf(&op)) {
      double more = workOf(&op);
      more = more > kFreeWork * source ? more : 0;
      known = bytesOf(&op) <= std::max(kMaxBytes, kMaxGrowth * source) && work + more <= kMaxWork;
      work += known ? more : 0;
    }
    if (known)
      constants.insert({&op, source});
  }
  return constants;
}

bool isWorthStoring(Operation *op, double source) {
  // A reshape of what is stored becomes a step of its recipe.
  if (isa<IotaOp, ReshapeOp>(op))
    return false;
  // Broadcasts are free where they are read, but not to a contraction, which
  // would pack them at every run.
  if (isa<BroadcastOp>(op) &&
      llvm::none_of(op->getUsers(), [](Operation *user) { return isa<MatMulOp, ConvOp>(user); }))
    return false;
  double bytes = bytesOf(op);
  return bytes > 0 && (bytes <= kSmallBytes || bytes <= kMaxGrowth * source);
}

/// Erases what nothing reads any more.
void eraseDead(Block &block) {
  for (Operation *op = block.getTerminator()->getPrevNode(); op;) {
    Operation *dead = op->use_empty() && isMemoryEffectFree(op) ? op : nullptr;
    op = op->getPrevNode();
    if (dead)
      dead->erase();
  }
}

struct HoistConstants : passes::impl::HoistConstantsBase<HoistConstants> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.lookupSymbol("constants"))
      return;
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        functions.push_back(function);
    OpBuilder builder(module.getBodyRegion());
    auto store = func::FuncOp::create(module.getLoc(), "constants", builder.getFunctionType({}, {}));
    Block *block = store.addEntryBlock();
    SmallVector<Value> stored;
    for (func::FuncOp function : functions)
      hoist(function, *block, stored);
    if (stored.empty()) {
      store.erase();
      return;
    }
    builder.setInsertionPointToEnd(block);
    builder.create<func::ReturnOp>(module.getLoc(), stored);
    store.setType(builder.getFunctionType({}, ValueRange(stored).getTypes()));
    eraseDead(*block);
    module.insert(module.getBody()->begin(), store);
  }

  /// What `function` needs at run time, computed in `block` from now on.
  static void hoist(func::FuncOp function, Block &block, SmallVectorImpl<Value> &stored) {
    Block &body = function.getBody().front();
    Constants constants = findConstants(body);
    // From the last: an operation stays if it is not constant, or if one that
    // stays reads it and it is not worth storing.
    llvm::SmallPtrSet<Operation *, 16> moved;
    SmallVector<Value> values;
    for (auto [op, source] : llvm::reverse(constants)) {
      bool read = llvm::any_of(op->getUsers(), [&](Operation *user) { return !moved.contains(user); });
      if (read && (isLeaf(op) || !isWorthStoring(op, source)))
        continue; // leaves that both sides read are cloned below
      moved.insert(op);
      for (Value result : llvm::reverse(op->getResults()))
        if (!isLeaf(op) && llvm::any_of(result.getUsers(), [&](Operation *user) { return !moved.contains(user); }))
          values.push_back(result);
    }
    std::reverse(values.begin(), values.end());
    if (values.empty())
      return;

    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    IRMapping mapping;
    for (auto [op, source] : constants)
      builder.clone(*op, mapping);
    for (Value value : values) {
      unsigned number = function.getNumArguments();
      function.insertArgument(number, value.getType(),
                              builder.getDictionaryAttr(
                                  builder.getNamedAttr(graph::kConstantAttr, builder.getI64IntegerAttr(stored.size()))),
                              value.getLoc());
      value.replaceUsesWithIf(function.getArgument(number),
                              [&](OpOperand &use) { return !moved.contains(use.getOwner()); });
      stored.push_back(mapping.lookup(value));
    }
    eraseDead(body);
  }
};
} // namespace
