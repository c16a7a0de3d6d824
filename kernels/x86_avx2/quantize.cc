// Quantized activations of the avx2 variant; see panels/quantize.h.
#include "kernels/panels/quantize.h"

#include <immintrin.h>

#include "kernels/x86_avx2/products.h"

namespace inferd::kernels::avx2 {
namespace {

struct Isa {
  static uint32_t LargestMagnitude(const float* x, int n) {
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
    __m256i eight = _mm256_setzero_si256();
    for (int i = 0; i < n; i += 8) {
      const __m256i bits = _mm256_loadu_si256((const __m256i*)(x + i));
      eight = _mm256_max_epu32(eight, _mm256_and_si256(bits, magnitude));
    }
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xB1));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(four));
  }

  static panels::HalfSums Round32(const float* x, float factor, int8_t* out) {
    const int32_t first = Round16(x, factor, out);
    return {first, Round16(x + 16, factor, out + 16)};
  }

 private:
  static int32_t Round16(const float* x, float factor, int8_t* out) {
    const __m256 factors = _mm256_set1_ps(factor);
    const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), factors));
    const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), factors));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
    _mm_storeu_si128((__m128i*)out, _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
    const __m256i sums = _mm256_add_epi32(low, high);
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
  }
};

}  // namespace

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  panels::QuantizeRows<Isa>(format, x, rows, k, out);
}

}  // namespace inferd::kernels::avx2
