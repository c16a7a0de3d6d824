// The integer products of the avx2 variant, of one register of values with four activations.
#pragma once

#include "kernels/activations.h"
#include "kernels/x86_avx2/formats.h"
#include "kernels/x86_avx2/tile_parts.h"

namespace inferd::kernels::avx2 {

// Where the dots of a block of 32 begin; values of eight bits have no bias.
template <int kBits, Extra32 kExtra>
static INFERD_INLINE __m256i FirstDots(const ActivationBlock32& y) {
  return kExtra == Extra32::kBias ? BiasedFirst<kBits>(y) : _mm256_set1_epi32(kShiftedZeroBits);
}

// How many sums of two products fit in 16 bits.
template <int kBits>
constexpr int kSumsIn16Bits = kBits == 4   ? 8
                              : kBits == 5 ? 4
                              : kBits == 6 ? 2
                                           : 1;

// Sums of two products; `quants`: four activations, in each lane.
template <int kBits>
static INFERD_INLINE __m256i Pairs(__m256i values, __m256i quants) {
  if constexpr (kBits < 8) return _mm256_maddubs_epi16(values, quants);
  return _mm256_maddubs_epi16(_mm256_abs_epi8(values), _mm256_sign_epi8(quants, values));
}

// Sum of the block's minimums times the activations' sums of each group.
template <int kGroup>
static INFERD_INLINE __m256i LowSum(const panels::PanelBlock256& weights, const ActivationBlock256& y, int half) {
  return LowSumBy<kGroup>(
      weights, y, half, [](__m256i low, __m256i a, __m256i b) __attribute__((always_inline)) {
        return _mm256_add_epi32(low, _mm256_madd_epi16(a, b));
      });
}

}  // namespace inferd::kernels::avx2
