// Quantized activations of the neon variant; see panels/quantize.h.
#include "kernels/panels/quantize.h"

#include <arm_neon.h>

#include "kernels/arm_neon/products.h"

namespace inferd::kernels::neon {
namespace {

struct Isa {
  static uint32_t LargestMagnitude(const float* x, int n) {
    uint32x4_t magnitudes = vdupq_n_u32(0);
    for (int i = 0; i < n; i += 4) {
      const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(x + i));
      magnitudes = vmaxq_u32(magnitudes, vandq_u32(bits, vdupq_n_u32(0x7FFFFFFF)));
    }
    return vmaxvq_u32(magnitudes);
  }

  static panels::HalfSums Round32(const float* x, float factor, int8_t* out) {
    const Sums first = Round16(x, factor, out), last = Round16(x + 16, factor, out + 16);
    return {first.values, last.values, first.magnitudes, last.magnitudes};
  }

 private:
  struct Sums {
    int32_t values, magnitudes;
  };

  static Sums Round16(const float* x, float factor, int8_t* out) {
    int32x4_t rounded[4];
    for (int i = 0; i < 4; ++i) rounded[i] = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4 * i), factor));
    const int16x8_t low = vcombine_s16(vmovn_s32(rounded[0]), vmovn_s32(rounded[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(rounded[2]), vmovn_s32(rounded[3]));
    const int8x16_t bytes = vcombine_s8(vmovn_s16(low), vmovn_s16(high));
    vst1q_s8(out, bytes);
    return {vaddlvq_s8(bytes), vaddlvq_s8(vabsq_s8(bytes))};
  }
};

}  // namespace

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  panels::QuantizeRows<Isa>(format, x, rows, k, out);
}

}  // namespace inferd::kernels::neon
