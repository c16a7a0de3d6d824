// Rows of floats as activations.h stores them; kernels/reference/quantize.cc defines them.
//
//   QuantizeBlocks32<<<{k / 32 rounded up to 8 blocks, rows}, kQuantizeThreads>>>(x, k, out, row_bytes);
#pragma once

#include <cmath>

#include "kernels/activations.h"
#include "kernels/gpu/gpu.h"

namespace inferd::kernels::gpu {

constexpr int kQuantizeThreads = 256;

GPU_DEVICE uint32_t LargerOf(uint32_t a, uint32_t b) { return a < b ? b : a; }
GPU_DEVICE int32_t LargerOf(int32_t a, int32_t b) { return a < b ? b : a; }
GPU_DEVICE int32_t Magnitude(int32_t x) { return x < 0 ? -x : x; }

// Sum over `count` neighbouring lanes, a power of two.
GPU_DEVICE int32_t SumOverLanes(int32_t x, int count) {
  for (int mask = count / 2; mask > 0; mask /= 2) x += ShuffleXor(x, mask);
  return x;
}

// How a block with this largest magnitude is quantized.
struct Quantization {
  float inverse, scale;
};
GPU_DEVICE Quantization QuantizationOf(uint32_t largest_bits) {
  const float largest = FloatOfBits(largest_bits);
  if (largest < kSmallestMagnitude) return {0.0f, 0.0f};
  if (!(largest < kTooLargeMagnitude)) return {0.0f, FloatOfBits(0x7FC00000u)};
  return {Divide(127.0f, largest), FloatOfBits(BitsOfFloat(Divide(largest, 127.0f)) & ~uint32_t{3})};
}

// To the nearest integer, ties to even, for |x| < 2^22; some integer for anything else.
GPU_DEVICE int8_t RoundToInt8(float x) { return static_cast<int8_t>(BitsOfFloat(x + 0x1.8p23f) & 0xFF); }

// A warp for each block of 32.
GPU_KERNEL(kQuantizeThreads, QuantizeBlocks32, const float* x, int64_t k, uint8_t* out, int64_t row_bytes) {
  const int64_t b = static_cast<int64_t>(BlockX()) * (kQuantizeThreads / kWarpLanes) + Warp();
  if (b >= k / 32) return;
  const float value = x[BlockY() * k + b * 32 + Lane()];
  uint32_t largest = BitsOfFloat(value) & 0x7FFFFFFFu;
  for (int mask = kWarpLanes / 2; mask > 0; mask /= 2) largest = LargerOf(largest, ShuffleXor(largest, mask));
  const Quantization q = QuantizationOf(largest);
  const int8_t quant = RoundToInt8(Multiply(value, q.inverse));
  const int32_t sum = SumOverLanes(quant, 32);
  ActivationBlock32& block = reinterpret_cast<ActivationBlock32*>(out + BlockY() * row_bytes)[b];
  block.quants[Lane()] = quant;
  if (Lane() != 0) return;
  block.scale = q.scale;
  block.scaled_zero = Multiply(-kShiftedZero, q.scale);
  block.first_dot = kShiftedZeroBits - 128 * sum;
  block.scaled_sum = Multiply(q.scale, static_cast<float>(sum));
}

// A block of threads for each block of 256.
GPU_KERNEL(256, QuantizeBlocks256, const float* x, int64_t k, uint8_t* out, int64_t row_bytes) {
  GPU_SHARED(uint32_t, largest_of, [8]);
  GPU_SHARED(int32_t, magnitudes_of, [8]);
  GPU_SHARED(int32_t, one_sign_of, [8]);
  const float value = x[BlockY() * k + static_cast<int64_t>(BlockX()) * 256 + Thread()];
  uint32_t largest = BitsOfFloat(value) & 0x7FFFFFFFu;
  for (int mask = kWarpLanes / 2; mask > 0; mask /= 2) largest = LargerOf(largest, ShuffleXor(largest, mask));
  if (Lane() == 0) largest_of[Warp()] = largest;
  SyncThreads();
  for (int i = 0; i < 8; ++i) largest = LargerOf(largest, largest_of[i]);
  const Quantization q = QuantizationOf(largest);
  const int8_t quant = RoundToInt8(Multiply(value, q.inverse));
  const int32_t sum16 = SumOverLanes(quant, 16), magnitude16 = SumOverLanes(Magnitude(quant), 16);
  const int32_t sum32 = sum16 + ShuffleXor(sum16, 16), other = ShuffleXor(magnitude16, 16);
  ActivationBlock256& block = reinterpret_cast<ActivationBlock256*>(out + BlockY() * row_bytes)[BlockX()];
  block.quants[Thread()] = quant;
  if (Lane() % 16 == 0) {
    block.sums16[Thread() / 16] = static_cast<int16_t>(sum16);
    block.offsets[Thread() / 16] = -128 * sum16;
  }
  if (Lane() == 0) {
    block.sums32[Warp()] = static_cast<int16_t>(sum32);
    magnitudes_of[Warp()] = LargerOf(magnitude16, other);
    one_sign_of[Warp()] = magnitude16 + other + Magnitude(sum32);
  }
  SyncThreads();
  if (Thread() != 0) return;
  LargestSums sums;
  for (int i = 0; i < 8; ++i) {
    sums.magnitudes16 = LargerOf(sums.magnitudes16, magnitudes_of[i]);
    sums.one_sign32 = LargerOf(sums.one_sign32, one_sign_of[i]);
  }
  block.scale = q.scale;
  block.wide = WideOf(sums);
}

}  // namespace inferd::kernels::gpu
