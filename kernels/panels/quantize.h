// Rows of activations in the formats of kernels/activations.h, as reference/quantize.cc defines them, for any
// instruction set:
//
//   struct Isa {
//     // The largest bit pattern without sign of n floats, n a multiple of 16: infinities and NaN come through.
//     static uint32_t LargestMagnitude(const float* x, int n);
//     // 32 integers nearest to x * factor (ties to even) to out; their sums.
//     static HalfSums Round32(const float* x, float factor, int8_t* out);
//   };
//   QuantizeRows<Isa>(format, x, rows, k, out);
#pragma once

#include "kernels/activations.h"
#include "kernels/kernels.h"
#include "kernels/reference/products.h"

namespace inferd::kernels::panels {

// Of the first and the last 16 of 32 integers.
struct HalfSums {
  int32_t first, last;
  int32_t first_magnitudes, last_magnitudes;
};

struct QuantizeScales {
  float scale, inverse;
};

static inline __attribute__((always_inline)) int32_t Larger(int32_t a, int32_t b) { return a < b ? b : a; }

template <typename Isa>
QuantizeScales ScalesOf(const float* x, int n) {
  const float largest = __builtin_bit_cast(float, Isa::LargestMagnitude(x, n));
  if (largest < kSmallestMagnitude) return {0.0f, 0.0f};
  if (!(largest < kTooLargeMagnitude)) return {__builtin_nanf(""), 0.0f};
  const uint32_t scale = __builtin_bit_cast(uint32_t, largest / 127.0f) & ~uint32_t{3};
  return {__builtin_bit_cast(float, scale), 127.0f / largest};
}

template <typename Isa>
void QuantizeBlock(const float* x, ActivationBlock32& block) {
  const QuantizeScales scales = ScalesOf<Isa>(x, 32);
  const HalfSums sums = Isa::Round32(x, scales.inverse, block.quants);
  const int32_t sum = sums.first + sums.last;
  block.scale = scales.scale;
  block.scaled_zero = -kShiftedZero * scales.scale;
  block.first_dot = kShiftedZeroBits - 128 * sum;
  block.scaled_sum = scales.scale * static_cast<float>(sum);
}

template <typename Isa>
void QuantizeBlock(const float* x, ActivationBlock256& block) {
  const QuantizeScales scales = ScalesOf<Isa>(x, 256);
  LargestSums largest;
  block.scale = scales.scale;
  for (int i = 0; i < 8; ++i) {
    const HalfSums sums = Isa::Round32(x + 32 * i, scales.inverse, block.quants + 32 * i);
    block.sums16[2 * i] = static_cast<int16_t>(sums.first);
    block.sums16[2 * i + 1] = static_cast<int16_t>(sums.last);
    block.sums32[i] = static_cast<int16_t>(sums.first + sums.last);
    block.offsets[2 * i] = -128 * sums.first;
    block.offsets[2 * i + 1] = -128 * sums.last;
    const int32_t sum = sums.first + sums.last, magnitudes = sums.first_magnitudes + sums.last_magnitudes;
    largest.magnitudes16 = Larger(largest.magnitudes16, Larger(sums.first_magnitudes, sums.last_magnitudes));
    largest.one_sign32 = Larger(largest.one_sign32, magnitudes + (sum < 0 ? -sum : sum));
  }
  block.wide = WideOf(largest);
}

// quantize(x, count, blocks) for each row's blocks, of either kind.
template <typename Quantize>
static inline __attribute__((always_inline)) void ForRows(ActivationFormat format, const float* x, int64_t rows,
                                                          int64_t k, void* out, const Quantize& quantize) {
  if (format == ActivationFormat::kFloat) return reference::QuantizeRows(format, x, rows, k, out);
  const size_t row_bytes = reference::ActivationRowBytes(format, k);
  auto* row = static_cast<uint8_t*>(out);
  for (int64_t r = 0; r < rows; ++r, x += k, row += row_bytes) {
    if (format == ActivationFormat::kBlock32) {
      quantize(x, k / 32, reinterpret_cast<ActivationBlock32*>(row));
    } else {
      quantize(x, k / 256, reinterpret_cast<ActivationBlock256*>(row));
    }
  }
}

template <typename Isa>
void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  ForRows(format, x, rows, k, out, [](const float* from, int64_t count, auto* blocks) {
    constexpr int64_t kElements = sizeof(blocks->quants);
    for (int64_t b = 0; b < count; ++b) QuantizeBlock<Isa>(from + kElements * b, blocks[b]);
  });
}

}  // namespace inferd::kernels::panels
