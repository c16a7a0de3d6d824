// Quantizing and products of the GPU's kernels, on the emulator in three orders of lanes: the reference's bits.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "kernels/gpu/float_product.h"
#include "kernels/gpu/lookup_types.h"
#include "kernels/gpu/matrix_product.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/vector_product.h"
#include "kernels/gpu_emulator/testing.h"
#include "kernels/kernel_testing.h"

namespace inferd::kernels::gpu {
namespace {

using gpu_emulator::Device;
using gpu_emulator::kOrders;
using gpu_emulator::LaneOrder;
using gpu_emulator::Launcher;
using gpu_emulator::OnDevice;

uint32_t RoundUpDivide(int64_t a, int64_t b) { return static_cast<uint32_t>((a + b - 1) / b); }

std::vector<uint8_t> QuantizedByReference(ActivationFormat format, const std::vector<float>& x, int64_t rows,
                                          int64_t k) {
  const size_t row_bytes = Reference().activation_row_bytes(format, k);
  AlignedBytes bytes(row_bytes * static_cast<size_t>(rows));
  std::memset(bytes.data(), 0xFF, row_bytes * static_cast<size_t>(rows));  // as the device's memory is
  Reference().quantize_rows(format, x.data(), rows, k, bytes.data());
  return {bytes.data(), bytes.data() + row_bytes * static_cast<size_t>(rows)};
}

// Random rows, some of which have an infinity, a NaN or too large a number.
std::vector<float> RowsToQuantize(int64_t rows, int64_t k, std::mt19937_64& random) {
  std::vector<float> x = testing::RandomActivations(rows, k, random);
  constexpr float kSpoilers[] = {INFINITY, -INFINITY, NAN, 0x1p100f, -0x1p101f};
  if (random() % 2 == 0) x[random() % x.size()] = kSpoilers[random() % std::size(kSpoilers)];
  return x;
}

TEST(Quantize, GivesTheReferencesBytes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; ++round) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % 4), k = 256 * (1 + static_cast<int64_t>(random() % 3));
    const std::vector<float> x = RowsToQuantize(rows, k, random);
    for (const ActivationFormat format : {ActivationFormat::kBlock32, ActivationFormat::kBlock256}) {
      const std::vector<uint8_t> expected = QuantizedByReference(format, x, rows, k);
      const auto row_bytes = static_cast<int64_t>(expected.size()) / rows;
      for (const LaneOrder order : kOrders) {
        Device device({order});
        OnDevice<float> from(device, x);
        OnDevice<uint8_t> to(device, std::vector<uint8_t>(expected.size(), 0xFF));
        const auto height = static_cast<uint32_t>(rows);
        if (format == ActivationFormat::kBlock32) {
          Launcher(device, "QuantizeBlocks32", {RoundUpDivide(k, 256), height}, {kQuantizeThreads})(
              QuantizeBlocks32, from.data(), k, to.data(), row_bytes);
        } else {
          Launcher(device, "QuantizeBlocks256", {RoundUpDivide(k, 256), height}, {256})(QuantizeBlocks256, from.data(),
                                                                                        k, to.data(), row_bytes);
        }
        // Scales that are NaN may differ in their payload.
        ASSERT_EQ(to.Read(), expected) << "seed 1, round " << round << ", " << rows << " x " << k;
      }
    }
  }
}

// The product of random weights and rows, by the reference and as the arguments of kernels.
class Problem {
 public:
  Problem(TensorType type, int64_t rows, int64_t k, int64_t tokens, std::mt19937_64& random)
      : weights_(testing::RandomWeights(type, rows, k, random)), tokens_(tokens) {
    const TypeTraits& traits = TraitsOf(type);
    activations_ = QuantizedByReference(traits.activation, testing::RandomActivations(tokens, k, random), tokens, k);
    AlignedBytes aligned(activations_.size());
    std::memcpy(aligned.data(), activations_.data(), activations_.size());
    expected_.resize(static_cast<size_t>(rows * tokens));
    Reference().matmul({.weights = weights_.Matrix(),
                        .row_begin = 0,
                        .row_end = rows,
                        .activations = aligned.data(),
                        .activation_rows = nullptr,
                        .tokens = tokens,
                        .out = expected_.data(),
                        .out_stride = rows,
                        .scratch = nullptr});
    blocks_ = static_cast<int32_t>(k / traits.block_elements);
  }

  // `kernel` in each order of lanes, its outputs in one row and column more than it may write.
  template <class Kernel>
  void Check(const char* name, gpu_emulator::Dimensions grid, const Kernel& kernel) const {
    for (const LaneOrder order : kOrders) {
      Device device({order});
      OnDevice<uint8_t> w(device, weights_.bytes), y(device, activations_);
      const int64_t stride = weights_.rows + 1;
      OnDevice<float> out(device, std::vector<float>(static_cast<size_t>(stride * (tokens_ + 1)), 7.0f));
      const ProductArguments a{.weights = w.data(),
                               .row_bytes = static_cast<int64_t>(weights_.row_bytes),
                               .rows = static_cast<int32_t>(weights_.rows),
                               .blocks = blocks_,
                               .activations = y.data(),
                               .activation_row_bytes = static_cast<int64_t>(activations_.size()) / tokens_,
                               .tokens = static_cast<int32_t>(tokens_),
                               .out = out.data(),
                               .out_stride = stride};
      Launcher(device, name, grid, {kProductThreads})(kernel, a);
      ASSERT_EQ(out.Read(), Expected(stride)) << name << " " << TraitsOf(weights_.type).name << ", " << weights_.rows
                                              << " x " << weights_.k << ", " << tokens_ << " tokens";
    }
  }

 private:
  std::vector<float> Expected(int64_t stride) const {
    std::vector<float> expected(static_cast<size_t>(stride * (tokens_ + 1)), 7.0f);
    for (int64_t t = 0; t < tokens_; ++t) {
      std::copy_n(expected_.data() + t * weights_.rows, weights_.rows, expected.data() + t * stride);
    }
    return expected;
  }

  testing::Weights weights_;
  int64_t tokens_;
  int32_t blocks_;
  std::vector<uint8_t> activations_;
  std::vector<float> expected_;
};

template <class Type>
class QuantizedProducts : public ::testing::Test {};

using QuantizedTypes = ::testing::Types<TypeQ4_0, TypeQ4_1, TypeQ5_0, TypeQ5_1, TypeQ8_0, TypeQ2_K, TypeQ3_K, TypeQ4_K,
                                        TypeQ5_K, TypeQ6_K, TypeIQ4_NL, TypeMXFP4, TypeIQ4_XS, TypeTQ1_0, TypeTQ2_0>;
TYPED_TEST_SUITE(QuantizedProducts, QuantizedTypes);

TYPED_TEST(QuantizedProducts, HaveTheReferencesBits) {
  std::mt19937_64 random(static_cast<uint64_t>(TypeParam::kType));
  for (int round = 0; round < 12; ++round) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % 70), tokens = 1 + static_cast<int64_t>(random() % 19);
    // Whole chunks of 32 blocks, parts of one and several of them.
    const int64_t k =
        TypeParam::kElements * (1 + static_cast<int64_t>(random() % (TypeParam::kElements == 32 ? 80 : 35)));
    const Problem problem(TypeParam::kType, rows, k, tokens, random);
    const auto height = static_cast<uint32_t>(tokens);
    problem.Check("MultiplyVector", {RoundUpDivide(rows, kVectorRows), height}, MultiplyVector<TypeParam>);
    problem.Check("MultiplyMatrix", {RoundUpDivide(rows, kMatrixRows), RoundUpDivide(tokens, kMatrixTokens)},
                  MultiplyMatrix<TypeParam>);
    if (this->HasFatalFailure()) return;
  }
}

template <class Type>
class FloatProducts : public ::testing::Test {};

using FloatTypes = ::testing::Types<TypeF32, TypeF16, TypeBF16>;
TYPED_TEST_SUITE(FloatProducts, FloatTypes);

TYPED_TEST(FloatProducts, HaveTheReferencesBits) {
  std::mt19937_64 random(static_cast<uint64_t>(TypeParam::kType) + 100);
  for (int round = 0; round < 20; ++round) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % 40), tokens = 1 + static_cast<int64_t>(random() % 5);
    const Problem problem(TypeParam::kType, rows, 1 + static_cast<int64_t>(random() % 300), tokens, random);
    problem.Check("MultiplyFloats", {RoundUpDivide(rows, kFloatRows), static_cast<uint32_t>(tokens)},
                  MultiplyFloats<TypeParam>);
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace inferd::kernels::gpu
