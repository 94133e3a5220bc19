// The importer's state. Included by its own files only.
#ifndef STINT_COMPILER_IMPORT_IMPORTERIMPL_H
#define STINT_COMPILER_IMPORT_IMPORTERIMPL_H

#include "compiler/import/Forms.h"
#include "compiler/import/Importer.h"
#include "compiler/import/NodeContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <deque>
#include <set>

namespace stint::import {

/// One more dimension fits; what to say where it doesn't, after a name.
inline bool stacks(graph::GraphTensorType type) { return type.getRank() < graph::GraphTensorType::kMaxRank; }
constexpr const char *kTooManyDims = "' has 8 dimensions; stacked it would have 9, and 8 is the most";

/// The one integer that is known, if it is.
inline std::optional<int64_t> onlyInteger(const Known *known) {
  return known && known->elements.size() == 1 ? known->elements[0].integer() : std::nullopt;
}

class Importer {
public:
  Importer(Model &model, const ImportOptions &options, mlir::MLIRContext &context, Diagnostics &diagnostics,
           ImportedModel &result);
  void run();

  /// A function that is being filled: @main, a branch, or a loop's body.
  struct Body {
    mlir::func::FuncOp function;
    mlir::Block *block = nullptr;
    Body *parent = nullptr;
    llvm::DenseMap<const Operand *, mlir::Value> made;  // constants and dimensions
    llvm::DenseMap<mlir::Value, mlir::Value> arguments; // of captured values
    llvm::SmallVector<mlir::Value> captured;            // as the parent has them
  };
  mlir::Value capture(Body &inner, mlir::Value value);
  /// Whether one more If or Loop may be inside those that the importer is in;
  /// reports if not.
  bool nests(NodeContext &n);

  // For NodeContext.
  mlir::Location locationOf(const Node &node);
  /// A symbol for a dimension that `count` (one i64 element) has while the
  /// model runs, at most `most`, or what `--bound NAME.AXIS=N` says.
  mlir::AffineExpr dataDependent(mlir::Value count, mlir::AffineExpr most, llvm::StringRef name, int64_t axis,
                                 mlir::Location loc);
  /// The same with what is known of it, and a name of its own.
  mlir::AffineExpr measured(mlir::Value count, mlir::AffineExpr most, graph::Range limits, llvm::StringRef name,
                            mlir::Location loc);
  /// Ends the run unless `condition` is true: the node "needs" `what`.
  void requireTrue(mlir::Value condition, const llvm::Twine &what, const Node &node, mlir::Location loc);
  mlir::Value materialise(Operand &operand, mlir::Location loc);
  const Known *known(Operand &operand);
  mlir::Value inlineWeight(llvm::ArrayRef<uint8_t> bytes, mlir::Type elementType, llvm::ArrayRef<int64_t> shape,
                           llvm::StringRef name, mlir::Location loc);
  llvm::SmallVector<mlir::Value> buildLoop(mlir::AffineExpr trips, llvm::ArrayRef<mlir::Value> inits, size_t scans,
                                           NodeContext::LoopStep step, NodeContext &n);
  /// What `--bound VALUE.AXIS=N` says.
  std::optional<int64_t> boundOf(llvm::StringRef value, int64_t axis);
  /// Ends the run unless x and y are equal: the node "needs" `what`.
  void require(mlir::AffineExpr x, mlir::AffineExpr y, const llvm::Twine &what, const Node &node, mlir::Location loc);
  void reportUnsupported(const Node &node, int64_t opset, std::string types, std::string why);
  std::string print(mlir::AffineExpr expr) const;
  std::string print(graph::GraphTensorType type) const;

  Model &model;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  Diagnostics &diagnostics;
  ImportedModel &result;
  mlir::OpBuilder builder;
  Body main;
  Body *current = &main;
  graph::Symbols symbols{llvm::ArrayRef<graph::SymbolAttr>()};

private:
  friend class RuntimeSequences;
  /// Names visible in a graph or function body; lookups go outwards.
  struct Scope {
    Scope *parent = nullptr;
    llvm::StringMap<Operand *> values;
    Operand *find(llvm::StringRef name) const;
  };
  using Opsets = std::map<std::string, int64_t>;

  /// What was there before an attempt, to take it back.
  struct Checkpoint {
    mlir::Operation *last, *lastFunction; // in the current function, of the module; may be null
    size_t symbols, problems;
    std::vector<OperatorUse> operators;
    llvm::DenseSet<std::pair<mlir::AffineExpr, mlir::AffineExpr>> required;
  };
  Checkpoint checkpoint();
  void rollBack(const Checkpoint &to);
  void enter(Body &inner, llvm::StringRef name);
  void leave();
  /// Ends the current function.
  void finish(llvm::ArrayRef<mlir::Value> results, mlir::Location loc);
  mlir::Value makeSource(Operand &operand, mlir::Location loc);
  static void eraseDead(mlir::Block &block);

  mlir::AffineExpr newSymbol(llvm::StringRef name, int64_t lower, int64_t upper, mlir::AffineExpr bound = {});
  void publishSymbols();
  std::optional<int64_t> mostAfter(mlir::AffineExpr before, mlir::AffineExpr after, int64_t trips, unsigned first,
                                   unsigned iteration);
  mlir::Value flagOf(Operand &operand, mlir::Location loc);
  std::vector<Operand *> importGraph(const Graph &graph, Scope &scope, const Opsets &opsets, int depth);
  void setResult(const Node &node, size_t i, Scope &scope, Operand *operand);
  Operand *computed(llvm::StringRef name, mlir::Value value);
  void bindIteration(const Graph &graph, Scope &inner, mlir::AffineExpr iteration);

  bool declareSymbols();
  bool declareInitializers(const Graph &graph, Scope &scope);
  bool checkStates(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> results, llvm::ArrayRef<std::string> names);
  bool addInputs(Scope &scope, mlir::func::FuncOp *function);
  void importNodes(llvm::ArrayRef<Node> nodes, llvm::ArrayRef<std::string> outputs, Scope &scope, const Opsets &opsets,
                   int depth);
  void importNode(const Node &node, Scope &scope, const Opsets &opsets, int depth);
  bool importConstant(const Node &node, Operand &operand);
  mlir::LogicalResult importFunctionCall(const Node &node, const Function &function, Scope &scope,
                                         llvm::ArrayRef<Operand *> operands, int depth);
  using ControlFlow = mlir::LogicalResult (Importer::*)(NodeContext &, Scope &, const Opsets &, int depth);
  static ControlFlow controlFlow(const Node &node);
  static ControlFlow sequences(const Node &node);
  mlir::LogicalResult importIf(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  std::optional<mlir::LogicalResult> unrollLoop(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importSequenceConstruct(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importSequenceInsert(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importSequenceErase(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importSequenceAt(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importSequenceLength(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importSplitToSequence(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importConcatFromSequence(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importSequenceMap(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importOptional(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importOptionalHasElement(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importOptionalGetElement(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  Operand *listOf(llvm::StringRef name, Operand::List elements);
  const Operand::List *listAt(NodeContext &n, size_t i);
  std::optional<Form> runtimeForm(NodeContext &n, size_t i, const Operand *element = nullptr);
  std::optional<size_t> positionAt(NodeContext &n, size_t i, size_t size, size_t length);
  Operand *knownScalar(llvm::StringRef name, mlir::AffineExpr value, mlir::Type elementType);
  Form sequenceLike(const Form &list, const ValueInfo &declared);
  mlir::LogicalResult splitAtRunTime(NodeContext &n, Scope &scope, int64_t axis);
  mlir::LogicalResult mapAtRunTime(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  /// The tensors that control flow hands over for a value, brought to `form`.
  void pack(NodeContext &n, Operand &operand, const Form &form, llvm::SmallVectorImpl<mlir::Value> &values);
  void packNothing(NodeContext &n, const Form &form, llvm::SmallVectorImpl<mlir::Value> &values);
  /// The value that the first of `values` make; takes them off.
  Operand *unpack(NodeContext &n, const Form &form, llvm::ArrayRef<mlir::Value> &values, llvm::StringRef name);
  bool expandSequenceInputs();
  bool checkNames();
  void checkNames(const Graph &graph);
  std::pair<mlir::Value, mlir::Value> sequenceOutput(Operand &operand, mlir::Location loc);
  mlir::LogicalResult importScan(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  mlir::LogicalResult importLoop(NodeContext &n, Scope &scope, const Opsets &opsets, int depth);
  const Function *findFunction(const Node &node) const;
  bool verifyNewOps(NodeContext &n, mlir::Operation *before);
  Operand *newOperand(llvm::StringRef name);
  OperatorUse &use(const Node &node, int64_t opset);
  mlir::Value weight(const Tensor &tensor, mlir::Location loc);

  mlir::ModuleOp module;
  mlir::Block *body = nullptr; // current->block
  size_t functionCount = 0;
  std::vector<const Function *> calling; // functions of the model that calls are inside of
  std::set<std::string> usedBounds;
  llvm::StringMap<int64_t> sequenceInputs;                                // and how many tensors each holds
  llvm::DenseSet<std::pair<mlir::AffineExpr, mlir::AffineExpr>> required; // in @main
  std::deque<Operand> operands;                                           // addresses stay
  std::deque<Tensor> tensors;                                             // made from attributes
  std::deque<Node> rewritten; // nodes of functions with their attributes filled in
  llvm::SmallVector<graph::SymbolAttr> symbolAttrs;
  llvm::StringMap<mlir::AffineExpr> dimByName;
};

} // namespace stint::import

#endif
