// The product of 16 rows with one token, without a panel: a type's values stay in registers. Variants that share the
// avx2 panels' arithmetic share it, too, and bring their instructions:
//
//   struct Products {
//     // The dots' first value, for blocks of 32: kShiftedZeroBits, and what takes away a bias.
//     template <int kBits, Extra32 kExtra> static __m256i First(const ActivationBlock32& y);
//     // + products of 16 values with 16 activations
//     template <int kBits> static __m256i Add(__m256i dots, const __m256i (&values)[4], const int8_t* quants);
//     // + those times a scale (pairs of int16)
//     template <int kBits>
//     static __m256i AddScaled(__m256i total, const __m256i (&values)[4], const int8_t* quants, __m256i scale);
//     // sum of a block's minimums, of its first half of the rows, times the activations' sums of each group
//     template <int kGroup> static __m256i Low(const PanelBlock256& weights, const ActivationBlock256& y);
//   };
#pragma once

#include "kernels/activations.h"
#include "kernels/x86_avx2/blocks_k.h"
#include "kernels/x86_avx2/blocks_legacy.h"

namespace inferd::kernels::avx2 {

// One half of the rows after the other.
template <typename Type, typename Products>
void Direct256(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  const auto* y = static_cast<const ActivationBlock256*>(a.activations[0]);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* half_rows = rows + static_cast<size_t>(half) * kHalfRows * stride;
    PanelBlock256 block;               // the first half, but for its values
    __m256 sum = _mm256_setzero_ps();  // of the whole row
    for (int64_t b = 0; b < a.blocks; ++b, half_rows += Type::kBytes) {
      Type::LoadScales(half_rows, stride, 0, block);
      __m256i total = _mm256_setzero_si256();
      next = Type::ForEach16(
          half_rows, stride, next, [&](int first, const __m256i(&values)[4]) __attribute__((always_inline)) {
            total = Products::template AddScaled<Type::kBits>(total, values, y[b].quants + 4 * first,
                                                              Load(block.scales[4 * first / Type::kGroup], 0));
          });
      const __m256i low = Products::template Low<Type::kGroup>(block, y[b]);
      if constexpr (Type::kExtra == Extra256::kBias) total = _mm256_sub_epi32(total, low);
      const __m256 value = ScaledValue<Type::kExtra>(block.scale, block.minimum, total, low);
      sum = _mm256_fmadd_ps(value, _mm256_set1_ps(y[b].scale), sum);
    }
    _mm256_storeu_ps(a.out[0] + 8 * half, sum);
  }
}

// Headers are copied for so many blocks at a time.
constexpr int64_t kHeaders = 8;
struct alignas(32) Header {
  uint32_t words[kHalfRows], fifth_bits[kHalfRows];
};

template <Layout kLayout, typename Products>
void Direct32(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  const auto* y = static_cast<const ActivationBlock32*>(a.activations[0]);
  const __m256i table = Iq4Table();
  for (int half = 0; half < 2; ++half) {
    const uint8_t* half_rows = rows + static_cast<size_t>(half) * kHalfRows * stride;
    Header headers[kHeaders];
    __m256 sum = _mm256_setzero_ps();  // of the whole row
    for (int64_t b = 0; b < a.blocks; ++b, half_rows += kLayout.bytes) {
      if (b % kHeaders == 0) {
        for (int64_t i = 0; i < kHeaders && b + i < a.blocks; ++i) {
          CopyHeader<kLayout>(half_rows + static_cast<size_t>(i) * kLayout.bytes, stride, headers[i].words,
                              headers[i].fifth_bits);
        }
      }
      next = Prefetch<kHalfRows * kLayout.bytes>(next);
      const Header& header = headers[b % kHeaders];
      __m256i dots = Products::template First<kLayout.bits, kLayout.extra>(y[b]);
      ForEach16<kLayout>(
          half_rows, stride, Load(header.fifth_bits, 0),
          table, [&](int first, const __m256i(&values)[4]) __attribute__((always_inline)) {
            dots = Products::template Add<kLayout.bits>(dots, values, y[b].quants + 4 * first);
          });
      const __m256i words = Load(header.words, 0);
      sum = _mm256_fmadd_ps(LowHalves(words), ScaledDot(dots, y[b]), sum);
      if constexpr (kLayout.extra == Extra32::kAdded) {
        sum = _mm256_fmadd_ps(HighHalves(words), _mm256_set1_ps(y[b].scaled_sum), sum);
      }
    }
    _mm256_storeu_ps(a.out[0] + 8 * half, sum);
  }
}

// nullptr: the type has none.
template <typename Products>
DirectFunction FindDirect(TensorType type) {
  using enum TensorType;
  switch (type) {
    case kQ4_0:
      return Direct32<kLayoutQ4_0, Products>;
    case kQ4_1:
      return Direct32<kLayoutQ4_1, Products>;
    case kQ5_0:
      return Direct32<kLayoutQ5_0, Products>;
    case kQ5_1:
      return Direct32<kLayoutQ5_1, Products>;
    case kQ8_0:
      return Direct32<kLayoutQ8_0, Products>;
    case kIQ4_NL:
      return Direct32<kLayoutIQ4_NL, Products>;
    case kQ4_K:
      return Direct256<Q4_K, Products>;
    case kQ5_K:
      return Direct256<Q5_K, Products>;
    case kQ6_K:
      return Direct256<Q6_K, Products>;
    default:
      return nullptr;
  }
}

}  // namespace inferd::kernels::avx2
