// What memory a compiled model takes: measured on the plan and by the runtime
// on the finished file, and what to say if it is too much.
#ifndef STINT_COMPILER_DRIVER_MEMORYCONTRACT_H
#define STINT_COMPILER_DRIVER_MEMORYCONTRACT_H

#include "compiler/driver/Report.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace stint::driver {

/// Sets what follows from a module of the plan dialect: arena, lower bound,
/// inputs and outputs, stack.
void measurePlan(mlir::ModuleOp module, RamContract &ram);

/// Opens a finished file as a device would, code aside, and sets what the
/// runtime says it takes: plan, constants, weights. The error is the runtime's
/// reason to refuse it.
llvm::Error measureFile(llvm::StringRef file, RamContract &ram);

/// A value that is alive when most bytes are.
struct LiveTensor {
  std::string node; // that computes it
  std::string type; // "f32[1, 64, 112, 112]", at the largest shapes
  uint64_t bytes = 0;
};

/// The values alive at the moment of most bytes, largest first.
std::vector<LiveTensor> tensorsAtPeak(mlir::ModuleOp module);

/// Why `limit` bytes are too few, the least that could do, what takes most,
/// and what to do; `whatToLower`: what would need less, empty if nothing would.
std::string ramMessage(const RamContract &ram, uint64_t limit, llvm::ArrayRef<LiveTensor> atPeak,
                       llvm::StringRef whatToLower);

} // namespace stint::driver

#endif
