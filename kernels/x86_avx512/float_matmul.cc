// The product with float weights: four rows times a few tokens, each output a register of 16 lanes along the row.
#include <immintrin.h>

#include "kernels/reference/products.h"
#include "kernels/x86_avx512/products.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::avx512 {
namespace {

constexpr int kRows = 4;
constexpr int kTokens = 6;

// The first `count` (up to 16) floats of the lane mask, widened; the others are 0.
template <TensorType kType>
INFERD_INLINE __m512 LoadWeights(const uint8_t* p, __mmask16 mask) {
  if constexpr (kType == TensorType::kF32) return _mm512_maskz_loadu_ps(mask, p);
  const __m256i halves = _mm256_maskz_loadu_epi16(mask, p);
  if constexpr (kType == TensorType::kF16) return _mm512_cvtph_ps(halves);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// Lanes i and i+8, i+4, i+2, i+1; and +0, so that no sum is -0.
INFERD_INLINE float SumLanes(__m512 x) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
}

struct FloatTile {
  const uint8_t* rows[kRows];  // the last existing one again where there are fewer
  const float* x[kTokens];
  float* out[kTokens];
  int64_t k;
  int row_count;
};

template <TensorType kType, int kTileTokens>
void MultiplyTile(const FloatTile& a) {
  constexpr size_t kBytes = kType == TensorType::kF32 ? 4 : 2;
  __m512 sums[kRows][kTileTokens];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int t = 0; t < kTileTokens; ++t) sums[r][t] = _mm512_setzero_ps();
  }
  for (int64_t i = 0; i < a.k; i += 16) {
    const __mmask16 mask = static_cast<__mmask16>(a.k - i >= 16 ? 0xFFFF : (1u << (a.k - i)) - 1);
    __m512 w[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) w[r] = LoadWeights<kType>(a.rows[r] + static_cast<size_t>(i) * kBytes, mask);
#pragma GCC unroll 8
    for (int t = 0; t < kTileTokens; ++t) {
      const __m512 x = _mm512_maskz_loadu_ps(mask, a.x[t] + i);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r][t] = _mm512_fmadd_ps(w[r], x, sums[r][t]);
    }
  }
  float totals[kRows][kTileTokens];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int t = 0; t < kTileTokens; ++t) totals[r][t] = SumLanes(sums[r][t]);
  }
  for (int t = 0; t < kTileTokens; ++t) {
    for (int r = 0; r < a.row_count; ++r) a.out[t][r] = totals[r][t];
  }
}

template <TensorType kType>
void MultiplyTokens(const FloatTile& a, int tokens) {
  switch (tokens) {
    case 1:
      return MultiplyTile<kType, 1>(a);
    case 2:
      return MultiplyTile<kType, 2>(a);
    case 3:
      return MultiplyTile<kType, 3>(a);
    case 4:
      return MultiplyTile<kType, 4>(a);
    case 5:
      return MultiplyTile<kType, 5>(a);
    default:
      return MultiplyTile<kType, kTokens>(a);
  }
}

template <TensorType kType>
void MultiplyRows(const MatmulArguments& a) {
  const size_t activation_row_bytes = reference::ActivationRowBytes(ActivationFormat::kFloat, a.weights.k);
  for (int64_t row = a.row_begin; row < a.row_end; row += kRows) {
    FloatTile tile{.k = a.weights.k, .row_count = static_cast<int>(a.row_end - row < kRows ? a.row_end - row : kRows)};
    for (int r = 0; r < kRows; ++r) {
      const int64_t source = row + (r < tile.row_count ? r : tile.row_count - 1);
      tile.rows[r] = static_cast<const uint8_t*>(a.weights.data) + static_cast<size_t>(source) * a.weights.row_bytes;
    }
    for (int64_t token = 0; token < a.tokens; token += kTokens) {
      const int tokens = static_cast<int>(a.tokens - token < kTokens ? a.tokens - token : kTokens);
      for (int t = 0; t < tokens; ++t) {
        const int64_t source = a.activation_rows == nullptr ? token + t : a.activation_rows[token + t];
        tile.x[t] = (const float*)((const uint8_t*)a.activations + static_cast<size_t>(source) * activation_row_bytes);
        tile.out[t] = a.out + (token + t) * a.out_stride + row;
      }
      MultiplyTokens<kType>(tile, tokens);
    }
  }
}

}  // namespace

void FloatMatmul(const MatmulArguments& arguments) {
  switch (arguments.weights.type) {
    case TensorType::kF16:
      return MultiplyRows<TensorType::kF16>(arguments);
    case TensorType::kBF16:
      return MultiplyRows<TensorType::kBF16>(arguments);
    default:
      return MultiplyRows<TensorType::kF32>(arguments);
  }
}

}  // namespace inferd::kernels::avx512
