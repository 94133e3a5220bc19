// SHA-256 against the standard's examples, and the CPU's instructions against
// the portable rounds at every length around the block size.
#include "runtime/base/sha256.h"
#include "runtime/platform/platform.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

static std::string digest(const std::string &text, bool instructions, size_t piece = 1000) {
  stint::Sha256 hash(instructions);
  for (size_t at = 0; at < text.size(); at += piece)
    hash.update(text.data() + at, std::min(piece, text.size() - at));
  uint8_t bytes[32];
  hash.finish(bytes);
  std::string hex;
  for (uint8_t byte : bytes)
    for (int half : {byte >> 4, byte & 15})
      hex += "0123456789abcdef"[half];
  return hex;
}

TEST(Sha256, StandardExamples) {
  EXPECT_EQ(digest("", false), "e3b0c44298fc1c149afbf4c8996fb924"
                               "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc", false), "ba7816bf8f01cfea414140de5dae2223"
                                  "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", false),
            "248d6a61d20638b8e5c026930c3e6039"
            "a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, InstructionsAgreeWithPortableRounds) {
  if (!stint::platform::cpuInfo().sha256)
    GTEST_SKIP() << "this CPU has no SHA-256 instructions";
  std::string text;
  for (int length = 0; length < 300; ++length) {
    EXPECT_EQ(digest(text, true), digest(text, false)) << length;
    EXPECT_EQ(digest(text, true, 7), digest(text, false)) << length;
    text += static_cast<char>(length * 37 + 11);
  }
}
