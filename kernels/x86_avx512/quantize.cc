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

  static int32_t Round16(const float* x, float factor, int8_t* out) {
    const __m512i rounded = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), _mm512_set1_ps(factor)));
    _mm_storeu_si128((__m128i*)out, _mm512_cvtepi32_epi8(rounded));
    return _mm512_reduce_add_epi32(rounded);
  }
};

}  // namespace

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  panels::QuantizeRows<Isa>(format, x, rows, k, out);
}

}  // namespace inferd::kernels::avx512
