// Products: the reference against double precision, every variant against the reference bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/activations.h"
#include "kernels/matmul_testing.h"

namespace inferd::kernels {
namespace {

struct Shape {
  int64_t rows, k, tokens;
};

TEST(Matmul, ReferenceIsTheSumOfProductsUpToRounding) {
  std::mt19937_64 random(1);
  const Kernels& reference = *SelectKernels("reference");
  constexpr int64_t kRows = 5, kK = 768, kTokens = 7;
  for (TensorType type : testing::AllTypes()) {
    const ActivationFormat format = TraitsOf(type).activation;
    const Weights weights = testing::RandomWeights(type, kRows, kK, random);
    const AlignedBytes y =
        testing::Quantized(reference, format, testing::RandomActivations(kTokens, kK, random), kTokens, kK);
    const std::vector<float> out = Multiply(reference, weights, y, kTokens);
    std::vector<float> w(kK);
    for (int64_t r = 0; r < kRows; ++r) {
      reference.dequantize_row(type, weights.bytes.data() + static_cast<size_t>(r) * weights.row_bytes, kK, w.data());
      for (int64_t t = 0; t < kTokens; ++t) {
        const std::vector<double> x =
            Rounded(format, y.data() + static_cast<size_t>(t) * reference.activation_row_bytes(format, kK), kK);
        double sum = 0, largest = 0;
        for (int64_t i = 0; i < kK; ++i) {
          sum += w[i] * x[i];
          largest += std::fabs(w[i] * x[i]);
        }
        // At most k roundings of f32, each relative to a partial sum; minimums may cancel values, hence the factor.
        const double bound = largest * kK * 4 * 0x1p-24 + 1e-36;
        EXPECT_NEAR(out[static_cast<size_t>(t * kRows + r)], sum, bound) << TraitsOf(type).name << " " << r << " " << t;
      }
    }
  }
}

// The hash of all types' products over fixed inputs, as written down once on x86-64: the same on every machine, also on
// ARM (tests/arm/run.sh). A changed hash means that models answer differently than before.
TEST(Matmul, GivesTheBitsWrittenDown) {
  constexpr int64_t kRows = 19, kK = 768, kTokens = 8;
  for (const Kernels* kernels : RunnableVariants()) {
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    uint32_t state = 1;
    const auto next = [&state] { return state = state * 1664525u + 1013904223u; };
    for (TensorType type : testing::AllTypes()) {
      const TypeTraits& traits = TraitsOf(type);
      Weights weights{type, kRows, kK, traits.block_bytes * static_cast<size_t>(kK / traits.block_elements), {}};
      // Bytes whose halves and floats are all moderate, for every second one, the high one, is near that of 1; and the
      // exponent in the first byte of a block of MXFP4.
      for (size_t i = 0; i < kRows * weights.row_bytes; ++i) {
        const bool moderate = type == TensorType::kMXFP4 ? i % traits.block_bytes == 0 : i % 2 == 1;
        const uint32_t offset = type == TensorType::kMXFP4 ? 0x78 : 0x3C;
        weights.bytes.push_back(static_cast<uint8_t>(moderate ? offset + (next() >> 30) : next() >> 24));
      }
      std::vector<float> x(kTokens * kK);
      for (float& value : x) value = static_cast<float>(static_cast<int32_t>(next()) >> 8) * 0x1p-20f;
      const AlignedBytes y = testing::Quantized(*kernels, traits.activation, x, kTokens, kK);
      for (const float value : Multiply(*kernels, weights, y, kTokens)) {
        EXPECT_TRUE(std::isfinite(value)) << traits.name;
        const uint32_t bits = std::bit_cast<uint32_t>(value);
        for (int byte = 0; byte < 4; ++byte) hash = (hash ^ (bits >> (8 * byte) & 255)) * 1099511628211u;
      }
    }
    EXPECT_EQ(hash, 0x4db8b70229b8bb15u) << kernels->name;
  }
}

class MatmulOfType : public ::testing::TestWithParam<TensorType> {
 protected:
  void CompareVariants(const Shape& shape, std::mt19937_64& random) {
    const Kernels& reference = *SelectKernels("reference");
    const ActivationFormat format = TraitsOf(GetParam()).activation;
    const Weights weights = testing::RandomWeights(GetParam(), shape.rows, shape.k, random);
    const AlignedBytes y = testing::Quantized(
        reference, format, testing::RandomActivations(shape.tokens, shape.k, random), shape.tokens, shape.k);
    const std::vector<float> expected = Multiply(reference, weights, y, shape.tokens);
    for (const Kernels* kernels : RunnableVariants()) {
      EXPECT_TRUE(SameBits(Multiply(*kernels, weights, y, shape.tokens), expected))
          << kernels->name << " rows " << shape.rows << " k " << shape.k << " tokens " << shape.tokens;
    }
  }
};

TEST_P(MatmulOfType, EveryVariantEqualsTheReference) {
  std::mt19937_64 random(4);
  const int64_t block = std::max<int64_t>(TraitsOf(GetParam()).block_elements, 1);
  for (int64_t rows = 1; rows <= 67; ++rows) {
    CompareVariants({rows, block * (1 + rows % 2), 1}, random);
    CompareVariants({rows, block * (1 + static_cast<int64_t>(random() % 5)), 2 + static_cast<int64_t>(random() % 8)},
                    random);
  }
  for (int64_t blocks : {1, 2, 3, 7, 8, 9, 18, 33}) CompareVariants({17, block * blocks, 3}, random);
  for (int64_t blocks : {1, 2, 7, 8, 9, 17, 33}) CompareVariants({33, block * blocks, 1}, random);
  CompareVariants({33, 4096 + 256, 7}, random);  // many chunks, which are short under few tokens
}

// Chunks of 4096 elements, as more than 16 tokens have them: two and three in a row.
TEST_P(MatmulOfType, LongRowsUnderManyTokensEqualTheReference) {
  std::mt19937_64 random(8);
  for (const int64_t k : {4352, 8448}) {
    for (const int64_t tokens : {17, 50}) CompareVariants({33, k, tokens}, random);
  }
}

// Rows of one block, of two chunks of 384 elements, and of three or more.
TEST_P(MatmulOfType, EveryTokenCountEqualsTokenByToken) {
  std::mt19937_64 random(5);
  constexpr int64_t kMost = 64, kRows = 35;
  const int64_t block = std::max<int64_t>(TraitsOf(GetParam()).block_elements, 32);
  const ActivationFormat format = TraitsOf(GetParam()).activation;
  for (const int64_t k : {block, (384 / block + 1) * block, 1024 + block}) {
    const Weights weights = testing::RandomWeights(GetParam(), kRows, k, random);
    const std::vector<float> x = testing::RandomActivations(kMost, k, random);
    for (const Kernels* kernels : RunnableVariants()) {
      if (k > block && kernels == SelectKernels("reference")) continue;  // has no chunks
      const AlignedBytes y = testing::Quantized(*kernels, format, x, kMost, k);
      std::vector<float> alone;
      for (int32_t t = 0; t < kMost; ++t) {
        const std::vector<float> one = Multiply(*kernels, weights, y, 1, &t);
        alone.insert(alone.end(), one.begin(), one.end());
      }
      for (int64_t tokens = 1; tokens <= kMost; ++tokens) {
        const std::vector<float> expected(alone.begin(), alone.begin() + tokens * kRows);
        EXPECT_TRUE(SameBits(Multiply(*kernels, weights, y, tokens), expected))
            << kernels->name << " k " << k << " tokens " << tokens;
      }
    }
  }
}

TEST_P(MatmulOfType, TakesAnyChoiceOfActivationRowsAndAnyPartOfTheWeightRows) {
  std::mt19937_64 random(6);
  constexpr int64_t kRows = 83, kTokens = 9;
  const int64_t k = std::max<int64_t>(TraitsOf(GetParam()).block_elements, 32) * 2;
  const Weights weights = testing::RandomWeights(GetParam(), kRows, k, random);
  const std::vector<float> x = testing::RandomActivations(4, k, random);
  const int32_t rows[kTokens] = {3, 0, 0, 2, 1, 3, 3, 0, 1};
  const Kernels& reference = *SelectKernels("reference");
  const AlignedBytes y = testing::Quantized(reference, TraitsOf(GetParam()).activation, x, 4, k);
  for (const Kernels* kernels : RunnableVariants()) {
    for (auto [begin, end] : {std::pair<int64_t, int64_t>{0, 16}, {16, 64}, {32, 83}, {80, 83}, {16, 16}}) {
      EXPECT_TRUE(SameBits(Multiply(*kernels, weights, y, kTokens, rows, begin, end),
                           Multiply(reference, weights, y, kTokens, rows, begin, end)))
          << kernels->name << " " << begin << ".." << end;
    }
  }
}

TEST_P(MatmulOfType, ReadsNothingBehindTheLastWeight) {
  const Kernels& reference = *SelectKernels("reference");
  std::mt19937_64 random(7);
  const int64_t block = std::max<int64_t>(TraitsOf(GetParam()).block_elements, 1);
  for (const int64_t rows : {1, 16, 33}) {
    for (const int64_t blocks : {1, 2, 3, 4, 5, 17}) {
      const int64_t k = block * blocks;
      const Weights weights = testing::RandomWeights(GetParam(), rows, k, random);
      const GuardedBytes guarded(weights.bytes);
      const std::vector<float> x = testing::RandomActivations(7, k, random);
      const AlignedBytes y = testing::Quantized(reference, TraitsOf(GetParam()).activation, x, 7, k);
      for (const Kernels* kernels : RunnableVariants()) {
        GuardedBytes scratch = ScratchFor(*kernels, GetParam(), k);
        std::vector<float> out(static_cast<size_t>(7 * rows)), row(static_cast<size_t>(k));
        for (const int64_t tokens : {1, 2, 7}) {
          kernels->matmul({.weights = {GetParam(), guarded.data(), rows, k, weights.row_bytes},
                           .row_begin = 0,
                           .row_end = rows,
                           .activations = y.data(),
                           .tokens = tokens,
                           .out = out.data(),
                           .out_stride = rows,
                           .scratch = scratch.data(),
                           .next = guarded.data() + weights.bytes.size()});
          const std::vector<float> expected = Multiply(reference, weights, y, tokens);
          EXPECT_EQ(std::memcmp(out.data(), expected.data(), expected.size() * sizeof(float)), 0) << kernels->name;
        }
        kernels->dequantize_row(GetParam(), guarded.data() + static_cast<size_t>(rows - 1) * weights.row_bytes, k,
                                row.data());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, MatmulOfType, ::testing::ValuesIn(testing::AllTypes()),
                         [](const auto& info) { return TraitsOf(info.param).name; });

}  // namespace
}  // namespace inferd::kernels
