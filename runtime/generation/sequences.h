// Sequences of tokens and the pages that hold their keys and values.
//
// The first `cached` of a sequence's `length` tokens have been read by the
// model; the others are to come, in the next steps. A sequence that isn't
// finished always has one to come: the token generated last, or more of a prompt.
// Pages are shared between forks; who is about to write to a shared one gets a
// copy first (reserve).
#ifndef STINT_RUNTIME_GENERATION_SEQUENCES_H
#define STINT_RUNTIME_GENERATION_SEQUENCES_H

#include "runtime/base/status.h"
#include "runtime/generation/pages.h"

namespace stint {

struct Sequence {
  uint64_t id; // 0: the place is free
  uint32_t *tokens;
  uint32_t *pages;
  uint32_t length, cached, pageCount;
  uint32_t outputStart; // where the prompt ends
  uint32_t limit;       // ends at this length
  stint_sampling sampling;
  uint32_t stopIds[STINT_MAX_STOP_IDS];
  uint32_t stopCount;
  stint_token_callback callback;
  void *user;
  int32_t finish; // enum stint_finish
  bool paused;
  stint_status status; // of STINT_FINISH_FAILED
  uint32_t replaced;   // noPage, or the shared page that reserve() copied

  bool ready() const { return id && !finish && !paused; }
  uint32_t pending() const { return length - cached; }
};

// What is the same for all sequences of a generator.
struct SequenceLimits {
  uint32_t vocabulary, context, pageSize;
  uint32_t pagesPerSequence() const { return context / pageSize + (context % pageSize != 0); }
};

class Sequences {
public:
  Sequences() = default;
  // `slots` are zeros but for their places for tokens (context) and pages.
  Sequences(Span<Sequence> slots, PagePool pool, Span<CacheState> states, SequenceLimits limits)
      : slots(slots), pool(pool), states(states), limits(limits) {}

  // As the functions of the C API named alike (stint/stint.h).
  Status add(const uint32_t *tokens, size_t count, const stint_sequence_options *options, Sequence **result);
  Status append(Sequence *sequence, const uint32_t *tokens, size_t count, uint32_t maxTokens);
  Status fork(const Sequence &from, const stint_sequence_options *options, Sequence **result);
  Status rewind(Sequence *sequence, size_t count);
  void remove(Sequence *sequence);

  // The sequence of that name.
  Status find(uint64_t id, Sequence **result) const;

  // Makes pages for up to `count` more tokens, ones that only this sequence
  // holds. Returns for how many there is room: fewer if too few are free.
  uint32_t reserve(Sequence *sequence, uint32_t count);
  // As before reserve(), for those are not written after all.
  void giveBack(Sequence *sequence);
  // Gives pages back that hold no cached token.
  void trim(Sequence *sequence);
  // Ends it where it can't go on; else a token to come is made sure of.
  void settle(Sequence *sequence);

  // A free place with a new name, whose options are read; no tokens yet.
  Status open(const stint_sequence_options *options, Sequence **result, uint32_t *maxTokens);
  // Its tokens are there: it is ready, for up to `maxTokens` more.
  void begin(Sequence *sequence, uint32_t length, uint32_t maxTokens);
  Status checkTokens(const uint32_t *tokens, size_t count, uint32_t present) const;

  Span<Sequence> slots;
  PagePool pool;
  Span<CacheState> states;
  SequenceLimits limits = {};

private:
  void copyPage(uint32_t to, uint32_t from);
  uint64_t lastId = 0;
};

constexpr uint32_t defaultMaxTokens = 256;

} // namespace stint

#endif
