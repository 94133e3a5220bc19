// Reads a plan file back on the build machine, for inspection.
#include "compiler/serialise/PlanReader.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace llvm;
using namespace stint;
using namespace stint::serialise;

Expected<std::unique_ptr<PlanContents>> serialise::readPlan(StringRef path) {
  auto malformed = [&] { return createStringError(inconvertibleErrorCode(), "'" + path + "' is not a sound plan"); };
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read '" + path + "'");
  StringRef bytes = (*buffer)->getBuffer();
  auto contents = std::make_unique<PlanContents>();
  stint_file_header &header = contents->header;
  if (bytes.size() < sizeof(header))
    return malformed();
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, STINT_FILE_MAGIC, sizeof(header.magic)) != 0 || header.section_count > 4096)
    return malformed();
  uint64_t table = header.section_count * sizeof(stint_section);
  if (bytes.size() - sizeof(header) < table || header.plan_offset > bytes.size() ||
      header.plan_size > bytes.size() - header.plan_offset)
    return malformed();
  contents->sections.resize(header.section_count);
  std::memcpy(contents->sections.data(), bytes.data() + sizeof(header), table);
  const auto *plan = reinterpret_cast<const uint8_t *>(bytes.data()) + header.plan_offset;
  flatbuffers::Verifier verifier(plan, header.plan_size, /*max_depth=*/64, /*max_tables=*/UINT32_MAX);
  if (!plan::VerifyPlanBuffer(verifier))
    return malformed();
  plan::GetPlan(plan)->UnPackTo(&contents->plan);
  return contents;
}
