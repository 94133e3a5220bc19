// Evaluates small parts of an ONNX graph on given inputs: what decoders
// compute masks and positions with, element by element, on a few dozen
// numbers. Not a way to run models.
#ifndef STINT_COMPILER_IMPORT_SMALLVALUES_H
#define STINT_COMPILER_IMPORT_SMALLVALUES_H

#include "compiler/import/Model.h"
#include "llvm/ADT/StringMap.h"

namespace stint::import {

/// A row-major tensor of numbers; booleans are 0 and 1.
struct SmallValue {
  std::vector<int64_t> dims;
  std::vector<double> elements;
  bool integer = true;    // division and casts round towards zero
  bool onlyShape = false; // the elements are not known
  int64_t count() const;
};

class SmallValues {
public:
  /// `inputs`: values by name, of graph inputs that may be read.
  SmallValues(const Model &model, llvm::StringMap<SmallValue> inputs);

  /// The value of that name, or null: then `problem` says why, naming a node.
  const SmallValue *get(llvm::StringRef name);
  std::string problem;

private:
  bool evaluate(const Node &node, SmallValue &result);
  bool evaluateShapes(const Node &node, SmallValue &result, bool &known);
  bool fail(const Node &node, const llvm::Twine &why);
  std::optional<std::vector<int64_t>> integers(const Node &node, size_t input, llvm::StringRef attribute);

  const Model &model;
  llvm::StringMap<const Node *> makers;
  llvm::StringMap<SmallValue> values;
  int depth = 0;
  int64_t budget = int64_t(1) << 22; // elements that may still be computed
};

} // namespace stint::import

#endif
