// The integer products of the avxvnni variant. Not for files that are compiled without it.
#pragma once

#include "kernels/activations.h"
#include "kernels/x86_avx2/tile_parts.h"
#include "kernels/x86_avxvnni/formats.h"

namespace inferd::kernels::avxvnni {

// Where the dots of a block of 32 begin.
template <int kBits, Extra32 kExtra>
static INFERD_INLINE __m256i FirstDots(const ActivationBlock32& y) {
  return kExtra == Extra32::kAdded ? _mm256_set1_epi32(kShiftedZeroBits) : avx2::BiasedFirst<kBits>(y);
}

// As the unsigned operand of vpdpbusd: signed values get a bias of 128.
template <int kBits>
static INFERD_INLINE __m256i Unsigned(__m256i values) {
  return kBits == 8 ? _mm256_xor_si256(values, _mm256_set1_epi8(static_cast<char>(128))) : values;
}

// Sum of the block's minimums times the activations' sums of each group.
template <int kGroup>
static INFERD_INLINE __m256i LowSum(const panels::PanelBlock256& weights, const ActivationBlock256& y, int half) {
  return avx2::LowSumBy<kGroup>(
      weights, y, half, [](__m256i low, __m256i a, __m256i b) __attribute__((always_inline)) {
        return _mm256_dpwssd_avx_epi32(low, a, b);
      });
}

// total + dot * scale, of which `scale` has two in each lane. A dot that fits in int16 is multiplied and added at once.
template <bool kNarrow>
static INFERD_INLINE __m256i AddProduct(__m256i total, __m256i dot, __m256i scale) {
  if constexpr (kNarrow) return _mm256_dpwssd_avx_epi32(total, dot, _mm256_srli_epi32(scale, 16));
  return _mm256_add_epi32(total, _mm256_mullo_epi32(dot, _mm256_srai_epi32(scale, 16)));
}

}  // namespace inferd::kernels::avxvnni
