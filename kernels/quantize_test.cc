// Activations in the formats that products take: rounding, and the same bytes from every variant.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/activations.h"
#include "kernels/matmul_testing.h"

namespace inferd::kernels {
namespace {

TEST(QuantizeRows, RoundsToTheNearestOf127Steps) {
  std::mt19937_64 random(2);
  constexpr int64_t kK = 512, kRows = 7;
  const std::vector<float> x = testing::RandomActivations(kRows, kK, random);
  for (const Kernels* kernels : VariantsHere()) {
    for (ActivationFormat format : {ActivationFormat::kBlock32, ActivationFormat::kBlock256}) {
      const AlignedBytes y = testing::Quantized(*kernels, format, x, kRows, kK);
      const int64_t block = format == ActivationFormat::kBlock32 ? 32 : 256;
      for (int64_t r = 0; r < kRows; ++r) {
        const std::vector<double> rounded =
            Rounded(format, y.data() + static_cast<size_t>(r) * kernels->activation_row_bytes(format, kK), kK);
        for (int64_t i = 0; i < kK; ++i) {
          const auto first = x.begin() + r * kK + i / block * block;
          double largest = 0;
          for (int64_t j = 0; j < block; ++j) largest = std::max(largest, std::fabs(double{first[j]}));
          EXPECT_NEAR(rounded[i], x[static_cast<size_t>(r * kK + i)], largest / 127 * 0.5001 + kSmallestMagnitude);
        }
      }
    }
  }
}

TEST(QuantizeRows, EveryVariantMakesTheSameBytes) {
  std::mt19937_64 random(3);
  const Kernels& reference = *SelectKernels("reference");
  for (int64_t k : {256, 512, 2304}) {
    const std::vector<float> x = testing::RandomActivations(14, k, random);
    for (ActivationFormat format :
         {ActivationFormat::kFloat, ActivationFormat::kBlock32, ActivationFormat::kBlock256}) {
      const AlignedBytes expected = testing::Quantized(reference, format, x, 14, k);
      for (const Kernels* kernels : VariantsHere()) {
        const size_t row_bytes = kernels->activation_row_bytes(format, k);
        ASSERT_EQ(row_bytes, reference.activation_row_bytes(format, k));
        const AlignedBytes y = testing::Quantized(*kernels, format, x, 14, k);
        const size_t used = format == ActivationFormat::kBlock32    ? k / 32 * sizeof(ActivationBlock32)
                            : format == ActivationFormat::kBlock256 ? k / 256 * sizeof(ActivationBlock256)
                                                                    : row_bytes;
        for (size_t r = 0; r < 14; ++r) {
          EXPECT_EQ(std::memcmp(y.data() + r * row_bytes, expected.data() + r * row_bytes, used), 0) << kernels->name;
        }
      }
    }
  }
}

TEST(QuantizeRows, SpoilsWhatIsNotMuchSmallerThanInfinity) {
  for (const float value : {0x1p100f, 0x1p127f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<float> x(512, 1.0f);
    x[300] = -value;
    for (const Kernels* kernels : VariantsHere()) {
      const AlignedBytes y32 = testing::Quantized(*kernels, ActivationFormat::kBlock32, x, 1, 512);
      const AlignedBytes y256 = testing::Quantized(*kernels, ActivationFormat::kBlock256, x, 1, 512);
      const auto* blocks32 = reinterpret_cast<const ActivationBlock32*>(y32.data());
      const auto* blocks256 = reinterpret_cast<const ActivationBlock256*>(y256.data());
      for (int i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(blocks32[i].scale), i == 300 / 32) << kernels->name << " " << i;
      EXPECT_FALSE(std::isnan(blocks256[0].scale)) << kernels->name;
      EXPECT_TRUE(std::isnan(blocks256[1].scale)) << kernels->name;
    }
  }
}

}  // namespace
}  // namespace inferd::kernels
