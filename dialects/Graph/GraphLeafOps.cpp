// The leaf operator and the table of leaf kernels.
#include "dialects/Graph/GraphDialect.h"
#include "dialects/Graph/Leaves.h"

#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace stint::graph;

static constexpr int kAnyNumber = Leaf::kAnyNumber, kUpdates = Leaf::kUpdates, kTables = Leaf::kTables,
                     kColumns = Leaf::kColumns, kApart = Leaf::kApart, kHeads = Leaf::kHeads;

static constexpr Leaf kLeaves[] = {
#define STINT_LEAF_THAT(name, source, operands, results, params, fparams, types, units, inPlace, traits)               \
  {#name, #source, operands, results, params, fparams, types, units, inPlace, traits},
#include "dialects/Graph/Leaves.def"
};

const Leaf *stint::graph::findLeaf(StringRef name) {
  for (const Leaf &leaf : kLeaves)
    if (leaf.name == name)
      return &leaf;
  return nullptr;
}

std::string Leaf::suffixFor(Type elementType) const {
  std::string own, width = "b" + std::to_string(8 * elementBytes(elementType));
  llvm::raw_string_ostream stream(own);
  if (elementType.isUnsignedInteger())
    stream << "u" << elementType.getIntOrFloatBitWidth();
  else
    stream << elementType;
  SmallVector<StringRef> names;
  types.split(names, ' ');
  for (StringRef name : names)
    if (name == own || name == width)
      return name.str();
  return "";
}

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

LogicalResult LeafOp::verify() {
  const Leaf *leaf = findLeaf(getName());
  if (!leaf)
    return emitOpError() << "there is no leaf '" << getName() << "'";
  auto check = [&](StringRef what, size_t given, int wanted) -> LogicalResult {
    if (wanted == kAnyNumber || given == static_cast<size_t>(wanted))
      return success();
    return emitOpError() << "'" << getName() << "' has " << wanted << " " << what << ", not " << given;
  };
  if (failed(check("operands", getInputs().size(), leaf->operands)) ||
      failed(check("results", getOutputs().size(), leaf->results)) ||
      failed(check("params", getParams().size(), leaf->params)) ||
      failed(check("fparams", getFparams().size(), leaf->fparams)))
    return failure();
  if (getInputs().empty() || leaf->suffixFor(tensorType(getInputs()[0]).getElementType()).empty())
    return emitOpError() << "'" << getName() << "' is not made for this element type";
  if (getLeading() > static_cast<uint64_t>(getUnitsType().getRank()))
    return emitOpError() << "has no " << getLeading() << " leading dimensions";
  auto isRowMajor = [](Value value) { return tensorType(value).isRowMajor(); };
  // Tables become panels when layouts are assigned.
  if (!llvm::all_of(getInputs().take_front(leaf->has(Leaf::kTables) ? 1 : getInputs().size()), isRowMajor) ||
      !llvm::all_of(getOutputs(), isRowMajor))
    return emitOpError() << "operands and results must be row-major";
  return success();
}

GraphTensorType LeafOp::getUnitsType() {
  unsigned number = findLeaf(getName())->units, inputs = getInputs().size();
  return tensorType(number < inputs ? getInputs()[number] : getOutputs()[number - inputs]);
}

int LeafOp::getInPlace() {
  const Leaf *leaf = findLeaf(getName());
  return leaf->updated() < 0 ? leaf->inPlace : -1;
}

std::string LeafOp::getFunctionName() {
  return ("stint_leaf_" + getName() + "_" + findLeaf(getName())->suffixFor(tensorType(getInputs()[0]).getElementType()))
      .str();
}
