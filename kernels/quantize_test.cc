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
  for (const Kernels* kernels : RunnableVariants()) {
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

// Whether all variants make the reference's bytes of rows of k elements, and read no others.
void ExpectTheSameBytes(const std::vector<float>& x, int64_t rows, int64_t k) {
  const Kernels& reference = *SelectKernels("reference");
  std::vector<uint8_t> bytes(x.size() * sizeof(float));
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const GuardedBytes guarded(bytes);
  for (ActivationFormat format : {ActivationFormat::kFloat, ActivationFormat::kBlock32, ActivationFormat::kBlock256}) {
    if (format == ActivationFormat::kBlock256 && k % 256 != 0) continue;
    const AlignedBytes expected = testing::Quantized(reference, format, x, rows, k);
    const size_t row_bytes = reference.activation_row_bytes(format, k);
    const size_t used = format == ActivationFormat::kBlock32    ? k / 32 * sizeof(ActivationBlock32)
                        : format == ActivationFormat::kBlock256 ? k / 256 * sizeof(ActivationBlock256)
                                                                : row_bytes;
    for (const Kernels* kernels : RunnableVariants()) {
      ASSERT_EQ(kernels->activation_row_bytes(format, k), row_bytes);
      AlignedBytes y(row_bytes * static_cast<size_t>(rows));
      kernels->quantize_rows(format, reinterpret_cast<const float*>(guarded.data()), rows, k, y.data());
      for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
        EXPECT_EQ(std::memcmp(y.data() + r * row_bytes, expected.data() + r * row_bytes, used), 0)
            << kernels->name << " format " << static_cast<int>(format) << " k " << k << " row " << r;
      }
    }
  }
}

TEST(QuantizeRows, EveryVariantMakesTheSameBytes) {
  std::mt19937_64 random(3);
  for (int64_t k : {256, 512, 2304}) ExpectTheSameBytes(testing::RandomActivations(14, k, random), 14, k);
  for (int64_t blocks = 1; blocks <= 34; ++blocks) {
    ExpectTheSameBytes(testing::RandomActivations(3, 32 * blocks, random), 3, 32 * blocks);
  }
}

// Blocks whose groups have few or many large quants, of one sign or of both: all that decides what is wide.
TEST(QuantizeRows, EveryVariantFindsTheSameWideBlocks) {
  std::mt19937_64 random(4);
  constexpr int64_t kRows = 600;
  uint32_t seen = 0, unseen = 0;
  std::vector<float> x;
  for (int64_t r = 0; r < kRows; ++r) {
    const uint64_t positive = random() % 33, negative = random() % (33 - positive), at = random() % 8;
    for (uint64_t i = 0; i < 256; ++i) {
      const uint64_t place = i % 32;
      const float large = static_cast<float>(127 - random() % 3);
      x.push_back(i / 32 != at ? 0.0f : place < positive ? large : place < positive + negative ? -large : 0.0f);
    }
    x.back() = 127.0f;
  }
  ExpectTheSameBytes(x, kRows, 256);
  const AlignedBytes y = testing::Quantized(*SelectKernels("reference"), ActivationFormat::kBlock256, x, kRows, 256);
  for (int64_t r = 0; r < kRows; ++r) {
    const size_t row_bytes = SelectKernels("reference")->activation_row_bytes(ActivationFormat::kBlock256, 256);
    const auto& block = *reinterpret_cast<const ActivationBlock256*>(y.data() + static_cast<size_t>(r) * row_bytes);
    uint32_t wide = 0;
    for (int group = 0; group < 256; group += 16) {
      int first[2] = {}, both[2] = {};  // of 16 and of 32 elements: positive and negative ones
      for (int i = 0; i < 32; ++i) {
        const int quant = group + i < 256 ? block.quants[group + i] : 0;
        (i < 16 ? first : both)[quant < 0] += std::abs(quant);
      }
      both[0] += first[0], both[1] += first[1];
      if ((first[0] + first[1]) * 32 > INT16_MAX) wide |= kWideSigned6;
      if (group % 32 == 0 && std::max(both[0], both[1]) * 15 > INT16_MAX) wide |= kWideUnsigned4;
      if (group % 32 == 0 && std::max(both[0], both[1]) * 31 > INT16_MAX) wide |= kWideUnsigned5;
    }
    EXPECT_EQ(block.wide, wide) << "row " << r;
    seen |= wide;
    unseen |= ~wide;
  }
  EXPECT_EQ(seen & unseen & 7u, 7u);  // each of them both ways
}

TEST(QuantizeRows, SpoilsWhatIsNotMuchSmallerThanInfinity) {
  for (const float value : {0x1p100f, 0x1p127f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<float> x(512, 1.0f);
    x[300] = -value;
    for (const Kernels* kernels : RunnableVariants()) {
      const AlignedBytes y32 = testing::Quantized(*kernels, ActivationFormat::kBlock32, x, 1, 512);
      const AlignedBytes y256 = testing::Quantized(*kernels, ActivationFormat::kBlock256, x, 1, 512);
      const auto* blocks32 = reinterpret_cast<const ActivationBlock32*>(y32.data());
      const auto* blocks256 = reinterpret_cast<const ActivationBlock256*>(y256.data());
      for (int i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(blocks32[i].scale), i == 300 / 32) << kernels->name << " " << i;
      EXPECT_EQ(blocks32[0].scale, blocks256[0].scale) << kernels->name;
      EXPECT_FALSE(std::isnan(blocks256[0].scale)) << kernels->name;
      EXPECT_TRUE(std::isnan(blocks256[1].scale)) << kernels->name;
    }
  }
}

TEST(QuantizeRows, KeepsTheLargestAndTheSmallestMagnitudes) {
  for (const float value : {0x1.fffffep99f, kSmallestMagnitude, 0x1.8p-99f}) {
    std::vector<float> x(256, value / 3);
    x[77] = -value;
    ExpectTheSameBytes(x, 1, 256);
    for (const Kernels* kernels : RunnableVariants()) {
      const AlignedBytes y = testing::Quantized(*kernels, ActivationFormat::kBlock256, x, 1, 256);
      const auto& block = *reinterpret_cast<const ActivationBlock256*>(y.data());
      EXPECT_NEAR(block.scale / value, 1.0f / 127, 1e-8) << kernels->name;
      EXPECT_EQ(block.quants[77], -127) << kernels->name;
      EXPECT_EQ(block.quants[0], 42) << kernels->name;
    }
  }
}

}  // namespace
}  // namespace inferd::kernels
