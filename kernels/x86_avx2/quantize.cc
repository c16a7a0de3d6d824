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
    const __m256i first = Round16(x, factor, out), last = Round16(x + 16, factor, out + 16);
    const __m256i pairs = _mm256_hadd_epi32(first, last);
    // Sums of the first and of the last, of the values and then of the magnitudes.
    const __m256i both = _mm256_hadd_epi32(pairs, pairs);
    const int64_t sums = _mm256_extract_epi64(both, 0), magnitudes = _mm256_extract_epi64(both, 2);
    return {static_cast<int32_t>(sums), static_cast<int32_t>(sums >> 32), static_cast<int32_t>(magnitudes),
            static_cast<int32_t>(magnitudes >> 32)};
  }

 private:
  // Four lanes with parts of the sum, and four with parts of the magnitudes' sum.
  static __m256i Round16(const float* x, float factor, int8_t* out) {
    const __m256 factors = _mm256_set1_ps(factor);
    const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), factors));
    const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), factors));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i*)out, bytes);
    const __m128i ones = _mm_set1_epi8(1), magnitudes = _mm_abs_epi8(bytes);
    const __m256i pairs = _mm256_set_m128i(_mm_maddubs_epi16(magnitudes, ones), _mm_maddubs_epi16(ones, bytes));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
};

}  // namespace

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  panels::QuantizeRows<Isa>(format, x, rows, k, out);
}

}  // namespace inferd::kernels::avx2
