#include <immintrin.h>

#include "kernels/x86_avxvnni/products.h"

// Twelve independent chains hide the latency of two instructions a cycle.
namespace inferd::kernels::avxvnni {

int64_t Int8Peak(int64_t rounds, float* sink) {
  constexpr int kChains = 12;
  __m256i sums[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) sums[c] = _mm256_setzero_si256();
  const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-5);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      sums[c] = _mm256_dpbusd_avx_epi32(sums[c], a, b);
      asm volatile("" : "+x"(sums[c]));  // keeps every product
    }
  }
  __m256i sum = sums[0];
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) sum = _mm256_add_epi32(sum, sums[c]);
  *sink += static_cast<float>(_mm_cvtsi128_si32(_mm256_castsi256_si128(sum)));
  return rounds * kChains * 32 * 2;
}

}  // namespace inferd::kernels::avxvnni
