// From calls of kernels on tensors to dispatches on buffers.
//   * Dimensions, sizes and grids become registers in the prologue, one per
//     distinct expression.
//   * Inputs and outputs are ports; what ends in an output is computed right
//     there; views share their operand's buffer.
//   * Relations between dimensions that the compiler assumed and the bounds
//     do not imply become checks.
#include "passes/Passes.h"
#include "passes/Views.h"

#include "dialects/Graph/KernelGrid.h"
#include "dialects/Graph/Locations.h"
#include "dialects/Graph/Shapes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace stint::passes {
#define GEN_PASS_DEF_BUILDPLAN
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

namespace {
class PlanWriter {
public:
  PlanWriter(ModuleOp module, func::FuncOp function)
      : module(module), function(function), symbols(Symbols::of(module)), builder(function) {}

  LogicalResult run() {
    entry = builder.create<plan::EntryOp>(function.getLoc(), function.getName());
    block = &entry.getBody().front();
    builder.setInsertionPointToEnd(block);
    Block &body = function.getBody().front();
    auto result = cast<func::ReturnOp>(body.getTerminator());
    for (auto [i, argument] : llvm::enumerate(body.getArguments()))
      buffers[argument] = port<plan::InputOp>(tensorType(argument), function.getArgAttrOfType<StringAttr>(i, kNameAttr),
                                              "input" + std::to_string(i));
    for (auto [i, value] : llvm::enumerate(result.getOperands()))
      outputs.push_back(port<plan::OutputOp>(tensorType(value), function.getResultAttrOfType<StringAttr>(i, kNameAttr),
                                             "output" + std::to_string(i)));
    // A computed value goes straight to the first output that wants it.
    SmallVector<bool> direct(outputs.size(), false);
    for (auto [i, value] : llvm::enumerate(result.getOperands())) {
      Value source = passes::sourceOf(value);
      if (source.getDefiningOp<CallOp>() && placed.try_emplace(source, outputs[i]).second)
        direct[i] = true;
    }
    for (Operation &op : body.without_terminator())
      if (failed(visit(&op)))
        return failure();
    for (auto [i, value] : llvm::enumerate(result.getOperands()))
      if (!direct[i])
        work<plan::CopyOp>(result.getLoc(), outputs[i], bufferOf(value), reg(plan::byteSize(tensorType(value))));
    function.erase();
    return success();
  }

private:
  /// Registers and buffers stand before the first dispatch or copy.
  template <typename Op, typename... Args> Op declare(Location loc, Args &&...args) {
    OpBuilder::InsertionGuard guard(builder);
    if (firstWork)
      builder.setInsertionPoint(firstWork);
    else
      builder.setInsertionPointToEnd(block);
    return builder.create<Op>(loc, std::forward<Args>(args)...);
  }
  template <typename Op, typename... Args> Op work(Location loc, Args &&...args) {
    builder.setInsertionPointToEnd(block);
    auto op = builder.create<Op>(loc, std::forward<Args>(args)...);
    if (!firstWork)
      firstWork = op;
    return op;
  }

  Value reg(AffineExpr expr) {
    expr = symbols.simplify(expr);
    if (Value known = registers.lookup(expr))
      return known;
    Location loc = entry.getLoc();
    auto type = plan::RegisterType::get(builder.getContext());
    Value result;
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      result = declare<plan::ConstOp>(loc, type, builder.getI64IntegerAttr(constant.getValue()));
    } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      result = declare<plan::SymbolOp>(loc, type, builder.getI64IntegerAttr(symbol.getPosition()));
    } else {
      auto binary = cast<AffineBinaryOpExpr>(expr);
      Value lhs = reg(binary.getLHS()), rhs = reg(binary.getRHS());
      switch (expr.getKind()) {
      case AffineExprKind::Add:
        result = declare<plan::AddOp>(loc, type, lhs, rhs);
        break;
      case AffineExprKind::Mul:
        result = declare<plan::MulOp>(loc, type, lhs, rhs);
        break;
      case AffineExprKind::FloorDiv:
        result = declare<plan::FloorDivOp>(loc, type, lhs, rhs);
        break;
      case AffineExprKind::CeilDiv:
        result = declare<plan::CeilDivOp>(loc, type, lhs, rhs);
        break;
      default:
        result = declare<plan::ModOp>(loc, type, lhs, rhs);
      }
    }
    return registers[expr] = result;
  }

  SmallVector<Value> regs(ArrayRef<AffineExpr> exprs) {
    return llvm::map_to_vector(exprs, [&](AffineExpr e) { return reg(e); });
  }

  template <typename Port> Value port(GraphTensorType type, StringAttr name, const std::string &otherwise) {
    checkDims(type, name ? name.getValue() : StringRef(otherwise));
    return declare<Port>(entry.getLoc(), plan::BufferType::get(builder.getContext()),
                         name ? name : builder.getStringAttr(otherwise), regs(type.getShape()),
                         reg(plan::byteSize(type)), TypeAttr::get(type));
  }

  /// A dimension that may be negative within the symbols' bounds.
  void checkDims(GraphTensorType type, StringRef what) {
    for (auto [i, dim] : llvm::enumerate(type.getShape()))
      if (symbols.range(symbols.simplify(dim)).lower < 0 && checked.insert(dim).second)
        check(declare<plan::LessOp>(entry.getLoc(), plan::RegisterType::get(builder.getContext()),
                                    reg(builder.getAffineConstantExpr(-1)), reg(dim)),
              "dimension " + Twine(i) + " of " + what + " is negative: the input is too small for the model");
  }

  void check(Value condition, const Twine &message) {
    declare<plan::CheckOp>(entry.getLoc(), condition, builder.getStringAttr(message));
  }

  Value bufferOf(Value value) {
    value = passes::sourceOf(value);
    if (Value known = buffers.lookup(value))
      return known;
    GraphTensorType type = tensorType(value);
    Value size = reg(plan::byteSize(type));
    auto bufferType = plan::BufferType::get(builder.getContext());
    Value buffer;
    if (auto weight = value.getDefiningOp<WeightOp>())
      buffer = declare<plan::WeightOp>(weight.getLoc(), bufferType, weight.getNameAttr(), weight.getExtent(),
                                       weight.getSteps(), size, TypeAttr::get(type));
    else if (auto constant = value.getDefiningOp<ConstantOp>())
      buffer = declare<plan::ConstantOp>(constant.getLoc(), bufferType, constant.getValue(), size, TypeAttr::get(type));
    else if (Value output = placed.lookup(value))
      buffer = output;
    else
      buffer = declare<plan::BufferOp>(value.getLoc(), bufferType, size, TypeAttr::get(type));
    return buffers[value] = buffer;
  }

  std::string nodeOf(Operation *op) {
    SetVector<StringRef> nodes;
    collectNodes(op->getLoc(), nodes);
    return nodes.empty() ? op->getName().getStringRef().str() : nodes.front().str();
  }

  LogicalResult visit(Operation *op) {
    if (isa<WeightOp, ConstantOp>(op))
      return success();
    if (passes::isView(op)) {
      GraphTensorType from = tensorType(op->getOperand(0)), to = tensorType(op->getResult(0));
      if (symbols.equal(from.getNumElements(), to.getNumElements()) != true)
        check(declare<plan::EqualOp>(op->getLoc(), plan::RegisterType::get(builder.getContext()),
                                     reg(from.getNumElements()), reg(to.getNumElements())),
              "reshape " + nodeOf(op) + " needs as many elements as it is given");
      checkDims(to, nodeOf(op));
      return success();
    }
    auto call = dyn_cast<CallOp>(op);
    if (!call)
      return op->emitOpError() << "is not in a kernel: run the fuse and outline passes first";
    auto kernel = module.lookupSymbol<func::FuncOp>(call.getKernel());
    auto kind = kernel->getAttrOfType<KernelKindAttr>(plan::kKindAttr);
    KernelGrid grid = gridOf(kind.getValue(), kernel.getBody().front());
    SmallVector<AffineExpr> own;
    for (int64_t number : call.getSymbols())
      own.push_back(builder.getAffineSymbolExpr(number));
    SmallVector<AffineExpr> units, tile;
    for (int axis = 0; axis < 3; ++axis) {
      units.push_back(grid.units[axis].replaceSymbols(own));
      tile.push_back(grid.tile[axis].replaceSymbols(own));
    }
    for (Value output : call.getOutputs())
      checkDims(tensorType(output), nodeOf(op));
    SmallVector<Value> inputBuffers, outputBuffers;
    for (Value input : call.getInputs())
      inputBuffers.push_back(bufferOf(input));
    for (Value output : call.getOutputs())
      outputBuffers.push_back(bufferOf(output));
    SetVector<StringRef> nodes;
    collectNodes(op->getLoc(), nodes);
    SmallVector<Value> dims = regs(own), gridRegs = regs(units), tileRegs = regs(tile);
    work<plan::DispatchOp>(op->getLoc(), call.getKernelAttr(), inputBuffers, outputBuffers, dims, gridRegs, tileRegs,
                           builder.getStrArrayAttr(nodes.getArrayRef()));
    return success();
  }

  ModuleOp module;
  func::FuncOp function;
  Symbols symbols;
  OpBuilder builder;
  plan::EntryOp entry;
  Block *block = nullptr;
  Operation *firstWork = nullptr;
  SmallVector<Value> outputs;
  DenseMap<Value, Value> buffers;
  /// Results that are computed in an output's memory.
  DenseMap<Value, Value> placed;
  DenseMap<AffineExpr, Value> registers;
  DenseSet<AffineExpr> checked;
};

struct BuildPlan : passes::impl::BuildPlanBase<BuildPlan> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(plan::kKindAttr))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(PlanWriter(getOperation(), function).run()))
        return signalPassFailure();
  }
};
} // namespace
