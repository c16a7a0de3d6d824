// The micro-kernels of the neon variant; the arithmetic is that of reference/matmul.cc. A panel's 16 rows are four
// registers, its quarters.
#include <arm_neon.h>

#include "kernels/activations.h"
#include "kernels/arm_neon/formats.h"
#include "kernels/arm_neon/low_sum.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::neon {
namespace {

// Calls f(quarter, token), unrolled.
template <int kTokens, typename F>
INFERD_INLINE void ForEach(const F& f) {
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) f(q, t);
  }
}

template <typename PanelBlock, typename ActivationBlock, int kTokens>
struct Tile {
  const PanelBlock* weights;
  const ActivationBlock* y[kTokens];
  float32x4_t sums[4][kTokens];

  INFERD_INLINE explicit Tile(const TileArguments& a) : weights(static_cast<const PanelBlock*>(a.panels[0])) {
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) y[t] = static_cast<const ActivationBlock*>(a.activations[t]);
    ForEach<kTokens>([&](int q, int t) __attribute__((always_inline)) {
      sums[q][t] = a.first ? vdupq_n_f32(0) : vld1q_f32(a.out[t] + 4 * q);
    });
  }

  INFERD_INLINE void Next() {
    ++weights;
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) ++y[t];
  }

  INFERD_INLINE void Finish(const TileArguments& a) const {
    ForEach<kTokens>([&](int q, int t) __attribute__((always_inline)) { vst1q_f32(a.out[t] + 4 * q, sums[q][t]); });
  }

  // dots += products of elements 4 * (c + kLane) .. 4 * (c + kLane) + 3
  template <int kLane>
  INFERD_INLINE void AddDot(int c, const int8x16_t (&quants)[kTokens], int32x4_t (&dots)[4][kTokens]) const {
    const auto* values = reinterpret_cast<const int8_t*>(weights->values[c + kLane]);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      const int8x16_t w = vld1q_s8(values + 16 * q);
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) dots[q][t] = vdotq_laneq_s32(dots[q][t], w, quants[t], kLane);
    }
  }

  // dots += products of elements 4 * first .. 4 * (first + count) - 1; count is a multiple of 4
  INFERD_INLINE void AddDots(int first, int count, int32x4_t (&dots)[4][kTokens]) const {
#pragma GCC unroll 2
    for (int c = first; c < first + count; c += 4) {
      int8x16_t quants[kTokens];
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) quants[t] = vld1q_s8(y[t]->quants + 4 * c);
      AddDot<0>(c, quants, dots);
      AddDot<1>(c, quants, dots);
      AddDot<2>(c, quants, dots);
      AddDot<3>(c, quants, dots);
    }
  }

  // Of a block of 32.
  INFERD_INLINE void AddScaled(int q, int t, const float* weight_scale, int32x4_t dot) {
    const float32x4_t scaled = vmulq_n_f32(vcvtq_f32_s32(dot), y[t]->scale);
    sums[q][t] = vfmaq_f32(sums[q][t], vld1q_f32(weight_scale + 4 * q), scaled);
  }
};

template <int kTokens>
INFERD_INLINE void SetZero(int32x4_t (&dots)[4][kTokens]) {
  ForEach<kTokens>([&](int q, int t) __attribute__((always_inline)) { dots[q][t] = vdupq_n_s32(0); });
}

template <TileKind kKind, int kTokens>
void Run32(const TileArguments& a) {
  constexpr int kParts = kKind == TileKind::kScale16 ? 2 : 1;
  Tile<PanelBlock32, ActivationBlock32, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      int32x4_t dots[4][kTokens];
      SetZero<kTokens>(dots);
      tile.AddDots(part * 4, 8 / kParts, dots);
      ForEach<kTokens>([&](int q, int t) __attribute__((always_inline)) {
        tile.AddScaled(q, t, part == 0 ? tile.weights->scale : tile.weights->second, dots[q][t]);
        if constexpr (kKind == TileKind::kScale32Added) {
          const float32x4_t added = vld1q_f32(tile.weights->second + 4 * q);
          tile.sums[q][t] = vfmaq_n_f32(tile.sums[q][t], added, tile.y[t]->scaled_sum);
        }
      });
    }
    tile.Next();
  }
  tile.Finish(a);
}

template <TileKind kKind, int kTokens>
void Run256(const TileArguments& a) {
  constexpr int kGroup = kKind == TileKind::kMinimum32 ? 32 : 16;
  Tile<PanelBlock256, ActivationBlock256, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    int32x4_t totals[4][kTokens];
    SetZero<kTokens>(totals);
    for (int group = 0; group < 256 / kGroup; ++group) {
      int32x4_t dots[4][kTokens];
      SetZero<kTokens>(dots);
      tile.AddDots(group * (kGroup / 4), kGroup / 4, dots);
      ForEach<kTokens>([&](int q, int t) __attribute__((always_inline)) {
        totals[q][t] = vmlaq_s32(totals[q][t], dots[q][t], vld1q_s32(tile.weights->scales[group] + 4 * q));
      });
    }
    ForEach<kTokens>([&](int q, int t) __attribute__((always_inline)) {
      float32x4_t value = vmulq_f32(vld1q_f32(tile.weights->scale + 4 * q), vcvtq_f32_s32(totals[q][t]));
      if constexpr (kKind != TileKind::kSuper16) {
        const float32x4_t minimum = vld1q_f32(tile.weights->minimum + 4 * q);
        const float32x4_t less = ScaledLow(minimum, LowSum<kGroup>(*tile.weights, *tile.y[t], q));
        value = vfmaq_f32(vnegq_f32(less), vld1q_f32(tile.weights->scale + 4 * q), vcvtq_f32_s32(totals[q][t]));
      }
      tile.sums[q][t] = vfmaq_n_f32(tile.sums[q][t], value, tile.y[t]->scale);
    });
    tile.Next();
  }
  tile.Finish(a);
}

template <TileKind kKind, int kTokens>
constexpr TileFunction OfTokens() {
  if constexpr (IsSuper(kKind)) {
    return Run256<kKind, kTokens>;
  } else {
    return Run32<kKind, kTokens>;
  }
}

}  // namespace

static_assert(kTileTokens == 3);

template <TileKind kKind>
TileFunction TileOf(int, int tokens) {
  switch (tokens) {
    case 1:
      return OfTokens<kKind, 1>();
    case 2:
      return OfTokens<kKind, 2>();
    default:
      return OfTokens<kKind, kTileTokens>();
  }
}

template TileFunction TileOf<TileKind::kScale32>(int, int);
template TileFunction TileOf<TileKind::kScale32Added>(int, int);
template TileFunction TileOf<TileKind::kScale16>(int, int);
template TileFunction TileOf<TileKind::kSuper16>(int, int);
template TileFunction TileOf<TileKind::kMinimum16>(int, int);
template TileFunction TileOf<TileKind::kMinimum32>(int, int);

}  // namespace inferd::kernels::neon
