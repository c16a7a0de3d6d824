#include "kernels/arm_neon/peak.h"

#include <arm_neon.h>

// Twelve independent chains hide the latency (4) of up to three instructions a cycle.
namespace inferd::kernels::neon {

int64_t Int8Peak(int64_t rounds, float* sink) {
  int32x4_t s0 = vdupq_n_s32(0), s1 = vdupq_n_s32(0), s2 = vdupq_n_s32(0), s3 = vdupq_n_s32(0), s4 = vdupq_n_s32(0),
            s5 = vdupq_n_s32(0), s6 = vdupq_n_s32(0), s7 = vdupq_n_s32(0), s8 = vdupq_n_s32(0), s9 = vdupq_n_s32(0),
            s10 = vdupq_n_s32(0), s11 = vdupq_n_s32(0);
  const int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(-5);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = vdotq_s32(s0, a, b);
    s1 = vdotq_s32(s1, a, b);
    s2 = vdotq_s32(s2, a, b);
    s3 = vdotq_s32(s3, a, b);
    s4 = vdotq_s32(s4, a, b);
    s5 = vdotq_s32(s5, a, b);
    s6 = vdotq_s32(s6, a, b);
    s7 = vdotq_s32(s7, a, b);
    s8 = vdotq_s32(s8, a, b);
    s9 = vdotq_s32(s9, a, b);
    s10 = vdotq_s32(s10, a, b);
    s11 = vdotq_s32(s11, a, b);
    asm volatile(""
                 : "+w"(s0), "+w"(s1), "+w"(s2), "+w"(s3), "+w"(s4), "+w"(s5), "+w"(s6), "+w"(s7), "+w"(s8), "+w"(s9),
                   "+w"(s10), "+w"(s11));  // keeps every product
  }
  int32x4_t sum = s0;
  sum = vaddq_s32(sum, s1);
  sum = vaddq_s32(sum, s2);
  sum = vaddq_s32(sum, s3);
  sum = vaddq_s32(sum, s4);
  sum = vaddq_s32(sum, s5);
  sum = vaddq_s32(sum, s6);
  sum = vaddq_s32(sum, s7);
  sum = vaddq_s32(sum, s8);
  sum = vaddq_s32(sum, s9);
  sum = vaddq_s32(sum, s10);
  sum = vaddq_s32(sum, s11);
  *sink += static_cast<float>(vgetq_lane_s32(sum, 0));
  return rounds * 12 * 16 * 2;
}

int64_t FloatPeak(int64_t rounds, float* sink) {
  float32x4_t s0 = vdupq_n_f32(0), s1 = vdupq_n_f32(0), s2 = vdupq_n_f32(0), s3 = vdupq_n_f32(0), s4 = vdupq_n_f32(0),
              s5 = vdupq_n_f32(0), s6 = vdupq_n_f32(0), s7 = vdupq_n_f32(0), s8 = vdupq_n_f32(0), s9 = vdupq_n_f32(0),
              s10 = vdupq_n_f32(0), s11 = vdupq_n_f32(0);
  const float32x4_t a = vdupq_n_f32(0.5f), b = vdupq_n_f32(1.0f);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = vfmaq_f32(b, s0, a);
    s1 = vfmaq_f32(b, s1, a);
    s2 = vfmaq_f32(b, s2, a);
    s3 = vfmaq_f32(b, s3, a);
    s4 = vfmaq_f32(b, s4, a);
    s5 = vfmaq_f32(b, s5, a);
    s6 = vfmaq_f32(b, s6, a);
    s7 = vfmaq_f32(b, s7, a);
    s8 = vfmaq_f32(b, s8, a);
    s9 = vfmaq_f32(b, s9, a);
    s10 = vfmaq_f32(b, s10, a);
    s11 = vfmaq_f32(b, s11, a);
    asm volatile(""
                 : "+w"(s0), "+w"(s1), "+w"(s2), "+w"(s3), "+w"(s4), "+w"(s5), "+w"(s6), "+w"(s7), "+w"(s8), "+w"(s9),
                   "+w"(s10), "+w"(s11));  // keeps every product
  }
  float32x4_t sum = s0;
  sum = vaddq_f32(sum, s1);
  sum = vaddq_f32(sum, s2);
  sum = vaddq_f32(sum, s3);
  sum = vaddq_f32(sum, s4);
  sum = vaddq_f32(sum, s5);
  sum = vaddq_f32(sum, s6);
  sum = vaddq_f32(sum, s7);
  sum = vaddq_f32(sum, s8);
  sum = vaddq_f32(sum, s9);
  sum = vaddq_f32(sum, s10);
  sum = vaddq_f32(sum, s11);
  *sink += vgetq_lane_f32(sum, 0);
  return rounds * 12 * 4 * 2;
}

}  // namespace inferd::kernels::neon
