// The runtime's tokenizer on sections that the compiler wrote: what odd texts come
// to, how little a caller has to bring, and that no section makes it crash.
#include "runtime/generation/tokenizer.h"
#include "SmallTokenizers.h"
#include "gtest/gtest.h"

#include <ctime>
#include <random>

using namespace stint;

namespace {

using Ids = std::vector<uint32_t>;

struct Compiled {
  explicit Compiled(const std::string &file) : section(text::sectionOf(file)) {
    EXPECT_EQ(openTokenizer(section.data(), section.size(), &tokenizer).value.code, STINT_OK);
  }

  Ids encode(const std::string &text, uint32_t flags = 0) const {
    Ids ids(4 * text.size() + 16);
    std::vector<uint8_t> scratch(encodeScratch(tokenizer, text.size()));
    EncodeResult result;
    Status status =
        stint::encode(tokenizer, text.data(), text.size(), flags, span(scratch), ids.data(), ids.size(), &result);
    EXPECT_TRUE(status.ok()) << status.value.text;
    ids.resize(result.count);
    return ids;
  }

  std::string decode(const Ids &ids, uint32_t flags = DecodeWhole) const {
    std::string text(tokenizer.decodeRoom * (ids.size() + 1), '\0');
    DecodeState state = {};
    uint64_t done = 0, written = 0;
    Status status =
        stint::decode(tokenizer, &state, ids.data(), ids.size(), flags, text.data(), text.size(), &done, &written);
    EXPECT_TRUE(status.ok()) << status.value.text;
    EXPECT_EQ(done, ids.size());
    written += decodeEnd(tokenizer, &state, text.data() + written);
    text.resize(written);
    return text;
  }

  static Span<uint8_t> span(std::vector<uint8_t> &bytes) { return {bytes.data(), static_cast<uint32_t>(bytes.size())}; }

  uint32_t id(const std::string &text) const {
    for (uint32_t i = 0; i < tokenizer.tokenCount(); ++i) {
      Span<const uint8_t> own = tokenizer.tokenText(i);
      if (std::string(own.begin(), own.end()) == text)
        return i;
    }
    return STINT_TOKENIZER_NONE;
  }

  std::vector<uint8_t> section;
  Tokenizer tokenizer;
};

Compiled small(const char *name) { return Compiled(text::smallTokenizer(name)); }

bool isUtf8(const std::string &text) {
  for (size_t i = 0; i < text.size();) {
    uint8_t lead = text[i];
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xc2 && lead < 0xe0 ? 2
                    : lead >= 0xe0 && lead < 0xf0 ? 3
                    : lead < 0xf5                 ? 4
                                                  : 0;
    if (!length || (lead >= 0x80 && lead < 0xc2) || i + length > text.size())
      return false;
    for (size_t j = 1; j < length; ++j)
      if ((text[i + j] & 0xc0) != 0x80)
        return false;
    i += length;
  }
  return true;
}

TEST(TokenizerTest, TextsComeBack) {
  for (const text::SmallTokenizer &each : text::smallTokenizers()) {
    if (std::string(each.name) == "metaspace")
      continue; // its decoder drops spaces at the start
    Compiled t(each.json);
    for (std::string text : {"", " ", "a", "aaab ab", "it's 12 été, 人人", "  \n\n a\t", "<|a|> [l"})
      EXPECT_EQ(t.decode(t.encode(text)), text) << each.name;
  }
}

TEST(TokenizerTest, MergesTheLowestRankFirst) {
  Compiled t = small("gpt2");
  // "a"+"a" comes before "a"+"b", from the left.
  EXPECT_EQ(t.encode("aaab"), (Ids{t.id("aa"), t.id("ab")}));
  EXPECT_EQ(t.encode("aaaaa"), (Ids{t.id("aaaa"), t.id("a")}));
  EXPECT_EQ(t.encode("x ab"), (Ids{t.id("x"), t.id(" ab")}));
}

TEST(TokenizerTest, WholeWordsComeBeforeMerges) {
  // " a" then "b" by merges; the word "  " is a token as a whole.
  Compiled t = small("llama3");
  EXPECT_EQ(t.encode("12"), (Ids{t.id("12")}));
  EXPECT_EQ(t.encode("1212"), (Ids{t.id("12"), t.id("1"), t.id("2")}));
}

TEST(TokenizerTest, SpecialTokensAreTextUnlessAskedFor) {
  Compiled t = small("gpt2");
  uint32_t special = t.id("<|a|>"), added = t.id("<|a|>b");
  EXPECT_EQ(t.encode("<|a|>", EncodeSpecial), (Ids{special}));
  Ids plain = t.encode("<|a|>");
  EXPECT_EQ(plain.size(), 5u);
  EXPECT_EQ(t.decode(plain), "<|a|>");
  // What isn't special is always looked for; the longest counts.
  EXPECT_EQ(t.encode("<|a|>b"), (Ids{added}));
  EXPECT_EQ(t.encode("<|a|>b", EncodeSpecial), (Ids{added}));
  EXPECT_EQ(t.decode({special, t.id("a")}, DecodeWhole | DecodeSkipSpecial), "a");
}

TEST(TokenizerTest, AddedTokensTakeWhiteSpaceAlong) {
  Compiled t = small("gpt2");
  uint32_t left = t.id("[l]"), right = t.id("[r]");
  EXPECT_EQ(t.encode("a \u3000[l] a", EncodeSpecial), (Ids{t.id("a"), left, t.id(" a")}));
  EXPECT_EQ(t.encode("a [r] \u00a0a"), (Ids{t.id("a"), t.id(" "), right, t.id("a")}));
}

TEST(TokenizerTest, PutsTokensAroundATextIfAskedTo) {
  Compiled t = small("llama2");
  EXPECT_EQ(t.encode("", EncodeAround), (Ids{1, 2}));
  EXPECT_EQ(t.encode("a", EncodeAround), (Ids{1, t.id("\u2581a"), 2}));
}

TEST(TokenizerTest, FallsBackToBytes) {
  Compiled t = small("llama2");
  EXPECT_EQ(t.encode("\u20ac"), (Ids{t.id("\u2581"), t.id("<0xE2>"), t.id("<0x82>"), t.id("<0xAC>")}));
}

TEST(TokenizerTest, ComposesCanonically) {
  Compiled t = small("qwen2");
  uint32_t e = t.id("é");
  EXPECT_EQ(t.encode("é"), (Ids{e}));
  EXPECT_EQ(t.encode("e\u0301"), (Ids{e}));
  // A mark of a lower class goes first, and the accent still composes across it.
  EXPECT_EQ(t.encode("e\u0301\u0327"), t.encode("\u0229\u0301"));
  // Hangul by arithmetic: jamo of 각, and of 가 with a final consonant.
  EXPECT_EQ(t.encode("\u1100\u1161\u11a8"), t.encode("\uac01"));
  EXPECT_EQ(t.encode("\uac00\u11a8"), t.encode("\uac01"));
  // Excluded from composition.
  EXPECT_EQ(t.encode("\u0958"), t.encode("\u0915\u093c"));
}

TEST(TokenizerTest, WhatIsNotUtf8IsReplaced) {
  for (const text::SmallTokenizer &each : text::smallTokenizers()) {
    Compiled t(each.json);
    // Python's bytes.decode(errors="replace") of the same.
    const std::pair<const char *, const char *> cases[] = {
        {"a\xff"
         "b",
         "a\ufffdb"},
        {"\xc3", "\ufffd"},
        {"\xe4\xba", "\ufffd"},
        {"\xe4\xba"
         "a",
         "\ufffda"},
        {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
        {"\xc0\x80", "\ufffd\ufffd"},
        {"\xf0\x9f\x98", "\ufffd"},
        {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
        {"\x80", "\ufffd"},
        {"\xf0\x80", "\ufffd\ufffd"},
    };
    for (auto [given, meant] : cases)
      EXPECT_EQ(t.encode(given), t.encode(meant)) << each.name;
  }
}

TEST(TokenizerTest, AStreamHoldsBackWhatIsIncomplete) {
  Compiled t = small("gpt2");
  Ids bytes = {t.id("\xf0"), t.id("\x9f"), t.id("\x98"), t.id("\x80"), t.id("\xe4\xba"), t.id("!"), t.id("\xe4\xba")};
  std::string expected[] = {"", "", "", "\U0001f600", "", "\ufffd!", ""};
  DecodeState state = {};
  std::vector<char> out(t.tokenizer.decodeRoom);
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint64_t done = i, written = 0;
    ASSERT_TRUE(decode(t.tokenizer, &state, bytes.data(), i + 1, 0, out.data(), out.size(), &done, &written).ok());
    EXPECT_EQ(std::string(out.data(), written), expected[i]);
  }
  EXPECT_EQ(std::string(out.data(), decodeEnd(t.tokenizer, &state, out.data())), "\ufffd");
}

TEST(TokenizerTest, StreamsAreUtf8AndAddUpToTheWhole) {
  std::mt19937 random(7);
  for (const text::SmallTokenizer &each : text::smallTokenizers()) {
    Compiled t(each.json);
    for (int round = 0; round < 300; ++round) {
      Ids ids(random() % 12);
      for (uint32_t &id : ids)
        id = random() % (t.tokenizer.tokenCount() + 2); // some aren't there
      std::vector<char> out(t.tokenizer.decodeRoom);
      DecodeState state = {};
      std::string text;
      for (uint64_t done = 0; done < ids.size();) {
        uint64_t written = 0;
        ASSERT_TRUE(
            decode(t.tokenizer, &state, ids.data(), ids.size(), 0, out.data(), out.size(), &done, &written).ok());
        EXPECT_TRUE(isUtf8(std::string(out.data(), written)));
        text.append(out.data(), written);
      }
      text.append(out.data(), decodeEnd(t.tokenizer, &state, out.data()));
      if (t.tokenizer.has(STINT_TOKENIZER_DECODE_LOSSY))
        EXPECT_EQ(text, t.decode(ids));
      EXPECT_TRUE(isUtf8(t.decode(ids)));
    }
  }
}

TEST(TokenizerTest, ARunOfBytesThatIsNotUtf8IsReplacedAsAWhole) {
  Compiled t = small("llama2");
  Ids ids = {t.id("<0xE2>"), t.id("<0x82>"), t.id("<0xAC>"), t.id("<0xFF>"), t.id("a")};
  EXPECT_EQ(t.decode(ids), "\ufffd\ufffd\ufffd\ufffda");
  EXPECT_EQ(t.decode(ids, 0), "\u20ac\ufffda");
}

TEST(TokenizerTest, LongWordsTakeNoLongerThanShortOnes) {
  std::vector<uint8_t> scratch;
  for (const text::SmallTokenizer &each : text::smallTokenizers()) {
    Compiled t(each.json);
    for (std::string unit : {"a", " ", "ab", "1", "\u0308", "e\u0301\u0323", "\xff", "[", "\n "}) {
      std::string text;
      while (text.size() < (unit == "a" ? 1'000'000 : 200'000))
        text += unit;
      Ids ids(4 * text.size() + 16);
      EncodeResult result;
      Status status = outOfMemory(0);
      double seconds = 0;
      while (status.value.code == STINT_STATUS_OUT_OF_MEMORY && scratch.size() < 1u << 30) {
        std::clock_t begin = std::clock();
        status =
            encode(t.tokenizer, text.data(), text.size(), 0, Compiled::span(scratch), ids.data(), ids.size(), &result);
        seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        if (result.scratch > scratch.size())
          scratch.resize(result.scratch);
      }
      // Only a rule that reads a text over and over again is given up.
      bool stopped = status.value.code == STINT_STATUS_UNSUPPORTED;
      EXPECT_TRUE(status.ok() || (stopped && std::string(each.name) == "quadratic")) << each.name << " " << unit;
      EXPECT_LT(seconds, 1) << each.name << " " << unit;
    }
  }
}

TEST(TokenizerTest, AsksForTheScratchItNeeds) {
  std::string text = "aaaa bbbb \u0308\u0301 \xff [n] e\u0301 ";
  for (int i = 0; i < 6; ++i)
    text += text;
  for (const text::SmallTokenizer &each : text::smallTokenizers()) {
    Compiled t(each.json);
    Ids expected = t.encode(text), ids(expected.size());
    std::vector<uint8_t> scratch;
    EncodeResult result;
    int tries = 0;
    while (true) {
      Status status =
          encode(t.tokenizer, text.data(), text.size(), 0, Compiled::span(scratch), ids.data(), ids.size(), &result);
      if (status.ok())
        break;
      ASSERT_EQ(status.value.code, STINT_STATUS_OUT_OF_MEMORY);
      ASSERT_GT(result.scratch, scratch.size()) << each.name;
      ASSERT_LE(result.scratch, encodeScratch(t.tokenizer, text.size())) << each.name;
      ASSERT_LT(++tries, 40);
      scratch.assign(result.scratch, 0xaa);
    }
    EXPECT_EQ(ids, expected);
    // Too little room: how many there are is told, and nothing is written beyond it.
    Ids few(expected.size(), 77);
    Status status = encode(t.tokenizer, text.data(), text.size(), 0, Compiled::span(scratch), few.data(), 3, &result);
    EXPECT_EQ(status.value.code, STINT_STATUS_OUT_OF_RANGE);
    EXPECT_EQ(result.count, expected.size());
    EXPECT_EQ(few[3], 77u);
  }
}

TEST(TokenizerTest, DecodesIntoLittleRoom) {
  Compiled t = small("gpt2");
  Ids ids = t.encode("some text, 人人 12");
  std::vector<char> out(t.tokenizer.decodeRoom);
  DecodeState state = {};
  std::string text;
  for (uint64_t done = 0; done < ids.size();) {
    uint64_t written = 0;
    ASSERT_TRUE(decode(t.tokenizer, &state, ids.data(), ids.size(), 0, out.data(), out.size(), &done, &written).ok());
    text.append(out.data(), written);
  }
  EXPECT_EQ(text, "some text, 人人 12");
  uint64_t done = 0, written = 0;
  EXPECT_EQ(decode(t.tokenizer, &state, ids.data(), 1, 0, out.data(), 2, &done, &written).value.code,
            STINT_STATUS_OUT_OF_RANGE);
}

TEST(TokenizerTest, RefusesEveryTruncation) {
  for (const text::SmallTokenizer &each : text::smallTokenizers()) {
    std::vector<uint8_t> section = text::sectionOf(each.json);
    size_t step = section.size() > 20000 ? 13 : 1;
    for (size_t size = 0; size < section.size(); size += size < 512 ? 1 : step) {
      // At the end of a block, so that a sanitizer sees what is read behind it; also
      // with the size in the header made right.
      std::vector<uint8_t> cut(section.begin(), section.begin() + size);
      Tokenizer t;
      EXPECT_FALSE(openTokenizer(cut.data(), cut.size(), &t).ok()) << size;
      if (size < sizeof(stint_tokenizer_header))
        continue;
      reinterpret_cast<stint_tokenizer_header *>(cut.data())->size = size;
      EXPECT_FALSE(openTokenizer(cut.data(), cut.size(), &t).ok()) << size;
    }
  }
}

TEST(TokenizerTest, SurvivesDamagedSections) {
  std::mt19937 random(3);
  const std::string given = "a b<|a|>aab e\u0301\u0308 12345 [l] [r] 人人\u20ac\xff it's";
  for (const text::SmallTokenizer &each : text::smallTokenizers()) {
    std::vector<uint8_t> section = text::sectionOf(each.json);
    int opened = 0;
    for (int round = 0; round < 1500; ++round) {
      std::vector<uint8_t> damaged = section;
      for (unsigned i = 0; i <= random() % 3; ++i) {
        size_t at = random() % 4 ? random() % damaged.size() : random() % sizeof(stint_tokenizer_header);
        damaged[at] = random() % 2 ? static_cast<uint8_t>(random()) : damaged[at] ^ 1 << random() % 8;
      }
      Tokenizer t;
      if (!openTokenizer(damaged.data(), damaged.size(), &t).ok())
        continue;
      ++opened;
      Ids ids(1000);
      std::vector<uint8_t> scratch(encodeScratch(t, given.size()));
      EncodeResult result;
      Status status =
          encode(t, given.data(), given.size(), random() % 4, Compiled::span(scratch), ids.data(), ids.size(), &result);
      EXPECT_NE(status.value.code, STINT_STATUS_OUT_OF_MEMORY);
      ids.resize(status.ok() ? result.count : 0);
      std::vector<char> out(t.decodeRoom);
      DecodeState state = {};
      for (uint64_t done = 0; done < ids.size();) {
        uint64_t written = 0;
        ASSERT_TRUE(
            decode(t, &state, ids.data(), ids.size(), random() % 4, out.data(), out.size(), &done, &written).ok());
        EXPECT_TRUE(isUtf8(std::string(out.data(), written)));
      }
    }
    EXPECT_GT(opened, 30) << each.name;
  }
}

} // namespace
