// Opening, forking and rewinding sequences; see sequences.h.
#include "runtime/generation/sequences.h"

#include "runtime/base/options.h"
#include "runtime/generation/sampler.h"

#include <string.h>

using namespace stint;

Status Sequences::find(uint64_t id, Sequence **result) const {
  for (Sequence &slot : slots)
    if (id && slot.id == id) {
      *result = &slot;
      return success();
    }
  return failure(STINT_STATUS_NOT_FOUND, "there is no sequence %u", static_cast<int64_t>(id));
}

Status Sequences::checkTokens(const uint32_t *tokens, size_t count, uint32_t present) const {
  if (count == 0 || !tokens)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "the prompt is empty");
  if (count > limits.context - present)
    return failure(STINT_STATUS_OUT_OF_RANGE,
                   present ? "a prompt of %u tokens is longer than what is left of the context, room for %b"
                           : "a prompt of %u tokens is longer than the context, which has room for %b",
                   static_cast<int64_t>(count), limits.context - present);
  uint64_t room = uint64_t(pool.size()) * limits.pageSize;
  if (count > room || present + count > room)
    return failure(STINT_STATUS_OUT_OF_RANGE, "a sequence of %a tokens is longer than the cache, which has room for %b",
                   static_cast<int64_t>(present + count), static_cast<int64_t>(room));
  for (size_t i = 0; i < count; ++i)
    if (tokens[i] >= limits.vocabulary)
      return failure(STINT_STATUS_OUT_OF_RANGE, "the prompt holds id %a, the vocabulary has %b tokens", tokens[i],
                     limits.vocabulary);
  return success();
}

Status Sequences::open(const stint_sequence_options *given, Sequence **result, uint32_t *maxTokens) {
  stint_sequence_options options;
  STINT_TRY(readOptions(given, &options));
  if (options.stop_count > STINT_MAX_STOP_IDS)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "%a stop ids are more than %b", options.stop_count,
                   STINT_MAX_STOP_IDS);
  if (options.stop_count && !options.stop_ids)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "a count of %a stop ids without a list", options.stop_count);
  for (uint32_t i = 0; i < options.stop_count; ++i)
    if (options.stop_ids[i] >= limits.vocabulary)
      return failure(STINT_STATUS_OUT_OF_RANGE, "stop id %a is no token, the vocabulary has %b", options.stop_ids[i],
                     limits.vocabulary);
  stint_sampling sampling;
  STINT_TRY(readSampling(options.sampling, limits.vocabulary, &sampling));

  Sequence *slot = nullptr;
  for (uint32_t i = 0; i < slots.size && !slot; ++i)
    slot = slots[i].id ? nullptr : &slots[i];
  if (!slot)
    return failure(STINT_STATUS_FULL, "%a sequences are open, there may be no more: remove one", slots.size);
  slot->id = ++lastId;
  slot->length = slot->cached = slot->pageCount = slot->outputStart = slot->limit = 0;
  slot->sampling = sampling;
  slot->stopCount = options.stop_count;
  for (uint32_t i = 0; i < options.stop_count; ++i)
    slot->stopIds[i] = options.stop_ids[i];
  slot->callback = options.on_token;
  slot->user = options.user;
  slot->finish = STINT_FINISH_NONE;
  slot->paused = false;
  slot->status = success().value;
  *maxTokens = options.max_tokens;
  *result = slot;
  return success();
}

Status Sequences::add(const uint32_t *tokens, size_t count, const stint_sequence_options *options, Sequence **result) {
  STINT_TRY(checkTokens(tokens, count, 0));
  uint32_t maxTokens = 0;
  STINT_TRY(open(options, result, &maxTokens));
  return append(*result, tokens, count, maxTokens);
}

Status Sequences::append(Sequence *sequence, const uint32_t *tokens, size_t count, uint32_t maxTokens) {
  STINT_TRY(checkTokens(tokens, count, sequence->length));
  memcpy(sequence->tokens + sequence->length, tokens, count * sizeof(uint32_t));
  begin(sequence, sequence->length + static_cast<uint32_t>(count), maxTokens);
  sequence->outputStart = sequence->length;
  return success();
}

void Sequences::begin(Sequence *sequence, uint32_t length, uint32_t maxTokens) {
  uint32_t more = maxTokens ? maxTokens : defaultMaxTokens;
  sequence->length = length;
  sequence->limit = more < limits.context - length ? length + more : limits.context;
  sequence->finish = STINT_FINISH_NONE;
  sequence->paused = false;
  settle(sequence);
}

Status Sequences::fork(const Sequence &from, const stint_sequence_options *options, Sequence **result) {
  uint32_t maxTokens = 0;
  Sequence *fork = nullptr;
  STINT_TRY(open(options, &fork, &maxTokens));
  memcpy(fork->tokens, from.tokens, from.length * sizeof(uint32_t));
  memcpy(fork->pages, from.pages, from.pageCount * sizeof(uint32_t));
  for (uint32_t i = 0; i < from.pageCount; ++i)
    pool.hold(from.pages[i]);
  if (options) {
    fork->cached = from.cached;
    fork->pageCount = from.pageCount;
    fork->outputStart = from.outputStart;
    begin(fork, from.length, maxTokens);
  } else {
    Sequence copy = from;
    copy.id = fork->id;
    copy.tokens = fork->tokens;
    copy.pages = fork->pages;
    *fork = copy;
  }
  *result = fork;
  return success();
}

Status Sequences::rewind(Sequence *sequence, size_t count) {
  if (count == 0 || count > sequence->length)
    return failure(STINT_STATUS_OUT_OF_RANGE, "a sequence of %b tokens can't keep its first %u",
                   static_cast<int64_t>(count), sequence->length);
  auto kept = static_cast<uint32_t>(count);
  sequence->length = kept;
  if (sequence->outputStart > kept)
    sequence->outputStart = kept;
  if (sequence->cached > kept)
    sequence->cached = kept;
  sequence->finish = STINT_FINISH_NONE;
  sequence->paused = false;
  settle(sequence);
  trim(sequence);
  return success();
}

void Sequences::settle(Sequence *sequence) {
  // The logits behind the last token aren't kept: it is read once more.
  if (sequence->cached >= sequence->length) {
    sequence->cached = sequence->length - 1;
    trim(sequence);
  }
  if (sequence->finish)
    return;
  if (sequence->length >= limits.context)
    sequence->finish = STINT_FINISH_CONTEXT;
  else if (sequence->length >= sequence->limit)
    sequence->finish = STINT_FINISH_MAX_TOKENS;
}

void Sequences::remove(Sequence *sequence) {
  sequence->cached = 0;
  trim(sequence);
  sequence->id = 0;
}

void Sequences::trim(Sequence *sequence) {
  uint32_t needed = sequence->cached / limits.pageSize + (sequence->cached % limits.pageSize != 0);
  while (sequence->pageCount > needed)
    pool.release(sequence->pages[--sequence->pageCount]);
}

void Sequences::copyPage(uint32_t to, uint32_t from) {
  for (const CacheState &state : states) {
    uint64_t bytes = uint64_t(state.heads) * state.rowBytes * limits.pageSize;
    memcpy(state.data + to * bytes, state.data + from * bytes, bytes);
  }
}

uint32_t Sequences::reserve(Sequence *sequence, uint32_t count) {
  uint32_t end = sequence->cached + count; // at most the context
  uint32_t first = sequence->cached / limits.pageSize;
  sequence->replaced = noPage;
  for (uint32_t index = first; uint64_t(index) * limits.pageSize < end; ++index) {
    uint32_t room = index > first ? index * limits.pageSize - sequence->cached : 0;
    bool there = index < sequence->pageCount;
    if (there && !pool.shared(sequence->pages[index]))
      continue;
    uint32_t page = pool.take();
    if (page == noPage)
      return room;
    if (!there) {
      sequence->pages[sequence->pageCount++] = page;
      continue;
    }
    // The last one. What lies on it behind the cached tokens is written anew.
    copyPage(page, sequence->pages[index]);
    sequence->replaced = sequence->pages[index];
    pool.release(sequence->replaced);
    sequence->pages[index] = page;
  }
  return count;
}

void Sequences::giveBack(Sequence *sequence) {
  trim(sequence);
  if (sequence->replaced == noPage)
    return;
  uint32_t &page = sequence->pages[sequence->pageCount - 1];
  pool.release(page);
  pool.hold(page = sequence->replaced); // others hold it still
}
