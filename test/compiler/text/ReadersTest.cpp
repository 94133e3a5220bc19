// The compiler's readers of tokenizers on files that are cut off or damaged, and
// what a GGUF file's scores come to.
#include "SmallTokenizers.h"
#include "compiler/text/Gguf.h"
#include "compiler/text/TokenizerModel.h"
#include "gtest/gtest.h"

#include <random>

using namespace stint::text;

namespace {

/// Reads and compiles; whatever happens, it ends with a tokenizer or a message.
bool compiles(const std::string &file) {
  llvm::Expected<TokenizerModel> model = readTokenizer(llvm::MemoryBufferRef(file, "test"));
  if (!model) {
    EXPECT_FALSE(llvm::toString(model.takeError()).empty());
    return false;
  }
  llvm::Expected<std::vector<uint8_t>> section = buildTokenizerSection(*model);
  if (!section) {
    EXPECT_FALSE(llvm::toString(section.takeError()).empty());
    return false;
  }
  return true;
}

TEST(ReadersTest, RefuseEveryTruncationOfGguf) {
  for (const std::string &file : smallGgufFiles()) {
    EXPECT_TRUE(compiles(file));
    for (size_t size = 0; size < file.size(); ++size)
      EXPECT_FALSE(compiles(file.substr(0, size))) << size;
  }
}

TEST(ReadersTest, RefuseTruncationsOfJson) {
  for (const SmallTokenizer &each : smallTokenizers())
    for (size_t size = 0; size < each.json.size(); size += 97)
      EXPECT_FALSE(compiles(each.json.substr(0, size))) << each.name << " " << size;
}

TEST(ReadersTest, SurviveDamage) {
  std::mt19937 random(11);
  std::vector<std::string> files = smallGgufFiles();
  for (const SmallTokenizer &each : smallTokenizers())
    files.push_back(each.json);
  for (const std::string &file : files)
    for (int round = 0; round < 100; ++round) {
      std::string damaged = file;
      for (unsigned i = 0; i <= random() % 4; ++i)
        damaged[random() % damaged.size()] = static_cast<char>(random() % 2 ? random() : "{}[]\":,0\\"[random() % 9]);
      compiles(damaged);
    }
}

TEST(ReadersTest, ScoresBecomeMerges) {
  std::string file = smallGgufFiles()[1];
  TokenizerModel model = llvm::cantFail(readTokenizer(llvm::MemoryBufferRef(file, "test")));
  // ab (-1) before abb (-2); abb is ab and b only, since bb is no token.
  ASSERT_EQ(model.merges.size(), 2u);
  EXPECT_EQ(model.merges[0].id, 4u);
  EXPECT_EQ(model.merges[1].left, 4u);
  EXPECT_EQ(model.merges[1].id, 5u);
  EXPECT_EQ(model.prefix, std::vector<uint32_t>{0});
  ASSERT_EQ(model.added.size(), 1u);
  EXPECT_TRUE(model.added[0].special);
}

TEST(ReadersTest, OfPairsThatComeTwiceTheLastCounts) {
  std::string file = "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":{\"type\":"
                     "\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"ba\":3},"
                     "\"merges\":[\"a b\",\"b a\",\"a b\"]}}";
  TokenizerModel model = llvm::cantFail(readTokenizer(llvm::MemoryBufferRef(file, "test")));
  ASSERT_EQ(model.merges.size(), 2u);
  EXPECT_EQ(model.merges[0].id, 3u);
  EXPECT_EQ(model.merges[1].id, 2u);
}

} // namespace
