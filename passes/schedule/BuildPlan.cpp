// From calls of kernels on tensors to dispatches on buffers.
//   * Dimensions, sizes and grids become registers in the prologue, one per
//     distinct expression.
//   * Inputs and outputs are ports; what ends in an output is computed right
//     there; views share their operand's buffer.
//   * Relations between dimensions that the compiler assumed and the bounds
//     do not imply become checks.
//   * The functions of control flow are put in where they run; their results
//     are copied, or computed right where they are wanted.
//   * What a loop carries and only ever appends to (a concatenation along the
//     outermost dimension, perhaps in the branches of an If or in a loop
//     inside) grows where it is: only what is new is copied.
#include "passes/Passes.h"
#include "passes/SymbolUses.h"
#include "passes/Views.h"
#include "passes/schedule/PlanRegisters.h"

#include "dialects/Graph/Decoder.h"
#include "dialects/Graph/Flops.h"
#include "dialects/Graph/KernelGrid.h"
#include "dialects/Graph/Leaves.h"
#include "dialects/Graph/Locations.h"
#include "dialects/Graph/Shapes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"

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
      : module(module), function(function), symbols(Symbols::of(module)), builder(function),
        entry(builder.create<plan::EntryOp>(function.getLoc(),
                                            module->hasAttr(kDecoderAttr) ? "step" : function.getName())),
        registers(entry, symbols, passes::lateSymbols(module)) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    auto result = cast<func::ReturnOp>(body.getTerminator());
    DenseMap<Attribute, Value> states;
    checkSteps();
    for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
      auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
      Attribute state = function.getArgAttr(i, kStateAttr);
      GraphTensorType type = tensorType(argument);
      if (state)
        states[state] = buffers[argument] = registers.declare<plan::StateOp>(
            argument.getLoc(), bufferType(), name, registers.reg(plan::byteSize(type)), TypeAttr::get(type));
      else
        buffers[argument] = port<plan::InputOp>(type, name, "input" + std::to_string(i));
    }
    // A state is written at the end: what reads it may come late.
    SmallVector<Value> outputs;
    for (auto [i, value] : llvm::enumerate(result.getOperands()))
      if (Attribute state = function.getResultAttr(i, kStateAttr))
        outputs.push_back(states.lookup(state));
      else
        outputs.push_back(port<plan::OutputOp>(
            tensorType(value), function.getResultAttrOfType<StringAttr>(i, kNameAttr), "output" + std::to_string(i)));
    // A computed value goes straight to the first output that wants it.
    SmallVector<bool> direct(outputs.size(), false);
    for (auto [i, value] : llvm::enumerate(result.getOperands()))
      direct[i] = !outputs[i].getDefiningOp<plan::StateOp>() && placeIn(value, outputs[i]);
    if (failed(visitAll(body)))
      return failure();
    // Outputs before states, from which they may be copied.
    for (bool state : {false, true})
      for (auto [i, value] : llvm::enumerate(result.getOperands()))
        if (!direct[i] && static_cast<bool>(outputs[i].getDefiningOp<plan::StateOp>()) == state &&
            bufferOf(value) != outputs[i])
          copy(outputs[i], value);
    function.erase();
    return success();
  }

private:
  plan::BufferType bufferType() { return plan::BufferType::get(builder.getContext()); }
  plan::RegisterType registerType() { return plan::RegisterType::get(builder.getContext()); }

  /// Bytes of a value as they are where it is used.
  Value sizeOf(GraphTensorType type) { return registers.reg(plan::byteSize(type)); }

  template <typename Port> Value port(GraphTensorType type, StringAttr name, const std::string &otherwise) {
    checkDims(type, name ? name.getValue() : StringRef(otherwise));
    SmallVector<Value> dims;
    for (AffineExpr dim : type.getShape())
      dims.push_back(registers.tracked(dim));
    return registers.declare<Port>(entry.getLoc(), bufferType(), name ? name : builder.getStringAttr(otherwise), dims,
                                   registers.tracked(plan::byteSize(type)), TypeAttr::get(type));
  }

  /// Dimensions that are multiples of a number, as the symbols say.
  void checkSteps() {
    for (size_t i = 0; i < symbols.size(); ++i) {
      int64_t step = symbols[i].getStep();
      if (step == 1)
        continue;
      auto constant = [&](int64_t value) { return registers.reg(builder.getAffineConstantExpr(value)); };
      Value rest =
          registers.declare<plan::ModOp>(entry.getLoc(), registerType(), registers.symbolRegister(i), constant(step));
      check(false, registers.declare<plan::EqualOp>(entry.getLoc(), registerType(), rest, constant(0)),
            symbols[i].getName().getValue() + " must be a multiple of " + Twine(step));
    }
  }

  /// A dimension that may be negative within the symbols' bounds. One that
  /// depends on late symbols is checked wherever it is used.
  void checkDims(GraphTensorType type, StringRef what) {
    for (auto [i, dim] : llvm::enumerate(type.getShape())) {
      bool late = registers.isLate(dim);
      if (symbols.range(symbols.simplify(dim)).lower < 0 && (late || checked.insert(dim).second))
        check(late,
              registers.add<plan::LessOp>(late, entry.getLoc(), registerType(),
                                          registers.reg(builder.getAffineConstantExpr(-1)), registers.reg(dim)),
              "dimension " + Twine(i) + " of " + what + " is negative: the input is too small for the model");
    }
  }

  void check(bool late, Value condition, const Twine &message) {
    registers.add<plan::CheckOp>(late, entry.getLoc(), condition, builder.getStringAttr(message));
  }

  /// Wants `value` to be computed right in `buffer`; false if it cannot be.
  bool placeIn(Value value, Value buffer) {
    Value source = passes::sourceOf(value);
    return isa_and_nonnull<CallOp, IfOp, LoopOp>(source.getDefiningOp()) && !growsInLoop(source) &&
           placed.try_emplace(source, buffer).second;
  }

  // Growing in place.

  /// The tensors that `value` joins, if that puts the bytes of one behind
  /// those of the other and does nothing else.
  SmallVector<Value> joinedIn(Value value) {
    auto call = value.getDefiningOp<CallOp>();
    auto kernel = call ? module.lookupSymbol<func::FuncOp>(call.getKernel()) : func::FuncOp();
    auto concat = kernel ? dyn_cast<ConcatOp>(kernel.getBody().front().front()) : ConcatOp();
    if (!concat || !isa<func::ReturnOp>(concat->getNextNode()))
      return {};
    SmallVector<Value> parts;
    for (Value input : concat.getInputs()) {
      auto argument = dyn_cast<BlockArgument>(input);
      GraphTensorType type = tensorType(input);
      bool outermost = llvm::all_of(type.getShape().take_front(concat.getAxis()), [](AffineExpr d) { return d == 1; });
      if (!argument || !outermost || !passes::sameMemory(type, type.withLayout({})))
        return {};
      parts.push_back(call.getInputs()[argument.getArgNumber()]);
    }
    GraphTensorType type = tensorType(concat.getResult());
    return passes::sameMemory(type, type.withLayout({})) ? parts : SmallVector<Value>();
  }

  func::ReturnOp returnOf(StringRef callee) {
    return cast<func::ReturnOp>(module.lookupSymbol<func::FuncOp>(callee).getBody().front().getTerminator());
  }

  /// True if `value` is `base`, or `base` with more behind it. Adds what is
  /// computed on the way to `chain`.
  bool extends(Value value, Value base, SmallVectorImpl<Value> &chain) {
    value = passes::sourceOf(value);
    base = passes::sourceOf(base);
    if (value == base)
      return true;
    // Control flow inside control flow asks for the same pairs again and again.
    auto known = extensions.find({value, base});
    if (known == extensions.end()) {
      SmallVector<Value> links;
      bool does = findExtension(value, base, links);
      known = extensions.insert({{value, base}, does ? std::optional(links) : std::nullopt}).first;
    }
    if (known->second)
      chain.append(*known->second);
    return known->second.has_value();
  }

  bool findExtension(Value value, Value base, SmallVectorImpl<Value> &chain) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    chain.push_back(value);
    if (SmallVector<Value> parts = joinedIn(value); !parts.empty())
      return extends(parts[0], base, chain);
    unsigned number = result.getResultNumber();
    if (auto branch = dyn_cast<IfOp>(result.getOwner()))
      return extendsIn(branch.getThenFunction(), branch.getThenInputs(), number, base, chain) &&
             extendsIn(branch.getElseFunction(), branch.getElseInputs(), number, base, chain);
    if (auto loop = dyn_cast<LoopOp>(result.getOwner()))
      return number < loop.getInits().size() && carriedExtends(loop, number, chain) &&
             extends(loop.getInits()[number], base, chain);
    return false;
  }

  bool extendsIn(StringRef callee, OperandRange inputs, unsigned number, Value base, SmallVectorImpl<Value> &chain) {
    func::ReturnOp returned = returnOf(callee);
    for (auto [argument, input] : llvm::zip(returned->getBlock()->getArguments(), inputs)) {
      SmallVector<Value> links;
      if (extends(returned.getOperand(number), argument, links) && extends(input, base, links)) {
        chain.append(links);
        return true;
      }
    }
    return false;
  }

  /// Whether a loop only appends to carried value `number`.
  bool carriedExtends(LoopOp loop, unsigned number, SmallVectorImpl<Value> &chain) {
    func::ReturnOp returned = returnOf(loop.getBody());
    return extends(returned.getOperand(number + (loop.getConditional() ? 1 : 0)),
                   returned->getBlock()->getArgument(number), chain);
  }

  /// Whether `value` is what a loop appended to.
  bool growsInLoop(Value value) {
    auto loop = value.getDefiningOp<LoopOp>();
    unsigned number = loop ? cast<OpResult>(value).getResultNumber() : 0;
    SmallVector<Value> chain;
    return loop && number < loop.getInits().size() && carriedExtends(loop, number, chain) && !chain.empty();
  }

  /// The buffer of a carried value that grows where it is, and what is
  /// computed in it; its size is told by what is written.
  Value growingBuffer(Value output, ArrayRef<Value> chain) {
    Value buffer = placed.lookup(output);
    if (!buffer) {
      Value size = registers.declare<plan::ConstOp>(entry.getLoc(), registerType(), builder.getI64IntegerAttr(0));
      GraphTensorType type = tensorType(output);
      buffer = registers.declare<plan::BufferOp>(output.getLoc(), bufferType(), size, TypeAttr::get(type));
      growing[buffer] = size;
    }
    for (Value value : chain)
      placed.try_emplace(value, buffer);
    return buffers[output] = buffer;
  }

  /// The flags that say how large a tensor may be: of its dimensions that the
  /// run decides, whose symbols are called VALUE.AXIS.
  std::string boundsOf(GraphTensorType type) {
    std::string flags;
    for (AffineExpr dim : type.getShape()) {
      auto symbol = dyn_cast<AffineSymbolExpr>(dim);
      StringRef name = symbol ? symbols[symbol.getPosition()].getName().getValue() : StringRef();
      if (unsigned axis; name.contains('.') && !name.rsplit('.').second.getAsInteger(10, axis))
        flags += (flags.empty() ? "--bound " : " or --bound ") + name.str() + "=" +
                 std::to_string(symbols[symbol.getPosition()].getUpper());
    }
    return flags.empty() ? "--bound VALUE.AXIS=N of what it appends to" : flags;
  }

  /// Puts what is new behind what is there; false if `call` is no such call.
  bool append(CallOp call) {
    Value result = call.getOutputs()[0], buffer = placed.lookup(result);
    Value size = buffer ? growing.lookup(buffer) : Value();
    if (!size)
      return false;
    SmallVector<Value> parts = joinedIn(result);
    assert(!parts.empty() && bufferOf(parts[0]) == buffer && "what is placed here extends what is here");
    AffineExpr offset = plan::byteSize(tensorType(parts[0]));
    Value after = sizeOf(tensorType(result));
    int64_t most =
        symbols.upper(plan::byteSize(cast<GraphTensorType>(buffer.getDefiningOp<plan::BufferOp>().getType())));
    check(true,
          registers.work<plan::LessOp>(call.getLoc(), registerType(), after,
                                       registers.reg(builder.getAffineConstantExpr(most + 1))),
          nodeOf(call) + " appends more than memory was planned for: compile with a larger " +
              boundsOf(cast<GraphTensorType>(buffer.getDefiningOp<plan::BufferOp>().getType())));
    registers.work<plan::AssignOp>(call.getLoc(), size, after);
    for (Value part : ArrayRef<Value>(parts).drop_front()) {
      registers.work<plan::CopyOp>(call.getLoc(), buffer, bufferOf(part), sizeOf(tensorType(part)),
                                   registers.reg(offset));
      offset = offset + plan::byteSize(tensorType(part));
    }
    buffers[result] = buffer;
    return true;
  }

  Value newBuffer(Location loc, GraphTensorType type, Value size) {
    return registers.add<plan::BufferOp>(registers.isLate(plan::byteSize(type)), loc, bufferType(), size,
                                         TypeAttr::get(type));
  }

  Value bufferOf(Value value) {
    value = passes::sourceOf(value);
    if (Value known = buffers.lookup(value))
      return known;
    GraphTensorType type = tensorType(value);
    Value buffer;
    if (auto weight = value.getDefiningOp<WeightOp>())
      buffer =
          registers.declare<plan::WeightOp>(weight.getLoc(), bufferType(), weight.getNameAttr(), weight.getExtent(),
                                            weight.getSteps(), sizeOf(type), TypeAttr::get(type));
    else if (auto constant = value.getDefiningOp<ConstantOp>())
      buffer = registers.declare<plan::ConstantOp>(constant.getLoc(), bufferType(), constant.getValue(), sizeOf(type),
                                                   TypeAttr::get(type));
    else if (Value place = placed.lookup(value))
      buffer = place;
    else
      buffer = newBuffer(value.getLoc(), type, sizeOf(type));
    return buffers[value] = buffer;
  }

  /// The buffer of a result of control flow, whose size may change meanwhile.
  Value resultBuffer(Value value) {
    if (Value place = placed.lookup(value))
      return buffers[value] = place;
    GraphTensorType type = tensorType(value);
    Value size = registers.tracked(plan::byteSize(type));
    return buffers[value] = registers.declare<plan::BufferOp>(value.getLoc(), bufferType(), size, TypeAttr::get(type));
  }

  void copy(Value target, Value value, Value offset = {}) {
    registers.work<plan::CopyOp>(value.getLoc(), target, bufferOf(value), sizeOf(tensorType(value)), offset);
  }

  std::string nodeOf(Operation *op) {
    SetVector<StringRef> nodes;
    collectNodes(op->getLoc(), nodes);
    return nodes.empty() ? op->getName().getStringRef().str() : nodes.front().str();
  }

  LogicalResult visitAll(Block &block) {
    for (Operation &op : block.without_terminator())
      if (failed(visit(&op)))
        return failure();
    return success();
  }

  LogicalResult visit(Operation *op) {
    if (isa<WeightOp, ConstantOp>(op))
      return success();
    if (passes::isView(op))
      return visitView(op);
    if (auto bind = dyn_cast<BindOp>(op))
      return visitBind(bind);
    if (auto trap = dyn_cast<TrapOp>(op)) {
      check(true, registers.reg(builder.getAffineConstantExpr(0)), trap.getMessage());
      return success();
    }
    if (auto require = dyn_cast<RequireOp>(op))
      return visitRequire(require);
    if (auto branch = dyn_cast<IfOp>(op))
      return visitIf(branch);
    if (auto loop = dyn_cast<LoopOp>(op))
      return visitLoop(loop);
    if (auto call = dyn_cast<CallOp>(op))
      return visitCall(call);
    return op->emitOpError() << "is not in a kernel: run the fuse and outline passes first";
  }

  LogicalResult visitView(Operation *op) {
    GraphTensorType from = tensorType(op->getOperand(0)), to = tensorType(op->getResult(0));
    AffineExpr before = from.getNumElements(), after = to.getNumElements();
    if (symbols.equal(before, after) != true) {
      bool late = registers.isLate(before) || registers.isLate(after);
      check(
          late,
          registers.add<plan::EqualOp>(late, op->getLoc(), registerType(), registers.reg(before), registers.reg(after)),
          "reshape " + nodeOf(op) + " needs as many elements as it is given");
    }
    checkDims(to, nodeOf(op));
    return success();
  }

  LogicalResult visitRequire(RequireOp op) {
    AffineExpr left = op.getSides().getResult(0), right = op.getSides().getResult(1);
    bool inBody = nesting > 0 || registers.isLate(left) || registers.isLate(right);
    check(inBody,
          registers.add<plan::EqualOp>(inBody, op.getLoc(), registerType(), registers.reg(left), registers.reg(right)),
          op.getMessage());
    return success();
  }

  LogicalResult visitCall(CallOp call) {
    for (Value output : call.getOutputs())
      checkDims(tensorType(output), nodeOf(call));
    if (append(call))
      return success();
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
    // A state that is written where it is.
    if (auto leaf = dyn_cast<LeafOp>(kernel.getBody().front().front()))
      if (int operand = findLeaf(leaf.getName())->updated(); operand >= 0)
        if (auto argument = dyn_cast<BlockArgument>(leaf.getInputs()[operand])) {
          buffers[call.getOutputs()[0]] = bufferOf(call.getInputs()[argument.getArgNumber()]);
          if (!buffers[call.getOutputs()[0]].getDefiningOp<plan::StateOp>())
            return call.emitOpError() << "updates what is no state";
        }
    SmallVector<Value> inputBuffers, outputBuffers;
    for (Value input : call.getInputs())
      inputBuffers.push_back(bufferOf(input));
    for (Value output : call.getOutputs())
      outputBuffers.push_back(bufferOf(output));
    SetVector<StringRef> nodes;
    collectNodes(call.getLoc(), nodes);
    SmallVector<Value> dims = registers.regs(own), gridRegs = registers.regs(units), tileRegs = registers.regs(tile);
    Value flopsReg = flops(flopsOf(kernel.getBody().front()), own);
    registers.work<plan::DispatchOp>(call.getLoc(), call.getKernelAttr(), inputBuffers, outputBuffers, dims, gridRegs,
                                     tileRegs, flopsReg, builder.getStrArrayAttr(nodes.getArrayRef()));
    return success();
  }

  /// For who looks on only: nothing that work waits for (what is late would be
  /// computed between dispatches), and nothing that could overflow, which would
  /// be an error of the run.
  Value flops(AffineExpr expr, ArrayRef<AffineExpr> own) {
    if (expr)
      expr = expr.replaceSymbols(own);
    return expr && !registers.isLate(expr) && symbols.upper(expr) < INT64_MAX ? registers.reg(expr) : Value();
  }

  Value load(Value source) {
    return registers.work<plan::LoadOp>(source.getLoc(), registerType(), bufferOf(source),
                                        builder.getI64IntegerAttr(0));
  }

  LogicalResult visitBind(BindOp bind) {
    Value source = bind.getSource();
    Value value = source ? load(source) : registers.reg(bind.getValue()->getResult(0));
    registers.bind({{static_cast<int64_t>(bind.getSymbol()), value}});
    return success();
  }

  /// The work of a function; then the symbols that it binds as it ends.
  LogicalResult visitFunction(func::FuncOp callee, llvm::function_ref<void(func::ReturnOp)> beforeBinds) {
    Block &body = callee.getBody().front();
    Block::iterator end(passes::endOfWork(body));
    llvm::SaveAndRestore<int> inner(nesting, nesting + 1);
    for (Operation &op : llvm::make_range(body.begin(), end))
      if (failed(visit(&op)))
        return failure();
    beforeBinds(cast<func::ReturnOp>(body.getTerminator()));
    SmallVector<std::pair<int64_t, Value>> values;
    for (Operation &op : llvm::make_range(end, Block::iterator(body.getTerminator())))
      if (auto bind = dyn_cast<BindOp>(op))
        values.push_back({static_cast<int64_t>(bind.getSymbol()), registers.reg(bind.getValue()->getResult(0))});
    if (!values.empty())
      registers.bind(values);
    return success();
  }

  LogicalResult visitBranch(StringRef name, OperandRange inputs, ArrayRef<Value> results, IfOp op) {
    auto callee = module.lookupSymbol<func::FuncOp>(name);
    registers.enterBlock();
    for (auto [argument, input] : llvm::zip(callee.getArguments(), inputs))
      buffers[argument] = bufferOf(input);
    auto returned = cast<func::ReturnOp>(callee.getBody().front().getTerminator());
    SmallVector<bool> direct(results.size(), false);
    for (auto [i, value] : llvm::enumerate(returned.getOperands()))
      direct[i] = value.getType() == op.getResultTypes()[i] && !registers.isLate(plan::byteSize(tensorType(value))) &&
                  placeIn(value, results[i]);
    SmallVector<std::pair<Value, Value>> moves; // size, source
    auto before = [&](func::ReturnOp) {
      for (Value value : returned.getOperands())
        moves.push_back({sizeOf(tensorType(value)), bufferOf(value)});
    };
    if (failed(visitFunction(callee, before)))
      return failure();
    for (auto [i, move] : llvm::enumerate(moves))
      if (!direct[i] && move.second != results[i])
        registers.work<plan::CopyOp>(op.getLoc(), results[i], move.second, move.first, Value());
    registers.leaveBlock();
    return success();
  }

  LogicalResult visitIf(IfOp op) {
    Value condition = load(op.getCondition());
    SmallVector<Value> results;
    for (Value output : op.getOutputs())
      results.push_back(resultBuffer(output));
    registers.work<plan::IfOp>(op.getLoc(), condition);
    if (failed(visitBranch(op.getThenFunction(), op.getThenInputs(), results, op)))
      return failure();
    registers.work<plan::ElseOp>(op.getLoc());
    if (failed(visitBranch(op.getElseFunction(), op.getElseInputs(), results, op)))
      return failure();
    registers.work<plan::EndOp>(op.getLoc());
    registers.forget(passes::symbolsMadeBy(op));
    return success();
  }

  /// The loop's limit, to be assigned 0 where it ends early.
  Value limitOf(LoopOp op) {
    Value limit;
    if (op.getTrips())
      limit = registers.reg(op.getTrips()->getResult(0));
    else if (op.getTripCount())
      limit = load(op.getTripCount());
    else
      limit = registers.reg(builder.getAffineConstantExpr(INT64_MAX));
    if (!op.getConditional() && !op.getCondition())
      return limit;
    limit = registers.variable(limit);
    if (op.getCondition())
      goOnIf(op.getCondition(), limit);
    return limit;
  }

  void goOnIf(Value condition, Value limit) {
    Value flag = load(condition);
    Value isZero = registers.work<plan::EqualOp>(condition.getLoc(), registerType(), flag,
                                                 registers.reg(builder.getAffineConstantExpr(0)));
    Value isSet = registers.work<plan::EqualOp>(condition.getLoc(), registerType(), isZero,
                                                registers.reg(builder.getAffineConstantExpr(0)));
    Value next = registers.work<plan::MulOp>(condition.getLoc(), registerType(), limit, isSet);
    registers.work<plan::AssignOp>(condition.getLoc(), limit, next);
  }

  LogicalResult visitLoop(LoopOp op) {
    auto body = module.lookupSymbol<func::FuncOp>(op.getBody());
    size_t carried = op.getInits().size(), first = op.getConditional() ? 1 : 0;
    Value limit = limitOf(op), iteration = registers.symbolRegister(op.getIteration());
    SmallVector<Value> initSizes, results;
    for (Value init : op.getInits())
      initSizes.push_back(sizeOf(tensorType(init)));
    for (auto [i, output] : llvm::enumerate(op.getOutputs())) {
      SmallVector<Value> chain;
      bool grows = i < carried && carriedExtends(op, i, chain) && !chain.empty();
      results.push_back(grows ? growingBuffer(output, chain) : resultBuffer(output));
    }
    SmallVector<std::pair<int64_t, Value>> begin;
    for (auto [i, symbol] : llvm::enumerate(op.getCarried()))
      begin.push_back({symbol, registers.reg(op.getCarriedInits()->getResult(i))});
    bool counts = op.getCount() != -1;
    if (counts)
      begin.push_back({static_cast<int64_t>(op.getCount()), registers.reg(builder.getAffineConstantExpr(0))});
    if (!begin.empty())
      registers.bind(begin);
    for (auto [i, init] : llvm::enumerate(op.getInits())) {
      if (bufferOf(init) == results[i])
        continue; // grows where it is
      if (Value size = growing.lookup(results[i]))
        registers.work<plan::AssignOp>(op.getLoc(), size, initSizes[i]);
      registers.work<plan::CopyOp>(op.getLoc(), results[i], bufferOf(init), initSizes[i], Value());
    }

    registers.work<plan::LoopOp>(op.getLoc(), iteration, limit);
    llvm::SmallBitVector changing = passes::symbolsMadeBy(op);
    registers.forget(changing);
    registers.enterBlock();
    AffineExpr now = builder.getAffineSymbolExpr(op.getIteration());
    if (counts)
      registers.bind({{static_cast<int64_t>(op.getCount()), registers.reg(now + 1)}});
    for (auto [i, argument] : llvm::enumerate(body.getArguments()))
      buffers[argument] = i < carried ? results[i] : bufferOf(op.getCaptures()[i - carried]);
    SmallVector<std::pair<Value, Value>> moves; // size, source
    auto before = [&](func::ReturnOp returned) {
      for (auto [i, value] : llvm::enumerate(returned.getOperands().drop_front(first))) {
        Value size = sizeOf(tensorType(value)), source = bufferOf(value);
        if (i >= carried) {
          Value offset = registers.reg(now * plan::byteSize(tensorType(value)));
          registers.work<plan::CopyOp>(op.getLoc(), results[i], source, size, offset);
          continue;
        }
        // Another carried value, which this copying changes too, is put aside.
        if (source != results[i] && llvm::is_contained(ArrayRef<Value>(results).take_front(carried), source)) {
          Value aside = newBuffer(op.getLoc(), tensorType(value), size);
          registers.work<plan::CopyOp>(op.getLoc(), aside, source, size, Value());
          source = aside;
        }
        moves.push_back({size, source});
      }
      if (first)
        goOnIf(returned.getOperand(0), limit);
    };
    if (failed(visitFunction(body, before)))
      return failure();
    for (auto [i, move] : llvm::enumerate(moves))
      if (move.second != results[i])
        registers.work<plan::CopyOp>(op.getLoc(), results[i], move.second, move.first, Value());
    registers.leaveBlock();
    registers.work<plan::EndOp>(op.getLoc());
    registers.forget(changing);
    return success();
  }

  ModuleOp module;
  func::FuncOp function;
  Symbols symbols;
  OpBuilder builder;
  plan::EntryOp entry;
  passes::PlanRegisters registers;
  DenseMap<Value, Value> buffers;
  /// Results that are computed in the memory of an output, or of a branch's.
  DenseMap<Value, Value> placed;
  /// Buffers that grow in place, and the registers of their sizes.
  DenseMap<Value, Value> growing;
  DenseMap<std::pair<Value, Value>, std::optional<SmallVector<Value>>> extensions; // what `extends` found
  DenseSet<AffineExpr> checked;
  int nesting = 0; // functions of control flow that are being put in
};

struct BuildPlan : passes::impl::BuildPlanBase<BuildPlan> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> entries, inner;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(plan::kKindAttr))
        (function.isPrivate() ? inner : entries).push_back(function);
    for (func::FuncOp function : entries)
      if (failed(PlanWriter(getOperation(), function).run()))
        return signalPassFailure();
    for (func::FuncOp function : inner)
      function.erase(); // is where it runs now
    // Where all calls of a kernel became copies.
    DenseSet<StringAttr> used;
    getOperation().walk([&](plan::DispatchOp dispatch) { used.insert(dispatch.getKernelAttr().getAttr()); });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(plan::kKindAttr) && !used.contains(kernel.getSymNameAttr()))
        kernel.erase();
  }
};
} // namespace
