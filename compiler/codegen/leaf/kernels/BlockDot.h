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
#if defined(__AVX512F__)
constexpr int kDotRows = 6;
#elif defined(__ARM_FEATURE_DOTPROD) && !defined(__ARM_FEATURE_MATMUL_INT8)
constexpr int kDotRows = 5;
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

/// Four words of 4 columns as signed bytes: the numbers themselves, or those of
/// 8 bits without 128.
template <int bits, int half> inline uint32x4_t signedBytes(uint32x4_t v) {
  if constexpr (bits == 8)
    return veorq_u32(v, vdupq_n_u32(kFlip));
  else if constexpr (half)
    return vreinterpretq_u32_u8(vshrq_n_u8(vreinterpretq_u8_u32(v), 4));
  else
    return vandq_u32(v, vdupq_n_u32(0x0f0f0f0fu));
}

template <int lane> struct Lane {
  static constexpr int value = lane;
};

/// Of a register of 16 numbers of a row, each word is a factor.
template <int bits, int rows>
inline void dotWords(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], Ints (&sums)[rows]) {
  constexpr int kWords = bits / 2; // of a column, for sixteen numbers
  int32x4_t totals[rows][4];
#pragma unroll
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int c = 0; c < 4; ++c)
      totals[r][c] = vdupq_n_s32(0);
  // Blocks are multiples of sixteen numbers.
  for (int64_t w = 0; w < count; w += kWords) {
    int8x16_t numbers[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      numbers[r] = vld1q_s8(x[r].numbers(16 * (w / kWords)));
    auto add = [&](uint32x4_t factors, int c, auto lane) {
#pragma unroll
      for (int r = 0; r < rows; ++r)
        totals[r][c] = vdotq_laneq_s32(totals[r][c], vreinterpretq_s8_u32(factors), numbers[r], decltype(lane)::value);
    };
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const uint32_t *at = words + w * kPanel + 4 * c;
      if constexpr (bits == 4) {
        uint32x4_t first = vld1q_u32(at), second = vld1q_u32(at + kPanel);
        add(signedBytes<4, 0>(first), c, Lane<0>());
        add(signedBytes<4, 1>(first), c, Lane<1>());
        add(signedBytes<4, 0>(second), c, Lane<2>());
        add(signedBytes<4, 1>(second), c, Lane<3>());
      } else {
        add(signedBytes<8, 0>(vld1q_u32(at)), c, Lane<0>());
        add(signedBytes<8, 0>(vld1q_u32(at + kPanel)), c, Lane<1>());
        add(signedBytes<8, 0>(vld1q_u32(at + 2 * kPanel)), c, Lane<2>());
        add(signedBytes<8, 0>(vld1q_u32(at + 3 * kPanel)), c, Lane<3>());
      }
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r)
    __builtin_memcpy(&sums[r], totals[r], sizeof sums[r]);
}

#if defined(__ARM_FEATURE_MATMUL_INT8)

/// Two rows and two columns a multiplication, eight numbers of each: those of a
/// word of 4 bits, or of two words of 8, in the order in which the rows lie.
template <int bits, int rows>
inline void multiplyWords(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], Ints (&sums)[rows]) {
  constexpr int kWords = bits / 4; // of a column, for eight numbers
  int32x4_t totals[rows / 2][8];
#pragma unroll
  for (int r = 0; r < rows / 2; ++r)
#pragma unroll
    for (int c = 0; c < 8; ++c)
      totals[r][c] = vdupq_n_s32(0);
  // Blocks are multiples of two words.
  for (int64_t w = 0; w < count; w += kWords) {
    int8x16_t numbers[rows / 2];
#pragma unroll
    for (int r = 0; r < rows / 2; ++r)
      numbers[r] =
          vcombine_s8(vld1_s8(x[2 * r].numbers(8 * (w / kWords))), vld1_s8(x[2 * r + 1].numbers(8 * (w / kWords))));
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const uint32_t *at = words + w * kPanel + 4 * c;
      uint32x4_t first = signedBytes<bits, 0>(vld1q_u32(at));
      uint32x4_t second = signedBytes<bits, 1>(vld1q_u32(at + (kWords - 1) * kPanel));
      int8x16_t left = vreinterpretq_s8_u32(vzip1q_u32(first, second));
      int8x16_t right = vreinterpretq_s8_u32(vzip2q_u32(first, second));
#pragma unroll
      for (int r = 0; r < rows / 2; ++r) {
        totals[r][2 * c] = vmmlaq_s32(totals[r][2 * c], numbers[r], left);
        totals[r][2 * c + 1] = vmmlaq_s32(totals[r][2 * c + 1], numbers[r], right);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    int32x4_t columns[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      int64x2_t left = vreinterpretq_s64_s32(totals[r / 2][2 * c]),
                right = vreinterpretq_s64_s32(totals[r / 2][2 * c + 1]);
      columns[c] = vreinterpretq_s32_s64(r % 2 ? vzip2q_s64(left, right) : vzip1q_s64(left, right));
    }
    __builtin_memcpy(&sums[r], columns, sizeof sums[r]);
  }
}

#endif

template <int bits, int rows>
inline void dotBlock(const uint32_t *words, int64_t count, const QuantisedBlock (&x)[rows], Ints (&sums)[rows]) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
  if constexpr (rows % 2 == 0)
    return multiplyWords<bits, rows>(words, count, x, sums);
#endif
  dotWords<bits, rows>(words, count, x, sums);
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
