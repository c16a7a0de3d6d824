// Norms, RoPE and element-wise kernels: the reference against double precision, the others against it with ==.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel_testing.h"

namespace inferd::kernels {
namespace {

constexpr int64_t kLengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 80, 100, 576, 640, 1000, 2048};

// Runs `kernel(kernels, out)` in every variant and compares its n outputs with the reference's.
template <class Kernel>
std::vector<float> SameInEveryVariant(int64_t n, const Kernel& kernel) {
  std::vector<float> expected(static_cast<size_t>(n));
  kernel(*SelectKernels("reference"), expected.data());
  for (const Kernels* kernels : RunnableVariants()) {
    std::vector<float> out(static_cast<size_t>(n) + 1, 7.0f);
    kernel(*kernels, out.data());
    EXPECT_EQ(out.back(), 7.0f) << kernels->name << " writes behind " << n << " values";
    out.pop_back();
    EXPECT_EQ(out, expected) << kernels->name << ", " << n << " values";
  }
  return expected;
}

double MeanSquare(const std::vector<float>& x, double mean) {
  double sum = 0;
  for (const float value : x) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(x.size());
}

TEST(RmsNorm, MatchesDoublePrecisionInEveryVariant) {
  for (const int64_t n : kLengths) {
    const std::vector<float> x = Random(1, static_cast<size_t>(n), 3.0f), weight = Random(2, static_cast<size_t>(n));
    for (const float* w : {weight.data(), static_cast<const float*>(nullptr)}) {
      const auto out = SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.rms_norm(x.data(), w, 1e-5f, n, y); });
      const double factor = 1 / std::sqrt(MeanSquare(x, 0) + static_cast<double>(1e-5f));
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = x[i] * factor * (w == nullptr ? 1.0 : w[i]);
        ASSERT_NEAR(out[i], expected, std::fabs(expected) * 1e-6);
      }
    }
  }
}

TEST(LayerNorm, MatchesDoublePrecisionInEveryVariant) {
  for (const int64_t n : kLengths) {
    const std::vector<float> x = Random(1, static_cast<size_t>(n), 3.0f), weight = Random(2, static_cast<size_t>(n)),
                             bias = Random(3, static_cast<size_t>(n));
    for (const bool affine : {true, false}) {
      const float* w = affine ? weight.data() : nullptr;
      const float* b = affine ? bias.data() : nullptr;
      const auto out =
          SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.layer_norm(x.data(), w, b, 1e-5f, n, y); });
      double mean = 0;
      for (const float value : x) mean += value / static_cast<double>(n);
      const double factor = 1 / std::sqrt(MeanSquare(x, mean) + static_cast<double>(1e-5f));
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = (x[i] - mean) * factor * (affine ? w[i] : 1.0) + (affine ? b[i] : 0.0);
        ASSERT_NEAR(out[i], expected, 1e-5);
      }
    }
  }
}

TEST(L2Norm, MatchesDoublePrecisionAndHoldsItsFloor) {
  for (const int64_t n : kLengths) {
    for (const float scale : {3.0f, 1e-9f}) {
      const std::vector<float> x = Random(1, static_cast<size_t>(n), scale);
      const auto out = SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.l2_norm(x.data(), 1e-6f, n, y); });
      const double length = std::max(std::sqrt(MeanSquare(x, 0) * static_cast<double>(n)), 1e-6);
      for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(out[i], x[i] / length, std::fabs(x[i] / length) * 1e-6);
    }
  }
}

TEST(Norms, AwkwardValuesGiveTheSameBits) {
  for (const int64_t n : kLengths) {
    const std::vector<float> x = Awkward(4, static_cast<size_t>(n));
    SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.rms_norm(x.data(), nullptr, 1e-6f, n, y); });
    SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.layer_norm(x.data(), x.data(), x.data(), 0.1f, n, y); });
    SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.l2_norm(x.data(), 1e-12f, n, y); });
    SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.softmax(x.data(), n, y); });
  }
}

TEST(Norms, OutMayBeTheInput) {
  for (const Kernels* kernels : RunnableVariants()) {
    const std::vector<float> x = Random(1, 37);
    std::vector<float> expected(37), inplace = x;
    kernels->rms_norm(x.data(), x.data(), 1e-5f, 37, expected.data());
    kernels->rms_norm(inplace.data(), x.data(), 1e-5f, 37, inplace.data());
    EXPECT_EQ(inplace, expected);
    inplace = x;
    kernels->layer_norm(x.data(), nullptr, nullptr, 1e-5f, 37, expected.data());
    kernels->layer_norm(inplace.data(), nullptr, nullptr, 1e-5f, 37, inplace.data());
    EXPECT_EQ(inplace, expected);
    inplace = x;
    kernels->softmax(x.data(), 37, expected.data());
    kernels->softmax(inplace.data(), 37, inplace.data());
    EXPECT_EQ(inplace, expected);
  }
}

TEST(Softmax, MatchesDoublePrecision) {
  for (const int64_t n : kLengths) {
    const std::vector<float> x = Random(1, static_cast<size_t>(n), 10.0f);
    const auto out = SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.softmax(x.data(), n, y); });
    double sum = 0;
    for (const float value : x) sum += std::exp(static_cast<double>(value));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(out[i], std::exp(static_cast<double>(x[i])) / sum, 1e-6);
  }
}

TEST(Rope, TurnsPairsByTheirAngles) {
  const double frequencies[] = {1.0, 0.1, 0.01};
  for (const Kernels* kernels : RunnableVariants()) {
    float table[6];
    kernels->rope_table(123456, frequencies, 3, 1.5f, table);
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(table[i], 1.5 * std::cos(123456 * frequencies[i]), 1e-7);
      EXPECT_NEAR(table[3 + i], 1.5 * std::sin(123456 * frequencies[i]), 1e-7);
    }
  }
}

TEST(Rope, TablesAreTheSameInEveryVariant) {
  std::vector<double> frequencies;
  for (int i = 0; i < 37; ++i) frequencies.push_back(exact::Pow(500000, -i / 37.0));
  for (const int64_t position : {0, 1, 2, 63, 1000, 131072, 999999999}) {
    const auto table = SameInEveryVariant(
        74, [&](const Kernels& k, float* y) { k.rope_table(position, frequencies.data(), 37, 1.25f, y); });
    EXPECT_EQ(table[0], static_cast<float>(exact::Cos(static_cast<double>(position)) * 1.25));
  }
}

TEST(Rope, RotatesBothPairingsInEveryVariant) {
  for (const int64_t pairs : {1, 3, 8, 16, 20, 32, 33, 40, 64, 128}) {
    std::vector<double> frequencies;
    for (int64_t i = 0; i < pairs; ++i) {
      frequencies.push_back(exact::Pow(10000, static_cast<double>(-i) / static_cast<double>(pairs)));
    }
    std::vector<float> table(static_cast<size_t>(2 * pairs));
    SelectKernels("reference")->rope_table(77, frequencies.data(), pairs, 1.0f, table.data());
    const int64_t stride = 2 * pairs + 5;  // the last elements of a head are not rotated
    const std::vector<float> x = Random(9, static_cast<size_t>(3 * stride));
    for (const RopePairing pairing : {RopePairing::kNeighbours, RopePairing::kHalves}) {
      const auto out = SameInEveryVariant(3 * stride, [&](const Kernels& k, float* y) {
        std::copy(x.begin(), x.end(), y);
        k.rope(y, 3, stride, 2 * pairs, pairing, table.data());
      });
      for (int64_t i = 0; i < 3 * stride; ++i) {
        const int64_t head = i / stride * stride, at = i % stride;
        double expected = x[static_cast<size_t>(i)];
        if (at < 2 * pairs) {
          const bool halves = pairing == RopePairing::kHalves;
          const int64_t pair = halves ? at % pairs : at / 2;
          const bool second = halves ? at >= pairs : at % 2 == 1;
          const double first_x = x[static_cast<size_t>(head + (halves ? pair : 2 * pair))];
          const double second_x = x[static_cast<size_t>(head + (halves ? pair + pairs : 2 * pair + 1))];
          const double angle = 77 * frequencies[static_cast<size_t>(pair)];
          expected = second ? first_x * std::sin(angle) + second_x * std::cos(angle)
                            : first_x * std::cos(angle) - second_x * std::sin(angle);
        }
        ASSERT_NEAR(out[static_cast<size_t>(i)], expected, 1e-6) << i;
      }
    }
  }
}

TEST(ElementWise, IsPlainArithmeticInEveryVariant) {
  for (const int64_t n : kLengths) {
    const std::vector<float> a = Awkward(1, static_cast<size_t>(n)), b = Awkward(2, static_cast<size_t>(n));
    const auto sum = SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.add(a.data(), b.data(), n, y); });
    const auto product =
        SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.multiply(a.data(), b.data(), n, y); });
    const auto scaled = SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.scale(a.data(), 0.3f, n, y); });
    const auto capped = SameInEveryVariant(n, [&](const Kernels& k, float* y) { k.soft_cap(a.data(), 30.0f, n, y); });
    const auto fused = SameInEveryVariant(n, [&](const Kernels& k, float* y) {
      std::copy(b.begin(), b.end(), y);
      k.add_scaled(a.data(), 0.3f, n, y);
    });
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(sum[i], a[i] + b[i]);
      ASSERT_EQ(product[i], a[i] * b[i]);
      ASSERT_EQ(scaled[i], a[i] * 0.3f);
      ASSERT_EQ(fused[i], std::fma(a[i], 0.3f, b[i]));
      ASSERT_NEAR(capped[i], 30 * std::tanh(a[i] / 30.0),
                  std::fabs(a[i]) * 1e-6 + 32 * 0x1p-149);  // x / cap is subnormal
    }
  }
}

TEST(Activations, GiveTheSameBitsInEveryVariant) {
  for (int kind = 0; kind <= static_cast<int>(Activation::kGeluHalf); ++kind) {
    for (const int64_t n : kLengths) {
      const std::vector<float> x = Awkward(5, static_cast<size_t>(n)), up = Random(6, static_cast<size_t>(n));
      const auto activated = SameInEveryVariant(
          n, [&](const Kernels& k, float* y) { k.activate(static_cast<Activation>(kind), x.data(), n, y); });
      const auto gated = SameInEveryVariant(
          n, [&](const Kernels& k, float* y) { k.gate(static_cast<Activation>(kind), x.data(), up.data(), n, y); });
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(gated[i], activated[i] * up[i]);
    }
  }
}

}  // namespace
}  // namespace inferd::kernels
