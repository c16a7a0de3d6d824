// 16 floats in two AVX2 registers: the operations that kernels/lanes is written in.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace inferd::kernels::avx2 {

struct Pair {
  __m256 low, high;
};

struct Lanes {
  using Float = Pair;
  using Mask = Pair;                   // all bits of a lane set or none
  static constexpr int kTileRows = 6;  // 12 registers of sums, 2 of columns and a broadcast value of the 16
  static constexpr int kTileColumns = 1;

  static Float Set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Float Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Float LoadFirst(const float* p, int64_t count) {
    if (count <= 8) return {_mm256_maskload_ps(p, First(count)), _mm256_setzero_ps()};
    return {_mm256_loadu_ps(p), _mm256_maskload_ps(p + 8, First(count - 8))};
  }
  static void Store(float* p, Float x) {
    _mm256_storeu_ps(p, x.low);
    _mm256_storeu_ps(p + 8, x.high);
  }
  static void StoreFirst(float* p, int64_t count, Float x) {
    _mm256_maskstore_ps(p, First(count), x.low);
    if (count > 8) _mm256_maskstore_ps(p + 8, First(count - 8), x.high);
  }
  static Float LaneNumbers() {
    return {_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_ps(8, 9, 10, 11, 12, 13, 14, 15)};
  }

  static Float Add(Float a, Float b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
  static Float Subtract(Float a, Float b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
  static Float Multiply(Float a, Float b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
  static Float Divide(Float a, Float b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
  static Float MultiplyAdd(Float a, Float b, Float c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Float Maximum(Float a, Float b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
  static Float Minimum(Float a, Float b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
  static Mask Less(Float a, Float b) {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ)};
  }
  static Float Select(Mask condition, Float a, Float b) {
    return {_mm256_blendv_ps(b.low, a.low, condition.low), _mm256_blendv_ps(b.high, a.high, condition.high)};
  }
  static Mask Or(Mask a, Mask b) { return {_mm256_or_ps(a.low, b.low), _mm256_or_ps(a.high, b.high)}; }
  static bool Any(Mask mask) { return _mm256_movemask_ps(_mm256_or_ps(mask.low, mask.high)) != 0; }
  static Mask NotFinite(Float x) {  // NaN and infinities: x - x is NaN
    const Float zero = Subtract(x, x);
    return {_mm256_cmp_ps(zero.low, zero.low, _CMP_UNORD_Q), _mm256_cmp_ps(zero.high, zero.high, _CMP_UNORD_Q)};
  }
  static Float ScaleByPowerOfTwo(Float x, Float n) { return {Scale(x.low, n.low), Scale(x.high, n.high)}; }
  static float SquareRoot(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

  // Lanes i and i+8, then i+4, i+2, i+1; and +0, so that the sum is never -0.
  static float Sum(Float x) {
    const __m256 eight = _mm256_add_ps(x.low, x.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
  }
  static float LargestOf(Float x) {
    const __m256 eight = _mm256_max_ps(x.low, x.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }

  static Float LoadHalf(const uint16_t* p) {
    const __m128i* halves = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
  }
  static void StoreHalf(uint16_t* p, Float x) {
    __m128i* halves = reinterpret_cast<__m128i*>(p);
    _mm_storeu_si128(halves, _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128(halves + 1, _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static Float LoadInt8(const int8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes)))};
  }
  // To the nearest integers, ties to even; x in -128..127.
  static void StoreInt8(int8_t* p, Float x) {
    const __m256i low = _mm256_cvtps_epi32(x.low), high = _mm256_cvtps_epi32(x.high);
    const __m128i first = _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    const __m128i second = _mm_packs_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(first, second));
  }

 private:
  static __m256i First(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count < 8 ? count : 8)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static __m256 PowerOfTwo(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
  }
  // In two steps, of which only the last can round, to infinity.
  static __m256 Scale(__m256 x, __m256 n) {
    const __m256i exponent = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(exponent, 1);
    return _mm256_mul_ps(_mm256_mul_ps(x, PowerOfTwo(half)), PowerOfTwo(_mm256_sub_epi32(exponent, half)));
  }
};

}  // namespace inferd::kernels::avx2
