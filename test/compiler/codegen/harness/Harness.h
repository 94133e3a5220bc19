// Tests of kernel generators: outlined kernels as text are lowered, compiled,
// linked, run in guarded memory, and compared with the reference.
//
//   Suite suite(lowerLoopNest);
//   suite.add("relu", R"(func.func @k(%x: !graph.tensor<[s0] x f32>) -> …)", {67});
//   suite.check({"v2", "v3"});
//
// A kernel runs with its grid cut in three ways (as the plan does it, whole,
// finest in random order), its buffers placed in three ways between
// inaccessible pages, results and scratch filled with different bytes; all
// must give the same bits. Operands that carry `graph.in_place = N` also share
// memory with result N.
#ifndef STINT_TEST_COMPILER_CODEGEN_HARNESS_HARNESS_H
#define STINT_TEST_COMPILER_CODEGEN_HARNESS_HARNESS_H

#include "compiler/codegen/cpu/CpuBackend.h"
#include "compiler/target/Target.h"
#include "test/compiler/codegen/harness/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace stint::test {

/// The generator under test.
using Lower = std::function<llvm::Expected<int64_t>(mlir::func::FuncOp, const target::Variant &, mlir::ModuleOp)>;

/// The context of all tests: graph dialect and CPU back end are loaded.
mlir::MLIRContext &context();

struct Case {
  std::string name;
  /// One function of graph operators. `graph.kind` (loopnest) and
  /// `graph.symbols` (none) may be left out.
  std::string text;
  std::vector<int64_t> symbols;
  std::vector<Tensor> operands;
  Tolerance tolerance;
  /// Applied to results before they are compared: clears what has no meaning.
  std::function<void(std::vector<Tensor> &)> clear = {};
};

struct Outcome {
  /// What went wrong before there was something to compare, or "".
  std::string error;
  std::vector<Tensor> results;
};

/// Lowers, compiles, links and runs all cases for one variant. Cases of equal
/// text share a kernel.
std::vector<Outcome> runCases(llvm::ArrayRef<Case> cases, const Lower &lower, const target::Variant &variant);
/// Only compiles them: no results.
std::vector<Outcome> compileCases(llvm::ArrayRef<Case> cases, const Lower &lower, const target::Variant &variant);
Outcome runKernel(std::string text, std::vector<int64_t> symbols, std::vector<Tensor> operands, const Lower &lower,
                  llvm::StringRef variant);
/// What the reference computes for the case.
Outcome referenceOf(const Case &test);

/// Compiled kernels as the runtime gets them, for benchmarks.
struct Compiled {
  std::string error;
  codegen::LinkedCode code;
  std::vector<int64_t> scratch; // per kernel
};
Compiled compileKernels(llvm::ArrayRef<std::string> texts, const Lower &lower, const target::Variant &variant);

/// A case with random operands: operand i holds fills[i], or the last of
/// them, or the default.
Case randomCase(std::string name, std::string text, std::vector<int64_t> symbols, llvm::ArrayRef<Fill> fills,
                Tolerance tolerance, uint64_t seed);
/// What is wrong with an outcome, or "".
std::string judge(const Outcome &outcome, const Outcome &expected, const Tolerance &tolerance);

class Suite {
public:
  explicit Suite(Lower lower) : lower(std::move(lower)) {}

  /// Adds a random case. Returned to be changed; valid until the next.
  Case &add(std::string name, std::string text, std::vector<int64_t> symbols = {}, std::vector<Fill> fills = {},
            Tolerance tolerance = {});
  void add(Case test) { cases.push_back(std::move(test)); }
  size_t size() const { return cases.size(); }

  /// Runs everything for each variant and reports what is wrong as failures of
  /// the current GoogleTest test. For variants that can't be run here, kernels
  /// are only compiled, and it says so. `every`: only each n-th kernel, with all its cases; compiling
  /// takes most of the time. In the environment: STINT_KERNELS=substring picks
  /// cases by name; STINT_EVERY=1 takes every kernel; STINT_ISOLATE=1 runs each
  /// case in a process of its own, so that a crash of the generator is one
  /// failure.
  void check(llvm::ArrayRef<llvm::StringRef> variants, size_t every = 1) const;

private:
  Lower lower;
  std::vector<Case> cases;
};

} // namespace stint::test

#endif
