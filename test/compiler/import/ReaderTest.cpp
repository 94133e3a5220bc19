// The reader against hand-encoded messages.
#include "test/compiler/import/Encode.h"

#include "compiler/import/OnnxReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace stint::import;
using namespace stint::test;

namespace {
std::string modelWith(const std::string &initializer) {
  std::string opset = number(2, 13);
  return number(1, 8) + bytes(8, opset) + bytes(7, bytes(2, "g") + bytes(5, initializer));
}

class Reader : public testing::Test {
protected:
  std::unique_ptr<Model> read(const std::string &content) {
    llvm::SmallString<64> path;
    int fd;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("reader", "onnx", fd, path));
    {
      llvm::raw_fd_ostream out(fd, true);
      out << content;
    }
    diagnostics = {};
    auto model = readModel(path, diagnostics);
    llvm::sys::fs::remove(path);
    return model;
  }
  std::string message() const { return diagnostics.ok() ? "" : diagnostics.all()[0].message; }
  Diagnostics diagnostics;
};
} // namespace

TEST_F(Reader, rawDataStaysInTheFile) {
  auto model = read(modelWith(bytes(8, "w") + number(1, 2) + number(2, 1) + bytes(9, std::string("abcdefgh"))));
  ASSERT_TRUE(model) << message();
  const Tensor &w = model->graph.initializers.at(0);
  EXPECT_EQ(w.file, 0);
  EXPECT_EQ(w.size, 8u);
  EXPECT_EQ(llvm::toStringRef(model->bytes(w)), "abcdefgh");
  EXPECT_TRUE(model->inlineData->bytes().empty());
}

TEST_F(Reader, packedFloatsStayInTheFile) {
  auto model = read(modelWith(bytes(8, "w") + number(1, 2) + number(2, 1) + bytes(4, std::string("abcdefgh"))));
  ASSERT_TRUE(model) << message();
  EXPECT_EQ(model->graph.initializers[0].file, 0);
}

TEST_F(Reader, floatsInPiecesAreGathered) {
  std::string one = varint(4 << 3 | 5) + "abcd", two = bytes(4, "efgh");
  auto model = read(modelWith(number(1, 2) + number(2, 1) + one + two));
  ASSERT_TRUE(model) << message();
  const Tensor &w = model->graph.initializers[0];
  EXPECT_EQ(w.file, Tensor::kInline);
  EXPECT_EQ(llvm::toStringRef(model->bytes(w)), "abcdefgh");
}

TEST_F(Reader, narrowIntegersAreCutToTheirType) {
  // int8 -1 is a ten-byte varint of int32_data.
  auto model = read(modelWith(number(1, 2) + number(2, 3) + bytes(5, varint(~0ull) + varint(5))));
  ASSERT_TRUE(model) << message();
  auto data = model->bytes(model->graph.initializers[0]);
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data[0], 0xff);
  EXPECT_EQ(data[1], 5);
}

TEST_F(Reader, unknownFieldsAreSkipped) {
  auto model = read(number(99, 3) + modelWith(bytes(77, "x") + number(1, 0) + number(2, 1)));
  ASSERT_TRUE(model) << message();
  EXPECT_EQ(model->opsets.at(""), 13);
}

TEST_F(Reader, notOnnx) {
  EXPECT_FALSE(read("hello, this is text"));
  EXPECT_NE(message().find("not an ONNX model"), std::string::npos) << message();
  EXPECT_EQ(diagnostics.exitCode(), 4);
  EXPECT_FALSE(read(""));
  EXPECT_NE(message().find("is empty"), std::string::npos) << message();
}

TEST_F(Reader, truncated) {
  std::string whole = modelWith(bytes(8, "w") + number(1, 2) + number(2, 1) + bytes(9, std::string("abcdefgh")));
  EXPECT_FALSE(read(whole.substr(0, whole.size() - 3)));
  EXPECT_NE(message().find("truncated"), std::string::npos) << message();
  EXPECT_EQ(diagnostics.exitCode(), 4);
}

TEST_F(Reader, shapesThatOverflow) {
  EXPECT_FALSE(read(modelWith(number(1, uint64_t(1) << 40) + number(1, uint64_t(1) << 40) + number(2, 1))));
  EXPECT_NE(message().find("shape"), std::string::npos) << message();
  EXPECT_FALSE(read(modelWith(number(1, ~0ull) + number(2, 1))));
  EXPECT_NE(message().find("shape"), std::string::npos) << message();
}

TEST_F(Reader, deepNestingIsRefused) {
  std::string graph = bytes(2, "leaf");
  for (int i = 0; i < 2000; ++i) // graph { node { attribute { g } } }
    graph = bytes(1, bytes(5, bytes(6, graph)));
  EXPECT_FALSE(read(number(1, 8) + bytes(8, number(2, 13)) + bytes(7, graph)));
  EXPECT_NE(message().find("nested"), std::string::npos) << message();
}

TEST_F(Reader, missingFile) {
  Diagnostics d;
  EXPECT_FALSE(readModel("/nonexistent/model.onnx", d));
  EXPECT_EQ(d.exitCode(), 1);
}
