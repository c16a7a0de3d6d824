#include "kernels/lanes/peak.h"

#include <immintrin.h>

#include "kernels/x86_avxvnni/products.h"

namespace inferd::kernels::avxvnni {
namespace {

// Two instructions a cycle with a latency of five.
struct Int8 {
  using Vector = __m256i;
  static constexpr int kChains = 12, kOperations = 32 * 2;
  const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-5);

  static Vector Zero() { return _mm256_setzero_si256(); }
  Vector Next(Vector sum) const { return _mm256_dpbusd_avx_epi32(sum, a, b); }
  static void Keep(Vector& sum) { asm volatile("" : "+x"(sum)); }
  static Vector Add(Vector x, Vector y) { return _mm256_add_epi32(x, y); }
  static float First(Vector sum) { return static_cast<float>(_mm_cvtsi128_si32(_mm256_castsi256_si128(sum))); }
};

}  // namespace

int64_t Int8Peak(int64_t rounds, float* sink) { return lanes::PeakOf(Int8(), rounds, sink); }

}  // namespace inferd::kernels::avxvnni
