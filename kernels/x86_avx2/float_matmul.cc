// The product with float weights: two rows times a few tokens, each output two registers, 16 lanes, along the row.
#include "kernels/panels/float_matmul.h"

#include <immintrin.h>

#include "kernels/x86_avx2/products.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::avx2 {
namespace {

constexpr int kRows = 2;
constexpr int kTokens = 3;

template <TensorType kType>
constexpr size_t kBytes = kType == TensorType::kF32 ? 4 : 2;

// Eight weights, widened.
template <TensorType kType>
INFERD_INLINE __m256 LoadWeights(const uint8_t* p) {
  if constexpr (kType == TensorType::kF32) return _mm256_loadu_ps((const float*)p);
  const __m128i halves = _mm_loadu_si128((const __m128i*)p);
  if constexpr (kType == TensorType::kF16) return _mm256_cvtph_ps(halves);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

// Lanes i and i+8, i+4, i+2, i+1; and +0, so that no sum is -0.
INFERD_INLINE float SumLanes(__m256 low, __m256 high) {
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
}

using FloatTile = panels::FloatTile<kRows, kTokens>;

template <TensorType kType, int kTileTokens>
INFERD_INLINE void AddProducts(const uint8_t* const* rows, const float* const* x, int64_t i,
                               __m256 (&sums)[kRows][kTileTokens][2]) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    __m256 w[kRows];
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) w[r] = LoadWeights<kType>(rows[r] + static_cast<size_t>(8 * half) * kBytes<kType>);
#pragma GCC unroll 4
    for (int t = 0; t < kTileTokens; ++t) {
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
        sums[r][t][half] = _mm256_fmadd_ps(w[r], _mm256_loadu_ps(x[t] + i + 8 * half), sums[r][t][half]);
      }
    }
  }
}

template <TensorType kType, int kTileTokens>
void MultiplyTile(const FloatTile& a) {
  __m256 sums[kRows][kTileTokens][2];
  for (auto& row : sums) {
    for (auto& sum : row) sum[0] = sum[1] = _mm256_setzero_ps();
  }
  const uint8_t* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = a.rows[r];
  int64_t i = 0;
  for (; i + 16 <= a.k; i += 16) {
    AddProducts<kType, kTileTokens>(rows, a.x, i, sums);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) rows[r] += 16 * kBytes<kType>;
  }
  if (i < a.k) {
    uint8_t tails[kRows][64] = {};
    for (int r = 0; r < kRows; ++r) {
      __builtin_memcpy(tails[r], rows[r], static_cast<size_t>(a.k - i) * kBytes<kType>);
      rows[r] = tails[r];
    }
    AddProducts<kType, kTileTokens>(rows, a.x, i, sums);
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTileTokens; ++t) {
    const float totals[kRows] = {SumLanes(sums[0][t][0], sums[0][t][1]), SumLanes(sums[1][t][0], sums[1][t][1])};
    for (int r = 0; r < a.row_count; ++r) a.out[t][r] = totals[r];
  }
}

struct Isa {
  static constexpr int kRows = avx2::kRows, kTokens = avx2::kTokens;
  static_assert(kTokens == 3);

  template <TensorType kType>
  static void Multiply(const FloatTile& tile, int tokens) {
    switch (tokens) {
      case 1:
        return MultiplyTile<kType, 1>(tile);
      case 2:
        return MultiplyTile<kType, 2>(tile);
      default:
        return MultiplyTile<kType, kTokens>(tile);
    }
  }
};

}  // namespace

void FloatMatmul(const MatmulArguments& arguments) { panels::FloatMatmul<Isa>(arguments); }

}  // namespace inferd::kernels::avx2
