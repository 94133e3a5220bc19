// The table of leaf kernels.
#ifndef STINT_DIALECTS_GRAPH_LEAVES_H
#define STINT_DIALECTS_GRAPH_LEAVES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace stint::graph {

/// One row of Leaves.def.
struct Leaf {
  static constexpr int kAnyNumber = -1, kUpdates = 16;
  enum Traits { kTables = 1, kColumns = 2, kApart = 4, kHeads = 8 };
  llvm::StringRef name, source;
  int operands, results, params, fparams;
  llvm::StringRef types;
  int units, inPlace;
  int traits;

  bool has(Traits trait) const { return traits & trait; }

  /// The type part of the function's name, empty if the leaf is not made for
  /// an operand 0 of this element type.
  std::string suffixFor(mlir::Type elementType) const;

  /// The operand that result 0 is the next value of, or -1.
  int updated() const { return inPlace >= kUpdates ? inPlace - kUpdates : -1; }
};

/// The leaf of that name, or null.
const Leaf *findLeaf(llvm::StringRef name);

} // namespace stint::graph

#endif
