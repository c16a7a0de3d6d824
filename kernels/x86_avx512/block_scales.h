// Integer scales and minimums of 256-element blocks, from a byte each to the lanes of a panel.
#pragma once

#include <immintrin.h>

#include "kernels/x86_avx512/formats.h"

namespace inferd::kernels::avx512 {

// lane r = byte i (of four) of lane r, without sign
template <int i>
static inline __attribute__((always_inline)) __m512i ByteOfLanes(__m512i v) {
  if constexpr (i == 3) return _mm512_srli_epi32(v, 24);
  return _mm512_and_si512(_mm512_srli_epi32(v, 8 * i), _mm512_set1_epi32(255));
}

// Four groups' scales, a byte each, to four vectors of int32.
static inline __attribute__((always_inline)) void StoreScales(__m512i four, int32_t (*scales)[kPanelRows]) {
  _mm512_store_si512(scales[0], ByteOfLanes<0>(four));
  _mm512_store_si512(scales[1], ByteOfLanes<1>(four));
  _mm512_store_si512(scales[2], ByteOfLanes<2>(four));
  _mm512_store_si512(scales[3], ByteOfLanes<3>(four));
}

// Four groups' minimums, a byte each, to two vectors of int16 pairs.
static inline __attribute__((always_inline)) void StoreMinimums(__m512i four, int16_t (*minimums)[kPanelRows][2]) {
  const __m512i low = _mm512_set4_epi32(static_cast<int>(0x800D800Cu), static_cast<int>(0x80098008u),
                                        static_cast<int>(0x80058004u), static_cast<int>(0x80018000u));
  const __m512i two = _mm512_set1_epi32(0x00020002);
  _mm512_store_si512(minimums[0], _mm512_shuffle_epi8(four, low));
  _mm512_store_si512(minimums[1], _mm512_shuffle_epi8(four, _mm512_add_epi8(low, two)));
}

}  // namespace inferd::kernels::avx512
