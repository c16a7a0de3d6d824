// What the micro-kernels over these panels are made of, whatever their products: a panel's 16 rows are two registers,
// its halves.
#pragma once

#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/panels/panel.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::avx2 {

static INFERD_INLINE __m256i BroadcastDword(const void* p) {
  int32_t dword;
  __builtin_memcpy(&dword, p, 4);
  return _mm256_set1_epi32(dword);
}

static INFERD_INLINE __m256i LoadHalf(const void* p, int half) { return _mm256_load_si256((const __m256i*)p + half); }

// Calls f(half, token), unrolled.
template <int kTokens, typename F>
static INFERD_INLINE void ForEach(const F& f) {
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) f(h, t);
  }
}

// Sum of the block's minimums times the activations' sums of each group.
template <int kGroup>
static INFERD_INLINE __m256i LowSum(const panels::PanelBlock256& weights, const ActivationBlock256& y, int half) {
  const int16_t* activation_sums = kGroup == 16 ? y.sums16 : y.sums32;
  __m256i low = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int pair = 0; pair < 128 / kGroup; ++pair) {
    const __m256i sums = BroadcastDword(activation_sums + 2 * pair);
    low = _mm256_add_epi32(low, _mm256_madd_epi16(LoadHalf(weights.minimums[pair], half), sums));
  }
  return low;
}

// A panel, the activations of some tokens, and their float sums.
template <typename PanelBlock, typename ActivationBlock, int kTokens>
struct TileParts {
  const PanelBlock* weights;
  const ActivationBlock* y[kTokens];
  __m256 sums[2][kTokens];
  const uint8_t* next;
  int lines;

  INFERD_INLINE explicit TileParts(const panels::TileArguments& a)
      : weights(static_cast<const PanelBlock*>(a.panels[0])), next(a.next), lines(a.lines) {
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) y[t] = static_cast<const ActivationBlock*>(a.activations[t]);
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
      sums[h][t] = a.first ? _mm256_setzero_ps() : _mm256_loadu_ps(a.out[t] + 8 * h);
    });
  }

  INFERD_INLINE void Next() {
    ++weights;
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) ++y[t];
  }

  // Once for every 32 elements.
  INFERD_INLINE void PrefetchLines() {
    for (int i = 0; i < lines; ++i, next += 64) _mm_prefetch(next, _MM_HINT_T1);
  }

  INFERD_INLINE void Finish(const panels::TileArguments& a) const {
    ForEach<kTokens>([&](int h, int t)
                         __attribute__((always_inline)) { _mm256_storeu_ps(a.out[t] + 8 * h, sums[h][t]); });
  }

  INFERD_INLINE void AddScaled(int h, int t, const float* weight_scale, __m256i dot) {
    const __m256 scale = _mm256_mul_ps(_mm256_load_ps(weight_scale + 8 * h), _mm256_set1_ps(y[t]->scale));
    sums[h][t] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(dot), sums[h][t]);
  }

  // Of 32-element blocks with an added value: that times the activations' sum.
  INFERD_INLINE void AddAdded(int h, int t) {
    const __m256 added = _mm256_load_ps(weights->second + 8 * h);
    sums[h][t] = _mm256_fmadd_ps(added, _mm256_set1_ps(y[t]->scaled_sum), sums[h][t]);
  }

  // Of 256-element blocks with minimums: takes away `low`, the sum of minimums times the activations' sums.
  INFERD_INLINE void AddMinimum(int h, int t, __m256i low) {
    const __m256 minimum = _mm256_load_ps(weights->minimum + 8 * h);
    const __m256 scaled = _mm256_mul_ps(minimum, _mm256_set1_ps(y[t]->scale));
    sums[h][t] = _mm256_fnmadd_ps(scaled, _mm256_cvtepi32_ps(low), sums[h][t]);
  }
};

}  // namespace inferd::kernels::avx2
