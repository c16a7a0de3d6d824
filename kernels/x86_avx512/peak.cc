#include "kernels/x86_avx512/peak.h"

#include <immintrin.h>

// Twelve independent chains hide the latency (4) of two instructions a cycle. Named one by one: an array of them would
// go through memory.
namespace inferd::kernels::avx512 {

int64_t Int8Peak(int64_t rounds, float* sink) {
  __m512i s0 = _mm512_setzero_si512(), s1 = _mm512_setzero_si512(), s2 = _mm512_setzero_si512(),
          s3 = _mm512_setzero_si512(), s4 = _mm512_setzero_si512(), s5 = _mm512_setzero_si512(),
          s6 = _mm512_setzero_si512(), s7 = _mm512_setzero_si512(), s8 = _mm512_setzero_si512(),
          s9 = _mm512_setzero_si512(), s10 = _mm512_setzero_si512(), s11 = _mm512_setzero_si512();
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-5);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = _mm512_dpbusd_epi32(s0, a, b);
    s1 = _mm512_dpbusd_epi32(s1, a, b);
    s2 = _mm512_dpbusd_epi32(s2, a, b);
    s3 = _mm512_dpbusd_epi32(s3, a, b);
    s4 = _mm512_dpbusd_epi32(s4, a, b);
    s5 = _mm512_dpbusd_epi32(s5, a, b);
    s6 = _mm512_dpbusd_epi32(s6, a, b);
    s7 = _mm512_dpbusd_epi32(s7, a, b);
    s8 = _mm512_dpbusd_epi32(s8, a, b);
    s9 = _mm512_dpbusd_epi32(s9, a, b);
    s10 = _mm512_dpbusd_epi32(s10, a, b);
    s11 = _mm512_dpbusd_epi32(s11, a, b);
    asm volatile(""
                 : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6), "+v"(s7), "+v"(s8), "+v"(s9),
                   "+v"(s10), "+v"(s11));  // keeps every product
  }
  __m512i sum = s0;
  sum = _mm512_add_epi32(sum, s1);
  sum = _mm512_add_epi32(sum, s2);
  sum = _mm512_add_epi32(sum, s3);
  sum = _mm512_add_epi32(sum, s4);
  sum = _mm512_add_epi32(sum, s5);
  sum = _mm512_add_epi32(sum, s6);
  sum = _mm512_add_epi32(sum, s7);
  sum = _mm512_add_epi32(sum, s8);
  sum = _mm512_add_epi32(sum, s9);
  sum = _mm512_add_epi32(sum, s10);
  sum = _mm512_add_epi32(sum, s11);
  *sink += static_cast<float>(_mm_cvtsi128_si32(_mm512_castsi512_si128(sum)));
  return rounds * 12 * 64 * 2;
}

int64_t FloatPeak(int64_t rounds, float* sink) {
  __m512 s0 = _mm512_setzero_ps(), s1 = _mm512_setzero_ps(), s2 = _mm512_setzero_ps(), s3 = _mm512_setzero_ps(),
         s4 = _mm512_setzero_ps(), s5 = _mm512_setzero_ps(), s6 = _mm512_setzero_ps(), s7 = _mm512_setzero_ps(),
         s8 = _mm512_setzero_ps(), s9 = _mm512_setzero_ps(), s10 = _mm512_setzero_ps(), s11 = _mm512_setzero_ps();
  const __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = _mm512_fmadd_ps(s0, a, b);
    s1 = _mm512_fmadd_ps(s1, a, b);
    s2 = _mm512_fmadd_ps(s2, a, b);
    s3 = _mm512_fmadd_ps(s3, a, b);
    s4 = _mm512_fmadd_ps(s4, a, b);
    s5 = _mm512_fmadd_ps(s5, a, b);
    s6 = _mm512_fmadd_ps(s6, a, b);
    s7 = _mm512_fmadd_ps(s7, a, b);
    s8 = _mm512_fmadd_ps(s8, a, b);
    s9 = _mm512_fmadd_ps(s9, a, b);
    s10 = _mm512_fmadd_ps(s10, a, b);
    s11 = _mm512_fmadd_ps(s11, a, b);
    asm volatile(""
                 : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6), "+v"(s7), "+v"(s8), "+v"(s9),
                   "+v"(s10), "+v"(s11));  // keeps every product
  }
  __m512 sum = s0;
  sum = _mm512_add_ps(sum, s1);
  sum = _mm512_add_ps(sum, s2);
  sum = _mm512_add_ps(sum, s3);
  sum = _mm512_add_ps(sum, s4);
  sum = _mm512_add_ps(sum, s5);
  sum = _mm512_add_ps(sum, s6);
  sum = _mm512_add_ps(sum, s7);
  sum = _mm512_add_ps(sum, s8);
  sum = _mm512_add_ps(sum, s9);
  sum = _mm512_add_ps(sum, s10);
  sum = _mm512_add_ps(sum, s11);
  *sink += _mm_cvtss_f32(_mm512_castps512_ps128(sum));
  return rounds * 12 * 16 * 2;
}

}  // namespace inferd::kernels::avx512
