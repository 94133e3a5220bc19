// The memory contract of a plan, what is alive at its peak, and the message
// when it is too much.
#include "compiler/driver/MemoryContract.h"

#include "dialects/Plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace stint;
using namespace stint::driver;

namespace {

// x -> a -> b -> y; a and b are alive at once, c follows b in its place.
const char *kPlan = R"mlir(
module attributes {graph.symbols = [#graph.symbol<"n", 1, 8>]} {
  func.func private @f(!graph.tensor<[s0, 4] x f32>) -> !graph.tensor<[s0, 4] x f32> attributes {graph.symbols = [#graph.symbol<"s0", 1, 8>]}
  plan.entry @main attributes {profiles = [#plan.profile<maxima = [8], arena = 448, bound = 384, offsets = [0, 0, 0, 128, 0], capacities = [0, 0, 128, 256, 128]>]} {
    %n = plan.symbol 0
    %one = plan.const 1
    %four = plan.const 4
    %sixteen = plan.const 16
    %size = plan.mul %n, %sixteen
    %x = plan.input "x" dims(%n, %four) size(%size) : !graph.tensor<[s0, 4] x f32>
    %y = plan.output "y" dims(%n, %four) size(%size) : !graph.tensor<[s0, 4] x f32>
    %a = plan.buffer size(%size) : !graph.tensor<[s0, 4] x f32>
    %b = plan.buffer size(%size) : !graph.tensor<[s0, 4] x f64>
    %c = plan.buffer size(%size) : !graph.tensor<[s0, 4] x f32>
    plan.dispatch @f(%x) -> (%a) dims(%n) grid(%one, %one, %one) tile(%one, %one, %one) {nodes = ["first (Relu)"]}
    plan.dispatch @f(%a) -> (%b) dims(%n) grid(%one, %one, %one) tile(%one, %one, %one) {nodes = ["second (Cast)"]}
    plan.dispatch @f(%b) -> (%c) dims(%n) grid(%one, %one, %one) tile(%one, %one, %one)
    plan.dispatch @f(%c) -> (%y) dims(%n) grid(%one, %one, %one) tile(%one, %one, %one)
  }
})mlir";

struct MemoryContractTest : testing::Test {
  void SetUp() override {
    context.loadDialect<graph::GraphDialect, plan::PlanDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(kPlan, &context);
    ASSERT_TRUE(module);
  }
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
};

TEST_F(MemoryContractTest, Contract) {
  RamContract ram;
  measurePlan(*module, ram);
  EXPECT_EQ(ram.arena, 448u);
  EXPECT_EQ(ram.lowerBound, 384u);
  EXPECT_EQ(ram.ports, 2u * 8 * 4 * 4);
  EXPECT_EQ(ram.committed(), 448u + 256);
  measurePlan(*module, ram); // replaces, does not add
  EXPECT_EQ(ram.ports, 256u);
}

TEST_F(MemoryContractTest, Peak) {
  std::vector<LiveTensor> tensors = tensorsAtPeak(*module);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].node, "second (Cast)");
  EXPECT_EQ(tensors[0].type, "f64[8, 4]");
  EXPECT_EQ(tensors[0].bytes, 256u);
  EXPECT_EQ(tensors[1].node, "first (Relu)");
  EXPECT_EQ(tensors[1].bytes, 128u);
}

TEST_F(MemoryContractTest, Message) {
  RamContract ram;
  measurePlan(*module, ram);
  std::string message = ramMessage(ram, 100, tensorsAtPeak(*module), "the upper bounds given with --dim");
  for (const char *part : {"--max-ram 100", "needs 704 bytes", "448 arena", "would be 640",
                           "f64[8, 4] of second (Cast)", "256 bytes", "--dim"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  ram.lowerBound = ram.arena;
  message = ramMessage(ram, 100, {}, "");
  EXPECT_NE(message.find("That is the least"), std::string::npos) << message;
  EXPECT_EQ(message.find("--dim"), std::string::npos) << message;
}

TEST(Report, Sizes) {
  EXPECT_EQ(readableBytes(0), "0 B");
  EXPECT_EQ(readableBytes(9999), "9999 B");
  EXPECT_EQ(readableBytes(10240), "10.0 KiB");
  EXPECT_EQ(readableBytes(uint64_t(3) << 29), "1536.0 MiB");
  EXPECT_EQ(readableBytes(uint64_t(1) << 40), "1024.0 GiB");
  EXPECT_EQ(readableBytes(uint64_t(1) << 43), "8192.0 GiB");
  EXPECT_EQ(readableBytes(uint64_t(1) << 44), "16.0 TiB");
}

TEST(Report, Times) {
  Stopwatch time;
  time.stage("one");
  time.stage("two");
  time.detail("part of two", 1000);
  time.stage("one");
  std::string text;
  llvm::raw_string_ostream os(text);
  time.print(os);
  EXPECT_EQ(llvm::StringRef(text).count("one"), 1u) << text;
  EXPECT_NE(text.find("part of two"), std::string::npos);
  llvm::StringRef total = llvm::StringRef(text).substr(text.find("total"));
  EXPECT_EQ(total.find("1000000"), llvm::StringRef::npos) << "details are no part of the total";
}

} // namespace
