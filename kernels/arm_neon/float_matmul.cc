// The product with float weights: two rows times two tokens, each output four registers, 16 lanes, along the row.
#include "kernels/panels/float_matmul.h"

#include <arm_neon.h>

#include "kernels/arm_neon/products.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::neon {
namespace {

constexpr int kRows = 2;
constexpr int kTokens = 2;

template <TensorType kType>
constexpr size_t kBytes = kType == TensorType::kF32 ? 4 : 2;

// Four weights, widened.
template <TensorType kType>
INFERD_INLINE float32x4_t LoadWeights(const uint8_t* p) {
  if constexpr (kType == TensorType::kF32) return vreinterpretq_f32_u8(vld1q_u8(p));
  const uint16x4_t halves = vreinterpret_u16_u8(vld1_u8(p));
  if constexpr (kType == TensorType::kF16) return vcvt_f32_f16(vreinterpret_f16_u16(halves));
  return vreinterpretq_f32_u32(vshll_n_u16(halves, 16));
}

// Lanes i and i+8, i+4, i+2, i+1; and +0, so that no sum is -0.
INFERD_INLINE float SumLanes(const float32x4_t (&v)[4]) {
  const float32x4_t four = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1) + 0.0f;
}

using FloatTile = panels::FloatTile<kRows, kTokens>;

template <TensorType kType, int kTileTokens>
INFERD_INLINE void AddProducts(const uint8_t* const* rows, const float* const* x, int64_t i,
                               float32x4_t (&sums)[kRows][kTileTokens][4]) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      const float32x4_t w = LoadWeights<kType>(rows[r] + static_cast<size_t>(4 * q) * kBytes<kType>);
#pragma GCC unroll 2
      for (int t = 0; t < kTileTokens; ++t) sums[r][t][q] = vfmaq_f32(sums[r][t][q], w, vld1q_f32(x[t] + i + 4 * q));
    }
  }
}

template <TensorType kType, int kTileTokens>
void MultiplyTile(const FloatTile& a) {
  float32x4_t sums[kRows][kTileTokens][4];
  for (auto& row : sums) {
    for (auto& sum : row) sum[0] = sum[1] = sum[2] = sum[3] = vdupq_n_f32(0);
  }
  const uint8_t* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = a.rows[r];
  int64_t i = 0;
  for (; i + 16 <= a.k; i += 16) {
    AddProducts<kType, kTileTokens>(rows, a.x, i, sums);
    for (int r = 0; r < kRows; ++r) rows[r] += 16 * kBytes<kType>;
  }
  if (i < a.k) {
    uint8_t tails[kRows][64] = {};
    for (int r = 0; r < kRows; ++r) {
      __builtin_memcpy(tails[r], rows[r], static_cast<size_t>(a.k - i) * kBytes<kType>);
      rows[r] = tails[r];
    }
    AddProducts<kType, kTileTokens>(rows, a.x, i, sums);
  }
  for (int t = 0; t < kTileTokens; ++t) {
    for (int r = 0; r < a.row_count; ++r) a.out[t][r] = SumLanes(sums[r][t]);
  }
}

struct Isa {
  static constexpr int kRows = neon::kRows, kTokens = neon::kTokens;

  template <TensorType kType>
  static void Multiply(const FloatTile& tile, int tokens) {
    tokens == 1 ? MultiplyTile<kType, 1>(tile) : MultiplyTile<kType, kTokens>(tile);
  }
};

}  // namespace

void FloatMatmul(const MatmulArguments& arguments) { panels::FloatMatmul<Isa>(arguments); }

}  // namespace inferd::kernels::neon
