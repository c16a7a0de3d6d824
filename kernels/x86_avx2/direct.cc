// One token's products of the avx2 variant.
#include "kernels/x86_avx2/direct.h"

#include "kernels/x86_avx2/dots.h"

namespace inferd::kernels::avx2 {
namespace {

struct Products {
  template <int kBits, Extra32 kExtra>
  static INFERD_INLINE __m256i First(const ActivationBlock32& y) {
    return FirstDots<kBits, kExtra>(y);
  }

  template <int kBits>
  static INFERD_INLINE __m256i Add(__m256i dots, const __m256i (&values)[4], const int8_t* quants) {
    return AddScaled<kBits>(dots, values, quants, _mm256_set1_epi16(1));
  }

  template <int kBits>
  static INFERD_INLINE __m256i AddScaled(__m256i total, const __m256i (&values)[4], const int8_t* quants,
                                         __m256i scale) {
    constexpr int kStep = kSumsIn16Bits<kBits> < 4 ? kSumsIn16Bits<kBits> : 4;
#pragma GCC unroll 4
    for (int begin = 0; begin < 4; begin += kStep) {
      __m256i pairs = Pairs<kBits>(values[begin], BroadcastDword(quants + 4 * begin));
#pragma GCC unroll 4
      for (int c = begin + 1; c < begin + kStep; ++c) {
        pairs = _mm256_add_epi16(pairs, Pairs<kBits>(values[c], BroadcastDword(quants + 4 * c)));
      }
      total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, scale));
    }
    return total;
  }

  template <int kGroup>
  static INFERD_INLINE __m256i Low(const PanelBlock256& weights, const ActivationBlock256& y) {
    return LowSum<kGroup>(weights, y, 0);
  }
};

}  // namespace

DirectFunction DirectOf(TensorType type) { return FindDirect<Products>(type); }

}  // namespace inferd::kernels::avx2
