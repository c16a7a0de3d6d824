#include "kernels/arm_neon/peak.h"

#include <arm_neon.h>

#include "kernels/lanes/peak.h"

namespace inferd::kernels::neon {
namespace {

// Up to three instructions a cycle with a latency of four.
struct Int8 {
  using Vector = int32x4_t;
  static constexpr int kChains = 12, kOperations = 16 * 2;
  const int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(-5);

  static Vector Zero() { return vdupq_n_s32(0); }
  Vector Next(Vector sum) const { return vdotq_s32(sum, a, b); }
  static void Keep(Vector& sum) { asm volatile("" : "+w"(sum)); }
  static Vector Add(Vector x, Vector y) { return vaddq_s32(x, y); }
  static float First(Vector sum) { return static_cast<float>(vgetq_lane_s32(sum, 0)); }
};

struct Float {
  using Vector = float32x4_t;
  static constexpr int kChains = 12, kOperations = 4 * 2;
  const float32x4_t a = vdupq_n_f32(0.5f), b = vdupq_n_f32(1.0f);

  static Vector Zero() { return vdupq_n_f32(0); }
  Vector Next(Vector sum) const { return vfmaq_f32(b, sum, a); }
  static void Keep(Vector& sum) { asm volatile("" : "+w"(sum)); }
  static Vector Add(Vector x, Vector y) { return vaddq_f32(x, y); }
  static float First(Vector sum) { return vgetq_lane_f32(sum, 0); }
};

}  // namespace

int64_t Int8Peak(int64_t rounds, float* sink) { return lanes::PeakOf(Int8(), rounds, sink); }
int64_t FloatPeak(int64_t rounds, float* sink) { return lanes::PeakOf(Float(), rounds, sink); }

}  // namespace inferd::kernels::neon
