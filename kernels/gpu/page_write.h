// Where K and V lie in a page, and how rows get there; kernels/reference/page.cc defines it.
//
//   WriteKv<<<tokens, kWriteThreads>>>({.layout = LayoutOf(shape), .pages = pages, ...});
#pragma once

#include "kernels/gpu/arguments.h"
#include "kernels/gpu/gpu.h"

namespace inferd::kernels::gpu {

constexpr int kWriteThreads = 128;
constexpr int kScaleDimensions = 32;  // that share a scale of q8_0

// `dims` elements of a head's row: element i goes to data[i * step], scales of 32 of them 64 apart.
GPU_DEVICE void WriteUnit(CacheType type, const float* x, int64_t i, uint8_t* data, int64_t step, uint8_t* scales) {
  if (type == CacheType::kF32) {
    reinterpret_cast<float*>(data)[i * step] = x[i];
  } else if (type == CacheType::kF16) {
    reinterpret_cast<uint16_t*>(data)[i * step] = FloatToHalf(x[i]);
  } else {
    const float* const from = x + i * kScaleDimensions;
    auto* const quants = reinterpret_cast<int8_t*>(data) + i * kScaleDimensions * step;
    float largest = 0.0f;
    for (int j = 0; j < kScaleDimensions; ++j) {
      const float magnitude = from[j] < 0 ? -from[j] : from[j];
      largest = magnitude > largest ? magnitude : largest;
    }
    const float d = Divide(largest, 127.0f);
    const uint16_t scale = FloatToHalf(d);
    const float inverse = scale == 0 ? 0.0f : Divide(1.0f, d);
    reinterpret_cast<uint16_t*>(scales)[i * kPageTokens] = scale;
    for (int j = 0; j < kScaleDimensions; ++j) {
      const float shifted = Multiply(from[j], inverse) + 0x1.8p23f;  // to nearest, ties to even
      quants[j * step] = static_cast<int8_t>(static_cast<int32_t>(shifted - 0x1.8p23f));
    }
  }
}

GPU_KERNEL(kWriteThreads, WriteKv, WriteArguments a) {
  const PageLayout& l = a.layout;
  const int row = BlockX();
  const int64_t slot = a.positions[row] % kPageTokens;
  uint8_t* const page = a.pages[a.page_of[row]];
  const int64_t element = l.type == CacheType::kF32 ? 4 : l.type == CacheType::kF16 ? 2 : 1;
  const int unit = l.type == CacheType::kQ8_0 ? kScaleDimensions : 1;
  const int k_units = l.k_dim / unit, v_units = l.v_dim / unit;
  for (int i = Thread(); i < l.kv_heads * k_units; i += kWriteThreads) {
    const int head = i / k_units;
    WriteUnit(l.type, a.k + row * a.k_stride + head * l.k_dim, i % k_units, page + head * l.k_head + slot * element,
              kPageTokens, page + l.k_scales + head * l.k_scales_head + 2 * slot);
  }
  for (int i = Thread(); i < l.kv_heads * v_units; i += kWriteThreads) {
    const int head = i / v_units;
    WriteUnit(l.type, a.v + row * a.v_stride + head * l.v_dim, i % v_units,
              page + l.v + head * l.v_head + slot * l.v_dim * element, 1,
              page + l.v_scales + head * l.v_scales_head + 2 * slot);
  }
}

}  // namespace inferd::kernels::gpu
