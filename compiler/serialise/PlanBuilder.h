// From a module of the plan dialect and machine code to a .stint file.
#ifndef STINT_COMPILER_SERIALISE_PLANBUILDER_H
#define STINT_COMPILER_SERIALISE_PLANBUILDER_H

#include "compiler/target/Target.h"
#include "compiler/weights/WeightWriter.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace stint::serialise {

/// One variant's linked code.
struct VariantCode {
  target::Variant variant;
  std::vector<char> bytes;
  std::vector<uint64_t> entries; // one per kernel, in the order of `kernelsOf`
  uint64_t scratch = 0;          // bytes per thread
};

/// What goes into a file.
struct PlanInput {
  mlir::ModuleOp module; // the plan dialect, memory planned
  std::string model;     // its name, for people
  /// Contents of the files that extents name, in the order of `graph.files`.
  std::vector<llvm::ArrayRef<uint8_t>> files;
  std::vector<VariantCode> variants;
  /// Sections of text (runtime/schema/tokenizer_section.h, chat_section.h); empty: none.
  std::vector<uint8_t> tokenizer, chat;
  weights::Hash modelHash = {}; // of a decoder
};

/// What the file came to, in bytes. `constants` and `weights` are what is in
/// the file; `sharedWeights` is what equal weights saved.
struct PlanSizes {
  uint64_t file = 0, plan = 0, weights = 0, constants = 0, sharedWeights = 0;
};

/// The kernels of a plan in the order of Plan.kernels.
llvm::SmallVector<mlir::func::FuncOp> kernelsOf(mlir::ModuleOp module);
/// SHA-256 of a kernel's IR without locations: equal kernels, equal hashes.
weights::Hash hashKernel(mlir::func::FuncOp kernel);

/// Writes the file. Equal input gives equal bytes. Memory use does not grow
/// with the weights. Errors are those of the output file, or broken recipes.
/// `accept` is called when the file is whole but for its name, with the name it
/// has until then; if it answers no, nothing appears at `path`.
llvm::Expected<PlanSizes> writePlan(const PlanInput &input, llvm::StringRef path,
                                    llvm::function_ref<bool(const PlanSizes &, llvm::StringRef file)> accept);

} // namespace stint::serialise

#endif
