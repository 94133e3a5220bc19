// Trust grows from the root: header and section table against the root hash,
// the plan against the header's hash of it, sections against the table's.
#include "runtime/plan/file.h"

#include "runtime/base/arithmetic.h"
#include "runtime/base/sha256.h"
#include "runtime/plan/pool.h"
#include "runtime/schema/version.h"

#include <string.h>

namespace stint {
namespace {

constexpr uint32_t maxSections = 4096;

Status verifyHeader(const stint_file_header &header, uint64_t size) {
  if (memcmp(header.magic, STINT_FILE_MAGIC, sizeof(header.magic)) != 0)
    return malformed("this is not a stint plan");
  if (header.format_major != STINT_PLAN_FORMAT_MAJOR)
    return failure(STINT_STATUS_UNSUPPORTED,
                   "the plan has format %a, this runtime reads %b: compile the "
                   "model again",
                   header.format_major, STINT_PLAN_FORMAT_MAJOR);
  if (header.features & ~STINT_PLAN_KNOWN_FEATURES)
    return failure(STINT_STATUS_UNSUPPORTED,
                   "the plan needs features %a that this runtime lacks: use a "
                   "newer one",
                   static_cast<int64_t>(header.features));
  if (header.file_size > size)
    return malformed("the plan should have %a bytes but is cut off at %b", static_cast<int64_t>(header.file_size),
                     static_cast<int64_t>(size));
  uint64_t table = uint64_t(header.section_count) * sizeof(stint_section);
  if (header.section_count > maxSections || header.section_table_offset != sizeof(stint_file_header) ||
      !rangeFits(header.section_table_offset, table, header.file_size))
    return malformed("the section table doesn't fit the file");
  if (header.plan_offset % 16 != 0 || header.plan_offset < header.section_table_offset + table ||
      !rangeFits(header.plan_offset, header.plan_size, header.file_size))
    return malformed("the plan doesn't fit the file");
  return success();
}

Status verifySections(const PlanFile &file) {
  uint64_t end = file.header.plan_offset + file.header.plan_size;
  for (uint32_t i = 0; i < file.sections.size; ++i) {
    const stint_section &section = file.sections[i];
    if (section.offset % STINT_SECTION_ALIGNMENT != 0 || section.offset < end ||
        !rangeFits(section.offset, section.size, file.header.file_size))
      return malformed("%o at offset %a doesn't fit the file", static_cast<int64_t>(section.offset))
          .about(STINT_OBJECT_SECTION, i);
  }
  return success();
}

} // namespace

Status readPlanFile(const uint8_t *data, uint64_t size, bool shaInstructions, Pool *pool, PlanFile *file) {
  if (size < sizeof(stint_file_header) && size >= sizeof(stint_file_header::magic) &&
      memcmp(data, STINT_FILE_MAGIC, sizeof(stint_file_header::magic)) != 0)
    return malformed("this is not a stint plan");
  if (size < sizeof(stint_file_header))
    return malformed("the plan ends inside its header");
  stint_file_header &header = file->header;
  memcpy(&header, data, sizeof(header));
  STINT_TRY(verifyHeader(header, size));

  Span<stint_section> sections;
  uint64_t tableSize = uint64_t(header.section_count) * sizeof(stint_section);
  if (!pool->array(header.section_count, &sections))
    return outOfMemory(tableSize);
  if (tableSize)
    memcpy(sections.data, data + header.section_table_offset, tableSize);
  file->sections = {sections.data, sections.size};

  stint_file_header zeroed = header;
  memset(zeroed.root_hash, 0, sizeof(zeroed.root_hash));
  uint8_t root[32];
  Sha256 hash(shaInstructions);
  hash.update(&zeroed, sizeof(zeroed));
  hash.update(sections.data, tableSize);
  hash.finish(root);
  if (memcmp(root, header.root_hash, sizeof(root)) != 0)
    return malformed("the plan is damaged: its header doesn't match its hash");
  STINT_TRY(verifySections(*file));

  auto *plan = static_cast<uint8_t *>(pool->allocate(header.plan_size));
  if (!plan)
    return outOfMemory(header.plan_size);
  memcpy(plan, data + header.plan_offset, header.plan_size);
  if (!hashMatches(plan, header.plan_size, header.plan_hash, shaInstructions))
    return malformed("the plan is damaged: it doesn't match its hash");
  file->plan = plan;
  return success();
}

Status hashSection(const PlanFile &file, uint32_t index, const void *bytes, bool shaInstructions) {
  const stint_section &section = file.sections[index];
  if (!hashMatches(bytes, section.size, section.hash, shaInstructions))
    return malformed("the plan is damaged: %o doesn't match its hash").about(STINT_OBJECT_SECTION, index);
  return success();
}

} // namespace stint
