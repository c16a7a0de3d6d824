// 16 floats in one AVX-512 register: the operations that kernels/lanes is written in.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace inferd::kernels::avx512 {

struct Lanes {
  using Float = __m512;
  using Mask = __mmask16;
  static constexpr int kTileRows = 6;  // 24 sums, 4 columns and a broadcast value fill the 32 registers
  static constexpr int kTileColumns = 4;

  static Float Set(float x) { return _mm512_set1_ps(x); }
  static Float Load(const float* p) { return _mm512_loadu_ps(p); }
  static Float LoadFirst(const float* p, int64_t count) { return _mm512_maskz_loadu_ps(First(count), p); }
  static void Store(float* p, Float x) { _mm512_storeu_ps(p, x); }
  static void StoreFirst(float* p, int64_t count, Float x) { _mm512_mask_storeu_ps(p, First(count), x); }
  static Float LaneNumbers() { return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }

  static Float Add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float Subtract(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static Float Multiply(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float Divide(Float a, Float b) { return _mm512_div_ps(a, b); }
  static Float MultiplyAdd(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Float Maximum(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Float Minimum(Float a, Float b) { return _mm512_min_ps(a, b); }
  static Mask Less(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static Float Select(Mask condition, Float a, Float b) { return _mm512_mask_blend_ps(condition, b, a); }
  static bool Any(Mask mask) { return mask != 0; }
  static Mask NotFinite(Float x) { return _mm512_fpclass_ps_mask(x, 0x99); }  // NaN and infinities
  static Mask Or(Mask a, Mask b) { return _mm512_kor(a, b); }
  static Float ScaleByPowerOfTwo(Float x, Float n) { return _mm512_scalef_ps(x, n); }
  static float SquareRoot(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

  // Lanes i and i+8, then i+4, i+2, i+1; and +0, so that the sum is never -0.
  static float Sum(Float x) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
  }
  static float LargestOf(Float x) { return _mm512_reduce_max_ps(x); }

  static Float LoadHalf(const uint16_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }
  static void StoreHalf(uint16_t* p, Float x) { _mm256_storeu_si256((__m256i*)p, ToHalf(x)); }
  static Float LoadInt8(const int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)));
  }
  // To the nearest integers, ties to even; x in -128..127.
  static void StoreInt8(int8_t* p, Float x) {
    _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
  }

 private:
  static Mask First(int64_t count) { return static_cast<Mask>((1u << count) - 1); }
  static __m256i ToHalf(Float x) { return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
};

}  // namespace inferd::kernels::avx512
