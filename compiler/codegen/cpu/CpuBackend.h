// Kernel functions to machine code: MLIR -> LLVM IR -> object -> one blob.
//
// A kernel is `func.func @name(%dispatch: !llvm.ptr, %workgroup: !llvm.ptr)
// -> i32` of scf (for and if), cf, arith, math, vector (1-D) and LLVM dialect operations.
// compileObject and emitText may run on several threads at once, each with
// its own module; linkVariant takes a lock (LLD has global state).
#ifndef STINT_COMPILER_CODEGEN_CPU_CPUBACKEND_H
#define STINT_COMPILER_CODEGEN_CPU_CPUBACKEND_H

#include "compiler/target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace stint::codegen {

/// Registers what kernels are made of and how it is translated. Append to the
/// context's registry before any thread uses it.
void registerCpuBackend(mlir::DialectRegistry &registry);

/// What emitText prints.
enum class TextKind { mlir, llvm, assembly };

/// An ELF relocatable object of all functions of `module`, which is consumed
/// (lowered in place). An object that needs a symbol it does not define is an
/// error: kernels call nothing.
llvm::Expected<std::vector<char>> compileObject(mlir::ModuleOp module, const target::Variant &variant);

/// The same, as text: the lowered MLIR, optimised LLVM IR, or assembly.
llvm::Expected<std::string> emitText(mlir::ModuleOp module, const target::Variant &variant, TextKind kind);

/// One position-independent segment, text and read-only data together. Loads
/// at any address that is a multiple of 4096 (AArch64 addresses by page).
struct LinkedCode {
  std::vector<char> bytes;
  /// Offset of each kernel, in the order asked for. Multiples of 4.
  std::vector<uint64_t> entries;
};

/// Links objects of one variant. Errors: a kernel that is defined nowhere or
/// twice, relocations, writable data, imports.
llvm::Expected<LinkedCode> linkVariant(llvm::ArrayRef<llvm::ArrayRef<char>> objects,
                                       llvm::ArrayRef<std::string> kernels, const target::Variant &variant);

} // namespace stint::codegen

#endif
