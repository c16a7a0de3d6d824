// The blocks of the types with a float scale for each 32 elements, 8 rows at a time: half of a panel.
//
//   CopyHeader<kLayoutQ5_1>(rows, stride, scales, fifth_bits);  // as they are; long before they are read as vectors
//   ForEach16<kLayoutQ5_1>(rows, stride, fifth_bits, table, [](int first, const __m256i (&values)[4]) { ... });
//
// ForEach16 calls its function with the elements 4 * first .. 4 * first + 15 of the rows.
#pragma once

#include "kernels/reference/unpack.h"
#include "kernels/x86_avx2/formats.h"
#include "kernels/x86_avx2/tile_parts.h"
#include "kernels/x86_avx2/transpose.h"

namespace inferd::kernels::avx2 {

// A block is a header (scale; added value; 32 fifth bits), then 16 bytes of nibbles or 32 of values.
struct Layout {
  size_t bytes;       // of a block
  size_t values;      // where they begin
  size_t fifth_bits;  // where they begin; 0: none
  int bits;           // 4, 5, or 8 for signed values
  Extra32 extra;
  bool table = false;  // nibbles are places in it
};

constexpr Layout kLayoutQ4_0{18, 2, 0, 4, Extra32::kBias}, kLayoutQ4_1{20, 4, 0, 4, Extra32::kAdded},
    kLayoutQ5_0{22, 6, 2, 5, Extra32::kBias}, kLayoutQ5_1{24, 8, 4, 5, Extra32::kAdded},
    kLayoutQ8_0{34, 2, 0, 8, Extra32::kNone}, kLayoutIQ4_NL{18, 2, 0, 8, Extra32::kNone, true};

// The first four bytes of 8 rows to `words`, and the fifth bits to `fifth_bits`.
template <Layout kLayout>
static INFERD_INLINE void CopyHeader(const uint8_t* rows, size_t stride, void* words, void* fifth_bits) {
#pragma GCC unroll 8
  for (size_t r = 0; r < kHalfRows; ++r) {
    __builtin_memcpy(static_cast<uint8_t*>(words) + 4 * r, rows + r * stride, 4);
    if constexpr (kLayout.fifth_bits != 0) {
      __builtin_memcpy(static_cast<uint8_t*>(fifth_bits) + 4 * r, rows + r * stride + kLayout.fifth_bits, 4);
    }
  }
}

// 16 where bit 4c + i of the lane's word is set, in byte i of the lane
static INFERD_INLINE __m256i FifthBits(__m256i words, int c) {
  const __m256i byte = _mm256_set_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0, 0x0C0C0C0C, 0x08080808, 0x04040404, 0);
  const __m256i bits = _mm256_set1_epi32(c % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010u));
  const __m256i spread = _mm256_shuffle_epi8(words, _mm256_add_epi8(byte, _mm256_set1_epi8(static_cast<char>(c / 2))));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bits), bits);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

template <Layout kLayout, typename F>
static INFERD_INLINE void ForEach16(const uint8_t* rows, size_t stride, __m256i fifth_bits, __m256i table, const F& f) {
  const __m256i low4 = _mm256_set1_epi8(15);
  __m256i bytes[4];
  LoadTransposed8(rows + kLayout.values, stride, bytes);
  if constexpr (kLayout.bytes == kLayoutQ8_0.bytes) {
    f(0, bytes);
    LoadTransposed8(rows + kLayout.values + 16, stride, bytes);
    f(4, bytes);
  } else {
    __m256i values[4];
#pragma GCC unroll 2
    for (int high = 0; high < 2; ++high) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        values[c] = _mm256_and_si256(high == 0 ? bytes[c] : _mm256_srli_epi16(bytes[c], 4), low4);
        if constexpr (kLayout.table) values[c] = _mm256_shuffle_epi8(table, values[c]);
        if constexpr (kLayout.fifth_bits != 0) {
          values[c] = _mm256_or_si256(values[c], FifthBits(fifth_bits, 4 * high + c));
        }
      }
      f(4 * high, values);
    }
  }
}

static INFERD_INLINE __m256i Iq4Table() {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)reference::kIq4Values));
}

}  // namespace inferd::kernels::avx2
