// Words of the command line: what they mean, and what is said about wrong ones.
#include "compiler/driver/Options.h"

#include "Models.h"

using namespace stint;
using namespace stint::driver;
using Strings = std::vector<std::string>;

namespace {

std::string text(llvm::Error error) { return llvm::toString(std::move(error)); }

TEST(Options, Dimensions) {
  llvm::StringMap<import::DimBounds> dims;
  EXPECT_EQ(text(parseDim("batch=4", dims)), "");
  EXPECT_EQ(text(parseDim("a=b=1..640", dims)), ""); // names may hold anything
  EXPECT_EQ(dims["batch"].lower, 4);
  EXPECT_EQ(dims["batch"].upper, 4);
  EXPECT_EQ(dims["a=b"].lower, 1);
  EXPECT_EQ(dims["a=b"].upper, 640);
  EXPECT_EQ(text(parseDim("h=32..960:32", dims)), "");
  EXPECT_EQ(dims["h"].lower, 32);
  EXPECT_EQ(dims["h"].upper, 960);
  EXPECT_EQ(dims["h"].step, 32);
  EXPECT_EQ(dims["a=b"].step, 1);
  for (const char *wrong : {"n=32..961:32",
                            "n=1..64:32",
                            "n=64:32",
                            "n=0..8:0",
                            "n=0..8:-4",
                            "n=0..8:",
                            "",
                            "batch",
                            "=3",
                            "n=",
                            "n=many",
                            "n=1..",
                            "n=..4",
                            "n=4..1",
                            "n=-1",
                            "n=1..2..3",
                            "n=99999999999999999999",
                            "n=9999999999999",
                            "n=1 ..4",
                            "batch=5"}) {
    std::string message = text(parseDim(wrong, dims));
    EXPECT_NE(message.find("--dim '" + std::string(wrong) + "'"), std::string::npos) << wrong << ": " << message;
  }
  EXPECT_EQ(dims.size(), 3u);
}

TEST(Options, Bytes) {
  auto value = [](llvm::StringRef word) -> int64_t {
    llvm::Expected<uint64_t> bytes = parseBytes(word);
    if (bytes)
      return *bytes;
    llvm::consumeError(bytes.takeError());
    return -1;
  };
  EXPECT_EQ(value("0"), 0);
  EXPECT_EQ(value("65536"), 65536);
  EXPECT_EQ(value("64K"), 65536);
  EXPECT_EQ(value("16M"), 16 << 20);
  EXPECT_EQ(value("2G"), int64_t(2) << 30);
  for (const char *wrong : {"", "K", "1k", "1.5M", "-1", "64KB", "18446744073709551616", "99999999999999999G"})
    EXPECT_EQ(value(wrong), -1) << wrong;
}

TEST(Options, Constants) {
  llvm::StringMap<std::string> constants;
  EXPECT_EQ(text(parseConstant("axes=a=b.pb", constants)), "");
  EXPECT_EQ(constants["axes"], "a=b.pb");
  for (const char *wrong : {"", "axes", "axes=", "=x.pb", "axes=again.pb"})
    EXPECT_NE(text(parseConstant(wrong, constants)).find("--constant"), std::string::npos) << wrong;
}

TEST(Options, Stages) {
  EXPECT_EQ(parseEmit("graph"), Emit::Graph);
  EXPECT_EQ(parseEmit("asm"), Emit::Assembly);
  EXPECT_EQ(parseEmit("static-library"), Emit::StaticLibrary);
  EXPECT_EQ(parseEmit(""), std::nullopt);
  EXPECT_EQ(parseEmit("GRAPH"), std::nullopt);
}

struct FindModel : test::FolderTest {
  std::string found() {
    llvm::Expected<std::string> model = findModel(folder);
    return model ? llvm::StringRef(*model).drop_front(folder.size() + 1).str() : llvm::toString(model.takeError());
  }
};

TEST_F(FindModel, InAFolder) {
  EXPECT_NE(found().find("0 .onnx files"), std::string::npos);
  write("a.onnx", "");
  EXPECT_EQ(found(), "a.onnx");
  write("b.onnx", "");
  EXPECT_NE(found().find("2 .onnx files"), std::string::npos);
  write("model.onnx", "");
  EXPECT_EQ(found(), "model.onnx");
  llvm::Expected<std::string> file = findModel("anything.bin");
  ASSERT_TRUE(bool(file));
  EXPECT_EQ(*file, "anything.bin");
}

} // namespace
