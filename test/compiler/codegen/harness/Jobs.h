// From a kernel and its operands to jobs (Execute.h), run here or under qemu.
#ifndef STINT_TEST_COMPILER_CODEGEN_HARNESS_JOBS_H
#define STINT_TEST_COMPILER_CODEGEN_HARNESS_JOBS_H

#include "compiler/codegen/cpu/CpuBackend.h"
#include "compiler/target/Target.h"
#include "test/compiler/codegen/harness/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace stint::test {

/// How a kernel's grid is cut into workgroups.
enum class Split {
  plan,   // by the tile of gridOf, in order
  whole,  // one workgroup
  finest, // single units (or as small as stays affordable), in random order
};

struct JobOptions {
  Split split = Split::plan;
  uint32_t placement = 0; // Placement
  uint8_t poison = 0xFF;
  /// Operand number -> result number: the operand's memory is the result's.
  std::map<unsigned, unsigned> inPlace;
};

/// A job for `kernel`, an outlined kernel with graph.kind and graph.symbols.
std::vector<char> makeJob(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> symbols, llvm::ArrayRef<Tensor> operands,
                          uint64_t entry, uint64_t scratch, const JobOptions &options);

/// What came of a job: `error`, or the results, unpacked.
struct JobResult {
  std::string error;
  std::vector<Tensor> tensors;
};
JobResult readOutcome(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> symbols, llvm::ArrayRef<char> outcome);

/// Empty if code of this variant can be run here, natively or under qemu; else
/// why not.
std::string whyNotRunnable(const target::Variant &variant);
/// Runs jobs in order, natively or all in one run of qemu. One outcome per
/// job; empty ones after a run that broke off, which sets `error`.
std::vector<std::vector<char>> runJobs(const codegen::LinkedCode &code, llvm::ArrayRef<std::vector<char>> jobs,
                                       const target::Variant &variant, std::string &error);

} // namespace stint::test

#endif
