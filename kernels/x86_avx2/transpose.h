// Bytes of 8 rows at a time, half of a panel, and their transposition to rows in lanes.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace inferd::kernels::avx2 {

// out[j] lane r = dword j of the 16 bytes at rows + r * stride, for 8 rows.
static inline __attribute__((always_inline)) void LoadTransposed8(const uint8_t* rows, size_t stride,
                                                                  __m256i (&out)[4]) {
  __m256i lanes[4];  // lanes[i]: rows i and i + 4
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    const uint8_t* row = rows + i * stride;
    const __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)row));
    lanes[i] = _mm256_inserti128_si256(low, _mm_loadu_si128((const __m128i*)(row + 4 * stride)), 1);
  }
  const __m256i low01 = _mm256_unpacklo_epi32(lanes[0], lanes[1]), high01 = _mm256_unpackhi_epi32(lanes[0], lanes[1]);
  const __m256i low23 = _mm256_unpacklo_epi32(lanes[2], lanes[3]), high23 = _mm256_unpackhi_epi32(lanes[2], lanes[3]);
  out[0] = _mm256_unpacklo_epi64(low01, low23);
  out[1] = _mm256_unpackhi_epi64(low01, low23);
  out[2] = _mm256_unpacklo_epi64(high01, high23);
  out[3] = _mm256_unpackhi_epi64(high01, high23);
}

// f32 of the halves in the low words of the lanes
static inline __attribute__((always_inline)) __m256 LowHalves(__m256i v) {
  const __m256i words = _mm256_packus_epi32(_mm256_and_si256(v, _mm256_set1_epi32(0xFFFF)), _mm256_setzero_si256());
  return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(words, 0x08)));
}
static inline __attribute__((always_inline)) __m256 HighHalves(__m256i v) {
  return LowHalves(_mm256_srli_epi32(v, 16));
}

static inline __attribute__((always_inline)) __m256i Load(const void* p, int half) {
  return _mm256_load_si256((const __m256i*)p + half);
}
static inline __attribute__((always_inline)) void Store(void* p, int half, __m256i v) {
  _mm256_store_si256((__m256i*)p + half, v);
}

// Asks for the next kBytes bytes from p on; returns what follows them.
template <size_t kBytes>
static inline __attribute__((always_inline)) const uint8_t* Prefetch(const uint8_t* p) {
#pragma GCC unroll 32
  for (size_t i = 0; i < kBytes; i += 64) _mm_prefetch(p + i, _MM_HINT_T0);
  return p + kBytes;
}

}  // namespace inferd::kernels::avx2
