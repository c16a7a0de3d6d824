// Quantized activations of the avx512 variant; see panels/quantize.h.
#include "kernels/panels/quantize.h"

#include <immintrin.h>

#include "kernels/x86_avx512/products.h"

namespace inferd::kernels::avx512 {
namespace {

struct Isa {
  static uint32_t LargestMagnitude(const float* x, int n) {
    const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
    __m512i largest = _mm512_setzero_si512();
    for (int i = 0; i < n; i += 16) {
      largest = _mm512_max_epu32(largest, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
    }
    return _mm512_reduce_max_epu32(largest);
  }

  // The sums of the bytes are their products with ones, four a lane, then of the lanes of each half.
  static panels::HalfSums Round32(const float* x, float factor, int8_t* out) {
    const __m256i bytes = _mm256_set_m128i(Round16(x + 16, factor), Round16(x, factor));
    _mm256_storeu_si256((__m256i*)out, bytes);
    __m256i sums = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), bytes);
    sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0x4E));
    sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0xB1));
    return {_mm256_cvtsi256_si32(sums), _mm_cvtsi128_si32(_mm256_extracti128_si256(sums, 1))};
  }

 private:
  static __m128i Round16(const float* x, float factor) {
    return _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), _mm512_set1_ps(factor))));
  }
};

}  // namespace

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  panels::QuantizeRows<Isa>(format, x, rows, k, out);
}

}  // namespace inferd::kernels::avx512
