// A session: the memory and bindings of one execution context. Everything is
// in one block, laid out by planSession; nothing is allocated later.
#ifndef STINT_RUNTIME_CORE_SESSION_H
#define STINT_RUNTIME_CORE_SESSION_H

#include "runtime/core/model.h"
#include "runtime/devices/device.h"

namespace stint {

// What the options of a session come to.
struct SessionPlan {
  uint32_t entry, threads;
  const Device *device;
  stint_executor *executor;
  uint32_t profile;
  uint64_t scratchStride;
  // Offsets in the session's block.
  uint64_t registers, maxima, buffers, ports, arguments, dims, records;
  uint64_t scratch, portMemory, state, arena;
  uint64_t bytes, portBytes, stateBytes;
};

// Where a buffer is, and how much memory there is for it.
struct Place {
  uint8_t *data;
  uint64_t capacity;
};

// An input or output.
struct PortState {
  void *bound; // the application's memory, or null
  uint64_t boundBytes;
  Place own; // the session's memory
  int64_t dims[STINT_MAX_RANK];
  bool hasShape; // inputs: dims are known
};

// Chooses the memory layout and lays out the block.
Status planSession(const stint_model &model, const stint_session_options &options, SessionPlan *plan);

// The most each symbol may be in a session with these options.
Status declareMaxima(const stint_model &model, const stint_session_options &options, int64_t *maxima);

// A symbol that no input's shape gives may be as much as the memory layout is
// for.
void limitLateSymbols(const Entry &entry, const Profile &profile, int64_t *maxima, uint32_t count);

// Runs the prologue with these values of the symbols; false if it fails.
bool evaluateAt(const stint_model &model, const Entry &entry, const int64_t *symbols, int64_t *registers);

// Bytes to reserve for a port (inputs, then outputs), given the prologue's
// registers at the maxima (null where it fails). 0 where that can't be told,
// so that the port has to be bound.
uint64_t portCapacity(const Entry &entry, uint32_t port, const int64_t *maxima, const int64_t *registers);

// May a call change or run this session?
Status usable(const stint_session *session);

// Works out registers, shapes and places from the inputs' shapes.
Status prepareSession(stint_session *session);

// Bytes of an input or output from its registers, and its shape.
Status shapeOf(const stint_session &session, const Port &port, int64_t *dims, uint64_t *bytes);

} // namespace stint

struct stint_session {
  stint_model *model;
  stint_executor *executor; // may be null
  const stint::Device *device;
  const stint::Entry *entry;
  const stint::EntryFacts *facts;
  uint32_t entryIndex, threads;
  bool ownsMemory, prepared;
  bool generates; // it belongs to a generator, which alone may use it
  bool abandoned; // to be destroyed once that is
  uint64_t bytes;

  int64_t *registers;
  int64_t *maxima;                // one per symbol
  stint::Place *places;           // one per buffer of the entry
  stint::PortState *ports;        // inputs, then outputs
  stint_kernel_buffer *arguments; // room for any dispatch
  int64_t *dims;                  // likewise
  stint::ThreadRecord *records;   // one per thread
  uint8_t *scratch, *state;
  uint64_t scratchStride, stateBytes;

  stint_profile_hook hook;
  void *hookUser;

  stint::PortState &output(uint32_t index) { return ports[entry->inputs.size + index]; }
};

#endif
