// What a block's minimums take away from its dots.
#pragma once

#include <arm_neon.h>

#include "kernels/activations.h"
#include "kernels/panels/panel.h"

namespace inferd::kernels::neon {

// low + the minimums of groups 2 * kPair and 2 * kPair + 1 of the eight whose sums are given, times these
template <int kPair>
static inline __attribute__((always_inline)) int32x4_t AddLow(int32x4_t low, const int16_t* minimums, int16x8_t sums) {
  const int16x4x2_t pair = vld2_s16(minimums);
  low = vmlal_laneq_s16(low, pair.val[0], sums, 2 * kPair);
  return vmlal_laneq_s16(low, pair.val[1], sums, 2 * kPair + 1);
}

// Sum of the block's minimums times the activations' sums of each group, for the four rows of a quarter of the panel.
template <int kGroup>
static inline __attribute__((always_inline)) int32x4_t LowSum(const panels::PanelBlock256& weights,
                                                              const ActivationBlock256& y, int quarter) {
  const int16_t* activation_sums = kGroup == 16 ? y.sums16 : y.sums32;
  int32x4_t low = vdupq_n_s32(0);
#pragma GCC unroll 2
  for (int eight = 0; eight < 32 / kGroup; ++eight) {
    const int16x8_t sums = vld1q_s16(activation_sums + 8 * eight);
    low = AddLow<0>(low, weights.minimums[4 * eight][4 * quarter], sums);
    low = AddLow<1>(low, weights.minimums[4 * eight + 1][4 * quarter], sums);
    low = AddLow<2>(low, weights.minimums[4 * eight + 2][4 * quarter], sums);
    low = AddLow<3>(low, weights.minimums[4 * eight + 3][4 * quarter], sums);
  }
  return low;
}

// That times the block's minimum, as reference/matmul.cc has it.
static inline __attribute__((always_inline)) float32x4_t ScaledLow(float32x4_t minimum, int32x4_t low) {
  const float32x4_t shifted = vreinterpretq_f32_s32(vaddq_s32(low, vdupq_n_s32(kShiftedZeroBits)));
  return vfmaq_f32(vnegq_f32(vmulq_n_f32(minimum, kShiftedZero)), minimum, shifted);
}

}  // namespace inferd::kernels::neon
