#include "kernels/x86_avx2/peak.h"

#include <immintrin.h>

#include "kernels/lanes/peak.h"

namespace inferd::kernels::avx2 {
namespace {

// AVX2 has no byte product that adds into 32 bits. Of values of four bits, eight sums of two products fit in 16 bits,
// so that they are widened once. b is hidden at each of them, so that they are not made once for all chains.
struct Int8 {
  using Vector = __m256i;
  static constexpr int kChains = 4, kProducts = 8, kOperations = kProducts * 32 * 2;
  const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-5), ones = _mm256_set1_epi16(1);

  static Vector Zero() { return _mm256_setzero_si256(); }
  __m256i Pairs() const {
    __m256i hidden = b;
    asm volatile("" : "+x"(hidden));
    return _mm256_maddubs_epi16(a, hidden);
  }
  Vector Next(Vector sum) const {
    __m256i pairs = Pairs();
#pragma GCC unroll 8
    for (int i = 1; i < kProducts; ++i) pairs = _mm256_add_epi16(pairs, Pairs());
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  }
  static void Keep(Vector& sum) { asm volatile("" : "+x"(sum)); }
  static Vector Add(Vector x, Vector y) { return _mm256_add_epi32(x, y); }
  static float First(Vector sum) { return static_cast<float>(_mm_cvtsi128_si32(_mm256_castsi256_si128(sum))); }
};

struct Float {
  using Vector = __m256;
  static constexpr int kChains = 10, kOperations = 8 * 2;
  const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);

  static Vector Zero() { return _mm256_setzero_ps(); }
  Vector Next(Vector sum) const { return _mm256_fmadd_ps(sum, a, b); }
  static void Keep(Vector& sum) { asm volatile("" : "+x"(sum)); }
  static Vector Add(Vector x, Vector y) { return _mm256_add_ps(x, y); }
  static float First(Vector sum) { return _mm_cvtss_f32(_mm256_castps256_ps128(sum)); }
};

}  // namespace

int64_t Int8Peak(int64_t rounds, float* sink) { return lanes::PeakOf(Int8(), rounds, sink); }
int64_t FloatPeak(int64_t rounds, float* sink) { return lanes::PeakOf(Float(), rounds, sink); }

}  // namespace inferd::kernels::avx2
