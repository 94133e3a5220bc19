// Building the step table; see step.h.
#include "runtime/generation/step.h"

using namespace stint;

namespace {

class Builder {
public:
  Builder(Sequences &sequences, StepTable &table, void (*ended)(void *, Sequence &), void *user)
      : sequences(sequences), table(table), ended(ended), user(user) {
    table.tokenCount = table.sequenceCount = table.rowCount = 0;
  }

  void add(Sequence &sequence) {
    uint32_t room = table.limits.tokens - table.tokenCount, wanted = sequence.pending();
    if (!room || table.sequenceCount == table.limits.sequences)
      return;
    if (wanted > room)
      wanted = room;
    // Without a row for its logits the last token waits.
    bool rows = table.rowCount < table.limits.rows;
    if (wanted == sequence.pending() && !rows && --wanted == 0)
      return;
    uint32_t count = sequences.reserve(&sequence, wanted);
    if (count)
      write(sequence, count);
    else
      end(sequence);
  }

private:
  void end(Sequence &sequence) {
    sequence.finish = STINT_FINISH_CACHE;
    ended(user, sequence);
  }

  void write(Sequence &sequence, uint32_t count) {
    uint32_t owner = table.sequenceCount++;
    bool last = count == sequence.pending();
    table.parts[owner] = {&sequence, count, last};
    for (uint32_t i = 0; i < count; ++i, ++table.tokenCount) {
      uint32_t id = sequence.tokens[sequence.cached + i];
      if (table.narrowIds)
        static_cast<int32_t *>(table.ids)[table.tokenCount] = static_cast<int32_t>(id);
      else
        static_cast<int64_t *>(table.ids)[table.tokenCount] = id;
      table.positions[table.tokenCount] = static_cast<int32_t>(sequence.cached + i);
      table.owners[table.tokenCount] = static_cast<int32_t>(owner);
    }
    int32_t *pages = table.pages + size_t(owner) * table.pagesPerSequence;
    for (uint32_t i = 0; i < table.pagesPerSequence; ++i)
      pages[i] = static_cast<int32_t>(i < sequence.pageCount ? sequence.pages[i] : noPage);
    if (last)
      table.rows[table.rowCount++] = static_cast<int32_t>(table.tokenCount - 1);
  }

  Sequences &sequences;
  StepTable &table;
  void (*ended)(void *, Sequence &);
  void *user;
};

} // namespace

void stint::planStep(Sequences &sequences, StepTable &table, uint32_t *turn, void (*ended)(void *, Sequence &),
                     void *user) {
  Builder builder(sequences, table, ended, user);
  Span<Sequence> slots = sequences.slots;
  for (uint32_t i = 0; i < slots.size; ++i) {
    Sequence &sequence = slots[(*turn + i) % slots.size];
    if (sequence.ready() && sequence.pending() == 1)
      builder.add(sequence);
  }
  // If not all of them had a place, others begin in the next step.
  if (table.sequenceCount)
    *turn = static_cast<uint32_t>(table.parts[table.sequenceCount - 1].sequence - slots.data + 1) % slots.size;
  // Names count up, so the oldest of those behind `served` is next.
  for (uint64_t served = 0;;) {
    Sequence *oldest = nullptr;
    for (Sequence &sequence : slots)
      if (sequence.ready() && sequence.pending() > 1 && sequence.id > served && (!oldest || sequence.id < oldest->id))
        oldest = &sequence;
    if (!oldest)
      return;
    served = oldest->id;
    builder.add(*oldest);
  }
}
