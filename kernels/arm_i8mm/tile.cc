// The micro-kernels of the neon_i8mm variant; the arithmetic is that of reference/matmul.cc. smmla multiplies two rows
// by two tokens, eight elements each: a register of sums is [row 0 token 0, row 0 token 1, row 1 token 0, row 1 token
// 1], and stays so until it is stored. A panel's 16 rows are eight pairs; all or half of them are multiplied at a time,
// so that up to 16 integer sums, the weights and the activations fit in the 32 registers. Other sums rest in memory.
#include <arm_neon.h>

#include "kernels/activations.h"
#include "kernels/arm_i8mm/formats.h"
#include "kernels/arm_neon/low_sum.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::i8mm {
namespace {

using panels::PanelBlock256;
using panels::PanelBlock32;

constexpr int kRowPairs = 8;

// Hides from the compiler which row pair is next and what the activations are: it would unroll the loop over the pairs,
// and keep all sums and activations in registers, of which there are not enough.
template <typename Quants>
INFERD_INLINE void KeepInMemory(int& pair, Quants& quants) {
  asm("" : "+r"(pair), "+m"(quants));
}

// A value of each row of one pair, for two tokens.
INFERD_INLINE float32x4_t OfRows(const float* rows, int pair) {
  const float32x4_t four = vld1q_f32(rows + pair / 2 * 4);
  return pair % 2 == 0 ? vzip1q_f32(four, four) : vzip2q_f32(four, four);
}
INFERD_INLINE int32x4_t OfRows(const int32_t* rows, int pair) {
  const int32x4_t four = vld1q_s32(rows + pair / 2 * 4);
  return pair % 2 == 0 ? vzip1q_s32(four, four) : vzip2q_s32(four, four);
}

// A value of each of two tokens, for two rows.
INFERD_INLINE float32x4_t OfTokens(float first, float second) {
  return vzip1q_f32(vdupq_n_f32(first), vdupq_n_f32(second));
}

template <typename PanelBlock, typename ActivationBlock, int kTokens>
struct Tile {
  static constexpr int kPairs = (kTokens + 1) / 2;  // of tokens; an odd last one is paired with itself
  static constexpr int kStep = kPairs > 2 ? 4 : 8;  // row pairs at a time
  using Dots = int32x4_t[kStep][kPairs];

  const PanelBlock* weights;
  const ActivationBlock* y[2 * kPairs];
  float32x4_t sums[kRowPairs][kPairs];

  static constexpr int TokenOf(int i) { return i < kTokens ? i : kTokens - 1; }

  INFERD_INLINE explicit Tile(const TileArguments& a) : weights(static_cast<const PanelBlock*>(a.panels[0])) {
#pragma GCC unroll 8
    for (int t = 0; t < 2 * kPairs; ++t) y[t] = static_cast<const ActivationBlock*>(a.activations[TokenOf(t)]);
    const float32x4_t zero = vdupq_n_f32(0);
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) {
        const float32x4_t first = a.first ? zero : vld1q_f32(a.out[2 * p] + 4 * q);
        const float32x4_t second = a.first ? zero : vld1q_f32(a.out[TokenOf(2 * p + 1)] + 4 * q);
        sums[2 * q][p] = vzip1q_f32(first, second);
        sums[2 * q + 1][p] = vzip2q_f32(first, second);
      }
    }
  }

  INFERD_INLINE void Next() {
    ++weights;
#pragma GCC unroll 8
    for (int t = 0; t < 2 * kPairs; ++t) ++y[t];
  }

  INFERD_INLINE void Finish(const TileArguments& a) const {
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) {
        vst1q_f32(a.out[2 * p] + 4 * q, vuzp1q_f32(sums[2 * q][p], sums[2 * q + 1][p]));
        if (2 * p + 1 == kTokens) continue;
        vst1q_f32(a.out[2 * p + 1] + 4 * q, vuzp2q_f32(sums[2 * q][p], sums[2 * q + 1][p]));
      }
    }
  }

  // quants[e][p] = elements first + 8 * e .. first + 8 * e + 7 of both tokens of a pair
  template <int kEights>
  INFERD_INLINE void LoadQuants(int first, int8x16_t (&quants)[kEights][kPairs]) const {
#pragma GCC unroll 2
    for (int e = 0; e < kEights; e += 2) {
#pragma GCC unroll 4
      for (int p = 0; p < kPairs; ++p) {
        const int64x2_t one = vreinterpretq_s64_s8(vld1q_s8(y[2 * p]->quants + first + 8 * e));
        const int64x2_t other = vreinterpretq_s64_s8(vld1q_s8(y[2 * p + 1]->quants + first + 8 * e));
        quants[e][p] = vreinterpretq_s8_s64(vzip1q_s64(one, other));
        quants[e + 1][p] = vreinterpretq_s8_s64(vzip2q_s64(one, other));
      }
    }
  }

  // dots = sums of the products of elements first .. first + 8 * kEights - 1, for kStep row pairs from `pair` on
  template <int kEights>
  INFERD_INLINE void SetDots(int first, int pair, const int8x16_t (&quants)[kEights][kPairs], Dots& dots) const {
    const auto* values = reinterpret_cast<const int8_t*>(weights->values[first / 4]) + 16 * pair;
#pragma GCC unroll 4
    for (int e = 0; e < kEights; ++e) {
#pragma GCC unroll 8
      for (int i = 0; i < kStep; ++i) {
        const int8x16_t w = vld1q_s8(values + 16 * kRowPairs * e + 16 * i);
#pragma GCC unroll 4
        for (int p = 0; p < kPairs; ++p) {
          dots[i][p] = vmmlaq_s32(e == 0 ? vdupq_n_s32(0) : dots[i][p], w, quants[e][p]);
        }
      }
    }
  }

  // Of a block of 32.
  template <TileKind kKind>
  INFERD_INLINE void AddScaled(int pair, const float* weight_scale, const Dots& dots) {
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
      const ActivationBlock &one = *y[2 * p], &other = *y[2 * p + 1];
      const float32x4_t scale = OfTokens(one.scale, other.scale);
#pragma GCC unroll 8
      for (int i = 0; i < kStep; ++i) {
        float32x4_t& sum = sums[pair + i][p];
        sum = vfmaq_f32(sum, OfRows(weight_scale + 2 * pair, i), vmulq_f32(vcvtq_f32_s32(dots[i][p]), scale));
        if constexpr (kKind == TileKind::kScale32Added) {
          sum = vfmaq_f32(sum, OfRows(weights->second + 2 * pair, i), OfTokens(one.scaled_sum, other.scaled_sum));
        }
      }
    }
  }

  // Of a block of 256.
  template <TileKind kKind, int kGroup>
  INFERD_INLINE void AddTotals(const int32x4_t (&totals)[kRowPairs][kPairs]) {
    for (int q = 0; q < 4; ++q) {
#pragma GCC unroll 4
      for (int p = 0; p < kPairs; ++p) {
        const ActivationBlock &one = *y[2 * p], &other = *y[2 * p + 1];
        int32x4_t low[2];
        if constexpr (kKind != TileKind::kSuper16) {
          const int32x4_t low_one = neon::LowSum<kGroup>(*weights, one, q);
          const int32x4_t low_other = neon::LowSum<kGroup>(*weights, other, q);
          low[0] = vzip1q_s32(low_one, low_other);
          low[1] = vzip2q_s32(low_one, low_other);
        }
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const float32x4_t scale = OfRows(weights->scale + 4 * q, i), dots = vcvtq_f32_s32(totals[2 * q + i][p]);
          float32x4_t value = vmulq_f32(scale, dots);
          if constexpr (kKind != TileKind::kSuper16) {
            const float32x4_t less = neon::ScaledLow(OfRows(weights->minimum + 4 * q, i), low[i]);
            value = vfmaq_f32(vnegq_f32(less), scale, dots);
          }
          sums[2 * q + i][p] = vfmaq_f32(sums[2 * q + i][p], value, OfTokens(one.scale, other.scale));
        }
      }
    }
  }
};

template <TileKind kKind, int kTokens>
void Run32(const TileArguments& a) {
  constexpr int kParts = kKind == TileKind::kScale16 ? 2 : 1, kEights = 4 / kParts;
  using Tile32 = Tile<PanelBlock32, ActivationBlock32, kTokens>;
  Tile32 tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      int8x16_t quants[kEights][Tile32::kPairs];
      tile.template LoadQuants<kEights>(16 * part, quants);
      for (int pair = 0; pair < kRowPairs; pair += Tile32::kStep) {
        KeepInMemory(pair, quants);
        typename Tile32::Dots dots;
        tile.template SetDots<kEights>(16 * part, pair, quants, dots);
        tile.template AddScaled<kKind>(pair, part == 0 ? tile.weights->scale : tile.weights->second, dots);
      }
    }
    tile.Next();
  }
  tile.Finish(a);
}

template <TileKind kKind, int kTokens>
void Run256(const TileArguments& a) {
  constexpr int kGroup = kKind == TileKind::kMinimum32 ? 32 : 16, kEights = kGroup / 8;
  using Tile256 = Tile<PanelBlock256, ActivationBlock256, kTokens>;
  constexpr int kPairs = Tile256::kPairs, kStep = Tile256::kStep;
  Tile256 tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    int32x4_t totals[kRowPairs][kPairs] = {};
    for (int group = 0; group < 256 / kGroup; ++group) {
      int8x16_t quants[kEights][kPairs];
      tile.template LoadQuants<kEights>(kGroup * group, quants);
      for (int pair = 0; pair < kRowPairs; pair += kStep) {
        KeepInMemory(pair, quants);
        typename Tile256::Dots dots;
        tile.template SetDots<kEights>(kGroup * group, pair, quants, dots);
#pragma GCC unroll 8
        for (int i = 0; i < kStep; ++i) {
          const int32x4_t scale = OfRows(tile.weights->scales[group] + 2 * pair, i);
#pragma GCC unroll 4
          for (int p = 0; p < kPairs; ++p) totals[pair + i][p] = vmlaq_s32(totals[pair + i][p], dots[i][p], scale);
        }
      }
    }
    tile.template AddTotals<kKind, kGroup>(totals);
    tile.Next();
  }
  tile.Finish(a);
}

template <TileKind kKind, int kTokens>
constexpr TileFunction OfTokenCount() {
  if constexpr (neon::IsSuper(kKind)) {
    return Run256<kKind, kTokens>;
  } else {
    return Run32<kKind, kTokens>;
  }
}

}  // namespace

static_assert(kLeastTileTokens == 4 && kTileTokens == 8);

template <TileKind kKind>
TileFunction TileOf(int, int tokens) {
  switch (tokens) {
    case 4:
      return OfTokenCount<kKind, 4>();
    case 5:
      return OfTokenCount<kKind, 5>();
    case 6:
      return OfTokenCount<kKind, 6>();
    case 7:
      return OfTokenCount<kKind, 7>();
    default:
      return OfTokenCount<kKind, kTileTokens>();
  }
}

template TileFunction TileOf<TileKind::kScale32>(int, int);
template TileFunction TileOf<TileKind::kScale32Added>(int, int);
template TileFunction TileOf<TileKind::kScale16>(int, int);
template TileFunction TileOf<TileKind::kSuper16>(int, int);
template TileFunction TileOf<TileKind::kMinimum16>(int, int);
template TileFunction TileOf<TileKind::kMinimum32>(int, int);

}  // namespace inferd::kernels::i8mm
