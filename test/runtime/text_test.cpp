// Text in plans: sections that are refused, and the C API on a tokenizer of
// three tokens made by hand. What real tokenizers do is tested with the compiler.
#include "plan_builder.h"
#include "runtime/schema/chat_section.h"
#include "runtime/schema/tokenizer_section.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace stint::test;

namespace {

// Tokens: 0 "a", 1 "\xc3", 2 "\xa9", 3 "<e>", which is special and ends texts.
std::vector<uint8_t> tokenizer() {
  stint_tokenizer_header header = {};
  header.magic = STINT_TOKENIZER_MAGIC;
  header.version = STINT_TOKENIZER_VERSION;
  header.flags = STINT_TOKENIZER_BYTE_LEVEL | STINT_TOKENIZER_DECODE_LOSSY;
  header.token_count = 4;
  header.unknown_id = header.bos_id = STINT_TOKENIZER_NONE;
  header.eos_id = 3;
  std::vector<uint8_t> bytes(sizeof(header));
  auto table = [&](int which, const void *data, uint32_t count, uint32_t size) {
    header.tables[which] = {static_cast<uint32_t>(bytes.size()), count};
    const auto *begin = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), begin, begin + count * size);
    bytes.resize((bytes.size() + 3) / 4 * 4);
  };
  for (stint_tokenizer_range &range : header.tables)
    range = {static_cast<uint32_t>(sizeof(header)), 0};
  uint32_t ends[] = {1, 2, 3, 6}, byteIds[256];
  uint8_t flags[] = {STINT_TOKEN_PRESENT, STINT_TOKEN_PRESENT, STINT_TOKEN_PRESENT,
                     STINT_TOKEN_PRESENT | STINT_TOKEN_SPECIAL};
  for (uint32_t &id : byteIds)
    id = STINT_TOKENIZER_NONE;
  byteIds['a'] = 0, byteIds[0xc3] = 1, byteIds[0xa9] = 2;
  table(STINT_TOKENIZER_TEXT, "a\xc3\xa9<e>", 6, 1);
  table(STINT_TOKENIZER_TEXT_ENDS, ends, 4, 4);
  table(STINT_TOKENIZER_TOKEN_FLAGS, flags, 4, 1);
  table(STINT_TOKENIZER_BYTE_IDS, byteIds, 256, 4);
  header.size = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

// User messages only: "a" before, token 3 behind; "a" asks for an answer.
std::vector<uint8_t> chat() {
  stint_chat_header header = {};
  stint_chat_piece pieces[] = {{STINT_CHAT_NONE, 0, 0, 1}, {3, STINT_ADDED_SPECIAL, 0, 0}, {STINT_CHAT_NONE, 0, 0, 1}};
  header.magic = STINT_CHAT_MAGIC;
  header.version = STINT_CHAT_VERSION;
  header.turn_end_id = 3;
  header.piece_count = 3;
  header.text_size = 1;
  for (auto &row : header.joints)
    for (stint_chat_joint &joint : row)
      joint = {STINT_CHAT_NONE, 0};
  header.joints[STINT_CHAT_START][STINT_CHAT_USER] = {0, 1};
  header.joints[STINT_CHAT_USER][STINT_CHAT_USER] = {1, 2};
  header.joints[STINT_CHAT_USER][STINT_CHAT_PROMPT] = {1, 2};
  header.joints[STINT_CHAT_USER][STINT_CHAT_END] = {1, 1};
  header.size = sizeof(header) + sizeof(pieces) + 4;
  std::vector<uint8_t> bytes(header.size);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), pieces, sizeof(pieces));
  bytes[sizeof(header) + sizeof(pieces)] = 'a';
  return bytes;
}

std::vector<SectionBytes> sectionsWith(std::initializer_list<SectionBytes> more) {
  std::vector<SectionBytes> sections = addSections();
  sections.insert(sections.end(), more);
  return sections;
}

TEST(TextTest, SectionsAreCheckedWhenAModelIsOpened) {
  auto plan = addPlan();
  SectionBytes good = {STINT_SECTION_TOKENIZER, tokenizer()}, talk = {STINT_SECTION_CHAT, chat()};
  EXPECT_OK(Opened(*plan, sectionsWith({good, talk})).status);
  auto refused = [&](std::initializer_list<SectionBytes> more, const char *words) {
    Opened opened(*plan, sectionsWith(more));
    EXPECT_EQ(opened.status.code, STINT_STATUS_MALFORMED);
    EXPECT_NE(text(opened.status).find(words), std::string::npos) << text(opened.status);
  };
  refused({{STINT_SECTION_TOKENIZER, {}}}, "cut off");
  refused({{STINT_SECTION_TOKENIZER, std::vector<uint8_t>(500, 7)}}, "not a tokenizer");
  refused({good, {STINT_SECTION_CHAT, std::vector<uint8_t>(500, 7)}}, "not a chat template");
  refused({talk}, "without a tokenizer");
  refused({good, good}, "second");
  refused({good, talk, talk}, "second");
  for (size_t at = 0; at < talk.bytes.size(); ++at) {
    SectionBytes damaged = talk;
    damaged.bytes[at] ^= 0x81;
    Opened opened(*plan, sectionsWith({good, damaged}));
    if (opened.status.code == STINT_OK) { // flags, or the text of a piece that isn't used
      stint_message message = {"user", "a", 1};
      uint32_t ids[8];
      size_t count;
      stint_model_encode_chat(opened.model, &message, 1, nullptr, ids, 8, &count);
    }
  }
  // Damage that the hash finds.
  std::vector<uint8_t> file = makeFile(packPlan(*plan), sectionsWith({good}));
  file.back() ^= 1;
  EXPECT_EQ(Opened(file).status.code, STINT_STATUS_MALFORMED);
}

TEST(TextTest, WithoutATokenizerThereIsNoText) {
  Opened opened(*addPlan(), addSections());
  EXPECT_EQ(stint_model_has_tokenizer(opened.model), 0);
  EXPECT_EQ(stint_model_has_tokenizer(nullptr), 0);
  size_t count;
  EXPECT_EQ(stint_model_encode(opened.model, "a", 1, nullptr, nullptr, 0, &count).code, STINT_STATUS_NOT_FOUND);
}

struct TextApi : testing::Test {
  Opened opened{*addPlan(), sectionsWith({{STINT_SECTION_TOKENIZER, tokenizer()}, {STINT_SECTION_CHAT, chat()}})};
  uint32_t ids[16] = {};
  size_t count = 0;
};

TEST_F(TextApi, SaysWhatThereIs) {
  stint_tokenizer_info info = {};
  info.size = sizeof(info);
  EXPECT_EQ(stint_model_has_tokenizer(opened.model), 1);
  EXPECT_OK(stint_model_tokenizer(opened.model, &info));
  EXPECT_STREQ(info.kind, "byte-level BPE");
  EXPECT_EQ(info.token_count, 4u);
  EXPECT_EQ(info.special_count, 1u);
  EXPECT_EQ(info.bos_id, STINT_NO_TOKEN);
  EXPECT_EQ(info.eos_id, 3u);
  EXPECT_EQ(info.turn_end_id, 3u);
  EXPECT_EQ(info.has_chat, 1u);
  stint_token_info token = {};
  token.size = sizeof(token);
  EXPECT_OK(stint_model_token(opened.model, 3, &token));
  EXPECT_EQ(std::string(token.text, token.text_size), "<e>");
  EXPECT_EQ(token.special, 1u);
  EXPECT_EQ(stint_model_token(opened.model, 4, &token).code, STINT_STATUS_NOT_FOUND);
}

TEST_F(TextApi, EncodesInWhateverScratch) {
  EXPECT_OK(stint_model_encode(opened.model, "a\xc3\xa9", 3, nullptr, ids, 16, &count));
  EXPECT_EQ(std::vector<uint32_t>(ids, ids + count), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(stint_model_encode(opened.model, "aaaa", 4, nullptr, ids, 2, &count).code, STINT_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(count, 4u);
  stint_encode_options options = {};
  options.size = sizeof(options);
  std::vector<uint8_t> scratch(1);
  options.scratch = scratch.data();
  options.scratch_size = 1;
  stint_status status = stint_model_encode(opened.model, "aaaa", 4, &options, ids, 16, &count);
  EXPECT_EQ(status.code, STINT_STATUS_OUT_OF_MEMORY);
  scratch.resize(status.a);
  options.scratch = scratch.data();
  options.scratch_size = scratch.size();
  EXPECT_OK(stint_model_encode(opened.model, "aaaa", 4, &options, ids, 16, &count));
  options.flags = 64;
  EXPECT_EQ(stint_model_encode(opened.model, "a", 1, &options, ids, 16, &count).code, STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(stint_model_encode(opened.model, nullptr, 1, nullptr, ids, 16, &count).code, STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(stint_model_encode(opened.model, "a", 1, nullptr, nullptr, 1, &count).code, STINT_STATUS_INVALID_ARGUMENT);
}

TEST_F(TextApi, ChatsAreWrittenJointByJoint) {
  stint_message messages[] = {{"user", "a", 1}, {"user", "", 0}};
  EXPECT_OK(stint_model_encode_chat(opened.model, messages, 2, nullptr, ids, 16, &count));
  EXPECT_EQ(std::vector<uint32_t>(ids, ids + count), (std::vector<uint32_t>{0, 0, 3, 0, 3, 0}));
  stint_encode_options options = {};
  options.size = sizeof(options);
  options.flags = STINT_ENCODE_NO_PROMPT;
  EXPECT_OK(stint_model_encode_chat(opened.model, messages, 1, &options, ids, 16, &count));
  EXPECT_EQ(std::vector<uint32_t>(ids, ids + count), (std::vector<uint32_t>{0, 0, 3}));
  EXPECT_EQ(stint_model_encode_chat(opened.model, messages, 2, nullptr, ids, 3, &count).code,
            STINT_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(count, 6u);
  messages[1].role = "assistant";
  stint_status status = stint_model_encode_chat(opened.model, messages, 2, nullptr, ids, 16, &count);
  EXPECT_EQ(status.code, STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(status.a, 1);
  messages[0] = {"user", nullptr, 5};
  EXPECT_EQ(stint_model_encode_chat(opened.model, messages, 1, nullptr, ids, 16, &count).code,
            STINT_STATUS_INVALID_ARGUMENT);
  options.flags = STINT_ENCODE_SPECIAL; // messages are never special
  EXPECT_EQ(stint_model_encode_chat(opened.model, messages, 1, &options, ids, 16, &count).code,
            STINT_STATUS_INVALID_ARGUMENT);
}

TEST_F(TextApi, StreamsGiveWholeCharacters) {
  stint_text_stream stream = {};
  char text[64];
  size_t written = 0, done = 0;
  uint32_t cut[] = {0, 1}, rest[] = {2, 3, 9, 1};
  EXPECT_OK(stint_model_decode(opened.model, &stream, cut, 2, 0, text, 64, &done, &written));
  EXPECT_EQ(std::string(text, written), "a");
  done = 0;
  EXPECT_OK(stint_model_decode(opened.model, &stream, rest, 4, STINT_DECODE_SKIP_SPECIAL, text, 64, &done, &written));
  EXPECT_EQ(std::string(text, written), "aé");
  EXPECT_OK(stint_model_decode_end(opened.model, &stream, text, 64, &written));
  EXPECT_EQ(std::string(text, written), "aé\uFFFD");
  // A stream that isn't one, and no room.
  std::memset(&stream, 0xff, sizeof(stream));
  done = written = 0;
  EXPECT_EQ(stint_model_decode(opened.model, &stream, cut, 2, 0, text, 64, &done, &written).code,
            STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(stint_model_decode_end(opened.model, &stream, text, 64, &written).code, STINT_STATUS_INVALID_ARGUMENT);
  stream = {};
  EXPECT_EQ(stint_model_decode(opened.model, &stream, cut, 2, 0, text, 1, &done, &written).code,
            STINT_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(done, 0u);
}

} // namespace
