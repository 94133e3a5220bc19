// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): random bits as a function of a key and a counter, so that a draw
// depends on nothing that was drawn before it.
#ifndef STINT_RUNTIME_GENERATION_RANDOM_H
#define STINT_RUNTIME_GENERATION_RANDOM_H

#include <cstdint>

namespace stint {

struct PhiloxBlock {
  uint32_t word[4];
};

inline PhiloxBlock philox(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xd2511f53) * counter.word[0], b = uint64_t(0xcd9e8d57) * counter.word[2];
    counter = {{uint32_t(b >> 32) ^ counter.word[1] ^ key0, uint32_t(b), uint32_t(a >> 32) ^ counter.word[3] ^ key1,
                uint32_t(a)}};
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  return counter;
}

// In [0, 1), 53 bits: the draw for the token at `position` of a stream.
inline double uniformDraw(uint64_t seed, uint32_t stream, uint32_t position) {
  PhiloxBlock block = philox({{position, stream, 0, 0}}, uint32_t(seed), uint32_t(seed >> 32));
  uint64_t bits = uint64_t(block.word[1]) << 32 | block.word[0];
  return double(bits >> 11) * 0x1p-53;
}

} // namespace stint

#endif
