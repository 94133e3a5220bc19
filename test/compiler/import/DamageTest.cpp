// Damaged models: truncated at every length and with every byte changed, a
// model is either refused with a message or imported; never a crash.
#include "test/compiler/import/Encode.h"

#include "compiler/import/Importer.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

using namespace stint::import;
using namespace stint::test;

namespace {
std::string ints(const std::string &name, std::vector<int> values) {
  std::string a = bytes(1, name) + number(20, 7);
  for (int v : values)
    a += number(8, v);
  return bytes(5, a);
}
std::string node(const std::string &type, std::vector<std::string> in, const std::string &out, std::string extra = "") {
  std::string n;
  for (const std::string &i : in)
    n += bytes(1, i);
  return bytes(1, n + bytes(2, out) + bytes(4, type) + extra);
}
std::string value(unsigned field, const std::string &name, std::vector<int> dims, const std::string &param) {
  std::string shape = param.empty() ? "" : bytes(1, bytes(2, param));
  for (int d : dims)
    shape += bytes(1, number(1, d));
  return bytes(field, bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape))));
}
std::string tensor(const std::string &name, unsigned type, std::vector<int> dims, const std::string &raw) {
  std::string t = number(2, type) + bytes(8, name) + bytes(9, raw);
  for (int d : dims)
    t += number(1, d);
  return bytes(5, t);
}

/// A convolution, pooling, shape arithmetic, a slice and a matrix product.
std::string model() {
  std::string minusOne(8, '\xff'), zero(8, '\0');
  std::string g =
      node("Conv", {"x", "w"}, "c", ints("pads", {1, 1, 1, 1}) + ints("strides", {2, 2})) +
      node("MaxPool", {"c"}, "m", ints("kernel_shape", {2, 2})) + node("Shape", {"m"}, "s") +
      node("Gather", {"s", "zero"}, "b") + node("Unsqueeze", {"b", "axis"}, "b1") +
      node("Concat", {"b1", "open"}, "t", bytes(5, bytes(1, "axis") + number(3, 0) + number(20, 2))) +
      node("Reshape", {"m", "t"}, "r") + node("Slice", {"r", "axis", "four", "one"}, "l") +
      node("MatMul", {"l", "v"}, "y") + bytes(2, "g") + tensor("w", 1, {2, 1, 3, 3}, std::string(72, '\1')) +
      tensor("zero", 7, {}, zero) + tensor("axis", 7, {1}, zero) + tensor("open", 7, {1}, minusOne) +
      tensor("four", 7, {1}, std::string("\4\0\0\0\0\0\0\0", 8)) +
      tensor("one", 7, {1}, std::string("\1\0\0\0\0\0\0\0", 8)) + tensor("v", 1, {4, 3}, std::string(48, '\2')) +
      value(11, "x", {1, 8, 8}, "n") + value(12, "y", {}, "");
  return number(1, 8) + bytes(8, number(2, 13)) + bytes(7, g);
}

/// Exit code of importing these bytes.
int import(const std::string &content, const std::string &path, mlir::MLIRContext &context) {
  std::error_code error;
  {
    llvm::raw_fd_ostream out(path, error);
    out << content;
  }
  EXPECT_FALSE(error);
  Diagnostics diagnostics;
  ImportOptions options;
  options.otherDims = DimBounds{1, 4};
  ImportedModel imported = importFile(path, options, context, diagnostics);
  EXPECT_EQ(diagnostics.ok(), static_cast<bool>(imported.module));
  return diagnostics.exitCode();
}

struct Damage : testing::Test {
  void SetUp() override {
    llvm::SmallString<64> file;
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("damage", "onnx", file));
    path = file.str().str();
    whole = model();
  }
  void TearDown() override { llvm::sys::fs::remove(path); }
  std::string path, whole;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};
} // namespace

TEST_F(Damage, wholeModelImports) { EXPECT_EQ(import(whole, path, context), 0); }

TEST_F(Damage, truncatedAtEveryLength) {
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(import(whole.substr(0, length), path, context), 0) << "length " << length;
}

TEST_F(Damage, everyByteChanged) {
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i)
    for (unsigned char change : {0x01, 0x80, 0xff, 0x08}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      refused += import(damaged, path, context) != 0;
    }
  EXPECT_GT(refused, 0);
}
