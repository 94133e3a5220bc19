// Fuzzes saved sequences. An input is the file, without its hash where its first
// byte is even: then the hash is made right, so that the checks behind it are
// reached. What is taken goes on for a few tokens and is saved again.
#include "runtime/base/sha256.h"
#include "runtime/schema/sequence_file.h"
#include "test/runtime/fake_decoder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace stint;
using namespace stint::test;

using Bytes = std::vector<uint8_t>;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);

static void check(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "fuzz-sequence: %s\n", what);
  abort();
}

static Bytes save(const FakeDecoder &decoder, uint64_t sequence) {
  Bytes bytes;
  auto append = [](void *user, const void *data, size_t size) {
    auto *begin = static_cast<const uint8_t *>(data);
    static_cast<Bytes *>(user)->insert(static_cast<Bytes *>(user)->end(), begin, begin + size);
    return int32_t(0);
  };
  check(stint_sequence_save(decoder.get(), sequence, append, &bytes).code == STINT_OK, "a sequence can't be saved");
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  Bytes file(data + 1, data + size);
  if (data[0] % 2 == 0) {
    Sha256 hash;
    hash.update(file.data(), file.size());
    file.resize(file.size() + 32);
    hash.finish(file.data() + file.size() - 32);
  }
  file.shrink_to_fit();
  FakeDecoder decoder;
  How how(3);
  uint64_t sequence = 0;
  stint_status status = stint_sequence_restore(decoder.get(), file.data(), file.size(), how, &sequence);
  if (status.code)
    return 0;
  decoder.run();
  stint_sequence_info info = decoder.info(sequence);
  check(info.size != 0, "a restored sequence that isn't there");
  save(decoder, sequence);
  check(stint_sequence_remove(decoder.get(), sequence).code == STINT_OK, "a restored sequence can't be removed");
  return 0;
}

/// Now and then begins with a file that is right.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned int seed) {
  static const Bytes right = [] {
    FakeDecoder decoder;
    uint64_t sequence = decoder.add({3, 1, 4, 1, 5, 9}, How(4));
    decoder.run();
    Bytes bytes = save(decoder, sequence);
    bytes.resize(bytes.size() - 32);
    bytes.insert(bytes.begin(), uint8_t(0));
    return bytes;
  }();
  if (seed % 16 == 0 && right.size() <= limit) {
    memcpy(data, right.data(), right.size());
    size = right.size();
  }
  // Numbers of the header and of the states, more often than what they are of.
  size_t head = 1 + sizeof(stint_sequence_header) + 2 * sizeof(stint_sequence_state);
  if (seed % 4 && size >= head) {
    size_t at = 1 + (seed >> 8) % (head - 1);
    data[at] = seed % 3 ? uint8_t(seed >> 20) : uint8_t(data[at] + 1);
    return size;
  }
  return LLVMFuzzerMutate(data, size, limit);
}
