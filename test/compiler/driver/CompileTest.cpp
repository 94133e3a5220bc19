// The compiler as a function: what it writes, what it says, what it leaves.
#include "compiler/driver/Compiler.h"
#include "compiler/driver/HtmlReport.h"
#include "compiler/driver/Verify.h"

#include "Models.h"

#include "runtime/include/stint/stint.h"
#include "llvm/Object/Archive.h"

#include <unistd.h>

using namespace stint;
using namespace stint::driver;

namespace {

struct Compile : test::FolderTest {
  Compile() {
    options.targets = "host";
    options.dims["n"] = {1, 4};
  }

  /// Compiles what `options` say; keeps what was said.
  Result run() {
    import::Diagnostics diagnostics;
    std::string text;
    llvm::raw_string_ostream os(text);
    Result result = compile(options, diagnostics, os);
    emitted = os.str();
    exitCode = diagnostics.exitCode();
    messages.clear();
    llvm::raw_string_ostream said(messages);
    diagnostics.print(said);
    said.flush();
    EXPECT_EQ(result.ok, exitCode == 0) << messages;
    return result;
  }

  Result run(const std::string &model, const std::string &output) {
    options.input = write("model.onnx", model);
    options.output = path(output);
    return run();
  }

  /// y for x on the first plan that can be opened.
  std::vector<float> runPlan(const std::string &name, std::vector<float> x, std::vector<int64_t> shape) {
    stint_model *model = nullptr;
    stint_session *session = nullptr;
    std::vector<float> y;
    stint_status status = stint_model_open_file(path(name).c_str(), nullptr, &model);
    if (status.code == STINT_OK)
      status = stint_session_create(model, nullptr, &session);
    if (status.code == STINT_OK)
      status = stint_session_bind_input(session, 0, x.data(), x.size() * 4, shape.size(), shape.data());
    if (status.code == STINT_OK)
      status = stint_session_run(session, nullptr);
    stint_tensor out = {};
    out.size = sizeof(out);
    if (status.code == STINT_OK)
      status = stint_session_output(session, 0, &out);
    EXPECT_EQ(status.code, STINT_OK) << status.text;
    if (status.code == STINT_OK)
      y.assign(static_cast<float *>(out.data), static_cast<float *>(out.data) + out.bytes / 4);
    stint_session_destroy(session);
    stint_model_release(model);
    return y;
  }

  Options options;
  std::string emitted, messages;
  int exitCode = 0;
};

TEST_F(Compile, APlanThatRuns) {
  Result result = run(test::reluModel(), "a.stint");
  ASSERT_EQ(exitCode, 0) << messages;
  EXPECT_EQ(read("a.stint").size(), result.fileBytes);
  EXPECT_EQ(result.dispatches, 1u);
  EXPECT_EQ(runPlan("a.stint", {-1, 2, -3, 4, 5, -6, 7, -8}, {2, 4}), (std::vector<float>{0, 2, 0, 4, 5, 0, 7, 0}));
  EXPECT_EQ(files(), (std::vector<std::string>{"a.stint", "model.onnx"}));
}

/// The arena that a session for at most `n` takes, and its maxima's number.
static std::pair<uint64_t, uint32_t> arenaFor(const std::string &path, int64_t n) {
  stint_model *model = nullptr;
  EXPECT_EQ(stint_model_open_file(path.c_str(), nullptr, &model).code, STINT_OK);
  stint_dim_maximum maximum = {"n", n};
  stint_session_options session = {};
  session.size = sizeof(session);
  session.maxima = &maximum;
  session.maximum_count = 1;
  stint_memory_info memory = {};
  memory.size = sizeof(memory);
  EXPECT_EQ(stint_model_memory(model, &session, &memory).code, STINT_OK);
  stint_model_release(model);
  return {memory.arena, memory.profile};
}

TEST_F(Compile, SmallerSessionsTakeSmallerArenas) {
  options.dims["n"] = {1, 4096};
  run(test::chainModel(), "a.stint");
  ASSERT_EQ(exitCode, 0) << messages;
  auto [most, first] = arenaFor(path("a.stint"), 4096);
  auto [half, second] = arenaFor(path("a.stint"), 2048);
  auto [least, last] = arenaFor(path("a.stint"), 1);
  EXPECT_GT(most, 0u);
  EXPECT_EQ(half, most / 2);
  EXPECT_EQ(least, most / 8);
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(second, 1u);
  EXPECT_EQ(arenaFor(path("a.stint"), 2049).first, most);
  EXPECT_EQ(last, 3u);

  options.profiles = {{{"n", 32}}};
  run(test::chainModel(), "b.stint");
  ASSERT_EQ(exitCode, 0) << messages;
  EXPECT_EQ(arenaFor(path("b.stint"), 32).first, most / 128);
  EXPECT_EQ(arenaFor(path("b.stint"), 33).first, most);
  options.profiles = {{{"n", 4097}}};
  run(test::chainModel(), "c.stint");
  EXPECT_EQ(exitCode, 2);
  EXPECT_NE(messages.find("1..4096"), std::string::npos) << messages;
  options.profiles = {{{"m", 4}}};
  run(test::chainModel(), "c.stint");
  EXPECT_EQ(exitCode, 2);
  EXPECT_NE(messages.find("it has n"), std::string::npos) << messages;
}

TEST_F(Compile, EqualBytes) {
  options.targets = "x86_64-linux,aarch64-linux";
  run(test::foldingModel(), "a.stint");
  run(test::foldingModel(), "b.stint");
  EXPECT_NE(exitCode, 0) << "the model has no dimension n";
  options.dims.clear();
  run(test::foldingModel(), "a.stint");
  ASSERT_EQ(exitCode, 0) << messages;
  run(test::foldingModel(), "b.stint");
  ASSERT_EQ(exitCode, 0) << messages;
  EXPECT_EQ(read("a.stint"), read("b.stint"));
}

TEST_F(Compile, ConstantsAreComputedOnce) {
  options.dims.clear();
  Result result = run(test::foldingModel(), "a.stint");
  ASSERT_EQ(exitCode, 0) << messages;
  EXPECT_EQ(result.dispatches, 1u);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("constants: 1 values"), std::string::npos) << result.notes[0];
  std::vector<float> x(100), wanted(100);
  for (int i = 0; i < 100; ++i) {
    x[i] = 0.5f * i - 7;
    wanted[i] = x[i] * i; // sqrt is exact for squares
  }
  EXPECT_EQ(runPlan("a.stint", x, {100}), wanted);
  options.emit = Emit::Graph;
  options.output.clear();
  run();
  EXPECT_EQ(emitted.find("graph.sqrt"), std::string::npos) << emitted;
  EXPECT_NE(emitted.find("<folded>"), std::string::npos) << emitted;
}

TEST_F(Compile, ConstantInputs) {
  write("value.pb", test::tensor("ignored", {4}, {1, 2, 3, 4}));
  std::string add =
      test::model({test::node("Add", {"x", "c"}, "y")}, {test::valueInfo("x", {-1, 4}), test::valueInfo("c", {4})},
                  {test::valueInfo("y", {-1, 4})});
  options.constants["c"] = path("value.pb");
  run(add, "a.stint");
  ASSERT_EQ(exitCode, 0) << messages;
  EXPECT_EQ(runPlan("a.stint", {10, 10, 10, 10}, {1, 4}), (std::vector<float>{11, 12, 13, 14}));
  options.constants["c"] = write("short.pb", test::tensor("ignored", {3}, {1, 2, 3}));
  run(add, "b.stint");
  EXPECT_EQ(exitCode, 2) << messages;
  EXPECT_NE(messages.find("shape"), std::string::npos) << messages;
  options.constants["c"] = path("value.pb");
  options.constants["d"] = path("value.pb");
  run(add, "b.stint");
  EXPECT_EQ(exitCode, 2) << messages;
  EXPECT_NE(messages.find("'d'"), std::string::npos) << messages;
}

TEST_F(Compile, ExitCodes) {
  run("no model", "a.stint");
  EXPECT_EQ(exitCode, 4) << messages;
  run("", "a.stint");
  EXPECT_EQ(exitCode, 4) << messages;
  run(test::model({test::node("NoSuchOperator", {"x"}, "y", "bad")}, {test::valueInfo("x", {4})},
                  {test::valueInfo("y", {4})}),
      "a.stint");
  EXPECT_EQ(exitCode, 2) << messages; // the dimension n of --dim is not there
  options.dims.clear();
  run();
  EXPECT_EQ(exitCode, 3) << messages;
  EXPECT_NE(messages.find("bad"), std::string::npos) << messages;
  options.input = path("absent.onnx");
  run();
  EXPECT_EQ(exitCode, 1) << messages;
  options.targets = "z80-cpm";
  run(test::foldingModel(), "a.stint");
  EXPECT_EQ(exitCode, 2) << messages;
  EXPECT_EQ(files(), (std::vector<std::string>{"model.onnx"})) << "nothing was left behind";
}

TEST_F(Compile, PlacesThatCannotBeWritten) {
  for (const char *place : {"no/such/folder/a.stint", "folder"}) {
    llvm::sys::fs::create_directory(path("folder"));
    run(test::reluModel(), place);
    EXPECT_EQ(exitCode, 1);
    EXPECT_NE(messages.find(place), std::string::npos) << messages;
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"folder", "model.onnx"}));
}

TEST_F(Compile, AFailureLeavesTheOldFile) {
  write("a.stint", "what was there");
  options.maxRam = 1000;
  run(test::reluModel(), "a.stint");
  EXPECT_EQ(exitCode, 1);
  EXPECT_NE(messages.find("--max-ram 1000"), std::string::npos) << messages;
  EXPECT_EQ(read("a.stint"), "what was there");
  EXPECT_EQ(files(), (std::vector<std::string>{"a.stint", "model.onnx"}));
  options.maxRam = 100 << 20;
  run();
  EXPECT_EQ(exitCode, 0) << messages;
  EXPECT_NE(read("a.stint"), "what was there");
}

TEST_F(Compile, MemoryIsSearchedBeforeItIsTooLittle) {
  // A model whose arena the first search leaves above its lower bound.
  options.dims.clear();
  options.targets = "x86_64-linux";
  options.cpu = "v2";
  options.emit = Emit::Plan;
  Result result;
  for (int seed = 0; seed < 100 && result.ram.arena == result.ram.lowerBound; ++seed) {
    options.input = write("model.onnx", test::tangledModel(40, seed));
    result = run();
    ASSERT_EQ(exitCode, 0) << messages;
  }
  ASSERT_GT(result.ram.arena, result.ram.lowerBound) << "the first search is perfect: use larger models";
  options.emit = Emit::File;
  options.output = path("a.stint");
  result = run();
  ASSERT_EQ(exitCode, 0) << messages;
  RamContract before = result.ram;
  options.maxRam = before.committed() - 64;
  result = run();
  EXPECT_EQ(exitCode, 0) << messages;
  EXPECT_LT(result.ram.arena, before.arena);
  EXPECT_TRUE(llvm::is_contained(result.notes, "memory searched once more to fit --max-ram"));
  options.maxRam = before.committed() - before.arena + before.lowerBound - 1;
  run();
  EXPECT_EQ(exitCode, 1) << "less than a perfect arena needs";
}

TEST_F(Compile, TextOfStages) {
  options.emit = Emit::Plan;
  options.input = write("model.onnx", test::reluModel());
  run();
  EXPECT_EQ(exitCode, 0) << messages;
  EXPECT_NE(emitted.find("plan.dispatch"), std::string::npos);
  options.emit = Emit::Assembly;
  options.targets = "x86_64-linux";
  run();
  for (const char *variant : {"v2", "v3", "v4"})
    EXPECT_NE(emitted.find(std::string("variant ") + variant), std::string::npos);
}

TEST_F(Compile, ObjectsOfSeveralVariants) {
  options.emit = Emit::Object;
  options.targets = "x86_64-linux,aarch64-linux";
  run(test::reluModel(), "out.o");
  ASSERT_EQ(exitCode, 0) << messages;
  EXPECT_EQ(files(), (std::vector<std::string>{"model.onnx", "out.dotprod.o", "out.i8mm.o", "out.neon.o", "out.v2.o",
                                               "out.v3.o", "out.v4.o"}));
  EXPECT_EQ(read("out.v3.o").substr(0, 4), "\x7f"
                                           "ELF");
  options.cpu = "v3,neon";
  options.targets = "x86_64-linux";
  options.cpu = "v3";
  run(test::reluModel(), "one.o");
  EXPECT_TRUE(exists("one.o"));
}

TEST_F(Compile, StaticLibraries) {
  options.emit = Emit::StaticLibrary;
  options.targets = "x86_64-linux";
  run(test::reluModel(), "lib-relu.a");
  ASSERT_EQ(exitCode, 0) << messages;
  auto buffer = llvm::MemoryBuffer::getFile(path("lib-relu.a"));
  ASSERT_TRUE(bool(buffer));
  auto archive = llvm::object::Archive::create(**buffer);
  ASSERT_TRUE(bool(archive)) << llvm::toString(archive.takeError());
  std::vector<std::string> symbols;
  for (const auto &symbol : (*archive)->symbols())
    symbols.push_back(symbol.getName().str());
  ASSERT_EQ(symbols.size(), 3u);
  for (const char *variant : {"v2", "v3", "v4"})
    EXPECT_TRUE(llvm::any_of(symbols, [&](const std::string &symbol) {
      return llvm::StringRef(symbol).starts_with("lib_relu_" + std::string(variant) + "_");
    })) << variant;
  std::string header = read("lib-relu.h");
  for (const std::string &symbol : symbols)
    EXPECT_NE(header.find("int32_t " + symbol + "("), std::string::npos) << header;
  EXPECT_NE(header.find("stint_kernels_v4[]"), std::string::npos) << header;

  options.targets = "x86_64-linux,aarch64-linux";
  run(test::reluModel(), "both.a");
  EXPECT_TRUE(exists("both.x86_64-linux.a") && exists("both.aarch64-linux.h")) << messages;
  options.cpu = "v3";
  options.targets = "x86_64-linux";
  run(test::reluModel(), "one.a");
  EXPECT_NE(read("one.h").find("stint_kernels[]"), std::string::npos);
}

TEST_F(Compile, ReportPage) {
  Result result = run(test::model({test::node("Relu", {"x"}, "y", "a<b&c")}, {test::valueInfo("x", {-1, 4})},
                                  {test::valueInfo("y", {-1, 4})}),
                      "a.stint");
  ASSERT_EQ(exitCode, 0) << messages;
  ASSERT_EQ(llvm::toString(writeHtmlReport(path("a.html"), options, result)), "");
  std::string page = read("a.html");
  EXPECT_NE(page.find("a&lt;b&amp;c (Relu)"), std::string::npos);
  EXPECT_EQ(page.find("a<b"), std::string::npos);
  for (const auto &[variant, bytes] : result.variants)
    EXPECT_NE(page.find(">" + variant + "<"), std::string::npos) << variant;
  EXPECT_NE(llvm::toString(writeHtmlReport(path("no/such/folder.html"), options, result)), "");
}

TEST_F(Compile, VerifyComparesOutputs) {
  llvm::sys::fs::create_directory(path("test_data_set_0"));
  VerifyOptions verifyOptions;
  verifyOptions.compile.input = write("model.onnx", test::reluModel());
  write("test_data_set_0/input_0.pb", test::tensor("x", {1, 4}, {-1, 2, -3, 4}));
  auto verified = [&](std::vector<float> y) {
    write("test_data_set_0/output_0.pb", test::tensor("y", {1, 4}, y));
    import::Diagnostics diagnostics;
    llvm::raw_null_ostream os;
    return verify(verifyOptions, os, diagnostics);
  };
  EXPECT_EQ(verified({0, 2, 0, 4}), 0);
  EXPECT_EQ(verified({0, 2, 0.5, 4}), 1);
}

} // namespace
