// What the micro-kernels over these panels are made of, whatever their products: a panel's 16 rows are two registers,
// its halves.
#pragma once

#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/panels/panel.h"
#include "kernels/x86_avx2/formats.h"

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

// Where the dots of a block of 32 begin: at what takes the values' bias away, and at kShiftedZeroBits. The activations'
// `first_dot` is for a bias of 2^7; the values of a type of kBits have one of 2^(kBits - 1).
template <int kBits>
static INFERD_INLINE __m256i BiasedFirst(const ActivationBlock32& y) {
  constexpr int kShift = 8 - kBits;
  return _mm256_set1_epi32((y.first_dot >> kShift) + (kShiftedZeroBits - (kShiftedZeroBits >> kShift)));
}

// dot * scale
static INFERD_INLINE __m256 ScaledDot(__m256i dot, const ActivationBlock32& y) {
  return _mm256_fmadd_ps(_mm256_castsi256_ps(dot), _mm256_set1_ps(y.scale), _mm256_set1_ps(y.scaled_zero));
}

// The value of eight rows' dots with a block of 256. low, where there are minimums: the sum of these times the
// activations' sums.
template <Extra256 kExtra>
static INFERD_INLINE __m256 ScaledValue(const float* scale, const float* minimum, __m256i dot, __m256i low) {
  const __m256 dots = _mm256_cvtepi32_ps(dot);
  if constexpr (kExtra != Extra256::kMinimum) return _mm256_mul_ps(_mm256_load_ps(scale), dots);
  const __m256 shifted = _mm256_castsi256_ps(_mm256_add_epi32(low, _mm256_set1_epi32(kShiftedZeroBits)));
  const __m256 scaled_zero = _mm256_mul_ps(_mm256_load_ps(minimum), _mm256_set1_ps(kShiftedZero));
  const __m256 less = _mm256_fmsub_ps(_mm256_load_ps(minimum), shifted, scaled_zero);
  return _mm256_fmsub_ps(_mm256_load_ps(scale), dots, less);
}

// Sum of the block's minimums times the activations' sums of each group. add(low, a, b): low + products of int16 pairs
template <int kGroup, typename Add>
static INFERD_INLINE __m256i LowSumBy(const panels::PanelBlock256& weights, const ActivationBlock256& y, int half,
                                      const Add& add) {
  const int16_t* activation_sums = kGroup == 16 ? y.sums16 : y.sums32;
  __m256i low = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int pair = 0; pair < 128 / kGroup; ++pair) {
    low = add(low, LoadHalf(weights.minimums[pair], half), BroadcastDword(activation_sums + 2 * pair));
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

  // Of a block of 32, whose dot began at kShiftedZeroBits.
  INFERD_INLINE void AddScaled32(int h, int t, const float* weight_scale, __m256i dot) {
    sums[h][t] = _mm256_fmadd_ps(_mm256_load_ps(weight_scale + 8 * h), ScaledDot(dot, *y[t]), sums[h][t]);
  }

  // Of those with an added value: that times the activations' sum.
  INFERD_INLINE void AddAdded(int h, int t) {
    const __m256 added = _mm256_load_ps(weights->second + 8 * h);
    sums[h][t] = _mm256_fmadd_ps(added, _mm256_set1_ps(y[t]->scaled_sum), sums[h][t]);
  }

  // Of a block of 256; `low` as for ScaledValue.
  template <Extra256 kExtra>
  INFERD_INLINE void AddScaled256(int h, int t, __m256i dot, __m256i low) {
    const __m256 value = ScaledValue<kExtra>(weights->scale + 8 * h, weights->minimum + 8 * h, dot, low);
    sums[h][t] = _mm256_fmadd_ps(value, _mm256_set1_ps(y[t]->scale), sums[h][t]);
  }
};

}  // namespace inferd::kernels::avx2
