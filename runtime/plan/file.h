// The byte layout around the flatbuffer (plan_file.h): header, section table,
// hashes.
#ifndef STINT_RUNTIME_PLAN_FILE_H
#define STINT_RUNTIME_PLAN_FILE_H

#include "runtime/plan/plan.h"

#include <cstdint>

namespace stint {

class Pool;

// Private copies, so that nobody can change them once they are checked.
struct PlanFile {
  stint_file_header header;
  Span<const stint_section> sections;
  const uint8_t *plan; // the flatbuffer, header.plan_size bytes
};

// Reads and checks `size` bytes at `data`: magic, version, sizes, the root
// hash, the plan's hash, and where every section lies. Sections' own hashes
// are checked when they are used (hashSection).
Status readPlanFile(const uint8_t *data, uint64_t size, bool shaInstructions, Pool *pool, PlanFile *file);

// STINT_STATUS_MALFORMED unless `bytes`, a copy of section `index`, has the
// hash the section table says.
Status hashSection(const PlanFile &file, uint32_t index, const void *bytes, bool shaInstructions);

} // namespace stint

#endif
