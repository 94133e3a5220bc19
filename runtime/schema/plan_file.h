// Byte layout of a .stint file around the flatbuffer plan.
//
//   [stint_file_header, 128 bytes]
//   [section table, header.section_count * 64 bytes]
//   [flatbuffer plan]
//   [sections, each aligned to STINT_SECTION_ALIGNMENT, zero padded]
//
// Little-endian. Included by the compiler's PlanBuilder and the runtime's
// plan reader; depends on <stdint.h> alone.
//
// Trust: root_hash = SHA-256 over the header (its root_hash field zeroed)
// followed by the section table. The header holds the plan's hash, the
// section table the hash of every code section. What a root covers is
// therefore the whole file but for weight values, which have a hash per
// STINT_WEIGHT_CHUNK bytes inside the plan.
#ifndef STINT_SCHEMA_PLAN_FILE_H
#define STINT_SCHEMA_PLAN_FILE_H

#include <stdint.h>

#define STINT_FILE_MAGIC "STINT\r\n\x1a" // 8 bytes
#define STINT_SECTION_ALIGNMENT 65536ull // boards with 64 KiB pages
#define STINT_WEIGHT_CHUNK 1048576ull    // bytes of weights per hash
#define STINT_WEIGHT_ALIGNMENT 64ull     // of each weight entry in its section
#define STINT_MAX_NESTING 32u            // of if and loop, together, in an entry's body

typedef struct stint_file_header {
  uint8_t magic[8];
  uint16_t format_major;
  uint16_t format_minor;
  uint32_t section_count;
  uint64_t features;             // must-understand bits
  uint64_t file_size;            // whole file, bytes
  uint64_t section_table_offset; // always 128 today
  uint64_t plan_offset;          // multiple of 16
  uint64_t plan_size;
  uint8_t plan_hash[32]; // SHA-256 of the flatbuffer
  uint8_t root_hash[32];
  uint8_t reserved[8]; // zero
} stint_file_header;

enum stint_section_kind {
  STINT_SECTION_CODE = 1,      // one variant's text and read-only data
  STINT_SECTION_WEIGHTS = 2,   // weight values; hash here is all zero
  STINT_SECTION_CONSTANTS = 3, // constants used as indices; hashed at load
  STINT_SECTION_TOKENIZER = 4, // tokenizer_section.h; at most one; hashed at load
  STINT_SECTION_CHAT = 5,      // chat_section.h; at most one, with a tokenizer; hashed at load
};

typedef struct stint_section {
  uint32_t kind;
  uint32_t reserved; // zero
  uint64_t offset;   // from the start of the file
  uint64_t size;     // bytes, without padding
  uint8_t hash[32];  // SHA-256 of the bytes, zero for weights
  uint8_t reserved2[8];
} stint_section;

#ifdef __cplusplus
static_assert(sizeof(stint_file_header) == 128, "frozen");
static_assert(sizeof(stint_section) == 64, "frozen");
#endif

#endif
