// A kernel written by hand goes through compileObject and linkVariant and is
// run from the flat blob, as the runtime would run it.
#include "compiler/codegen/cpu/CpuBackend.h"
#include "runtime/schema/kernel_abi.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace stint;
using namespace stint::codegen;

namespace {

/// y[i] = x[i] * 2 + 1 for i in [begin, end) of axis 0, 8 elements a unit,
/// with a constant that lands in read-only data.
const char *kScale = R"mlir(
func.func @scale(%dispatch: !llvm.ptr, %workgroup: !llvm.ptr) -> i32 {
  %buffers = llvm.load %dispatch : !llvm.ptr -> !llvm.ptr
  %x = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
  %second = llvm.getelementptr %buffers[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %y = llvm.load %second : !llvm.ptr -> !llvm.ptr
  %begin = llvm.load %workgroup : !llvm.ptr -> i64
  %endAt = llvm.getelementptr %workgroup[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %end = llvm.load %endAt : !llvm.ptr -> i64
  %one = arith.constant 1 : i64
  %two = arith.constant dense<2.0> : vector<8xf32>
  %offset = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : vector<8xf32>
  scf.for %i = %begin to %end step %one : i64 {
    %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
    %to = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
    %v = llvm.load %from {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %m = arith.mulf %v, %two : vector<8xf32>
    %r = arith.addf %m, %offset : vector<8xf32>
    llvm.store %r, %to {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  %ok = arith.constant 0 : i32
  return %ok : i32
}
)mlir";

const char *kCallsOut = R"mlir(
func.func private @expf(f32) -> f32
func.func @bad(%dispatch: !llvm.ptr, %workgroup: !llvm.ptr) -> i32 {
  %x = llvm.load %dispatch : !llvm.ptr -> f32
  %y = func.call @expf(%x) : (f32) -> f32
  llvm.store %y, %dispatch : f32, !llvm.ptr
  %ok = arith.constant 0 : i32
  return %ok : i32
}
)mlir";

struct CpuBackendTest : testing::Test {
  CpuBackendTest() {
    mlir::DialectRegistry registry;
    registerCpuBackend(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  mlir::OwningOpRef<mlir::ModuleOp> parse(const char *text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  std::vector<char> object(const char *text, const target::Variant &variant) {
    auto module = parse(text);
    auto bytes = compileObject(*module, variant);
    EXPECT_TRUE(static_cast<bool>(bytes)) << llvm::toString(bytes.takeError());
    return bytes ? *bytes : std::vector<char>();
  }
  mlir::MLIRContext context;
};

TEST_F(CpuBackendTest, RunsFromTheBlob) {
  for (const char *name : {"v2", "v3"}) {
    target::Variant variant = llvm::cantFail(target::lookup(name));
    if (!__builtin_cpu_supports("avx2") && variant.has("avx2"))
      continue;
    std::vector<char> bytes = object(kScale, variant);
    auto code = linkVariant({llvm::ArrayRef<char>(bytes)}, {std::string("scale")}, variant);
    ASSERT_TRUE(static_cast<bool>(code)) << llvm::toString(code.takeError());
    void *memory = mmap(nullptr, code->bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    memcpy(memory, code->bytes.data(), code->bytes.size());
    ASSERT_EQ(mprotect(memory, code->bytes.size(), PROT_READ | PROT_EXEC), 0);
    float x[32], y[32];
    for (int i = 0; i < 32; ++i)
      x[i] = i, y[i] = -1;
    stint_kernel_buffer buffers[] = {{x, sizeof x}, {y, sizeof y}};
    stint_dispatch dispatch = {buffers, nullptr, 2, 0};
    stint_workgroup workgroup = {{1, 0, 0}, {3, 1, 1}, nullptr, 0};
    auto kernel = reinterpret_cast<stint_kernel>(static_cast<char *>(memory) + code->entries[0]);
    EXPECT_EQ(kernel(&dispatch, &workgroup), 0);
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(y[i], i < 8 || i >= 24 ? -1.0f : 2.0f * i + 1 + i % 8) << name << " " << i;
    munmap(memory, code->bytes.size());
  }
}

TEST_F(CpuBackendTest, EveryVariantLinks) {
  for (const std::string &family : target::familyNames())
    for (const target::Variant &variant : target::variantsOf(family)) {
      std::vector<char> bytes = object(kScale, variant);
      auto code = linkVariant({llvm::ArrayRef<char>(bytes)}, {std::string("scale")}, variant);
      ASSERT_TRUE(static_cast<bool>(code)) << variant.name << llvm::toString(code.takeError());
      EXPECT_EQ(code->entries[0] % 4, 0u);
    }
}

TEST_F(CpuBackendTest, SameBytesTwice) {
  target::Variant variant = llvm::cantFail(target::lookup("v3"));
  EXPECT_EQ(object(kScale, variant), object(kScale, variant));
}

TEST_F(CpuBackendTest, RefusesCallsToTheOutside) {
  auto module = parse(kCallsOut);
  auto bytes = compileObject(*module, llvm::cantFail(target::lookup("v3")));
  ASSERT_FALSE(static_cast<bool>(bytes));
  EXPECT_NE(llvm::toString(bytes.takeError()).find("expf"), std::string::npos);
}

TEST_F(CpuBackendTest, MissingKernelIsAnError) {
  target::Variant variant = llvm::cantFail(target::lookup("v3"));
  std::vector<char> bytes = object(kScale, variant);
  auto code = linkVariant({llvm::ArrayRef<char>(bytes)}, {std::string("other")}, variant);
  ASSERT_FALSE(static_cast<bool>(code));
  llvm::consumeError(code.takeError());
}

} // namespace
