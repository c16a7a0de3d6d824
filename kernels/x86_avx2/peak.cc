#include "kernels/x86_avx2/peak.h"

#include <immintrin.h>

// Ten independent chains hide the latency of two instructions a cycle. AVX2 has no byte product that adds into 32 bits:
// maddubs, madd and add stand for one. b is opaque at each of them, so that they are not made once for all chains.
namespace inferd::kernels::avx2 {

int64_t Int8Peak(int64_t rounds, float* sink) {
  __m256i s0 = _mm256_setzero_si256(), s1 = _mm256_setzero_si256(), s2 = _mm256_setzero_si256(),
          s3 = _mm256_setzero_si256(), s4 = _mm256_setzero_si256(), s5 = _mm256_setzero_si256(),
          s6 = _mm256_setzero_si256(), s7 = _mm256_setzero_si256(), s8 = _mm256_setzero_si256(),
          s9 = _mm256_setzero_si256();
  const __m256i a = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
  __m256i b = _mm256_set1_epi8(-5);
  for (int64_t i = 0; i < rounds; ++i) {
    asm volatile("" : "+x"(b));
    s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s4 = _mm256_add_epi32(s4, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s5 = _mm256_add_epi32(s5, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s6 = _mm256_add_epi32(s6, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s7 = _mm256_add_epi32(s7, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s8 = _mm256_add_epi32(s8, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile("" : "+x"(b));
    s9 = _mm256_add_epi32(s9, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    asm volatile(""
                 : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8),
                   "+x"(s9));  // keeps every product
  }
  __m256i sum = s0;
  sum = _mm256_add_epi32(sum, s1);
  sum = _mm256_add_epi32(sum, s2);
  sum = _mm256_add_epi32(sum, s3);
  sum = _mm256_add_epi32(sum, s4);
  sum = _mm256_add_epi32(sum, s5);
  sum = _mm256_add_epi32(sum, s6);
  sum = _mm256_add_epi32(sum, s7);
  sum = _mm256_add_epi32(sum, s8);
  sum = _mm256_add_epi32(sum, s9);
  *sink += static_cast<float>(_mm_cvtsi128_si32(_mm256_castsi256_si128(sum)));
  return rounds * 10 * 32 * 2;
}

int64_t FloatPeak(int64_t rounds, float* sink) {
  __m256 s0 = _mm256_setzero_ps(), s1 = _mm256_setzero_ps(), s2 = _mm256_setzero_ps(), s3 = _mm256_setzero_ps(),
         s4 = _mm256_setzero_ps(), s5 = _mm256_setzero_ps(), s6 = _mm256_setzero_ps(), s7 = _mm256_setzero_ps(),
         s8 = _mm256_setzero_ps(), s9 = _mm256_setzero_ps();
  const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = _mm256_fmadd_ps(s0, a, b);
    s1 = _mm256_fmadd_ps(s1, a, b);
    s2 = _mm256_fmadd_ps(s2, a, b);
    s3 = _mm256_fmadd_ps(s3, a, b);
    s4 = _mm256_fmadd_ps(s4, a, b);
    s5 = _mm256_fmadd_ps(s5, a, b);
    s6 = _mm256_fmadd_ps(s6, a, b);
    s7 = _mm256_fmadd_ps(s7, a, b);
    s8 = _mm256_fmadd_ps(s8, a, b);
    s9 = _mm256_fmadd_ps(s9, a, b);
    asm volatile(""
                 : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8),
                   "+x"(s9));  // keeps every product
  }
  __m256 sum = s0;
  sum = _mm256_add_ps(sum, s1);
  sum = _mm256_add_ps(sum, s2);
  sum = _mm256_add_ps(sum, s3);
  sum = _mm256_add_ps(sum, s4);
  sum = _mm256_add_ps(sum, s5);
  sum = _mm256_add_ps(sum, s6);
  sum = _mm256_add_ps(sum, s7);
  sum = _mm256_add_ps(sum, s8);
  sum = _mm256_add_ps(sum, s9);
  *sink += _mm_cvtss_f32(_mm256_castps256_ps128(sum));
  return rounds * 10 * 8 * 2;
}

}  // namespace inferd::kernels::avx2
