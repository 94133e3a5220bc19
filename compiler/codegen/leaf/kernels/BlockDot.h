// Σ number · x over a block, in integers, for the 16 columns of a panel and some
// rows: what each machine has for it. The sums are exact, so all give the same.
//
// A word of weights holds 4 numbers in order as unsigned bytes, or 8 of 4 bits,
// of which the even ones and then the odd ones are taken out as bytes: as the
// activations lie, see QuantisedRows.h. Numbers of 8 bits are made signed by
// taking 128 away where the machine has no unsigned times signed bytes.
#ifndef STINT_COMPILER_CODEGEN_LEAF_KERNELS_BLOCKDOT_H
#define STINT_COMPILER_CODEGEN_LEAF_KERNELS_BLOCKDOT_H

#include "compiler/codegen/leaf/kernels/QuantisedRows.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace stint::leaf {

/// Rows that are multiplied at once.
#if defined(__AVX512F__) || defined(__ARM_FEATURE_DOTPROD)
constexpr int kDotRows = 6;
#else
constexpr int kDotRows = 4;
#endif

/// Numbers of a word that are taken out together, as unsigned bytes.
template <int bits, int half> inline Words bytesOf(Words w) {
  if constexpr (bits == 8)
    return w;
  else
    return (half ? w >> 4u : w) & 0x0f0f0f0fu;
}
constexpr uint32_t kFlip = 0x80808080u;

/// Whether what `dotBlock` returns lacks 128 · Σ x.
template <int bits> constexpr bool isShifted() {
#if defined(__AVX512VNNI__)
  return false;
#elif defined(__AVX2__) || defined(__aarch64__)
  return bits == 8;
#else
  return false;
#endif
}

#if defined(__AVX512VNNI__)

template <int bits, int rows>
inline void dotBlock(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], Ints (&sums)[rows]) {
  constexpr int kHalves = 8 / bits;
  __m512i totals[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r)
    totals[r] = _mm512_setzero_si512();
  for (int64_t w = 0; w < count; ++w) {
    Words v = load<Words>(words + w * kPanel), low = bytesOf<bits, 0>(v), high = bytesOf<bits, 1>(v);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      totals[r] = _mm512_dpbusd_epi32(totals[r], __m512i(low), _mm512_set1_epi32(x[r].four(kHalves * w)));
      if constexpr (kHalves == 2)
        totals[r] = _mm512_dpbusd_epi32(totals[r], __m512i(high), _mm512_set1_epi32(x[r].four(kHalves * w + 1)));
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r)
    sums[r] = Ints(totals[r]);
}

#elif defined(__AVX2__)

/// Half a panel. Sums of pairs fit 16 bits: those of 4 bits (2 · 15 · 127) eight
/// times, those of 8 bits (2 · 128 · 127) once.
template <int bits, int rows>
inline void dotHalf(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], __m256i (&totals)[rows]) {
  const __m256i ones = _mm256_set1_epi16(1), low = _mm256_set1_epi8(15), flip = _mm256_set1_epi32(int(kFlip));
#pragma unroll
  for (int r = 0; r < rows; ++r)
    totals[r] = _mm256_setzero_si256();
  if constexpr (bits == 8) {
    for (int64_t w = 0; w < count; ++w) {
      __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i_u *>(words + w * kPanel));
      v = _mm256_xor_si256(v, flip);
      __m256i size = _mm256_abs_epi8(v);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        __m256i signedX = _mm256_sign_epi8(_mm256_set1_epi32(x[r].four(w)), v);
        totals[r] = _mm256_add_epi32(totals[r], _mm256_madd_epi16(_mm256_maddubs_epi16(size, signedX), ones));
      }
    }
  } else {
    auto pairs = [&](int64_t w, __m256i(&sums)[rows]) {
      __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i_u *>(words + w * kPanel));
      __m256i even = _mm256_and_si256(v, low), odd = _mm256_and_si256(_mm256_srli_epi32(v, 4), low);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        __m256i first = _mm256_maddubs_epi16(even, _mm256_set1_epi32(x[r].four(2 * w)));
        __m256i second = _mm256_maddubs_epi16(odd, _mm256_set1_epi32(x[r].four(2 * w + 1)));
        sums[r] = _mm256_add_epi16(sums[r], _mm256_add_epi16(first, second));
      }
    };
    // Blocks are multiples of two words.
    for (int64_t w = 0; w < count;) {
      __m256i sums[rows];
#pragma unroll
      for (int r = 0; r < rows; ++r)
        sums[r] = _mm256_setzero_si256();
      pairs(w, sums);
      pairs(w + 1, sums);
      w += 2;
      if (w < count) {
        pairs(w, sums);
        pairs(w + 1, sums);
        w += 2;
      }
#pragma unroll
      for (int r = 0; r < rows; ++r)
        totals[r] = _mm256_add_epi32(totals[r], _mm256_madd_epi16(sums[r], ones));
    }
  }
}

template <int bits, int rows>
inline void dotBlock(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], Ints (&sums)[rows]) {
  __m256i left[rows], right[rows];
  dotHalf<bits, rows>(words, count, x, left);
  dotHalf<bits, rows>(words + kPanel / 2, count, x, right);
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    typedef int32_t Half __attribute__((vector_size(32)));
    sums[r] =
        __builtin_shufflevector(Half(left[r]), Half(right[r]), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
}

#elif defined(__ARM_FEATURE_DOTPROD)

template <int bits, int rows>
inline void dotBlock(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], Ints (&sums)[rows]) {
  constexpr int kHalves = 8 / bits;
  int32x4_t totals[rows][4];
#pragma unroll
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int c = 0; c < 4; ++c)
      totals[r][c] = vdupq_n_s32(0);
  for (int64_t w = 0; w < count; ++w) {
    int32x4_t numbers[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      numbers[r] = vdupq_n_s32(x[r].four(kHalves * w));
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      uint32x4_t v = vld1q_u32(words + w * kPanel + 4 * c);
      int8x16_t first =
          vreinterpretq_s8_u32(bits == 8 ? veorq_u32(v, vdupq_n_u32(kFlip)) : vandq_u32(v, vdupq_n_u32(0x0f0f0f0fu)));
#pragma unroll
      for (int r = 0; r < rows; ++r)
        totals[r][c] = vdotq_s32(totals[r][c], first, vreinterpretq_s8_s32(numbers[r]));
    }
    if constexpr (kHalves == 2) {
#pragma unroll
      for (int r = 0; r < rows; ++r)
        numbers[r] = vdupq_n_s32(x[r].four(kHalves * w + 1));
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        uint8x16_t v = vreinterpretq_u8_u32(vld1q_u32(words + w * kPanel + 4 * c));
        int8x16_t second = vreinterpretq_s8_u8(vshrq_n_u8(v, 4));
#pragma unroll
        for (int r = 0; r < rows; ++r)
          totals[r][c] = vdotq_s32(totals[r][c], second, vreinterpretq_s8_s32(numbers[r]));
      }
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r)
    __builtin_memcpy(&sums[r], totals[r], sizeof sums[r]);
}

#elif defined(__aarch64__)

/// Products of four columns are added up in pairs; two registers hold the
/// halves of what becomes four sums. Two products fit 16 bits.
template <int bits, int rows>
inline void dotBlock(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], Ints (&sums)[rows]) {
  constexpr int kHalves = 8 / bits;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    int32x4_t low[rows], high[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      low[r] = high[r] = vdupq_n_s32(0);
    for (int64_t w = 0; w < count; ++w) {
      uint32x4_t v = vld1q_u32(words + w * kPanel + 4 * c);
      int8x16_t first =
          vreinterpretq_s8_u32(bits == 8 ? veorq_u32(v, vdupq_n_u32(kFlip)) : vandq_u32(v, vdupq_n_u32(0x0f0f0f0fu)));
      int8x16_t second = vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_u32(v), 4));
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        int8x16_t numbers = vreinterpretq_s8_s32(vdupq_n_s32(x[r].four(kHalves * w)));
        int16x8_t left = vmull_s8(vget_low_s8(first), vget_low_s8(numbers)), right = vmull_high_s8(first, numbers);
        if constexpr (kHalves == 2) {
          numbers = vreinterpretq_s8_s32(vdupq_n_s32(x[r].four(kHalves * w + 1)));
          left = vmlal_s8(left, vget_low_s8(second), vget_low_s8(numbers));
          right = vmlal_high_s8(right, second, numbers);
        }
        low[r] = vpadalq_s16(low[r], left);
        high[r] = vpadalq_s16(high[r], right);
      }
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      int32x4_t four = vpaddq_s32(low[r], high[r]);
      __builtin_memcpy(reinterpret_cast<int32_t *>(&sums[r]) + 4 * c, &four, sizeof four);
    }
  }
}

#else

template <int bits, int rows>
inline void dotBlock(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], Ints (&sums)[rows]) {
  constexpr int kHalves = 8 / bits;
#pragma unroll
  for (int r = 0; r < rows; ++r)
    sums[r] = Ints{};
  for (int64_t w = 0; w < count; ++w) {
    Words v = load<Words>(words + w * kPanel), halves[2] = {bytesOf<bits, 0>(v), bytesOf<bits, 1>(v)};
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int i = 0; i < 4 * kHalves; ++i) {
        int32_t number = int8_t(x[r].four(kHalves * w + i / 4) >> (i % 4 * 8));
        sums[r] += Ints(halves[i / 4] >> uint32_t(i % 4 * 8) & 0xffu) * number;
      }
  }
}

#endif

} // namespace stint::leaf

#endif
