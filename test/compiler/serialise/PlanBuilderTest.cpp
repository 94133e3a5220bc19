// A plan without kernels through the whole writer: read back by the runtime,
// run by it, and equal bytes for equal input.
#include "compiler/serialise/PlanBuilder.h"
#include "compiler/serialise/PlanReader.h"

#include "mlir/Parser/Parser.h"
#include "runtime/include/stint/stint.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace stint;

namespace {

// y = x for n rows; w = a weight, v = another of the same bytes, c a constant.
const char *kPlan = R"(
module attributes {graph.files = ["model"], graph.symbols = [#graph.symbol<"n", 1, 4>]} {
  plan.entry @main attributes {profiles = [#plan.profile<maxima = [4], arena = 0, bound = 0, offsets = [0, 0, 0, 0, 0, 0, 0], capacities = [0, 0, 0, 0, 0, 0, 0]>]} {
    %n = plan.symbol 0
    %two = plan.const 2
    %eight = plan.const 8
    %size = plan.mul %n, %eight
    %w_size = plan.const 24
    %x = plan.input "x" dims(%n, %two) size(%size) : !graph.tensor<[s0, 2] x f32>
    %y = plan.output "y" dims(%n, %two) size(%size) : !graph.tensor<[s0, 2] x f32>
    %z = plan.output "z" dims(%two) size(%eight) : !graph.tensor<[2] x i32>
    %w = plan.weight "w" #graph.extent<0, 0, 24, f32, [2, 3]> [] size(%w_size) : !graph.tensor<[2, 3] x f32>
    %v = plan.weight "v" #graph.extent<0, 24, 24, f32, [2, 3]> [] size(%w_size) : !graph.tensor<[2, 3] x f32>
    %again = plan.weight "w" #graph.extent<0, 0, 24, f32, [2, 3]> [] size(%w_size) : !graph.tensor<[2, 3] x f32>
    %c = plan.constant dense<[5, 6]> : tensor<2xi32> size(%eight) : !graph.tensor<[2] x i32>
    plan.copy %y, %x size(%size)
    plan.copy %z, %c size(%eight)
  }
})";

struct PlanBuilderTest : testing::Test {
  PlanBuilderTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<graph::GraphDialect, plan::PlanDialect>();
    for (int i = 0; i < 48; ++i)
      file.push_back(i % 24);
  }
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("stint-plan-builder", folder));
    module = parseSourceString<ModuleOp>(kPlan, &context);
    ASSERT_TRUE(module);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string write(const char *name, bool accepted = true) {
    serialise::PlanInput input;
    input.module = *module;
    input.model = "test";
    input.files = {file};
    auto variants = target::resolve("x86_64-linux,aarch64-linux");
    EXPECT_TRUE(bool(variants));
    for (const target::Variant &variant : *variants) {
      serialise::VariantCode code;
      code.variant = variant;
      input.variants.push_back(code);
    }
    std::string path = (folder + "/" + name).str();
    auto sizes =
        serialise::writePlan(input, path, [&](const serialise::PlanSizes &, llvm::StringRef) { return accepted; });
    EXPECT_TRUE(bool(sizes)) << llvm::toString(sizes.takeError());
    if (sizes && accepted) {
      uint64_t size = 0;
      EXPECT_FALSE(llvm::sys::fs::file_size(path, size));
      EXPECT_EQ(size, sizes->file);
    }
    return path;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<uint8_t> file;
  llvm::SmallString<128> folder;
};

TEST_F(PlanBuilderTest, EqualInputEqualBytes) {
  auto first = llvm::MemoryBuffer::getFile(write("a")), second = llvm::MemoryBuffer::getFile(write("b"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->getBuffer(), (*second)->getBuffer());
}

TEST_F(PlanBuilderTest, RefusedLeavesNothing) {
  std::string path = write("refused", false);
  EXPECT_FALSE(llvm::sys::fs::exists(path));
}

TEST_F(PlanBuilderTest, ContentsAreWhatThePlanSays) {
  auto contents = serialise::readPlan(write("a"));
  ASSERT_TRUE(bool(contents)) << llvm::toString(contents.takeError());
  const plan::PlanT &plan = (*contents)->plan;
  ASSERT_EQ(plan.weights.size(), 3u); // the same recipe twice is one weight
  EXPECT_EQ(plan.weights[0]->name, "w");
  EXPECT_EQ(plan.weights[1]->name, "v");
  EXPECT_EQ(plan.weights[0]->offset, plan.weights[1]->offset); // equal bytes once
  EXPECT_EQ(plan.weights[0]->size, 24u);
  const stint_section &weights = (*contents)->sections[plan.weights[0]->section];
  const stint_section &constants = (*contents)->sections[plan.weights[2]->section];
  EXPECT_EQ(weights.kind, uint32_t(STINT_SECTION_WEIGHTS));
  EXPECT_EQ(weights.size, 24u);
  EXPECT_EQ(constants.kind, uint32_t(STINT_SECTION_CONSTANTS)); // integers may be indices
  for (const stint_section &section : (*contents)->sections)
    EXPECT_EQ(section.offset % STINT_SECTION_ALIGNMENT, 0u);
  ASSERT_EQ(plan.variants.size(), 7u);
  EXPECT_EQ(plan.variants[3]->name, "vnni");
  EXPECT_EQ(plan.variants[4]->name, "neon");
  const plan::EntryT &entry = *plan.entries[0];
  EXPECT_EQ(entry.prologue.size(), 4u); // the symbol needs no instruction
  EXPECT_EQ(entry.body.size(), 2u);
  EXPECT_EQ(entry.inputs[0]->dims[0].symbol(), 0);
  EXPECT_EQ(entry.inputs[0]->dims[1].symbol(), -1);
}

TEST_F(PlanBuilderTest, TheRuntimeRunsIt) {
  stint_model_options options = {};
  options.size = sizeof(options);
  options.verify = STINT_VERIFY_FULL;
  options.variant = "none";
  stint_model *model = nullptr;
  stint_status status = stint_model_open_file(write("a").c_str(), &options, &model);
  ASSERT_EQ(status.code, STINT_OK) << status.text;
  stint_session *session = nullptr;
  status = stint_session_create(model, nullptr, &session);
  ASSERT_EQ(status.code, STINT_OK) << status.text;
  float x[6] = {1, 2, 3, 4, 5, 6};
  int64_t dims[2] = {3, 2};
  ASSERT_EQ(stint_session_bind_input(session, 0, x, sizeof(x), 2, dims).code, STINT_OK);
  status = stint_session_run(session, nullptr);
  ASSERT_EQ(status.code, STINT_OK) << status.text;
  stint_tensor y = {}, z = {};
  y.size = z.size = sizeof(y);
  ASSERT_EQ(stint_session_output(session, 0, &y).code, STINT_OK);
  ASSERT_EQ(stint_session_output(session, 1, &z).code, STINT_OK);
  ASSERT_EQ(y.bytes, sizeof(x));
  EXPECT_EQ(std::memcmp(y.data, x, sizeof(x)), 0);
  int32_t wanted[2] = {5, 6};
  ASSERT_EQ(z.bytes, sizeof(wanted));
  EXPECT_EQ(std::memcmp(z.data, wanted, sizeof(wanted)), 0);
  stint_session_destroy(session);
  stint_model_release(model);
}

} // namespace
