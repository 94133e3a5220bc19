// Builds the kernels with the MLIR builder around what the functions emit.
#include "test/compiler/codegen/math/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace stint;
using namespace stint::codegen;
using namespace stint::test;

std::string stint::test::kernelName(const Function &function, bool is32, int64_t width) {
  return std::string(function.name) + (is32 ? "_f32_w" : "_f64_w") + std::to_string(width);
}

static void addKernel(ModuleOp module, const Function &function, bool is32, int64_t width,
                      const target::Variant &variant) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = builder.getUnknownLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type(),
       element = is32 ? builder.getF32Type() : builder.getF64Type();
  Type type = width == 1 ? element : VectorType::get({width}, element);
  auto kernel = builder.create<func::FuncOp>(loc, kernelName(function, is32, width),
                                             builder.getFunctionType({pointer, pointer}, {i32}));
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto at = [&](Value base, int64_t bytes) -> Value {
    return builder.create<LLVM::GEPOp>(loc, pointer, builder.getI8Type(), base,
                                       llvm::ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  };
  auto integer = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(value));
  };
  Value buffers = builder.create<LLVM::LoadOp>(loc, pointer, body->getArgument(0));
  llvm::SmallVector<Value> data;
  for (unsigned i = 0; i <= function.arguments; ++i)
    data.push_back(builder.create<LLVM::LoadOp>(loc, pointer, at(buffers, 16 * i)));
  Value begin = builder.create<LLVM::LoadOp>(loc, i64, body->getArgument(1));
  Value end = builder.create<LLVM::LoadOp>(loc, i64, at(body->getArgument(1), 24));
  builder.create<scf::ForOp>(
      loc, begin, end, integer(width), ValueRange{}, [&](OpBuilder &inner, Location, Value i, ValueRange) {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(inner.saveInsertionPoint());
        auto elementAt = [&](Value base) -> Value {
          return builder.create<LLVM::GEPOp>(loc, pointer, element, base, llvm::ArrayRef<LLVM::GEPArg>{i});
        };
        unsigned alignment = is32 ? 4 : 8;
        llvm::SmallVector<Value> arguments;
        for (unsigned a = 0; a < function.arguments; ++a)
          arguments.push_back(builder.create<LLVM::LoadOp>(loc, type, elementAt(data[a]), alignment));
        Value result = function.emit(builder, loc, variant, arguments);
        builder.create<LLVM::StoreOp>(loc, result, elementAt(data.back()), alignment);
        builder.create<scf::YieldOp>(loc);
      });
  Value ok = builder.create<arith::ConstantOp>(loc, builder.getI32IntegerAttr(0));
  builder.create<func::ReturnOp>(loc, ok);
}

Kernels stint::test::compileKernels(const target::Variant &variant) {
  DialectRegistry registry;
  registerCpuBackend(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  std::vector<std::string> names;
  for (const Function &function : functions())
    for (bool is32 : {true, false})
      for (int64_t width : kWidths) {
        addKernel(*module, function, is32, width, variant);
        names.push_back(kernelName(function, is32, width));
      }
  bool valid = succeeded(verify(*module));
  assert(valid && "the kernels are valid MLIR");
  (void)valid;
  std::vector<char> object = llvm::cantFail(compileObject(*module, variant));
  Kernels kernels{llvm::cantFail(linkVariant({llvm::ArrayRef<char>(object)}, names, variant)), {}};
  for (size_t i = 0; i < names.size(); ++i)
    kernels.entries[names[i]] = kernels.code.entries[i];
  return kernels;
}
