// Bytes of 16 rows at a time, and their transposition to rows in lanes.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace inferd::kernels::avx512 {

// out[j] lane r = dword j of row r, where the 128-bit lane i of rows[n] is row 4i + n.
static inline __attribute__((always_inline)) void Transpose(const __m512i rows[4], __m512i out[4]) {
  const __m512i low01 = _mm512_unpacklo_epi32(rows[0], rows[1]), high01 = _mm512_unpackhi_epi32(rows[0], rows[1]);
  const __m512i low23 = _mm512_unpacklo_epi32(rows[2], rows[3]), high23 = _mm512_unpackhi_epi32(rows[2], rows[3]);
  out[0] = _mm512_unpacklo_epi64(low01, low23);
  out[1] = _mm512_unpackhi_epi64(low01, low23);
  out[2] = _mm512_unpacklo_epi64(high01, high23);
  out[3] = _mm512_unpackhi_epi64(high01, high23);
}

// out[j] lane r = dword j of the 16 bytes at rows + r * stride.
static inline __attribute__((always_inline)) void LoadTransposed16(const uint8_t* rows, size_t stride, __m512i out[4]) {
  __m512i lanes[4];
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    const uint8_t* row = rows + i * stride;
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i*)row));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)(row + 4 * stride)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)(row + 8 * stride)), 2);
    lanes[i] = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)(row + 12 * stride)), 3);
  }
  Transpose(lanes, out);
}

// out[j] lane r = dword j of the 32 bytes at rows + r * stride: half the loads of two calls for 16 bytes.
static inline __attribute__((always_inline)) void LoadTransposed32(const uint8_t* rows, size_t stride, __m512i out[8]) {
  __m512i first[4], last[4];  // dwords j and j + 4 in even and odd 128-bit lanes; rows 0-7, and 8-15
  __m512i two[4];             // rows i and i + 4, two lanes each
#pragma GCC unroll 2
  for (size_t half = 0; half < 2; ++half) {
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const uint8_t* row = rows + (8 * half + i) * stride;
      const __m512i v = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)row));
      two[i] = _mm512_inserti64x4(v, _mm256_loadu_si256((const __m256i*)(row + 4 * stride)), 1);
    }
    Transpose(two, half == 0 ? first : last);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    out[j] = _mm512_shuffle_i32x4(first[j], last[j], 0x88);
    out[j + 4] = _mm512_shuffle_i32x4(first[j], last[j], 0xDD);
  }
}

// As LoadTransposed16, of 16 bytes chosen from the 64 at rows + r * stride, of which only those in `mask` are read:
// `choice` holds their numbers in lane 0, and the same plus 64 in lane 1.
static inline __attribute__((always_inline)) void LoadChosenTransposed(const uint8_t* rows, size_t stride,
                                                                       __mmask64 mask, __m512i choice, __m512i out[4]) {
  __m512i lanes[4];
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    const uint8_t* row = rows + i * stride;
    const __m512i two = _mm512_permutex2var_epi8(_mm512_maskz_loadu_epi8(mask, row), choice,
                                                 _mm512_maskz_loadu_epi8(mask, row + 4 * stride));
    const __m512i next_two = _mm512_permutex2var_epi8(_mm512_maskz_loadu_epi8(mask, row + 8 * stride), choice,
                                                      _mm512_maskz_loadu_epi8(mask, row + 12 * stride));
    lanes[i] = _mm512_inserti64x4(two, _mm512_castsi512_si256(next_two), 1);
  }
  Transpose(lanes, out);
}

// f32 of the halves in the low and in the high words of the lanes
static inline __attribute__((always_inline)) __m512 LowHalves(__m512i v) {
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v));
}
static inline __attribute__((always_inline)) __m512 HighHalves(__m512i v) {
  return LowHalves(_mm512_srli_epi32(v, 16));
}

// Asks for the next kBytes bytes from p on; returns what follows them.
template <size_t kBytes>
static inline __attribute__((always_inline)) const uint8_t* Prefetch(const uint8_t* p) {
#pragma GCC unroll 32
  for (size_t i = 0; i < kBytes; i += 64) _mm_prefetch(p + i, _MM_HINT_T0);
  return p + kBytes;
}

// Copies the half-precision number at rows + r * stride to halves[r], for CopiedHalves later: the plain copies run
// beside the vector work, and are long done when their 32 bytes are read at once.
static inline __attribute__((always_inline)) void CopyHalves(const uint8_t* rows, size_t stride, void* halves) {
#pragma GCC unroll 16
  for (size_t r = 0; r < 16; ++r) __builtin_memcpy((uint8_t*)halves + 2 * r, rows + r * stride, 2);
}
static inline __attribute__((always_inline)) __m512 CopiedHalves(const void* halves) {
  return _mm512_cvtph_ps(_mm256_load_si256((const __m256i*)halves));
}

}  // namespace inferd::kernels::avx512
