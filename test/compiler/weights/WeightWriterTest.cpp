// The section that weights make: aligned, equal bytes once, gaps of zeros.
#include "compiler/weights/WeightWriter.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace stint;

namespace {

struct WeightWriterTest : testing::Test {
  uint64_t add(std::vector<uint8_t> bytes) {
    llvm::Expected<uint64_t> offset = writer.add(bytes, [&](uint64_t offset, llvm::ArrayRef<uint8_t> piece) {
      if (section.size() < offset + piece.size())
        section.resize(offset + piece.size(), 0);
      std::memcpy(section.data() + offset, piece.data(), piece.size());
      return llvm::Error::success();
    });
    if (!offset) {
      ADD_FAILURE() << llvm::toString(offset.takeError());
      return 0;
    }
    return *offset;
  }
  weights::WeightWriter writer;
  std::vector<uint8_t> section;
};

TEST_F(WeightWriterTest, AlignedInOrder) {
  EXPECT_EQ(add({1, 2, 3}), 0u);
  EXPECT_EQ(add(std::vector<uint8_t>(65, 7)), 64u);
  EXPECT_EQ(add({4}), 192u);
  EXPECT_EQ(writer.size(), 193u);
}

TEST_F(WeightWriterTest, EqualBytesOnce) {
  std::vector<uint8_t> large(3 << 20, 9);
  EXPECT_EQ(add({5}), 0u);
  EXPECT_EQ(add(large), 64u);
  uint64_t end = writer.size();
  EXPECT_EQ(add(large), 64u);
  EXPECT_EQ(add({5}), 0u);
  EXPECT_EQ(writer.size(), end);
  EXPECT_EQ(writer.shared(), large.size() + 1);
  // The same length with other bytes is another weight; what a duplicate left
  // behind its end is gone.
  uint64_t next = add({6});
  EXPECT_GE(next, end);
  for (uint64_t i = end; i < section.size(); ++i)
    EXPECT_EQ(section[i], i == next ? 6 : 0) << i;
}

TEST_F(WeightWriterTest, NothingIsAWeightToo) {
  EXPECT_EQ(add({}), 0u);
  EXPECT_EQ(add({1}), 0u);
  EXPECT_EQ(add({}), 0u);
}

TEST_F(WeightWriterTest, FailingDisk) {
  std::vector<uint8_t> bytes(10, 1);
  llvm::Expected<uint64_t> offset = writer.add(bytes, [](uint64_t, llvm::ArrayRef<uint8_t>) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "full");
  });
  ASSERT_FALSE(offset);
  EXPECT_EQ(llvm::toString(offset.takeError()), "full");
}

} // namespace
