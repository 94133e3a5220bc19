// Leaf kernels as bitcode, embedded in this program.
#ifndef STINT_COMPILER_CODEGEN_LEAF_BITCODE_H
#define STINT_COMPILER_CODEGEN_LEAF_BITCODE_H

#include "compiler/target/Target.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace stint::codegen {

/// Defines every leaf function that `module` declares, and what these call,
/// as internal functions without attributes of a machine. The caller adds
/// the variant's.
llvm::Error linkLeaves(llvm::Module &module, const target::Variant &variant);

} // namespace stint::codegen

#endif
