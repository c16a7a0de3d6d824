// Rows of activations in the formats of kernels/activations.h, as reference/quantize.cc defines them, for any
// instruction set:
//
//   struct Isa {
//     // The largest bit pattern without sign of n floats, n a multiple of 16: infinities and NaN come through.
//     static uint32_t LargestMagnitude(const float* x, int n);
//     // 32 integers nearest to x * factor (ties to even) to out, and the sums of both halves of them.
//     static HalfSums Round32(const float* x, float factor, int8_t* out);
//   };
//   QuantizeRows<Isa>(format, x, rows, k, out);
#pragma once

#include "kernels/activations.h"
#include "kernels/kernels.h"
#include "kernels/reference/products.h"

namespace inferd::kernels::panels {

struct HalfSums {
  int32_t first, last;
};

struct QuantizeScales {
  float scale, inverse;
};

template <typename Isa>
QuantizeScales ScalesOf(const float* x, int n) {
  const uint32_t bits = Isa::LargestMagnitude(x, n);
  float largest;
  __builtin_memcpy(&largest, &bits, sizeof(largest));
  if (largest < kSmallestMagnitude) return {0.0f, 0.0f};
  return {largest / 127.0f, 127.0f / largest};
}

template <typename Isa>
void QuantizeBlock(const float* x, ActivationBlock32& block) {
  const QuantizeScales scales = ScalesOf<Isa>(x, 32);
  const HalfSums sums = Isa::Round32(x, scales.inverse, block.quants);
  const int32_t sum = sums.first + sums.last;
  block.scale = scales.scale;
  block.offset = -128 * sum;
  block.scaled_sum = scales.scale * static_cast<float>(sum);
}

template <typename Isa>
void QuantizeBlock(const float* x, ActivationBlock256& block) {
  const QuantizeScales scales = ScalesOf<Isa>(x, 256);
  block.scale = scales.scale;
  for (int i = 0; i < 8; ++i) {
    const HalfSums sums = Isa::Round32(x + 32 * i, scales.inverse, block.quants + 32 * i);
    block.sums16[2 * i] = static_cast<int16_t>(sums.first);
    block.sums16[2 * i + 1] = static_cast<int16_t>(sums.last);
    block.sums32[i] = static_cast<int16_t>(sums.first + sums.last);
    block.offsets[2 * i] = -128 * sums.first;
    block.offsets[2 * i + 1] = -128 * sums.last;
  }
}

template <typename Isa>
void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  if (format == ActivationFormat::kFloat) return reference::QuantizeRows(format, x, rows, k, out);
  const size_t row_bytes = reference::ActivationRowBytes(format, k);
  auto* row = static_cast<uint8_t*>(out);
  for (int64_t r = 0; r < rows; ++r, x += k, row += row_bytes) {
    auto* blocks32 = reinterpret_cast<ActivationBlock32*>(row);
    auto* blocks256 = reinterpret_cast<ActivationBlock256*>(row);
    if (format == ActivationFormat::kBlock32) {
      for (int64_t b = 0; b < k / 32; ++b) QuantizeBlock<Isa>(x + 32 * b, blocks32[b]);
    } else {
      for (int64_t b = 0; b < k / 256; ++b) QuantizeBlock<Isa>(x + 256 * b, blocks256[b]);
    }
  }
}

}  // namespace inferd::kernels::panels
