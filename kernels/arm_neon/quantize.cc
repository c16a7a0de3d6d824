// Rows of activations in the formats of kernels/activations.h, as reference/quantize.cc defines them.
#include <arm_neon.h>

#include "kernels/activations.h"
#include "kernels/arm_neon/products.h"
#include "kernels/reference/products.h"

namespace inferd::kernels::neon {
namespace {

struct Scales {
  float scale, inverse;
};

// By the largest bit pattern without sign: infinities and NaN come through.
Scales ScalesOf(const float* x, int n) {
  uint32x4_t magnitudes = vdupq_n_u32(0);
  for (int i = 0; i < n; i += 4) {
    const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(x + i));
    magnitudes = vmaxq_u32(magnitudes, vandq_u32(bits, vdupq_n_u32(0x7FFFFFFF)));
  }
  const uint32_t bits = vmaxvq_u32(magnitudes);
  float largest;
  __builtin_memcpy(&largest, &bits, 4);
  if (largest < kSmallestMagnitude) return {0.0f, 0.0f};
  return {largest / 127.0f, 127.0f / largest};
}

// Sixteen integers of x * inverse to out; returns their sum.
int32_t Round16(const float* x, float inverse, int8_t* out) {
  int32x4_t rounded[4];
  for (int i = 0; i < 4; ++i) rounded[i] = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4 * i), inverse));
  const int16x8_t low = vcombine_s16(vmovn_s32(rounded[0]), vmovn_s32(rounded[1]));
  const int16x8_t high = vcombine_s16(vmovn_s32(rounded[2]), vmovn_s32(rounded[3]));
  vst1q_s8(out, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
  return vaddvq_s32(vaddq_s32(vaddq_s32(rounded[0], rounded[1]), vaddq_s32(rounded[2], rounded[3])));
}

void QuantizeBlock32(const float* x, ActivationBlock32& block) {
  const Scales scales = ScalesOf(x, 32);
  const int32_t sum = Round16(x, scales.inverse, block.quants) + Round16(x + 16, scales.inverse, block.quants + 16);
  block.scale = scales.scale;
  block.offset = -128 * sum;
  block.scaled_sum = scales.scale * static_cast<float>(sum);
}

void QuantizeBlock256(const float* x, ActivationBlock256& block) {
  const Scales scales = ScalesOf(x, 256);
  block.scale = scales.scale;
  for (int i = 0; i < 16; ++i) {
    const int32_t sum = Round16(x + 16 * i, scales.inverse, block.quants + 16 * i);
    block.sums16[i] = static_cast<int16_t>(sum);
    block.offsets[i] = -128 * sum;
  }
  for (int i = 0; i < 8; ++i) block.sums32[i] = static_cast<int16_t>(block.sums16[2 * i] + block.sums16[2 * i + 1]);
}

}  // namespace

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  if (format == ActivationFormat::kFloat) return reference::QuantizeRows(format, x, rows, k, out);
  const size_t row_bytes = reference::ActivationRowBytes(format, k);
  auto* row = static_cast<uint8_t*>(out);
  for (int64_t r = 0; r < rows; ++r, x += k, row += row_bytes) {
    if (format == ActivationFormat::kBlock32) {
      for (int64_t b = 0; b < k / 32; ++b) QuantizeBlock32(x + 32 * b, reinterpret_cast<ActivationBlock32*>(row)[b]);
    } else {
      for (int64_t b = 0; b < k / 256; ++b)
        QuantizeBlock256(x + 256 * b, reinterpret_cast<ActivationBlock256*>(row)[b]);
    }
  }
}

}  // namespace inferd::kernels::neon
