// What micro-kernels are made of: the sums of some panels and tokens in registers, and the steps that add to them. The
// arithmetic is that of reference/matmul.cc.
#pragma once

#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/x86_avx512/formats.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::avx512 {

static INFERD_INLINE __m512i BroadcastDword(const void* p) {
  int32_t dword;
  __builtin_memcpy(&dword, p, 4);
  return _mm512_set1_epi32(dword);
}

// How large a sum of products can be before it is multiplied by its integer scale. Narrow ones fit in int16, so that
// vpdpwssd multiplies them and adds to the total at once: what stands in the high half of their lanes meets a zero.
enum class Sums : uint8_t { kWide, kNarrow };

template <Sums kSums, bool kSigned>
static INFERD_INLINE __m512i LoadScale(const int32_t* scale) {
  constexpr __mmask32 kLowHalves = 0x55555555u;
  const bool masked = kSums == Sums::kNarrow && kSigned;  // the high halves of others are zero already
  return masked ? _mm512_maskz_loadu_epi16(kLowHalves, scale) : _mm512_load_si512(scale);
}

// total + sum * scale
template <Sums kSums>
static INFERD_INLINE __m512i AddProduct(__m512i total, __m512i sum, __m512i scale) {
  if constexpr (kSums == Sums::kNarrow) return _mm512_dpwssd_epi32(total, sum, scale);
  return _mm512_add_epi32(total, _mm512_mullo_epi32(sum, scale));
}

// Calls f(p, t) for each panel and token of a tile, unrolled.
template <int kPanels, int kTokens, typename F>
static INFERD_INLINE void ForEach(const F& f) {
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) f(p, t);
  }
}

// The panels, activations and float sums of a tile.
template <typename PanelBlock, typename ActivationBlock, int kPanels, int kTokens>
struct Tile {
  const PanelBlock* weights[kPanels];
  const ActivationBlock* y[kTokens];
  __m512 sums[kPanels][kTokens];
  const uint8_t* next;
  int lines;
  int64_t ahead;

  INFERD_INLINE explicit Tile(const TileArguments& a) : next(a.next), lines(a.lines), ahead(a.ahead) {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) weights[p] = static_cast<const PanelBlock*>(a.panels[p]);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) y[t] = static_cast<const ActivationBlock*>(a.activations[t]);
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      sums[p][t] = a.first ? _mm512_setzero_ps() : _mm512_loadu_ps(a.out[t] + p * kPanelRows);
    });
  }

  INFERD_INLINE void Next() {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) ++weights[p];
    NextActivations();
  }

  // Once for every 32 elements.
  INFERD_INLINE void PrefetchLines() {
    for (int i = 0; i < lines; ++i, next += 64) _mm_prefetch(next, _MM_HINT_T1);
  }

  // The next tile's activations: a line of this block, once for every 32 elements.
  INFERD_INLINE void PrefetchActivations(int line) const {
    static_assert(sizeof(ActivationBlock256) <= 8 * 64);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      _mm_prefetch(reinterpret_cast<const char*>(y[t]) + ahead + 64 * line, _MM_HINT_T0);
    }
  }

  INFERD_INLINE void NextActivations() {
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) ++y[t];
  }

  INFERD_INLINE void Finish(const TileArguments& a) const {
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      _mm512_storeu_ps(a.out[t] + p * kPanelRows, sums[p][t]);
    });
  }

  // dots += products of elements 4 * first .. 4 * (first + kCount) - 1 of the block
  template <int kCount>
  INFERD_INLINE void AddDots(int first, __m512i (&dots)[kPanels][kTokens]) const {
#pragma GCC unroll 8
    for (int c = first; c < first + kCount; ++c) {
      __m512i w[kPanels];
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) w[p] = _mm512_load_si512(weights[p]->values[c]);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        const __m512i quants = BroadcastDword(y[t]->quants + 4 * c);
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) dots[p][t] = _mm512_dpbusd_epi32(dots[p][t], w[p], quants);
      }
    }
  }

  // Of a block of 32, whose dot began at kShiftedZeroBits.
  INFERD_INLINE void AddScaled32(int p, int t, __m512 weight_scale, __m512i dot) {
    const __m512 shifted = _mm512_castsi512_ps(dot);
    const __m512 scaled = _mm512_fmadd_ps(shifted, _mm512_set1_ps(y[t]->scale), _mm512_set1_ps(y[t]->scaled_zero));
    sums[p][t] = _mm512_fmadd_ps(weight_scale, scaled, sums[p][t]);
  }

  // Of a block of 256.
  INFERD_INLINE void AddScaled256(int p, int t, __m512i dot) {
    const __m512 value = _mm512_mul_ps(_mm512_load_ps(weights[p]->scale), _mm512_cvtepi32_ps(dot));
    sums[p][t] = _mm512_fmadd_ps(value, _mm512_set1_ps(y[t]->scale), sums[p][t]);
  }

  // Of a block of 256 with minimums of groups of kGroup elements, which the activations' sums multiply.
  template <int kGroup>
  INFERD_INLINE void AddScaledAndMinimum(int p, int t, __m512i dot) {
    const int16_t* activation_sums = kGroup == 16 ? y[t]->sums16 : y[t]->sums32;
    __m512i low = _mm512_set1_epi32(kShiftedZeroBits);
#pragma GCC unroll 8
    for (int pair = 0; pair < 128 / kGroup; ++pair) {
      low = _mm512_dpwssd_epi32(low, _mm512_load_si512(weights[p]->minimums[pair]),
                                BroadcastDword(activation_sums + 2 * pair));
    }
    const __m512 weight_minimum = _mm512_load_ps(weights[p]->minimum);  // has few bits, as float16
    const __m512 scaled_zero = _mm512_mul_ps(weight_minimum, _mm512_set1_ps(kShiftedZero));
    const __m512 less = _mm512_fmsub_ps(weight_minimum, _mm512_castsi512_ps(low), scaled_zero);
    const __m512 value = _mm512_fmsub_ps(_mm512_load_ps(weights[p]->scale), _mm512_cvtepi32_ps(dot), less);
    sums[p][t] = _mm512_fmadd_ps(value, _mm512_set1_ps(y[t]->scale), sums[p][t]);
  }
};

}  // namespace inferd::kernels::avx512
