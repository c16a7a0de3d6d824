// What tests of products and of their activations share.
//
//   for (const Kernels* kernels : RunnableVariants()) SameBits(Multiply(*kernels, weights, y, tokens), expected);
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/activations.h"
#include "kernels/kernel_testing.h"
#include "kernels/kernels.h"
#include "kernels/testing/guarded_bytes.h"
#include "kernels/testing/weights.h"

namespace inferd::kernels {

using testing::GuardedBytes;
using testing::Weights;

inline GuardedBytes ScratchFor(const Kernels& kernels, TensorType type, int64_t k) {
  return GuardedBytes((kernels.matmul_scratch_bytes(type, k) + 63) / 64 * 64);
}

// [tokens][rows]; rows outside begin..end keep the value 77.
inline std::vector<float> Multiply(const Kernels& kernels, const Weights& weights, const AlignedBytes& activations,
                                   int64_t tokens, const int32_t* activation_rows = nullptr, int64_t begin = 0,
                                   int64_t end = -1) {
  std::vector<float> out(static_cast<size_t>(weights.rows * tokens), 77.0f);
  GuardedBytes scratch = ScratchFor(kernels, weights.type, weights.k);
  kernels.matmul({.weights = weights.Matrix(),
                  .row_begin = begin,
                  .row_end = end < 0 ? weights.rows : end,
                  .activations = activations.data(),
                  .activation_rows = activation_rows,
                  .tokens = tokens,
                  .out = out.data(),
                  .out_stride = weights.rows,
                  .scratch = scratch.data()});
  return out;
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Any NaN equals any other.
inline bool SameBitsOrBothNaN(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
  });
}

// The activations as the product sees them.
inline std::vector<double> Rounded(ActivationFormat format, const uint8_t* row, int64_t k) {
  std::vector<double> x(static_cast<size_t>(k));
  for (int64_t i = 0; i < k; ++i) {
    const auto& block32 = reinterpret_cast<const ActivationBlock32*>(row)[i / 32];
    const auto& block256 = reinterpret_cast<const ActivationBlock256*>(row)[i / 256];
    switch (format) {
      case ActivationFormat::kFloat:
        x[i] = reinterpret_cast<const float*>(row)[i];
        break;
      case ActivationFormat::kBlock32:
        x[i] = static_cast<double>(block32.scale) * block32.quants[i % 32];
        break;
      case ActivationFormat::kBlock256:
        x[i] = static_cast<double>(block256.scale) * block256.quants[i % 256];
        break;
    }
  }
  return x;
}

}  // namespace inferd::kernels
