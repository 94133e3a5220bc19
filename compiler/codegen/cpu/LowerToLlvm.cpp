// scf, vector, arith, cf, func -> LLVM dialect -> LLVM IR, in one conversion
// and a short list of LLVM passes: kernels come out of the generators nearly
// as they should run, so most of what O2 does is time spent for nothing.
#include "compiler/codegen/cpu/LowerToLlvm.h"

#include "compiler/codegen/leaf/Bitcode.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace mlir;
using namespace stint;

/// Our passes over each kernel. Why each is there: sroa: stack slots that are
/// promoted; early-cse, instcombine: address arithmetic repeated by the
/// generators, broadcasts folded into operands; licm: broadcasts of loop
/// invariants; simplifycfg: empty blocks of scf. Strength reduction, scheduling
/// and register allocation are the code generator's (codegen level 2).
static constexpr llvm::StringLiteral kPasses =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint;max-iterations=1>,simplifycfg,"
    "loop-mssa(licm<allowspeculation>),early-cse,adce)";

LogicalResult codegen::lowerToLlvmDialect(ModuleOp module) {
  MLIRContext *context = module.getContext();
  {
    RewritePatternSet patterns(context);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorInterleaveLoweringPatterns(patterns);
    populateSCFToControlFlowConversionPatterns(patterns);
    GreedyRewriteConfig config;
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
    if (failed(applyPatternsAndFoldGreedily(module, std::move(patterns), config)))
      return module.emitError() << "lowering of loops did not converge";
  }
  LowerToLLVMOptions options(context);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> codegen::createTargetMachine(const target::Variant &variant) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(variant.triple, error);
  if (!target)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict; // fma only where it is written
  options.NoTrappingFPMath = true;
  options.FunctionSections = true;
  options.UniqueSectionNames = true;
  std::string features = variant.features;
  if (variant.vectorBytes == 64)
    features += ",-prefer-256-bit";
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(variant.triple, variant.cpu, features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "this LLVM cannot generate code for " + variant.triple);
  return machine;
}

llvm::Expected<std::unique_ptr<llvm::Module>> codegen::translate(ModuleOp module, const target::Variant &variant,
                                                                 llvm::TargetMachine &machine,
                                                                 llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> result = translateModuleToLLVMIR(module, context, "kernels");
  if (!result)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "internal error: a kernel could not be translated to LLVM IR");
  result->setTargetTriple(variant.triple);
  result->setDataLayout(machine.createDataLayout());
  result->setPICLevel(llvm::PICLevel::BigPIC);
  if (llvm::Error error = linkLeaves(*result, variant))
    return std::move(error);
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    bool isKernel = !function.hasLocalLinkage();
    if (isKernel)
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    function.setDSOLocal(true);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", variant.cpu);
    function.addFnAttr("tune-cpu", variant.tune);
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("no-builtins");
    function.addFnAttr("no-trapping-math", "true");
    // Vectors are as wide as the generators made them.
    if (variant.machine == target::Machine::x86_64)
      function.addFnAttr("min-legal-vector-width", std::to_string(variant.vectorBytes * 8));
    if (!isKernel)
      continue;
    for (llvm::Argument &argument : function.args()) {
      argument.addAttr(llvm::Attribute::NoAlias);
      argument.addAttr(llvm::Attribute::NonNull);
    }
  }
  for (llvm::GlobalVariable &global : result->globals()) {
    if (!global.hasLocalLinkage())
      global.setVisibility(llvm::GlobalValue::HiddenVisibility);
    global.setDSOLocal(true);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  llvm::TargetLibraryInfoImpl noLibrary{llvm::Triple(variant.triple)};
  noLibrary.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(noLibrary); });
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(cgscc);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, cgscc, modules);
  llvm::ModulePassManager pipeline;
  llvm::cantFail(passes.parsePassPipeline(pipeline, kPasses));
  pipeline.run(*result, modules);
  return result;
}
