#include "kernels/lanes/peak.h"

#include <arm_neon.h>

#include "kernels/arm_i8mm/products.h"

namespace inferd::kernels::i8mm {
namespace {

// Up to four instructions a cycle with a latency of three.
struct Int8 {
  using Vector = int32x4_t;
  static constexpr int kChains = 12, kOperations = 32 * 2;
  const int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(-5);

  static Vector Zero() { return vdupq_n_s32(0); }
  Vector Next(Vector sum) const { return vmmlaq_s32(sum, a, b); }
  static void Keep(Vector& sum) { asm volatile("" : "+w"(sum)); }
  static Vector Add(Vector x, Vector y) { return vaddq_s32(x, y); }
  static float First(Vector sum) { return static_cast<float>(vgetq_lane_s32(sum, 0)); }
};

}  // namespace

int64_t Int8Peak(int64_t rounds, float* sink) { return lanes::PeakOf(Int8(), rounds, sink); }

}  // namespace inferd::kernels::i8mm
