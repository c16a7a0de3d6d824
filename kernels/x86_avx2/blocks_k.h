// The blocks of Q4_K, Q5_K and Q6_K, 8 rows at a time: half of a panel. reference/unpack_k.cc shows what they hold.
//
//   Type::LoadScales(rows, stride, half, block);                       // all of that half but its values
//   next = Type::ForEach16(rows, stride, next, [](int first, const __m256i (&values)[4]) { ... });
//
// ForEach16 calls its function with the elements 4 * first .. 4 * first + 15 of the rows, in any order, asks for as
// many bytes from `next` on as it reads, and returns what follows them.
#pragma once

#include "kernels/x86_avx2/formats.h"
#include "kernels/x86_avx2/tile_parts.h"
#include "kernels/x86_avx2/transpose.h"

namespace inferd::kernels::avx2 {

// For vpshufb: each lane's bytes a and b as two words, in their low or in their high bytes.
static INFERD_INLINE __m256i WordsOfBytes(int a, int b, bool high) {
  const int words = high ? 0x00800080 | a << 8 | b << 24 : static_cast<int>(0x80008000u) | a | b << 16;
  const __m256i lane = _mm256_set_epi32(0x0C, 0x08, 0x04, 0, 0x0C, 0x08, 0x04, 0);
  const __m256i step = _mm256_mullo_epi32(lane, _mm256_set1_epi32(high ? 0x01000100 : 0x00010001));
  return _mm256_add_epi8(_mm256_set1_epi32(words), step);
}

// Four groups' scales and minimums, a byte each.
static INFERD_INLINE void StoreSixBits(__m256i scales, __m256i minimums, int first, int half, PanelBlock256& block) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    Store(block.scales[first + j], half, _mm256_shuffle_epi8(scales, WordsOfBytes(j, j, false)));
  }
  Store(block.minimums[first / 2], half, _mm256_shuffle_epi8(minimums, WordsOfBytes(0, 1, false)));
  Store(block.minimums[first / 2 + 1], half, _mm256_shuffle_epi8(minimums, WordsOfBytes(2, 3, false)));
}

struct SixBitScales {
  static constexpr int kGroup = 32;
  static constexpr Extra256 kExtra = Extra256::kMinimum;

  // d, dmin and the eight six-bit pairs of scale and minimum.
  static INFERD_INLINE void LoadScales(const uint8_t* rows, size_t stride, int half, PanelBlock256& block) {
    const __m256i low6 = _mm256_set1_epi8(63), low4 = _mm256_set1_epi8(15), high2 = _mm256_set1_epi8(48);
    __m256i header[4];  // d and dmin, then 12 bytes s[0..11]
    LoadTransposed8(rows, stride, header);
    _mm256_store_ps(block.scale + 8 * half, LowHalves(header[0]));
    _mm256_store_ps(block.minimum + 8 * half, HighHalves(header[0]));
    const __m256i s0 = header[1], s4 = header[2], s8 = header[3];
    StoreSixBits(_mm256_and_si256(s0, low6), _mm256_and_si256(s4, low6), 0, half, block);
    const __m256i s0_high = _mm256_and_si256(_mm256_srli_epi32(s0, 2), high2);
    const __m256i s4_high = _mm256_and_si256(_mm256_srli_epi32(s4, 2), high2);
    StoreSixBits(_mm256_or_si256(_mm256_and_si256(s8, low4), s0_high),
                 _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(s8, 4), low4), s4_high), 4, half, block);
  }
};

struct Q4_K : SixBitScales {
  static constexpr size_t kBytes = 144;
  static constexpr int kBits = 4;

  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach16(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    const __m256i low4 = _mm256_set1_epi8(15);
    for (int part = 0; part < 4; ++part) {  // 32 bytes: a group in the low nibbles, the next in the high ones
      next = Prefetch<kHalfRows * kBytes / 4>(next);
#pragma GCC unroll 2
      for (int column = 0; column < 2; ++column) {
        __m256i pairs[4], low[4], high[4];
        LoadTransposed8(rows + 16 + 32 * part + 16 * column, stride, pairs);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          low[j] = _mm256_and_si256(pairs[j], low4);
          high[j] = _mm256_and_si256(_mm256_srli_epi16(pairs[j], 4), low4);
        }
        f(16 * part + 4 * column, low);
        f(16 * part + 8 + 4 * column, high);
      }
    }
    return next;
  }
};

struct Q5_K : SixBitScales {
  static constexpr size_t kBytes = 176;
  static constexpr int kBits = 5;

  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach16(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    const __m256i low4 = _mm256_set1_epi8(15), bit4 = _mm256_set1_epi8(16);
    for (int column = 0; column < 2; ++column) {  // 16 bytes of fifth bits serve half of every group
      __m256i fifth[4];
      LoadTransposed8(rows + 16 + 16 * column, stride, fifth);
      for (int pair = 0; pair < 4; ++pair) {
        next = Prefetch<kHalfRows * kBytes / 8>(next);
        __m256i nibbles[4], low[4], high[4];
        LoadTransposed8(rows + 48 + 32 * pair + 16 * column, stride, nibbles);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          const __m256i low_bit = _mm256_and_si256(_mm256_slli_epi16(fifth[j], 4), bit4);
          const __m256i high_bit = _mm256_and_si256(_mm256_slli_epi16(fifth[j], 3), bit4);
          low[j] = _mm256_or_si256(_mm256_and_si256(nibbles[j], low4), low_bit);
          high[j] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(nibbles[j], 4), low4), high_bit);
          fifth[j] = _mm256_srli_epi16(fifth[j], 2);  // for the next pair of groups
        }
        f(16 * pair + 4 * column, low);
        f(16 * pair + 8 + 4 * column, high);
      }
    }
    return next;
  }
};

struct Q6_K {
  static constexpr size_t kBytes = 210;
  static constexpr int kBits = 6, kGroup = 16;
  static constexpr Extra256 kExtra = Extra256::kBias;

  // The 16 signed scale bytes as pairs, 32 times them as what the bias of 32 takes away, and d.
  static INFERD_INLINE void LoadScales(const uint8_t* rows, size_t stride, int half, PanelBlock256& block) {
    alignas(32) uint32_t d[kHalfRows];
#pragma GCC unroll 8
    for (size_t r = 0; r < kHalfRows; ++r) {
      uint16_t bits;
      __builtin_memcpy(&bits, rows + 208 + r * stride, 2);
      d[r] = bits;
    }
    __m256i scales[4];
    LoadTransposed8(rows + 192, stride, scales);
#pragma GCC unroll 16
    for (int j = 0; j < 16; ++j) {
      const __m256i words = _mm256_shuffle_epi8(scales[j / 4], WordsOfBytes(j % 4, j % 4, true));
      Store(block.scales[j], half, _mm256_srai_epi16(words, 8));
    }
#pragma GCC unroll 8
    for (int pair = 0; pair < 8; ++pair) {
      const int first = pair % 2 * 2;
      const __m256i words = _mm256_shuffle_epi8(scales[pair / 2], WordsOfBytes(first, first + 1, true));
      Store(block.minimums[pair], half, _mm256_srai_epi16(words, 3));
    }
    _mm256_store_ps(block.scale + 8 * half, LowHalves(Load(d, 0)));
  }

  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach16(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    for (int part = 0; part < 4; ++part) {  // 16 of the 32 columns of a half of 128 elements
      const int begin = part / 2, column = part % 2;
      __m256i high_bits[4];
      LoadTransposed8(rows + 128 + 32 * begin + 16 * column, stride, high_bits);
#pragma GCC unroll 2
      for (int second = 0; second < 2; ++second) {
        next = Prefetch<kHalfRows * kBytes / 8>(next);
        __m256i nibbles[4], low[4], high[4];
        LoadTransposed8(rows + 64 * begin + 32 * second + 16 * column, stride, nibbles);
        const __m256i low4 = _mm256_set1_epi8(15), bits45 = _mm256_set1_epi8(48);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          const __m256i low_bits = _mm256_slli_epi16(high_bits[j], second == 0 ? 4 : 2);
          const __m256i bits = second == 0 ? high_bits[j] : _mm256_srli_epi16(high_bits[j], 2);
          low[j] = _mm256_or_si256(_mm256_and_si256(nibbles[j], low4), _mm256_and_si256(low_bits, bits45));
          high[j] =
              _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(nibbles[j], 4), low4), _mm256_and_si256(bits, bits45));
        }
        f(32 * begin + 8 * second + 4 * column, low);
        f(32 * begin + 16 + 8 * second + 4 * column, high);
      }
    }
    return next;
  }
};

}  // namespace inferd::kernels::avx2
