// Saving a sequence and bringing it back; the layout is in
// runtime/schema/sequence_file.h. What is read is trusted in nothing: all of it is
// checked before a page is taken, and no number of it is an index but the token
// ids.
#include "runtime/schema/sequence_file.h"

#include "runtime/base/arithmetic.h"
#include "runtime/base/sha256.h"
#include "runtime/generation/generator.h"
#include "runtime/platform/platform.h"

#include <string.h>

using namespace stint;

namespace {

constexpr uint64_t digestSize = 32;

// Hands pieces on and hashes them.
class Output {
public:
  Output(stint_write write, void *user) : write(write), user(user), hash(platform::cpuInfo().sha256) {}

  Status put(const void *data, uint64_t bytes) {
    if (!bytes)
      return success();
    hash.update(data, bytes);
    return hand(data, bytes);
  }
  Status finish() {
    uint8_t digest[digestSize];
    hash.finish(digest);
    return hand(digest, sizeof(digest));
  }

private:
  Status hand(const void *data, uint64_t bytes) {
    int32_t error = write(user, data, bytes);
    return error ? failure(STINT_STATUS_IO, "writing a sequence failed with error %a", error) : success();
  }
  stint_write write;
  void *user;
  Sha256 hash;
};

stint_sequence_state schemaOf(const CacheState &state) {
  return {state.heads, state.headSize, static_cast<uint32_t>(state.type), state.rowBytes};
}

// Bytes of the whole file; false on overflow.
bool sizeOf(const Sequences &sequences, uint32_t tokens, uint32_t cached, uint64_t *bytes) {
  SizeSum sum;
  sum.add(1, sizeof(stint_sequence_header), 1);
  sum.add(sequences.states.size, sizeof(stint_sequence_state), 1);
  sum.add(tokens, sizeof(uint32_t), 1);
  for (const CacheState &state : sequences.states)
    sum.add(uint64_t(state.heads) * cached, state.rowBytes, 1);
  sum.add(1, digestSize, 1);
  *bytes = sum.bytes();
  return sum.fits();
}

// Rows of the first `count` positions of one head on a page, in the file's order:
// taken from the page, or put there.
void moveRows(const CacheState &state, uint32_t pageSize, uint32_t count, uint8_t *page, uint8_t *rows, bool put) {
  uint32_t element = state.rowBytes / state.headSize;
  auto move = [&](uint8_t *inPage, uint8_t *inRows, uint64_t bytes) {
    memcpy(put ? inPage : inRows, put ? inRows : inPage, bytes);
  };
  if (!state.transposed)
    return move(page, rows, uint64_t(count) * state.rowBytes);
  for (uint32_t i = 0; i < state.headSize; ++i)
    for (uint32_t position = 0; position < count; ++position)
      move(page + (uint64_t(i) * pageSize + position) * element,
           rows + uint64_t(position) * state.rowBytes + uint64_t(i) * element, element);
}

// Calls piece(state, memory, count) for all that `cached` tokens have in the
// cache, in the file's order: `count` positions of one head on one page. Stops
// at the first failure.
template <typename Function>
Status forEachPiece(const Sequences &sequences, const uint32_t *pages, uint32_t cached, Function piece) {
  uint32_t pageSize = sequences.limits.pageSize;
  for (const CacheState &state : sequences.states)
    for (uint32_t head = 0; head < state.heads; ++head)
      for (uint32_t first = 0; first < cached; first += pageSize) {
        uint64_t at = uint64_t(pages[first / pageSize]) * state.heads + head;
        STINT_TRY(piece(state, state.data + at * pageSize * state.rowBytes,
                        cached - first < pageSize ? cached - first : pageSize));
      }
  return success();
}

Status foreign(const char *text, int64_t a = 0, int64_t b = 0) { return failure(STINT_STATUS_UNSUPPORTED, text, a, b); }

// All but the tokens.
Status checkHeader(const stint_generator &generator, const stint_sequence_header &header, const uint8_t *data,
                   uint64_t size) {
  const Sequences &sequences = generator.sequences;
  if (memcmp(header.magic, STINT_SEQUENCE_MAGIC, sizeof(header.magic)) != 0)
    return malformed("this is no saved sequence");
  if (header.major != STINT_SEQUENCE_MAJOR)
    return foreign("a saved sequence of version %a, this runtime reads version %b", header.major, STINT_SEQUENCE_MAJOR);
  if (header.file_size != size)
    return malformed("a saved sequence of %u bytes has %b: it was cut short, or something was added",
                     static_cast<int64_t>(header.file_size), static_cast<int64_t>(size));
  uint8_t digest[digestSize];
  Sha256 hash(platform::cpuInfo().sha256);
  hash.update(data, size - digestSize);
  hash.finish(digest);
  if (memcmp(digest, data + size - digestSize, digestSize) != 0)
    return malformed("a saved sequence is damaged: its hash differs");
  if (memcmp(header.model, generator.model, sizeof(header.model)) != 0)
    return foreign("a saved sequence is of another model");
  for (uint8_t byte : header.reserved)
    if (byte)
      return foreign("a saved sequence holds what this runtime is too old for");
  if (header.vocabulary != sequences.limits.vocabulary)
    return malformed("a saved sequence is of a vocabulary of %a, the model's is %b", header.vocabulary,
                     sequences.limits.vocabulary);
  if (header.state_count != sequences.states.size)
    return malformed("a saved sequence has %a states, the model has %b", header.state_count, sequences.states.size);
  uint64_t expected = 0;
  if (header.token_count == 0)
    return malformed("a saved sequence has no tokens");
  if (header.token_count > sequences.limits.context)
    return foreign("a saved sequence of %a tokens, the context has %b", header.token_count, sequences.limits.context);
  uint32_t part = header.cached_count > header.token_count ? header.cached_count : header.prompt_count;
  if (part > header.token_count)
    return malformed("a saved sequence of %a tokens has %b in the cache, or in its prompt", header.token_count, part);
  bool whole = size >= sizeof(header) + uint64_t(sequences.states.size) * sizeof(stint_sequence_state);
  for (uint32_t i = 0; whole && i < sequences.states.size; ++i) {
    stint_sequence_state schema = schemaOf(sequences.states[i]);
    if (memcmp(data + sizeof(header) + i * sizeof(schema), &schema, sizeof(schema)) != 0)
      return foreign("state %a of a saved sequence has another type than the plan's, or another shape", i);
  }
  if (!sizeOf(sequences, header.token_count, header.cached_count, &expected) || expected != size)
    return malformed("a saved sequence of %a bytes, its tokens take %b", static_cast<int64_t>(size),
                     static_cast<int64_t>(expected));
  return success();
}

} // namespace

Status stint::saveSequence(const stint_generator &generator, const Sequence &sequence, stint_write write, void *user) {
  const Sequences &sequences = generator.sequences;
  stint_sequence_header header = {};
  memcpy(header.magic, STINT_SEQUENCE_MAGIC, sizeof(header.magic));
  header.major = STINT_SEQUENCE_MAJOR;
  header.minor = STINT_SEQUENCE_MINOR;
  header.state_count = sequences.states.size;
  memcpy(header.model, generator.model, sizeof(header.model));
  header.token_count = sequence.length;
  header.cached_count = sequence.cached;
  header.prompt_count = sequence.outputStart;
  header.vocabulary = sequences.limits.vocabulary;
  if (!sizeOf(sequences, sequence.length, sequence.cached, &header.file_size))
    return failure(STINT_STATUS_OVERFLOW, "the size of a sequence doesn't fit");
  Output output(write, user);
  STINT_TRY(output.put(&header, sizeof(header)));
  for (const CacheState &state : sequences.states) {
    stint_sequence_state schema = schemaOf(state);
    STINT_TRY(output.put(&schema, sizeof(schema)));
  }
  STINT_TRY(output.put(sequence.tokens, sequence.length * sizeof(uint32_t)));
  STINT_TRY(forEachPiece(sequences, sequence.pages, sequence.cached,
                         [&](const CacheState &state, uint8_t *page, uint32_t count) {
                           moveRows(state, sequences.limits.pageSize, count, page, generator.scratch, false);
                           return output.put(generator.scratch, uint64_t(count) * state.rowBytes);
                         }));
  return output.finish();
}

Status stint::restoreSequence(stint_generator *generator, const void *data, size_t size,
                              const stint_sequence_options *options, Sequence **result) {
  Sequences &sequences = generator->sequences;
  const auto *bytes = static_cast<const uint8_t *>(data);
  stint_sequence_header header;
  if (!data && size)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "no data to restore a sequence from");
  if (size < sizeof(header) + digestSize)
    return malformed("a saved sequence has at least %b bytes, this has %a", static_cast<int64_t>(size),
                     sizeof(header) + digestSize);
  memcpy(&header, bytes, sizeof(header));
  STINT_TRY(checkHeader(*generator, header, bytes, size));
  const uint8_t *at = bytes + sizeof(header) + header.state_count * sizeof(stint_sequence_state);
  for (uint32_t i = 0; i < header.token_count; ++i) {
    uint32_t token;
    memcpy(&token, at + i * sizeof(token), sizeof(token));
    if (token >= header.vocabulary)
      return malformed("a saved sequence holds id %a, the vocabulary has %b tokens", token, header.vocabulary);
  }

  uint32_t maxTokens = 0;
  Sequence *sequence = nullptr;
  STINT_TRY(sequences.open(options, &sequence, &maxTokens));
  if (sequences.reserve(sequence, header.cached_count) < header.cached_count) {
    sequences.remove(sequence);
    return failure(STINT_STATUS_FULL, "a saved sequence of %a tokens takes more than the %b pages that are free",
                   header.cached_count, sequences.pool.available());
  }
  memcpy(sequence->tokens, at, header.token_count * sizeof(uint32_t));
  at += header.token_count * sizeof(uint32_t);
  Status status = forEachPiece(
      sequences, sequence->pages, header.cached_count, [&](const CacheState &state, uint8_t *page, uint32_t count) {
        // They are read only.
        moveRows(state, sequences.limits.pageSize, count, page, const_cast<uint8_t *>(at), true);
        at += uint64_t(count) * state.rowBytes;
        return success();
      });
  if (!status.ok())
    return status;
  sequence->cached = header.cached_count;
  sequence->outputStart = header.prompt_count;
  sequences.begin(sequence, header.token_count, maxTokens);
  *result = sequence;
  return success();
}
