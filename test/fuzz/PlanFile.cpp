// See PlanFile.h.
#include "PlanFile.h"

#include "runtime/base/sha256.h"
#include "runtime/platform/platform.h"
#include "runtime/schema/version.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sanitizer/asan_interface.h>

using namespace stint;
using namespace stint::fuzz;

static void hashInto(uint8_t *hash, std::initializer_list<std::pair<const void *, size_t>> pieces) {
  static const bool instructions = platform::cpuInfo().sha256;
  Sha256 sha(instructions);
  for (auto [bytes, size] : pieces)
    sha.update(bytes, size);
  sha.finish(hash);
}

bool stint::fuzz::readLayout(const uint8_t *data, size_t size, Layout &layout) {
  if (size < sizeof(stint_file_header))
    return false;
  std::memcpy(&layout.header, data, sizeof(stint_file_header));
  layout.table = sizeof(stint_file_header);
  layout.tableEnd =
      std::min<uint64_t>(size, layout.table + uint64_t(layout.header.section_count) * sizeof(stint_section));
  layout.plan = std::min<uint64_t>(std::max<uint64_t>(layout.header.plan_offset, layout.tableEnd), size);
  layout.planEnd = layout.plan + std::min<uint64_t>(layout.header.plan_size, size - layout.plan);
  // Where the plan would reach into the sections there is no tail.
  layout.tail = layout.planEnd <= STINT_SECTION_ALIGNMENT ? layout.planEnd : size;
  layout.expanded = layout.tail < size ? STINT_SECTION_ALIGNMENT + (size - layout.tail) : size;
  return true;
}

const uint8_t *stint::fuzz::expand(const uint8_t *data, size_t size, size_t *expanded) {
  constexpr size_t room = 1 << 20;
  static uint8_t *memory = nullptr;
  static size_t head = 0;
  if (!memory && posix_memalign(reinterpret_cast<void **>(&memory), 64, room))
    std::abort();
  ASAN_UNPOISON_MEMORY_REGION(memory, room);
  Layout layout;
  size_t tail = size;
  *expanded = size;
  if (readLayout(data, size, layout)) {
    tail = layout.tail;
    *expanded = layout.expanded;
  }
  if (*expanded > room)
    std::abort(); // the limit on the size of inputs is far below
  std::memset(memory, 0, std::max(head, tail));
  head = tail;
  std::memcpy(memory, data, tail);
  if (tail < size)
    std::memcpy(memory + STINT_SECTION_ALIGNMENT, data + tail, size - tail);
  ASAN_POISON_MEMORY_REGION(memory + *expanded, room - *expanded);
  return memory;
}

void stint::fuzz::rehash(uint8_t *data, size_t size) {
  Layout layout;
  if (!readLayout(data, size, layout))
    return;
  for (size_t at = layout.table; at + sizeof(stint_section) <= layout.tableEnd; at += sizeof(stint_section)) {
    stint_section section;
    std::memcpy(&section, data + at, sizeof(section));
    uint64_t there = size - layout.tail;
    if (section.kind == STINT_SECTION_WEIGHTS || section.offset != STINT_SECTION_ALIGNMENT || section.size > there)
      continue;
    hashInto(section.hash, {{data + layout.tail, section.size}});
    std::memcpy(data + at, &section, sizeof(section));
  }
  stint_file_header &header = layout.header;
  hashInto(header.plan_hash, {{data + layout.plan, layout.planEnd - layout.plan}});
  std::memset(header.root_hash, 0, sizeof(header.root_hash));
  uint8_t root[32];
  hashInto(root, {{&header, sizeof(header)}, {data + layout.table, layout.tableEnd - layout.table}});
  std::memcpy(header.root_hash, root, sizeof(root));
  std::memcpy(data, &header, sizeof(header));
}

void stint::fuzz::resize(uint8_t *data, size_t size, size_t planSize) {
  Layout layout;
  if (!readLayout(data, size, layout))
    return;
  stint_file_header &header = layout.header;
  header.section_count = static_cast<uint32_t>((layout.tableEnd - layout.table) / sizeof(stint_section));
  header.section_table_offset = sizeof(header);
  header.plan_offset = layout.table + header.section_count * sizeof(stint_section);
  header.plan_size = planSize;
  std::memcpy(data, &header, sizeof(header));
  if (!readLayout(data, size, layout))
    return;
  header.file_size = layout.expanded;
  std::memcpy(data, &header, sizeof(header));
}

std::vector<uint8_t> stint::fuzz::compact(const std::vector<uint8_t> &flatbuffer, const std::vector<uint8_t> &tail) {
  stint_file_header header = {};
  std::memcpy(header.magic, STINT_FILE_MAGIC, 8);
  header.format_major = STINT_PLAN_FORMAT_MAJOR;
  header.format_minor = STINT_PLAN_FORMAT_MINOR;
  header.section_count = 3;
  std::vector<uint8_t> bytes(sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (uint32_t kind : {STINT_SECTION_CODE, STINT_SECTION_WEIGHTS, STINT_SECTION_CONSTANTS}) {
    stint_section section = {};
    section.kind = kind;
    section.offset = STINT_SECTION_ALIGNMENT;
    section.size = tail.size();
    bytes.resize(bytes.size() + sizeof(section));
    std::memcpy(bytes.data() + bytes.size() - sizeof(section), &section, sizeof(section));
  }
  bytes.insert(bytes.end(), flatbuffer.begin(), flatbuffer.end());
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  resize(bytes.data(), bytes.size(), flatbuffer.size());
  rehash(bytes.data(), bytes.size());
  return bytes;
}
