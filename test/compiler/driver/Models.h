// Small ONNX models as bytes, and a folder to keep files of a test in.
#ifndef STINT_TEST_COMPILER_DRIVER_MODELS_H
#define STINT_TEST_COMPILER_DRIVER_MODELS_H

#include "test/compiler/import/Encode.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <cstring>
#include <vector>

namespace stint::test {

/// ValueInfoProto of f32; a negative dimension is called `n`.
inline std::string valueInfo(const std::string &name, const std::vector<int64_t> &dims) {
  std::string shape;
  for (int64_t dim : dims)
    shape += bytes(1, dim < 0 ? bytes(2, "n") : number(1, dim));
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape)));
}

inline std::string node(const std::string &type, const std::vector<std::string> &inputs, const std::string &output,
                        const std::string &name = "") {
  std::string text;
  for (const std::string &input : inputs)
    text += bytes(1, input);
  text += bytes(2, output);
  return text + (name.empty() ? "" : bytes(3, name)) + bytes(4, type);
}

/// TensorProto of f32.
inline std::string tensor(const std::string &name, const std::vector<int64_t> &dims, const std::vector<float> &values) {
  std::string text, raw(values.size() * 4, 0);
  std::memcpy(raw.data(), values.data(), raw.size());
  for (int64_t dim : dims)
    text += number(1, dim);
  return text + number(2, 1) + bytes(8, name) + bytes(9, raw);
}

inline std::string model(const std::vector<std::string> &nodes, const std::vector<std::string> &inputs,
                         const std::vector<std::string> &outputs, const std::vector<std::string> &tensors = {}) {
  std::string graph;
  for (const std::string &part : nodes)
    graph += bytes(1, part);
  graph += bytes(2, "graph");
  for (const std::string &part : tensors)
    graph += bytes(5, part);
  for (const std::string &part : inputs)
    graph += bytes(11, part);
  for (const std::string &part : outputs)
    graph += bytes(12, part);
  return number(1, 8) + bytes(7, graph) + bytes(8, number(2, 13));
}

/// y = relu(x) for n rows of 4.
inline std::string reluModel() {
  return model({node("Relu", {"x"}, "y", "clip")}, {valueInfo("x", {-1, 4})}, {valueInfo("y", {-1, 4})});
}

/// y = x · w · w for n rows of 16: one value between two kernels.
inline std::string chainModel() {
  std::vector<float> values(256);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 5) - 2;
  return model({node("MatMul", {"x", "w"}, "z"), node("MatMul", {"z", "w"}, "y")}, {valueInfo("x", {-1, 16})},
               {valueInfo("y", {-1, 16})}, {tensor("w", {16, 16}, values)});
}

/// y = x * sqrt(w), w = 0, 1, 4, 9, … of 100 elements.
inline std::string foldingModel() {
  std::vector<float> squares;
  for (int i = 0; i < 100; ++i)
    squares.push_back(float(i) * float(i));
  return model({node("Sqrt", {"w"}, "s", "root"), node("Mul", {"x", "s"}, "y", "scale")}, {valueInfo("x", {100})},
               {valueInfo("y", {100})}, {tensor("w", {100}, squares)});
}

/// Products of products of 64 rows, `count` of them, at random: values of many
/// sizes and lifetimes.
inline std::string tangledModel(int count, uint64_t seed) {
  auto random = [&](uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
  };
  std::vector<int64_t> widths = {4};
  std::vector<std::string> nodes, outputs, weights, names = {"x"};
  std::vector<bool> read(count + 1);
  for (int i = 1; i <= count; ++i) {
    size_t from = i - 1 - random(std::min(i, 12));
    int64_t width = 16 * (1 + random(16));
    std::string number = std::to_string(i);
    nodes.push_back(node("MatMul", {names[from], "w" + number}, "v" + number, "m" + number));
    weights.push_back(tensor("w" + number, {widths[from], width}, std::vector<float>(widths[from] * width)));
    names.push_back("v" + number);
    widths.push_back(width);
    read[from] = true;
  }
  for (int i = 1; i <= count; ++i)
    if (!read[i])
      outputs.push_back(valueInfo(names[i], {64, widths[i]}));
  return model(nodes, {valueInfo("x", {64, 4})}, outputs, weights);
}

/// A test with a folder of its own.
struct FolderTest : testing::Test {
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("stint-driver", folder)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string path(const std::string &name) const { return (folder + "/" + name).str(); }
  std::string write(const std::string &name, const std::string &contents) const {
    std::error_code error;
    llvm::raw_fd_ostream os(path(name), error);
    EXPECT_FALSE(error);
    os << contents;
    return path(name);
  }
  std::string read(const std::string &name) const {
    auto buffer = llvm::MemoryBuffer::getFile(path(name));
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  bool exists(const std::string &name) const { return llvm::sys::fs::exists(path(name)); }
  /// Names of the files that are there, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
      names.push_back(i->path().substr(folder.size() + 1));
    llvm::sort(names);
    return names;
  }

  llvm::SmallString<128> folder;
};

} // namespace stint::test

#endif
