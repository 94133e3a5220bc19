// What a rule sees of the ONNX node it imports: its operands, attributes and
// ways to report problems; and short-hands that build graph operators.
#ifndef STINT_COMPILER_IMPORT_NODECONTEXT_H
#define STINT_COMPILER_IMPORT_NODECONTEXT_H

#include "compiler/import/Diagnostics.h"
#include "compiler/import/Known.h"
#include "llvm/ADT/StringMap.h"

namespace stint::import {

struct RuntimeSequence;
struct RuntimeOptional;

/// An ONNX value while importing. At least one of `value`, `known`, `tensor`
/// is set unless it is no tensor, or poison (its node failed).
struct Operand {
  using List = std::vector<Operand *>;
  graph::GraphTensorType type; // null: a sequence, an optional, or poison
  mlir::Value value;           // made on first use where null
  std::optional<Known> known;
  const Tensor *tensor = nullptr;
  std::string name;
  std::shared_ptr<List> list;                // the tensors of a sequence
  std::shared_ptr<RuntimeSequence> sequence; // one whose length the run decides
  std::shared_ptr<RuntimeOptional> optional; // what the run decides whether it is there
  bool none = false;                         // an optional without an element
  bool poison() const { return !type && !list && !sequence && !optional && !none; }
};

/// Integers of attributes and of constants that take their place are not
/// larger than this, either sign: two of them multiply without overflow. (The
/// ends of a slice are read in another way.)
constexpr int64_t kMostInteger = int64_t(1) << 31;

class Importer;

class NodeContext {
public:
  NodeContext(Importer &importer, const Node &node, int64_t opset, llvm::SmallVector<Operand *> operands);

  // The node.
  const Node &node;
  const int64_t opset; // of the node's domain
  mlir::OpBuilder &b;
  const graph::Symbols &symbols;
  mlir::Location loc;
  mlir::MLIRContext *context() const { return b.getContext(); }

  // Operands. `in` makes the value if it does not exist yet.
  size_t numInputs() const { return operands.size(); }
  bool has(size_t i) const { return i < operands.size() && operands[i]; }
  mlir::Value in(size_t i);
  graph::GraphTensorType type(size_t i) const { return operands[i]->type; }
  int64_t rank(size_t i) const { return type(i).getRank(); }
  mlir::Type element(size_t i) const { return type(i).getElementType(); }
  const Known *known(size_t i) const;
  const Tensor *tensor(size_t i) const { return has(i) ? operands[i]->tensor : nullptr; }
  const Model &model() const;

  // Attributes. One of another kind than asked for, or an integer beyond
  // kMostInteger, counts as absent and is kept in `misread`: the importer
  // reports it once the rule is done.
  const NodeAttribute *attribute(llvm::StringRef name) const { return node.find(name); }
  const NodeAttribute *attributeOf(llvm::StringRef name, NodeAttribute::Kind kind, llvm::StringRef kindName) const;
  int64_t getInt(llvm::StringRef name, int64_t otherwise) const;
  float getFloat(llvm::StringRef name, float otherwise) const;
  std::string getString(llvm::StringRef name, llvm::StringRef otherwise = "") const;
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name) const;
  /// An integer list that is an attribute in old versions and an operand in
  /// new ones. Fails (reported) if the operand is not a known constant.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> getIntsOrInput(llvm::StringRef name, size_t input);
  /// Makes an axis of a rank-`rank` tensor non-negative, or reports.
  mlir::FailureOr<int64_t> axis(int64_t value, int64_t rank);
  /// Sorted, unique, non-negative.
  mlir::FailureOr<llvm::SmallVector<int64_t>> axes(llvm::ArrayRef<int64_t> values, int64_t rank);

  // Results.
  bool wants(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  void out(size_t i, mlir::Value value);
  void outKnown(size_t i, mlir::Type elementType, Known known);
  /// Passes operand `input` on as result `i`.
  void forward(size_t i, size_t input);
  bool done() const; // every wanted output is given
  /// Reports an attribute that the operator does not have.
  mlir::LogicalResult checkAttributes();

  // Problems: always failure.
  mlir::LogicalResult unsupported(const llvm::Twine &why);
  /// Where an attribute could not be read, that is said: what follows from it is not.
  mlir::LogicalResult malformed(const llvm::Twine &why);

  // Builders. Operands must broadcast: see `unify`. What doesn't is reported,
  // and the rule goes on with zeros.
  mlir::AffineExpr dim(int64_t value) { return b.getAffineConstantExpr(value); }
  static graph::GraphTensorType typeOf(mlir::Value value) {
    return llvm::cast<graph::GraphTensorType>(value.getType());
  }
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    if constexpr (Op::template hasTrait<graph::Elementwise>()) {
      llvm::SmallVector<mlir::Value, 3> values;
      (collect(values, args), ...);
      if (!broadcast(values))
        return b.create<Op>(loc, standIn(args)...)->getResult(0);
    }
    return b.create<Op>(loc, std::forward<Args>(args)...)->getResult(0);
  }
  /// Rank-0 constant of a numeric type or boolean.
  mlir::Value scalar(mlir::Type elementType, double value);
  mlir::Value scalarLike(mlir::Value other, double value) { return scalar(typeOf(other).getElementType(), value); }
  mlir::Value constant(const Known &known, mlir::Type elementType);
  /// Constant or weight with these elements.
  mlir::Value weightF32(llvm::ArrayRef<float> values, llvm::ArrayRef<int64_t> shape, llvm::StringRef name);
  mlir::Value weightI64(llvm::ArrayRef<int64_t> values, llvm::ArrayRef<int64_t> shape, llvm::StringRef name);
  mlir::Value add(mlir::Value x, mlir::Value y) { return make<graph::AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return make<graph::SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return make<graph::MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return make<graph::DivOp>(x, y); }
  mlir::Value max(mlir::Value x, mlir::Value y) { return make<graph::MaxOp>(x, y); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return make<graph::MinOp>(x, y); }
  mlir::Value compare(graph::ComparePredicate p, mlir::Value x, mlir::Value y) {
    return make<graph::CompareOp>(p, x, y);
  }
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) { return make<graph::SelectOp>(c, x, y); }
  mlir::Value cast(mlir::Value x, mlir::Type elementType);
  mlir::Value reduce(graph::ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// Reshapes; folded into weights and constants.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// Stretches dimensions of 1 (the shapes must fit).
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> shape);
  /// A box with one start and size per dimension, steps 1.
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> starts, llvm::ArrayRef<mlir::AffineExpr> sizes,
                    llvm::ArrayRef<int64_t> steps = {});
  /// i64 coordinates along `axis` of a tensor of `shape`.
  mlir::Value iota(llvm::ArrayRef<mlir::AffineExpr> shape, int64_t axis);
  /// The size of axis `axis` of result `result` where that is known only while
  /// the model runs: `count` is one i64 element, at most `most`. Everything
  /// made afterwards may use it.
  mlir::AffineExpr dataDependent(mlir::Value count, mlir::AffineExpr most, size_t result, int64_t axis);
  /// The same for any integer: `limits` is what is known of it, `suffix` sets
  /// its name apart.
  mlir::AffineExpr measured(mlir::Value count, mlir::AffineExpr most, graph::Range limits, size_t result, int64_t axis,
                            llvm::StringRef suffix = "");
  /// Ends the run unless `condition` is true: the node "needs" `what`.
  void require(mlir::Value condition, const llvm::Twine &what);
  /// The results of a leaf kernel, see dialects/Graph/Leaves.def.
  mlir::ResultRange leaf(llvm::StringRef name, mlir::ValueRange inputs, llvm::ArrayRef<graph::GraphTensorType> results,
                         llvm::ArrayRef<int64_t> params, llvm::ArrayRef<float> fparams = {}, int64_t leading = 0);
  /// The same where nothing but `--bound` says how large it may be; reports if
  /// that does not.
  mlir::FailureOr<mlir::AffineExpr> boundedSize(mlir::Value count, size_t result, int64_t axis);
  /// A dimension expression as a rank-0 value of a numeric type.
  mlir::Value dimension(mlir::AffineExpr expr, mlir::Type elementType);

  // Loops. `step` is called once, to fill the body: with the iteration, the
  // carried values, and a list for its results: the next carried values, of
  // the same types, then what is stacked along a new first dimension, `scans`
  // values. Values from outside are used through `local`. Returns the last
  // carried values, then the stacked ones. A loop of one trip is none.
  using LoopStep = llvm::function_ref<void(mlir::AffineExpr iteration, llvm::ArrayRef<mlir::Value> carried,
                                           llvm::SmallVectorImpl<mlir::Value> &results)>;
  llvm::SmallVector<mlir::Value> loop(mlir::AffineExpr trips, llvm::ArrayRef<mlir::Value> inits, size_t scans,
                                      LoopStep step);
  mlir::Value local(mlir::Value value);

  // Shapes.
  /// Whether a tensor can have this shape; reports if not.
  bool exists(llvm::ArrayRef<mlir::AffineExpr> shape);
  /// A type with this shape; one without dimensions if no tensor can have it
  /// (reported).
  graph::GraphTensorType shaped(llvm::ArrayRef<mlir::AffineExpr> shape, mlir::Type elementType) {
    return graph::GraphTensorType::get(exists(shape) ? shape : llvm::ArrayRef<mlir::AffineExpr>(), elementType);
  }
  graph::GraphTensorType shaped(graph::GraphTensorType type, llvm::ArrayRef<mlir::AffineExpr> shape) {
    return shaped(shape, type.getElementType());
  }
  mlir::AffineExpr simplify(mlir::AffineExpr expr) const { return symbols.simplify(expr); }
  bool same(mlir::AffineExpr x, mlir::AffineExpr y) const { return symbols.equal(x, y) == true; }
  /// False if the two dimensions are never equal. Where they are only for some
  /// inputs, the run ends with an error for the others.
  bool assumeEqual(mlir::AffineExpr x, mlir::AffineExpr y);
  /// The same for x being at most y.
  bool assumeAtMost(mlir::AffineExpr x, mlir::AffineExpr y);
  /// Whether `size` can be `least` or more; reports if not, calling it `what`.
  /// Where it is for some inputs only, it becomes a symbol of its own that is,
  /// and the run ends with an error for the others.
  bool atLeast(mlir::AffineExpr &size, int64_t least, const llvm::Twine &what);
  /// Brings dimensions that are equal but written differently to one form, so
  /// that the values broadcast; reports if they never do.
  mlir::LogicalResult unify(llvm::MutableArrayRef<mlir::Value> values);
  std::string print(mlir::AffineExpr expr) const;
  std::string print(graph::GraphTensorType type) const;
  std::string operandTypes() const;

private:
  friend class Importer;
  template <typename T> static void collect(llvm::SmallVectorImpl<mlir::Value> &values, const T &argument) {
    if constexpr (std::is_convertible_v<T, mlir::Value>)
      values.push_back(argument);
  }
  template <typename T> auto standIn(const T &argument) {
    if constexpr (std::is_convertible_v<T, mlir::Value>)
      return scalarLike(argument, 0);
    else
      return argument;
  }
  /// Whether the values' shapes broadcast; reports if they do not.
  bool broadcast(llvm::ArrayRef<mlir::Value> values);

  Importer &importer;
  llvm::SmallVector<Operand *> operands;
  llvm::SmallVector<Operand> results;
  bool reported = false;
  mutable std::string misread; // why an attribute could not be read
};

/// Imports one node: gives all wanted outputs, or reports and fails.
using Rule = mlir::LogicalResult (*)(NodeContext &n);

/// Rules by "domain.opType" (ONNX's own domain is empty: ".Conv").
class RuleTable {
public:
  struct Entry {
    Rule rule = nullptr;
    unsigned minInputs = 0;
  };
  void add(llvm::StringRef opType, unsigned minInputs, Rule rule, llvm::StringRef domain = "");
  const Entry *find(llvm::StringRef domain, llvm::StringRef opType) const;
  /// The table of everything.
  static const RuleTable &all();

private:
  llvm::StringMap<Entry> entries;
};

// One function a file of `ops/`.
void addActivations(RuleTable &table);
void addAttentions(RuleTable &table);
void addBlockQuantisations(RuleTable &table);
void addContractions(RuleTable &table);
void addEinsum(RuleTable &table);
void addElementwise(RuleTable &table);
void addIntegerContractions(RuleTable &table);
void addLosses(RuleTable &table);
void addMovements(RuleTable &table);
void addSlicings(RuleTable &table);
void addNormalisations(RuleTable &table);
void addPagedAttentions(RuleTable &table);
void addPoolings(RuleTable &table);
void addQuantisations(RuleTable &table);
void addRandoms(RuleTable &table);
void addReductions(RuleTable &table);
void addRecurrent(RuleTable &table);
void addResizes(RuleTable &table);
void addSignals(RuleTable &table);
void addTraining(RuleTable &table);
void addSamplings(RuleTable &table);
void addScatters(RuleTable &table);
void addSelections(RuleTable &table);
void addSortings(RuleTable &table);
void addTexts(RuleTable &table);
/// Folds the node if it computes on known values only; false if it does not.
bool foldShapeArithmetic(NodeContext &n);

} // namespace stint::import

#endif
