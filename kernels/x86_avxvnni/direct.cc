// One token's products of the avxvnni variant.
#include "kernels/x86_avx2/direct.h"

#include "kernels/x86_avxvnni/formats.h"

namespace inferd::kernels::avxvnni {
namespace {

using avx2::BroadcastDword;

struct Products {
  // The activations' `offset` is for a bias of 2^7.
  template <int kBits, Extra32 kExtra>
  static INFERD_INLINE __m256i First(const ActivationBlock32& y) {
    return kExtra == Extra32::kAdded ? _mm256_setzero_si256() : _mm256_set1_epi32(y.offset >> (8 - kBits));
  }

  template <int kBits>
  static INFERD_INLINE __m256i Add(__m256i dots, const __m256i (&values)[4], const int8_t* quants) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const __m256i biased =
          kBits == 8 ? _mm256_xor_si256(values[c], _mm256_set1_epi8(static_cast<char>(128))) : values[c];
      dots = _mm256_dpbusd_avx_epi32(dots, biased, BroadcastDword(quants + 4 * c));
    }
    return dots;
  }

  // Of values below 16, the dot fits in int16.
  template <int kBits>
  static INFERD_INLINE __m256i AddScaled(__m256i total, const __m256i (&values)[4], const int8_t* quants,
                                         __m256i scale) {
    const __m256i dot = Add<kBits>(_mm256_setzero_si256(), values, quants);
    if constexpr (kBits == 4) return _mm256_dpwssd_avx_epi32(total, dot, _mm256_srli_epi32(scale, 16));
    return _mm256_add_epi32(total, _mm256_mullo_epi32(dot, _mm256_srai_epi32(scale, 16)));
  }
};

}  // namespace

template <TensorType kType>
void Direct(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  avx2::DirectOf<kType, Products>(rows, stride, next, a);
}

template void Direct<TensorType::kQ4_0>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);
template void Direct<TensorType::kQ4_1>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);
template void Direct<TensorType::kQ5_0>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);
template void Direct<TensorType::kQ5_1>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);
template void Direct<TensorType::kQ8_0>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);
template void Direct<TensorType::kIQ4_NL>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);
template void Direct<TensorType::kQ4_K>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);
template void Direct<TensorType::kQ5_K>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);
template void Direct<TensorType::kQ6_K>(const uint8_t*, size_t, const uint8_t*, const TileArguments&);

}  // namespace inferd::kernels::avxvnni
