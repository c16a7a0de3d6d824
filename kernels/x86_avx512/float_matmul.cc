// The product with float weights: four rows times a few tokens, each output a register of 16 lanes along the row.
#include "kernels/panels/float_matmul.h"

#include <immintrin.h>

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

using FloatTile = panels::FloatTile<kRows, kTokens>;

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

struct Isa {
  static constexpr int kRows = avx512::kRows, kTokens = avx512::kTokens;
  static_assert(kTokens == 6);

  template <TensorType kType>
  static void Multiply(const FloatTile& tile, int tokens) {
    switch (tokens) {
      case 1:
        return MultiplyTile<kType, 1>(tile);
      case 2:
        return MultiplyTile<kType, 2>(tile);
      case 3:
        return MultiplyTile<kType, 3>(tile);
      case 4:
        return MultiplyTile<kType, 4>(tile);
      case 5:
        return MultiplyTile<kType, 5>(tile);
      default:
        return MultiplyTile<kType, kTokens>(tile);
    }
  }
};

}  // namespace

void FloatMatmul(const MatmulArguments& arguments) { panels::FloatMatmul<Isa>(arguments); }

}  // namespace inferd::kernels::avx512
