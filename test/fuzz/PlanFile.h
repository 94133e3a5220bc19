// The form in which plans are fuzzed: a plan file without its padding.
//
//   [header][section table][flatbuffer][bytes of sections]
//
// Sections of a real file begin at multiples of 64 KiB; here they follow the
// flatbuffer, and expand() puts all of them at byte 65536. What the header says
// about the layout stays as it is, right or wrong.
#ifndef STINT_TEST_FUZZ_PLANFILE_H
#define STINT_TEST_FUZZ_PLANFILE_H

#include "runtime/schema/plan_file.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stint::fuzz {

/// Where the parts of a compact plan lie.
struct Layout {
  stint_file_header header;
  size_t table, tableEnd, plan, planEnd, tail;
  size_t expanded; // bytes of the real file
};

/// Reads the layout as far as it makes sense; false if the input ends inside
/// its header.
bool readLayout(const uint8_t *data, size_t size, Layout &layout);

/// The real file, in memory that belongs to this function until it is called
/// again, aligned to 64 bytes and unreadable behind its end.
const uint8_t *expand(const uint8_t *data, size_t size, size_t *expanded);

/// Makes the hashes of sections, plan and root right.
void rehash(uint8_t *data, size_t size);

/// Makes the sizes in the header right.
void resize(uint8_t *data, size_t size, size_t planSize);

/// A compact plan of one code and one weights section over the same bytes.
std::vector<uint8_t> compact(const std::vector<uint8_t> &flatbuffer, const std::vector<uint8_t> &tail);

} // namespace stint::fuzz

#endif
