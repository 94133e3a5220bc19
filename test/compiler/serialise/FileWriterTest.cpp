// Files that are there whole or not at all.
#include "compiler/serialise/FileWriter.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace stint;

namespace {

struct FileWriterTest : testing::Test {
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("stint-file-writer", folder)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  std::string path(const char *name) { return (folder + "/" + name).str(); }
  size_t entries() {
    size_t count = 0;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
      ++count;
    return count;
  }
  llvm::SmallString<128> folder;
};

TEST_F(FileWriterTest, WholeOrNot) {
  {
    llvm::Expected<serialise::FileWriter> file = serialise::FileWriter::create(path("a"));
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    ASSERT_FALSE(bool(file->write(5, {1, 2, 3})));
    EXPECT_FALSE(llvm::sys::fs::exists(path("a")));
  }
  EXPECT_EQ(entries(), 0u); // given up, nothing stays
  llvm::Expected<serialise::FileWriter> file = serialise::FileWriter::create(path("a"));
  ASSERT_TRUE(bool(file));
  ASSERT_FALSE(bool(file->write(5, {1, 2, 3})));
  ASSERT_FALSE(bool(file->resize(7)));
  ASSERT_FALSE(bool(file->commit()));
  EXPECT_EQ(entries(), 1u);
  auto contents = llvm::MemoryBuffer::getFile(path("a"));
  ASSERT_TRUE(bool(contents));
  EXPECT_EQ((*contents)->getBuffer(), llvm::StringRef("\0\0\0\0\0\1\2", 7));
}

TEST_F(FileWriterTest, PlacesThatCannotBe) {
  for (std::string place : {path("no/folder/x"), folder.str().str(), std::string("/dev/null")}) {
    llvm::Error error = serialise::writeFile(place, {1});
    ASSERT_TRUE(bool(error)) << place;
    EXPECT_NE(llvm::toString(std::move(error)).find(place), std::string::npos);
  }
  EXPECT_EQ(entries(), 0u);
}

} // namespace
