// Objects and text from kernel modules, with the check that no kernel needs
// anything from outside.
#include "compiler/codegen/cpu/CpuBackend.h"
#include "compiler/codegen/cpu/LowerToLlvm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace stint;
using namespace stint::codegen;

static Error makeError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

void codegen::registerCpuBackend(mlir::DialectRegistry &registry) {
  registry
      .insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
              mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

/// Names every symbol an object refers to but does not define.
static Error checkNothingUndefined(MemoryBufferRef bytes) {
  Expected<std::unique_ptr<object::ObjectFile>> file = object::ObjectFile::createObjectFile(bytes);
  if (!file)
    return file.takeError();
  std::string names;
  for (const object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if (!(*flags & object::SymbolRef::SF_Undefined) || (*flags & object::SymbolRef::SF_FormatSpecific))
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (!name->empty())
      names += (names.empty() ? "" : ", ") + name->str();
  }
  if (!names.empty())
    return makeError("internal error: kernels call functions that do not exist on a device: " + names);
  return Error::success();
}

/// Runs everything up to LLVM IR.
static Expected<std::unique_ptr<Module>> toLlvm(mlir::ModuleOp module, const target::Variant &variant,
                                                TargetMachine &machine, LLVMContext &context) {
  if (mlir::failed(lowerToLlvmDialect(module)))
    return makeError("internal error: a kernel could not be lowered to LLVM");
  return translate(module, variant, machine, context);
}

static Error generate(Module &module, TargetMachine &machine, raw_pwrite_stream &out, CodeGenFileType type) {
  legacy::PassManager passes;
  auto *library = new TargetLibraryInfoWrapperPass(Triple(module.getTargetTriple()));
  passes.add(library);
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true))
    return makeError("this LLVM cannot write code for " + machine.getTargetTriple().str());
  passes.run(module);
  return Error::success();
}

Expected<std::vector<char>> codegen::compileObject(mlir::ModuleOp module, const target::Variant &variant) {
  LLVMContext context;
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(variant);
  if (!machine)
    return machine.takeError();
  Expected<std::unique_ptr<Module>> lowered = toLlvm(module, variant, **machine, context);
  if (!lowered)
    return lowered.takeError();
  SmallVector<char, 0> bytes;
  raw_svector_ostream out(bytes);
  if (Error error = generate(**lowered, **machine, out, CodeGenFileType::ObjectFile))
    return std::move(error);
  if (Error error = checkNothingUndefined(MemoryBufferRef(StringRef(bytes.data(), bytes.size()), "kernels")))
    return std::move(error);
  return std::vector<char>(bytes.begin(), bytes.end());
}

Expected<std::string> codegen::emitText(mlir::ModuleOp module, const target::Variant &variant, TextKind kind) {
  LLVMContext context;
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(variant);
  if (!machine)
    return machine.takeError();
  std::string text;
  if (kind == TextKind::mlir) {
    raw_string_ostream out(text);
    module.print(out);
    return text;
  }
  Expected<std::unique_ptr<Module>> lowered = toLlvm(module, variant, **machine, context);
  if (!lowered)
    return lowered.takeError();
  if (kind == TextKind::llvm) {
    raw_string_ostream out(text);
    (*lowered)->print(out, nullptr);
    return text;
  }
  SmallVector<char, 0> bytes;
  raw_svector_ostream out(bytes);
  if (Error error = generate(**lowered, **machine, out, CodeGenFileType::AssemblyFile))
    return std::move(error);
  return std::string(bytes.begin(), bytes.end());
}
