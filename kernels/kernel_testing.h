// What tests of kernels share: which variants this machine runs, and rows of random and of awkward floats.
//
//   for (const Kernels* kernels : RunnableVariants()) { ... }
//   std::vector<float> x = Random(1, 100);
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/testing/weights.h"

namespace inferd::kernels {

using testing::AlignedBytes;

inline std::vector<const Kernels*> RunnableVariants() {
  std::vector<const Kernels*> variants;
  for (const char* const* name = KernelVariants(); *name != nullptr; ++name) {
    if (const Kernels* kernels = SelectKernels(*name)) variants.push_back(kernels);
  }
  return variants;
}

inline const Kernels& Reference() { return *SelectKernels("reference"); }

// Normal deviates times `scale`.
inline std::vector<float> Random(uint64_t seed, size_t n, float scale = 1.0f) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

// Finite floats of every size: normal deviates among zeros of both signs, subnormals, and very small and large ones.
inline std::vector<float> Awkward(uint64_t seed, size_t n) {
  constexpr float kSpecial[] = {0.0f, -0.0f, 0x1p-149f, -0x1.8p-130f, 0x1p-126f, 1e-20f, -1e-6f, 37.0f, -90.0f, 1e4f};
  std::mt19937_64 random(seed);
  std::vector<float> values = Random(seed + 1, n);
  for (float& value : values) {
    if (random() % 3 == 0) value = kSpecial[random() % std::size(kSpecial)];
  }
  return values;
}

}  // namespace inferd::kernels
