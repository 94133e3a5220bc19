// SHA-256: the portable rounds, and the same with SHA-NI and with the ARMv8
// cryptography extension. Each `rounds` takes whole 64-byte blocks.
#include "runtime/base/sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace stint {
namespace {

alignas(64) constexpr uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

void rounds(uint32_t state[8], const uint8_t *data, uint64_t blocks) {
  for (; blocks; --blocks, data += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i)
      w[i] = uint32_t(data[4 * i]) << 24 | uint32_t(data[4 * i + 1]) << 16 | uint32_t(data[4 * i + 2]) << 8 |
             data[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
      uint32_t x = w[i - 15], y = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; ++i) {
      uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
      uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1;
      d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
}

#if defined(__x86_64__)

__attribute__((target("sha,sse4.1,ssse3"))) void instructionRounds(uint32_t state[8], const uint8_t *data,
                                                                   uint64_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
  // The instructions want the state as ABEF and CDGH.
  __m128i low = _mm_loadu_si128(reinterpret_cast<__m128i *>(state));
  __m128i high = _mm_loadu_si128(reinterpret_cast<__m128i *>(state + 4));
  low = _mm_shuffle_epi32(low, 0xb1);
  high = _mm_shuffle_epi32(high, 0x1b);
  __m128i abef = _mm_alignr_epi8(low, high, 8);
  __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);
  for (; blocks; --blocks, data += 64) {
    __m128i abefBefore = abef, cdghBefore = cdgh, w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data + 16 * i)), swap);
    for (int i = 0; i < 16; ++i) {
      __m128i next = w[i % 4];
      if (i >= 4) {
        next = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]),
                             _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4));
        next = _mm_sha256msg2_epu32(next, w[(i + 3) % 4]);
        w[i % 4] = next;
      }
      __m128i sum = _mm_add_epi32(next, _mm_load_si128(reinterpret_cast<const __m128i *>(k + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  low = _mm_shuffle_epi32(abef, 0x1b);
  high = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state), _mm_blend_epi16(low, high, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state + 4), _mm_alignr_epi8(high, low, 8));
}

#elif defined(__aarch64__)

#if defined(__clang__)
#define STINT_SHA_TARGET "sha2"
#else
#define STINT_SHA_TARGET "+crypto"
#endif

__attribute__((target(STINT_SHA_TARGET))) void instructionRounds(uint32_t state[8], const uint8_t *data,
                                                                 uint64_t blocks) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; blocks; --blocks, data += 64) {
    uint32x4_t abcdBefore = abcd, efghBefore = efgh, w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data + 16 * i)));
    for (int i = 0; i < 16; ++i) {
      if (i >= 4)
        w[i % 4] = vsha256su1q_u32(vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]), w[(i + 2) % 4], w[(i + 3) % 4]);
      uint32x4_t sum = vaddq_u32(w[i % 4], vld1q_u32(k + 4 * i));
      uint32x4_t before = abcd;
      abcd = vsha256hq_u32(abcd, efgh, sum);
      efgh = vsha256h2q_u32(efgh, before, sum);
    }
    abcd = vaddq_u32(abcd, abcdBefore);
    efgh = vaddq_u32(efgh, efghBefore);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

#else

void instructionRounds(uint32_t state[8], const uint8_t *data, uint64_t blocks) { rounds(state, data, blocks); }

#endif

} // namespace

void Sha256::update(const void *bytes, uint64_t size) {
  const uint8_t *data = static_cast<const uint8_t *>(bytes);
  auto *run = instructions ? instructionRounds : rounds;
  uint64_t filled = length % 64;
  length += size;
  if (filled) {
    uint64_t take = size < 64 - filled ? size : 64 - filled;
    memcpy(block + filled, data, take);
    data += take, size -= take;
    if (filled + take < 64)
      return;
    run(state, block, 1);
  }
  if (size / 64)
    run(state, data, size / 64);
  if (size % 64)
    memcpy(block, data + size / 64 * 64, size % 64);
}

void Sha256::finish(uint8_t digest[32]) {
  uint64_t bits = length * 8;
  uint8_t tail[72] = {0x80};
  uint64_t padding = (length % 64 < 56 ? 56 : 120) - length % 64;
  for (int i = 0; i < 8; ++i)
    tail[padding + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(tail, padding + 8);
  for (int i = 0; i < 32; ++i)
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
}

bool hashMatches(const void *data, uint64_t size, const uint8_t expected[32], bool instructions) {
  uint8_t digest[32];
  Sha256 hash(instructions);
  hash.update(data, size);
  hash.finish(digest);
  return memcmp(digest, expected, 32) == 0;
}

} // namespace stint
