// One token's products of the avxvnni variant.
#include "kernels/x86_avx2/direct.h"

#include "kernels/x86_avxvnni/dots.h"

namespace inferd::kernels::avxvnni {
namespace {

struct Products {
  template <int kBits, Extra32 kExtra>
  static INFERD_INLINE __m256i First(const ActivationBlock32& y) {
    return FirstDots<kBits, kExtra>(y);
  }

  template <int kBits>
  static INFERD_INLINE __m256i Add(__m256i dots, const __m256i (&values)[4], const int8_t* quants) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      dots = _mm256_dpbusd_avx_epi32(dots, Unsigned<kBits>(values[c]), avx2::BroadcastDword(quants + 4 * c));
    }
    return dots;
  }

  // Of values below 16, the dot fits in int16.
  template <int kBits>
  static INFERD_INLINE __m256i AddScaled(__m256i total, const __m256i (&values)[4], const int8_t* quants,
                                         __m256i scale) {
    return AddProduct<kBits == 4>(total, Add<kBits>(_mm256_setzero_si256(), values, quants), scale);
  }

  template <int kGroup>
  static INFERD_INLINE __m256i Low(const panels::PanelBlock256& weights, const ActivationBlock256& y) {
    return LowSum<kGroup>(weights, y, 0);
  }
};

}  // namespace

DirectFunction DirectOf(TensorType type) { return avx2::FindDirect<Products>(type); }

}  // namespace inferd::kernels::avxvnni
