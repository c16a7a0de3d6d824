// Rows of activations in the formats of kernels/activations.h, as reference/quantize.cc defines them.
#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/reference/products.h"
#include "kernels/x86_avx512/products.h"

namespace inferd::kernels::avx512 {
namespace {

// The largest bit pattern without sign: infinities and NaN come through.
__m512i LargestMagnitudes(const float* x, int n) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i largest = _mm512_setzero_si512();
  for (int i = 0; i < n; i += 16) {
    largest = _mm512_max_epu32(largest, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
  }
  return largest;
}

struct Scales {
  float scale, inverse;
};

Scales ScalesOf(__m512i magnitudes) {
  const uint32_t bits = _mm512_reduce_max_epu32(magnitudes);
  float largest;
  __builtin_memcpy(&largest, &bits, 4);
  if (largest < kSmallestMagnitude) return {0.0f, 0.0f};
  return {largest / 127.0f, 127.0f / largest};
}

// Sixteen integers of x * inverse to out; returns their sum.
int32_t Round16(const float* x, __m512 inverse, int8_t* out) {
  const __m512i rounded = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), inverse));
  _mm_storeu_si128((__m128i*)out, _mm512_cvtepi32_epi8(rounded));
  return _mm512_reduce_add_epi32(rounded);
}

void QuantizeBlock32(const float* x, ActivationBlock32& block) {
  const Scales scales = ScalesOf(LargestMagnitudes(x, 32));
  const __m512 inverse = _mm512_set1_ps(scales.inverse);
  const int32_t sum = Round16(x, inverse, block.quants) + Round16(x + 16, inverse, block.quants + 16);
  block.scale = scales.scale;
  block.offset = -128 * sum;
  block.scaled_sum = scales.scale * static_cast<float>(sum);
}

void QuantizeBlock256(const float* x, ActivationBlock256& block) {
  const Scales scales = ScalesOf(LargestMagnitudes(x, 256));
  const __m512 inverse = _mm512_set1_ps(scales.inverse);
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

}  // namespace inferd::kernels::avx512
