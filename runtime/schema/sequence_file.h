// Byte layout of a saved sequence: tokens, and what a decoder keeps of them.
//
//   [stint_sequence_header, 128 bytes]
//   [stint_sequence_state, header.state_count times]
//   [token ids, header.token_count times 4 bytes]
//   [for each state: heads x header.cached_count x row_bytes]
//   [SHA-256 of all that stands before it, 32 bytes]
//
// Little-endian. States stand in the order of the plan (for each layer keys,
// then values), heads, positions and their elements in ascending order, however
// they lay on pages. Read by all plans of the model, on any machine. Depends on
// <stdint.h> alone.
#ifndef STINT_SCHEMA_SEQUENCE_FILE_H
#define STINT_SCHEMA_SEQUENCE_FILE_H

#include <stdint.h>

#define STINT_SEQUENCE_MAGIC "STINTSEQ" // 8 bytes
#define STINT_SEQUENCE_MAJOR 1
#define STINT_SEQUENCE_MINOR 0

typedef struct stint_sequence_header {
  uint8_t magic[8];
  uint16_t major; // another one can't be read
  uint16_t minor;
  uint32_t state_count;
  uint64_t file_size;    // whole file, bytes
  uint8_t model[32];     // Decoder.model of plan.fbs
  uint32_t token_count;  // at least 1
  uint32_t cached_count; // tokens whose keys and values follow, at most token_count
  uint32_t prompt_count; // where the output starts, at most token_count
  uint32_t vocabulary;
  uint8_t reserved[56]; // zero
} stint_sequence_header;

typedef struct stint_sequence_state {
  uint32_t heads;
  uint32_t head_size;    // elements that a head keeps of a token
  uint32_t element_type; // as in plan.fbs
  uint32_t row_bytes;    // head_size elements
} stint_sequence_state;

#ifdef __cplusplus
static_assert(sizeof(stint_sequence_header) == 128, "frozen");
static_assert(sizeof(stint_sequence_state) == 16, "frozen");
#endif

#endif
