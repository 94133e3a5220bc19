// SHA-256 (FIPS 180-4), with the CPU's own instructions where it has them.
#ifndef STINT_RUNTIME_BASE_SHA256_H
#define STINT_RUNTIME_BASE_SHA256_H

#include <cstddef>
#include <cstdint>

namespace stint {

class Sha256 {
public:
  // `instructions`: the CPU has SHA-256 instructions (Platform's CpuInfo
  // tells); the digest is the same either way.
  explicit Sha256(bool instructions = false) : instructions(instructions) {}
  void update(const void *data, uint64_t size);
  void finish(uint8_t digest[32]);

private:
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t length = 0; // bytes seen
  uint8_t block[64] = {};
  bool instructions;
};

// True if `data` hashes to `expected`.
bool hashMatches(const void *data, uint64_t size, const uint8_t expected[32], bool instructions);

} // namespace stint

#endif
