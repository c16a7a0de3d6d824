// Rows of activations in the formats of kernels/activations.h, as reference/quantize.cc defines them.
#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/reference/products.h"
#include "kernels/x86_avx2/products.h"

namespace inferd::kernels::avx2 {
namespace {

uint32_t Largest(__m256i v) {
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xB1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(four));
}

struct Scales {
  float scale, inverse;
};

// By the largest bit pattern without sign: infinities and NaN come through.
Scales ScalesOf(const float* x, int n) {
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i magnitudes = _mm256_setzero_si256();
  for (int i = 0; i < n; i += 8) {
    const __m256i bits = _mm256_loadu_si256((const __m256i*)(x + i));
    magnitudes = _mm256_max_epu32(magnitudes, _mm256_and_si256(bits, magnitude));
  }
  const uint32_t bits = Largest(magnitudes);
  float largest;
  __builtin_memcpy(&largest, &bits, 4);
  if (largest < kSmallestMagnitude) return {0.0f, 0.0f};
  return {largest / 127.0f, 127.0f / largest};
}

// Sixteen integers of x * inverse to out; returns their sum.
int32_t Round16(const float* x, __m256 inverse, int8_t* out) {
  const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
  const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), inverse));
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
  _mm_storeu_si128((__m128i*)out, _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  const __m256i sums = _mm256_add_epi32(low, high);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
}

void QuantizeBlock32(const float* x, ActivationBlock32& block) {
  const Scales scales = ScalesOf(x, 32);
  const __m256 inverse = _mm256_set1_ps(scales.inverse);
  const int32_t sum = Round16(x, inverse, block.quants) + Round16(x + 16, inverse, block.quants + 16);
  block.scale = scales.scale;
  block.offset = -128 * sum;
  block.scaled_sum = scales.scale * static_cast<float>(sum);
}

void QuantizeBlock256(const float* x, ActivationBlock256& block) {
  const Scales scales = ScalesOf(x, 256);
  const __m256 inverse = _mm256_set1_ps(scales.inverse);
  block.scale = scales.scale;
  for (int i = 0; i < 16; ++i) {
    const int32_t sum = Round16(x + 16 * i, inverse, block.quants + 16 * i);
    block.sums16[i] = static_cast<int16_t>(sum);
    block.offsets[i] = -128 * sum;
  }
  for (int i = 0; i < 8; ++i) block.sums32[i] = static_cast<int16_t>(block.sums16[2 * i] + block.sums16[2 * i + 1]);
}

}  // namespace

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  if (format == ActivationFormat::kFloat) return reference::QuantizeRows(format, x, rows, k, out);
  const size_t row_bytes = reference::ActivationRowBytes(format, k);
  auto* row = static_cast<uint8_t*>(out);
  for (int64_t r = 0; r < rows; ++r, x += k, row += row_bytes) {
    if (format == ActivationFormat::kBlock32) {
      for (int64_t b = 0; b < k / 32; ++b) QuantizeBlock32(x + 32 * b, reinterpret_cast<ActivationBlock32*>(row)[b]);
    } else {
      for (int64_t b = 0; b < k / 256; ++b)
        QuantizeBlock256(x + 256 * b, reinterpret_cast<ActivationBlock256*>(row)[b]);
    }
  }
}

}  // namespace inferd::kernels::avx2
