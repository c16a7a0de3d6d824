// One token's products of the avx2 variant.
#include "kernels/x86_avx2/direct.h"

namespace inferd::kernels::avx2 {
namespace {

struct Products {
  template <int kBits, Extra32 kExtra>
  static INFERD_INLINE __m256i First(const ActivationBlock32& y) {
    return kExtra == Extra32::kBias ? _mm256_set1_epi32(y.offset >> (8 - kBits)) : _mm256_setzero_si256();
  }

  template <int kBits>
  static INFERD_INLINE __m256i Add(__m256i dots, const __m256i (&values)[4], const int8_t* quants) {
    return AddScaled<kBits>(dots, values, quants, _mm256_set1_epi16(1));
  }

  template <int kBits>
  static INFERD_INLINE __m256i AddScaled(__m256i total, const __m256i (&values)[4], const int8_t* quants,
                                         __m256i scale) {
    constexpr int kStep = kBits <= 5 ? 4 : kBits == 6 ? 2 : 1;  // sums that fit 16 bits
#pragma GCC unroll 4
    for (int begin = 0; begin < 4; begin += kStep) {
      __m256i pairs = Pairs<kBits>(values[begin], quants + 4 * begin);
#pragma GCC unroll 4
      for (int c = begin + 1; c < begin + kStep; ++c) {
        pairs = _mm256_add_epi16(pairs, Pairs<kBits>(values[c], quants + 4 * c));
      }
      total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, scale));
    }
    return total;
  }

 private:
  template <int kBits>
  static INFERD_INLINE __m256i Pairs(__m256i values, const int8_t* quants) {
    const __m256i four = BroadcastDword(quants);
    if constexpr (kBits < 8) return _mm256_maddubs_epi16(values, four);
    return _mm256_maddubs_epi16(_mm256_abs_epi8(values), _mm256_sign_epi8(four, values));
  }
};

}  // namespace

template <TensorType kType>
void Direct(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  DirectOf<kType, Products>(rows, stride, next, a);
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

}  // namespace inferd::kernels::avx2
