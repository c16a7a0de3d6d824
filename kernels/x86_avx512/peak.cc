#include "kernels/x86_avx512/peak.h"

#include <immintrin.h>

#include "kernels/lanes/peak.h"

namespace inferd::kernels::avx512 {
namespace {

// Two instructions a cycle with a latency of four.
struct Int8 {
  using Vector = __m512i;
  static constexpr int kChains = 12, kOperations = 64 * 2;
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-5);

  static Vector Zero() { return _mm512_setzero_si512(); }
  Vector Next(Vector sum) const { return _mm512_dpbusd_epi32(sum, a, b); }
  static void Keep(Vector& sum) { asm volatile("" : "+v"(sum)); }
  static Vector Add(Vector x, Vector y) { return _mm512_add_epi32(x, y); }
  static float First(Vector sum) { return static_cast<float>(_mm_cvtsi128_si32(_mm512_castsi512_si128(sum))); }
};

struct Float {
  using Vector = __m512;
  static constexpr int kChains = 12, kOperations = 16 * 2;
  const __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);

  static Vector Zero() { return _mm512_setzero_ps(); }
  Vector Next(Vector sum) const { return _mm512_fmadd_ps(sum, a, b); }
  static void Keep(Vector& sum) { asm volatile("" : "+v"(sum)); }
  static Vector Add(Vector x, Vector y) { return _mm512_add_ps(x, y); }
  static float First(Vector sum) { return _mm_cvtss_f32(_mm512_castps512_ps128(sum)); }
};

}  // namespace

int64_t Int8Peak(int64_t rounds, float* sink) { return lanes::PeakOf(Int8(), rounds, sink); }
int64_t FloatPeak(int64_t rounds, float* sink) { return lanes::PeakOf(Float(), rounds, sink); }

}  // namespace inferd::kernels::avx512
