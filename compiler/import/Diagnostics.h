// What reading and importing a model has to say to its user: every problem
// states what is wrong, where, and what to do. Problems are collected, so that
// one run lists all of them.
#ifndef STINT_COMPILER_IMPORT_DIAGNOSTICS_H
#define STINT_COMPILER_IMPORT_DIAGNOSTICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace stint::import {

/// The kinds of problem; the values are the command's exit codes.
enum class Problem {
  Failed = 1,      // a missing file, a size that cannot be planned for
  Usage = 2,       // an option is missing or contradicts the model
  Unsupported = 3, // valid ONNX that this compiler cannot compile
  Malformed = 4,   // not ONNX, or ONNX that breaks its own rules
};

/// One operator of the model that cannot be compiled.
struct UnsupportedNode {
  std::string domain;  // "" is ONNX's own
  std::string opType;  // "Resize"
  int64_t version = 0; // the opset version the model imports
  std::string name;    // the node's name, or that of its first output
  std::string types;   // "f32[1, 3, s0], i64[4]"; empty if not known
  std::string why;
};

class Diagnostics {
public:
  struct Entry {
    Problem problem;
    std::string message;
    bool aboutOperands = false; // a node's operands don't fit it
  };

  void report(Problem problem, const llvm::Twine &message, bool aboutOperands = false) {
    entries.push_back({problem, message.str(), aboutOperands});
  }
  void report(UnsupportedNode node);

  bool ok() const { return entries.empty(); }
  /// 0, or the most telling of the problems' exit codes: malformed before
  /// usage before unsupported before failed.
  int exitCode() const;
  /// Takes back what was reported since there were `count` entries.
  void forgetSince(size_t count) { entries.resize(count); }
  llvm::ArrayRef<Entry> all() const { return entries; }
  llvm::ArrayRef<UnsupportedNode> unsupported() const { return nodes; }
  /// One line a problem, each after the command's name, as problems of its
  /// flags are.
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<Entry> entries;
  std::vector<UnsupportedNode> nodes; // those also listed in `entries`
};

} // namespace stint::import

#endif
