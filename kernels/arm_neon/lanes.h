// 16 floats in four NEON registers: the operations that kernels/lanes is written in.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace inferd::kernels::neon {

struct Four {
  float32x4_t part[4];
};
struct FourMasks {
  uint32x4_t part[4];  // all bits of a lane set or none
};

struct Lanes {
  using Float = Four;
  using Mask = FourMasks;
  static constexpr int kTileRows = 6;  // 24 registers of sums, 4 of columns and a broadcast value of the 32
  static constexpr int kTileColumns = 1;

  static Float Set(float x) { return {{vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x)}}; }
  static Float Load(const float* p) { return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}}; }
  static Float LoadFirst(const float* p, int64_t count) {
    float lanes[16] = {};
    for (int64_t i = 0; i < count; ++i) lanes[i] = p[i];
    return Load(lanes);
  }
  static void Store(float* p, Float x) {
    for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, x.part[i]);
  }
  static void StoreFirst(float* p, int64_t count, Float x) {
    float lanes[16];
    Store(lanes, x);
    for (int64_t i = 0; i < count; ++i) p[i] = lanes[i];
  }
  static Float LaneNumbers() {
    constexpr float kNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return Load(kNumbers);
  }

  static Float Add(Float a, Float b) {
    return {{vaddq_f32(a.part[0], b.part[0]), vaddq_f32(a.part[1], b.part[1]), vaddq_f32(a.part[2], b.part[2]),
             vaddq_f32(a.part[3], b.part[3])}};
  }
  static Float Subtract(Float a, Float b) {
    return {{vsubq_f32(a.part[0], b.part[0]), vsubq_f32(a.part[1], b.part[1]), vsubq_f32(a.part[2], b.part[2]),
             vsubq_f32(a.part[3], b.part[3])}};
  }
  static Float Multiply(Float a, Float b) {
    return {{vmulq_f32(a.part[0], b.part[0]), vmulq_f32(a.part[1], b.part[1]), vmulq_f32(a.part[2], b.part[2]),
             vmulq_f32(a.part[3], b.part[3])}};
  }
  static Float Divide(Float a, Float b) {
    return {{vdivq_f32(a.part[0], b.part[0]), vdivq_f32(a.part[1], b.part[1]), vdivq_f32(a.part[2], b.part[2]),
             vdivq_f32(a.part[3], b.part[3])}};
  }
  static Float MultiplyAdd(Float a, Float b, Float c) {
    Float sum;
    for (int i = 0; i < 4; ++i) sum.part[i] = vfmaq_f32(c.part[i], a.part[i], b.part[i]);
    return sum;
  }
  // Not vmaxq: of a NaN and a number the second operand is the result.
  static Float Maximum(Float a, Float b) { return Select(Less(b, a), a, b); }
  static Float Minimum(Float a, Float b) { return Select(Less(a, b), a, b); }
  static Mask Less(Float a, Float b) {
    Mask mask;
    for (int i = 0; i < 4; ++i) mask.part[i] = vcltq_f32(a.part[i], b.part[i]);
    return mask;
  }
  static Float Select(Mask condition, Float a, Float b) {
    Float chosen;
    for (int i = 0; i < 4; ++i) chosen.part[i] = vbslq_f32(condition.part[i], a.part[i], b.part[i]);
    return chosen;
  }
  static Mask Or(Mask a, Mask b) {
    Mask mask;
    for (int i = 0; i < 4; ++i) mask.part[i] = vorrq_u32(a.part[i], b.part[i]);
    return mask;
  }
  static bool Any(Mask mask) {
    return vmaxvq_u32(vorrq_u32(vorrq_u32(mask.part[0], mask.part[1]), vorrq_u32(mask.part[2], mask.part[3]))) != 0;
  }
  static Mask NotFinite(Float x) {  // NaN and infinities: x - x is NaN
    Mask mask;
    for (int i = 0; i < 4; ++i) {
      const float32x4_t zero = vsubq_f32(x.part[i], x.part[i]);
      mask.part[i] = vmvnq_u32(vceqq_f32(zero, zero));
    }
    return mask;
  }
  // In two steps, of which only the last can round, to infinity.
  static Float ScaleByPowerOfTwo(Float x, Float n) {
    Float scaled;
    for (int i = 0; i < 4; ++i) {
      const int32x4_t exponent = vcvtnq_s32_f32(n.part[i]);
      const int32x4_t half = vshrq_n_s32(exponent, 1);
      scaled.part[i] = vmulq_f32(vmulq_f32(x.part[i], PowerOfTwo(half)), PowerOfTwo(vsubq_s32(exponent, half)));
    }
    return scaled;
  }
  static float SquareRoot(float x) { return vgetq_lane_f32(vsqrtq_f32(vdupq_n_f32(x)), 0); }

  // Lanes i and i+8, then i+4, i+2, i+1; and +0, so that the sum is never -0.
  static float Sum(Float x) {
    const float32x4_t four = vaddq_f32(vaddq_f32(x.part[0], x.part[2]), vaddq_f32(x.part[1], x.part[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return (vget_lane_f32(two, 0) + vget_lane_f32(two, 1)) + 0.0f;
  }
  static float LargestOf(Float x) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.part[0], x.part[1]), vmaxq_f32(x.part[2], x.part[3])));
  }

  static Float LoadHalf(const uint16_t* p) {
    Float x;
    for (int i = 0; i < 4; ++i) x.part[i] = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i)));
    return x;
  }
  static void StoreHalf(uint16_t* p, Float x) {
    for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.part[i])));
  }
  static Float LoadInt8(const int8_t* p) {
    const int8x16_t bytes = vld1q_s8(p);
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
             vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
  }
  // To the nearest integers, ties to even; x in -128..127.
  static void StoreInt8(int8_t* p, Float x) {
    int16x4_t words[4];
    for (int i = 0; i < 4; ++i) words[i] = vqmovn_s32(vcvtnq_s32_f32(x.part[i]));
    vst1q_s8(p,
             vcombine_s8(vqmovn_s16(vcombine_s16(words[0], words[1])), vqmovn_s16(vcombine_s16(words[2], words[3]))));
  }

 private:
  static float32x4_t PowerOfTwo(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
  }
};

}  // namespace inferd::kernels::neon
