// Products at the ends of what weights, scales and sums can be, which random values never reach: every variant against
// the reference bit by bit, any NaN for NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/matmul_testing.h"
#include "kernels/testing/block_parts.h"

namespace inferd::kernels {
namespace {

using testing::BlockParts;
using testing::kBlockParts;

constexpr uint16_t kHalfOne = 0x3C00;
constexpr int kExtremeValues[] = {0x00, 0xFF, 0xF0, 0x0F, 0x80, 0x7F, 0xAA, 0x55};
constexpr int kExtremeScales[] = {0x00, 0xFF, 0x80, 0x7F, 0x3F, 0x20};
constexpr int64_t kEveryPair = 72;  // so many rows of Extreme() have every value with every scale

// Rows of one value byte and one byte of integer scales each, from the lists above; the first row has those of places
// `values` and `scales`. Then every block's halves: the first, and where there are two the second.
Weights Extreme(const BlockParts& parts, int64_t rows, int64_t k, size_t values, size_t scales,
                uint16_t first = kHalfOne, uint16_t second = kHalfOne) {
  const TypeTraits& traits = TraitsOf(parts.type);
  Weights weights{parts.type, rows, k, traits.block_bytes * static_cast<size_t>(k / traits.block_elements), {}};
  for (size_t i = 0; i < static_cast<size_t>(rows) * weights.row_bytes; ++i) {
    const size_t at = i % traits.block_bytes, row = i / weights.row_bytes;
    const bool is_scale = at >= parts.scales_begin && at < parts.scales_end;
    const int byte = is_scale ? kExtremeScales[(scales + row / 3) % std::size(kExtremeScales)]
                              : kExtremeValues[(values + row) % std::size(kExtremeValues)];
    weights.bytes.push_back(static_cast<uint8_t>(byte));
  }
  for (size_t block = 0; block < weights.bytes.size(); block += traits.block_bytes) {
    for (int i = 0; i < HalvesIn(parts); ++i) PutHalf(parts, weights.bytes.data() + block, i, i == 0 ? first : second);
  }
  return weights;
}

// Every variant against the reference, for all tokens at once and for the first ones alone.
void ExpectSameProducts(const Weights& weights, const AlignedBytes& y, int64_t tokens, int32_t alone) {
  const std::vector<float> expected = Multiply(*SelectKernels("reference"), weights, y, tokens);
  for (const Kernels* kernels : RunnableVariants()) {
    SCOPED_TRACE(kernels->name);
    EXPECT_TRUE(SameBitsOrBothNaN(Multiply(*kernels, weights, y, tokens), expected));
    for (int32_t t = 0; t < alone; ++t) {
      const auto begin = expected.begin() + t * weights.rows;
      EXPECT_TRUE(SameBitsOrBothNaN(Multiply(*kernels, weights, y, 1, &t), {begin, begin + weights.rows}))
          << "token " << t;
    }
  }
}

class MatmulExtremes : public ::testing::TestWithParam<BlockParts> {};

// Integer sums at their ends.
TEST_P(MatmulExtremes, LargestSumsGiveTheReferencesBits) {
  constexpr int64_t kRows = 32, kTokens = 6;
  const Kernels& reference = *SelectKernels("reference");
  const TypeTraits& traits = TraitsOf(GetParam().type);
  const int64_t k = std::max<int64_t>(traits.block_elements, 32) * 2;
  std::vector<float> x;
  for (int64_t i = 0; i < kTokens * k; ++i) {
    x.push_back(i / k % 3 == 0 ? 1.0f : i / k % 3 == 1 ? -1.0f : i % 2 == 0 ? -1.0f : 1.0f);
  }
  const AlignedBytes y = testing::Quantized(reference, traits.activation, x, kTokens, k);
  for (size_t values = 0; values < std::size(kExtremeValues); ++values) {
    for (size_t scales = 0; scales < std::size(kExtremeScales); ++scales) {
      SCOPED_TRACE(::testing::Message() << "values " << values << " scales " << scales);
      ExpectSameProducts(Extreme(GetParam(), kRows, k, values, scales), y, kTokens, 3);
    }
  }
}

// Zeros, the smallest and the largest halves, infinities and NaN as scales and minimums. Two of the tokens are all
// zero, or too large to have a scale.
TEST_P(MatmulExtremes, HalvesAtTheirEndsGiveTheReferencesBits) {
  constexpr uint16_t kHalves[] = {kHalfOne, 0x0000, 0x8000, 0x0001, 0x8001, 0x03FF,
                                  0x7BFF,   0xFBFF, 0x7C00, 0xFC00, 0x7E00};
  constexpr int64_t kTokens = 6;
  constexpr float kMagnitudes[kTokens] = {1.0f, 0.0f, 1e20f, 0x1p101f, 1e-20f, 1.0f};
  const TypeTraits& traits = TraitsOf(GetParam().type);
  const int64_t k = std::max<int64_t>(traits.block_elements, 32) * 2;
  std::mt19937_64 random(9);
  std::vector<float> x;
  for (int64_t i = 0; i < kTokens * k; ++i) {
    x.push_back(kMagnitudes[i / k] * static_cast<float>(static_cast<int>(random() % 255) - 127));
  }
  const AlignedBytes y = testing::Quantized(*SelectKernels("reference"), traits.activation, x, kTokens, k);
  for (const uint16_t first : kHalves) {
    for (const uint16_t second : kHalves) {
      if (HalvesIn(GetParam()) < 2 && second != kHalfOne) continue;
      SCOPED_TRACE(::testing::Message() << std::hex << first << " " << second);
      ExpectSameProducts(Extreme(GetParam(), kEveryPair, k, 0, 0, first, second), y, kTokens, kTokens);
    }
  }
}

// Tokens of two blocks of 256 with integer activations, so that these are the quants: in each 32 but the block's last
// ones some of one sign with the given sum, spread evenly, and the 127 that makes the scale 1.
std::vector<float> TokensOfSums(const std::vector<int>& sums) {
  std::vector<float> x;
  for (const int sum : sums) {
    for (int i = 0; i < 512; ++i) {
      const int place = i % 32, magnitude = std::abs(sum) / 32 + (place < std::abs(sum) % 32 ? 1 : 0);
      const bool last = i % 256 >= 224;
      x.push_back(static_cast<float>(last ? (place == 0 ? 127 : 0) : sum < 0 ? -magnitude : magnitude));
    }
  }
  return x;
}

// Around the sums from which on products of 4, 5 and 6 bits may not fit in 16.
TEST(Matmul, SumsAtTheEdgeOf16BitsGiveTheReferencesBits) {
  constexpr int64_t kRows = 32, kK = 512;
  const std::vector<int> sums = {1056, 1057,  1058,  2046,  2047,  2048,  2183, 2184,
                                 2185, -1057, -1058, -2047, -2048, -2184, -2185};
  const auto tokens = static_cast<int64_t>(sums.size());
  const Kernels& reference = *SelectKernels("reference");
  const AlignedBytes y = testing::Quantized(reference, ActivationFormat::kBlock256, TokensOfSums(sums), tokens, kK);
  const size_t row_bytes = reference.activation_row_bytes(ActivationFormat::kBlock256, kK);
  for (size_t t = 0; t < sums.size(); ++t) {
    const auto* block = reinterpret_cast<const ActivationBlock256*>(y.data() + t * row_bytes);
    const int sum = std::abs(sums[t]);
    EXPECT_EQ((block->wide & kWideUnsigned4) != 0, sum * 15 > INT16_MAX) << sum;
    EXPECT_EQ((block->wide & kWideUnsigned5) != 0, sum * 31 > INT16_MAX) << sum;
    const int first_half = sum / 32 * 16 + std::min(sum % 32, 16);
    EXPECT_EQ((block->wide & kWideSigned6) != 0, first_half * 32 > INT16_MAX) << sum;
  }
  for (const BlockParts& parts : kBlockParts) {
    if (TraitsOf(parts.type).activation != ActivationFormat::kBlock256) continue;
    for (size_t values = 0; values < std::size(kExtremeValues); ++values) {
      for (const size_t scales : {1, 3}) {
        const Weights weights = Extreme(parts, kRows, kK, values, scales);
        for (int32_t t = 0; t < tokens; ++t) {  // by itself, for the widest token of a tile decides for all
          const int32_t rows[] = {t, t};
          const std::vector<float> expected = Multiply(reference, weights, y, 2, rows);
          for (const Kernels* kernels : RunnableVariants()) {
            EXPECT_TRUE(SameBits(Multiply(*kernels, weights, y, 2, rows), expected))
                << kernels->name << " " << TraitsOf(parts.type).name << " " << values << " " << scales << " "
                << sums[static_cast<size_t>(t)];
          }
        }
      }
    }
  }
}

// Rows whose values are the largest in the first 0, 1, 2, ... 32 of each 32 elements and the smallest in the others,
// and tokens whose quants change their sign there: the largest sums that a block's one-sided sums allow.
TEST(Matmul, SumsOfOneSignAmongOthersGiveTheReferencesBits) {
  constexpr int64_t kRows = 33, kK = 256;
  std::vector<float> x;
  int64_t tokens = 0;
  for (int positive = 4; positive <= 28; ++positive) {
    for (const int large : {64, 100, 127}) {
      for (const int small : {0, 30, 100, 127}) {
        for (int i = 0; i < kK; ++i) x.push_back(static_cast<float>(i % 32 < positive ? large : -small));
        x.back() = -127;
        ++tokens;
      }
    }
  }
  const Kernels& reference = *SelectKernels("reference");
  const AlignedBytes y = testing::Quantized(reference, ActivationFormat::kBlock256, x, tokens, kK);
  for (const TensorType type : {TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K}) {
    const BlockParts& parts = testing::PartsOf(type);
    const size_t values = type == TensorType::kQ6_K ? 0 : 16;
    Weights weights = Extreme(parts, kRows, kK, 0, 1);
    for (size_t i = 0; i < weights.bytes.size(); ++i) {
      const size_t at = i % weights.row_bytes, row = i / weights.row_bytes;
      const bool is_half = at >= parts.halves_begin && at < parts.halves_end;
      const bool is_scale = at >= parts.scales_begin && at < parts.scales_end;
      if (is_half || is_scale) continue;
      weights.bytes[i] = (at - values) % 32 < row ? 0xFF : 0x00;
    }
    for (int32_t t = 0; t < tokens; ++t) {  // by itself, for the widest token of a tile decides for all
      const int32_t rows[] = {t, t};
      const std::vector<float> expected = Multiply(reference, weights, y, 2, rows);
      for (const Kernels* kernels : RunnableVariants()) {
        EXPECT_TRUE(SameBits(Multiply(*kernels, weights, y, 2, rows), expected))
            << kernels->name << " " << TraitsOf(type).name << " token " << t;
      }
    }
  }
}

class FloatMatmulExtremes : public ::testing::TestWithParam<TensorType> {};

struct FloatBits {
  TensorType type;
  uint32_t bits[10];  // zeros, subnormals, the smallest normal value; the largest; infinities, NaN
};
constexpr FloatBits kFloatBits[] = {
    {TensorType::kF32,
     {0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000}},
    {TensorType::kF16, {0, 0x8000, 1, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00}},
    {TensorType::kBF16, {0, 0x8000, 1, 0x807F, 0x0080, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0}},
};

// A third of the elements become zeros and very small values; in every second of three rows the largest ones too, and
// in every third infinities and NaN.
void PutAwkward(TensorType type, Weights& weights, std::mt19937_64& random) {
  const FloatBits& special = *std::find_if(std::begin(kFloatBits), std::end(kFloatBits),
                                           [&](const FloatBits& bits) { return bits.type == type; });
  const size_t bytes = TraitsOf(type).block_bytes;
  for (size_t i = 0; i < weights.bytes.size(); i += bytes) {
    constexpr size_t kPatterns[] = {5, 7, 10};
    const uint32_t bits = special.bits[random() % kPatterns[i / weights.row_bytes % 3]];
    if (random() % 3 == 0) std::memcpy(weights.bytes.data() + i, &bits, bytes);
  }
}

TEST_P(FloatMatmulExtremes, GiveTheReferencesBits) {
  constexpr int64_t kRows = 35, kTokens = 13;
  const Kernels& reference = *SelectKernels("reference");
  std::mt19937_64 random(10);
  for (const int64_t k : {1, 15, 16, 17, 67, 256, 515}) {
    SCOPED_TRACE(k);
    Weights weights = testing::RandomWeights(GetParam(), kRows, k, random);
    PutAwkward(GetParam(), weights, random);
    Weights rows = testing::RandomWeights(TensorType::kF32, 3 * kTokens, k, random);
    PutAwkward(TensorType::kF32, rows, random);
    std::vector<float> x;  // the rows without the largest values
    for (int64_t t = 0; t < kTokens; ++t) {
      const uint8_t* row = rows.bytes.data() + static_cast<size_t>(3 * t) * rows.row_bytes;
      for (int64_t i = 0; i < k; ++i) {
        float value;
        std::memcpy(&value, row + 4 * i, sizeof value);
        x.push_back(value);
      }
    }
    const AlignedBytes y = testing::Quantized(reference, ActivationFormat::kFloat, x, kTokens, k);
    const std::vector<float> products = Multiply(reference, weights, y, kTokens);
    for (size_t i = 0; i < products.size(); i += kRows) EXPECT_TRUE(std::isfinite(products[i]));  // of the first row
    ExpectSameProducts(weights, y, kTokens, kTokens);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, MatmulExtremes, ::testing::ValuesIn(kBlockParts),
                         [](const auto& info) { return TraitsOf(info.param.type).name; });
INSTANTIATE_TEST_SUITE_P(AllTypes, FloatMatmulExtremes,
                         ::testing::Values(TensorType::kF32, TensorType::kF16, TensorType::kBF16),
                         [](const auto& info) { return TraitsOf(info.param).name; });

}  // namespace
}  // namespace inferd::kernels
