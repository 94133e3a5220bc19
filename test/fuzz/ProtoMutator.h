// Mutates protobuf messages without their schema, so that what comes out is
// still protobuf: lengths are right, and what lies behind them is reached.
#ifndef STINT_TEST_FUZZ_PROTOMUTATOR_H
#define STINT_TEST_FUZZ_PROTOMUTATOR_H

#include <cstddef>
#include <cstdint>

namespace stint::fuzz {

/// Changes the message in place; now and then as plain bytes. Returns its new
/// size, at most `limit`.
size_t mutateProto(uint8_t *data, size_t size, size_t limit, unsigned seed);

/// Puts parts of `other` into `data`, writes the result to `out`.
size_t crossProto(const uint8_t *data, size_t size, const uint8_t *other, size_t otherSize, uint8_t *out, size_t limit,
                  unsigned seed);

} // namespace stint::fuzz

#endif
