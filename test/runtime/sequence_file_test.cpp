// Saved sequences: they go on where they were, in any generator of the same
// model; whatever else is in the file is refused.
#include "fake_decoder.h"
#include "plan_builder.h"
#include "runtime/base/sha256.h"
#include "runtime/schema/sequence_file.h"

#include <gtest/gtest.h>

using namespace stint;
using namespace stint::test;

namespace {

using Bytes = std::vector<uint8_t>;

Bytes save(const FakeDecoder &decoder, uint64_t sequence) {
  Bytes bytes;
  EXPECT_OK(stint_sequence_save(
      decoder.get(), sequence,
      [](void *user, const void *data, size_t size) {
        auto *begin = static_cast<const uint8_t *>(data);
        static_cast<Bytes *>(user)->insert(static_cast<Bytes *>(user)->end(), begin, begin + size);
        return 0;
      },
      &bytes));
  return bytes;
}

stint_status restore(const FakeDecoder &decoder, const Bytes &bytes, uint64_t *sequence,
                     const stint_sequence_options *how = nullptr) {
  Bytes exact(bytes); // nothing readable behind it
  exact.shrink_to_fit();
  return stint_sequence_restore(decoder.get(), exact.data(), exact.size(), how, sequence);
}

// A hash that is right again.
Bytes rehashed(Bytes bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size() - 32);
  hash.finish(bytes.data() + bytes.size() - 32);
  return bytes;
}

} // namespace

TEST(SequenceFile, GoesOnWhereItWas) {
  How how(12);
  how.sampling.temperature = 1.5;
  how.sampling.seed = 9;
  FakeDecoder whole;
  uint64_t uninterrupted = whole.add({3, 1, 4, 1, 5}, how);
  whole.run();

  FakeOptions options;
  options.pageCount = 40;
  FakeDecoder first(options), second;
  uint64_t other = first.add({9, 9, 9, 9, 9, 9, 9}, How(3)), sequence = first.add({3, 1, 4, 1, 5}, how);
  for (int i = 0; i < 6; ++i)
    EXPECT_OK(stint_generator_step(first.get(), nullptr, nullptr));
  (void)other;
  Bytes bytes = save(first, sequence);
  size_t generated = first.info(sequence).generated_tokens, cached = first.info(sequence).cached_tokens;
  EXPECT_EQ(bytes.size(), 128 + 2 * 16 + (5 + generated) * 4 + cached * (2 * 3 + 5) * 4 + 32);
  how.options.max_tokens = uint32_t(12 - generated);
  uint64_t restored = 0;
  EXPECT_OK(restore(second, bytes, &restored, how));
  EXPECT_EQ(second.info(restored).prompt_tokens, 5u);
  EXPECT_EQ(second.info(restored).cached_tokens, cached);
  EXPECT_EQ(save(second, restored), bytes) << "the same bytes from other pages";
  second.run();
  EXPECT_EQ(second.tokens(restored), whole.tokens(uninterrupted));
  EXPECT_EQ(second.tokensOfRuns.front(), 1u) << "nothing is read again";
}

TEST(SequenceFile, OneThatHasNotBegun) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add({3, 1, 4}, How(5)), restored = 0;
  Bytes bytes = save(decoder, sequence);
  EXPECT_OK(restore(decoder, bytes, &restored, How(5)));
  decoder.run();
  EXPECT_EQ(decoder.tokens(restored), decoder.expected({3, 1, 4}, 5));
}

TEST(SequenceFile, EveryDamageIsSeen) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add({3, 1, 4}, How(4)), restored = 0;
  decoder.run();
  const Bytes bytes = save(decoder, sequence);
  uint32_t free = decoder.info().free_pages;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (uint8_t bit : {1, 128}) {
      Bytes damaged = bytes;
      damaged[i] ^= bit;
      stint_status status = restore(decoder, damaged, &restored);
      EXPECT_TRUE(status.code == STINT_STATUS_MALFORMED || status.code == STINT_STATUS_UNSUPPORTED) << i;
    }
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(restore(decoder, Bytes(bytes.begin(), bytes.begin() + long(size)), &restored).code,
              STINT_STATUS_MALFORMED);
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(restore(decoder, longer, &restored).code, STINT_STATUS_MALFORMED);
  EXPECT_EQ(stint_sequence_restore(decoder.get(), nullptr, 0, nullptr, &restored).code, STINT_STATUS_MALFORMED);
  EXPECT_EQ(decoder.info().free_pages, free);
  EXPECT_EQ(decoder.info().sequences, 1u);
  EXPECT_EQ(restored, 0u);
}

TEST(SequenceFile, ARightHashIsNotBelieved) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add({3, 1, 4}, How(4)), restored = 0;
  decoder.run();
  const Bytes bytes = save(decoder, sequence);
  // Every byte of header, schema and tokens, and each size.
  for (size_t i = 0; i < 128 + 32 + 28; ++i)
    for (uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
      Bytes changed = bytes;
      changed[i] = value;
      stint_status status = restore(decoder, rehashed(changed), &restored);
      bool token = i >= 160 && (i - 160) % 4 == 0 && value < 50;  // another token
      bool prompt = i >= 64 && i < 68 && status.code == STINT_OK; // another end of the prompt
      bool minor = i == 10 || i == 11;                            // a later minor version
      if (changed == bytes || token || prompt || minor)
        EXPECT_OK(status);
      else
        EXPECT_TRUE(status.code == STINT_STATUS_MALFORMED || status.code == STINT_STATUS_UNSUPPORTED) << i;
      if (restored)
        EXPECT_OK(stint_sequence_remove(decoder.get(), restored));
    }
}

TEST(SequenceFile, AnotherModelOrVersionIsNamed) {
  FakeOptions options;
  options.model = 8;
  FakeDecoder decoder, foreign(options);
  uint64_t sequence = decoder.add({3, 1, 4}, How(4)), restored = 0;
  decoder.run();
  Bytes bytes = save(decoder, sequence);
  stint_status status = restore(foreign, bytes, &restored);
  EXPECT_EQ(status.code, STINT_STATUS_UNSUPPORTED);
  EXPECT_EQ(text(status), "a saved sequence is of another model");
  bytes[8] = 2;
  status = restore(decoder, rehashed(bytes), &restored);
  EXPECT_EQ(status.code, STINT_STATUS_UNSUPPORTED);
  EXPECT_EQ(text(status), "a saved sequence of version 2, this runtime reads version 1");
}

TEST(SequenceFile, NoRoomIsAnAnswer) {
  FakeOptions small;
  small.pageCount = 3;
  small.sequenceLimit = 2;
  FakeDecoder decoder, tight(small);
  uint64_t sequence = decoder.add(std::vector<uint32_t>(9, 2), How(5)), restored = 0;
  decoder.run(); // 13 cached: 4 pages
  Bytes bytes = save(decoder, sequence);
  EXPECT_EQ(restore(tight, bytes, &restored).code, STINT_STATUS_FULL);
  EXPECT_EQ(tight.info().free_pages, 3u);
  EXPECT_EQ(tight.info().sequences, 0u);
  How wrong;
  wrong.sampling.temperature = -1;
  EXPECT_EQ(restore(decoder, bytes, &restored, wrong).code, STINT_STATUS_INVALID_ARGUMENT);
}

TEST(SequenceFile, AWriterThatFailsIsReported) {
  FakeDecoder decoder;
  uint64_t sequence = decoder.add({3, 1, 4}, How(4));
  decoder.run();
  stint_write write = [](void *user, const void *, size_t) { return (*static_cast<int *>(user))-- ? 0 : 28; };
  int pieces = 0;
  for (;; ++pieces) {
    int left = pieces;
    stint_status status = stint_sequence_save(decoder.get(), sequence, write, &left);
    if (status.code == STINT_OK)
      break;
    EXPECT_EQ(status.code, STINT_STATUS_IO);
    EXPECT_EQ(status.a, 28);
  }
  EXPECT_EQ(pieces, 1 + 2 + 1 + 3 * 2 + 1) << "header, states, tokens, heads by page, hash";
  EXPECT_EQ(stint_sequence_save(decoder.get(), sequence, nullptr, nullptr).code, STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(text(stint_sequence_restore(decoder.get(), nullptr, 1000, nullptr, &sequence)),
            "no data to restore a sequence from");
}

TEST(SequenceFile, AWriterMayOnlyAsk) {
  FakeDecoder decoder;
  decoder.add({3, 1, 4}, How(4)); // sequence 1
  decoder.run();
  stint_write write = [](void *user, const void *, size_t) -> int32_t {
    auto *generator = static_cast<stint_generator *>(user);
    EXPECT_EQ(stint_sequence_remove(generator, 1).code, STINT_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(stint_generator_step(generator, nullptr, nullptr).code, STINT_STATUS_INVALID_ARGUMENT);
    return 0;
  };
  EXPECT_OK(stint_sequence_save(decoder.get(), 1, write, decoder.get()));
  EXPECT_OK(stint_sequence_remove(decoder.get(), 1));
}
