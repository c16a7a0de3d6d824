// Bounds of the f32 functions against double calculations, on every variant through the table.
#include "kernels/lanes/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/kernels.h"

namespace inferd::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One unit in the last place of a result, no smaller than the smallest subnormal.
double UnitInLastPlace(double x) {
  int exponent;
  std::frexp(std::fabs(x), &exponent);
  return std::fmax(std::ldexp(1.0, exponent - 24), 0x1p-149);
}

// Every 997th float between low and high.
std::vector<float> Sweep(float low, float high) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x7F800000u; bits += 997) {
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    if (x <= high && x >= low) values.push_back(x);
    if (-x <= high && -x >= low) values.push_back(-x);
  }
  return values;
}

struct Case {
  const char* name;
  Activation kind;
  float low, high;
  double units;  // largest error, in units in the last place of the result
  double (*expected)(double);
};

class Elementary : public testing::TestWithParam<Case> {};

TEST_P(Elementary, KeepsItsBound) {
  const Case& c = GetParam();
  const Kernels& kernels = *SelectKernels("reference");
  const std::vector<float> x = Sweep(c.low, c.high);
  std::vector<float> y(x.size());
  kernels.activate(c.kind, x.data(), static_cast<int64_t>(x.size()), y.data());
  double worst = 0;
  float worst_x = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = c.expected(x[i]);
    const double error = std::fabs(y[i] - expected) / UnitInLastPlace(expected);
    if (!(error <= worst)) {
      worst = error;
      worst_x = x[i];
    }
  }
  EXPECT_LE(worst, c.units) << "at " << worst_x;
  RecordProperty("worst_units", std::to_string(worst));
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

INSTANTIATE_TEST_SUITE_P(
    All, Elementary,
    testing::Values(
        Case{"Exp", Activation::kExp, -87.33f, 88.7f, 2, [](double x) { return std::exp(x); }},
        Case{"Tanh", Activation::kTanh, -30, 30, 4, [](double x) { return std::tanh(x); }},
        Case{"Softplus", Activation::kSoftplus, -87, 100, 4, [](double x) { return std::log1p(std::exp(x)); }},
        Case{"Sigmoid", Activation::kSigmoid, -87, 30, 4, Sigmoid},
        Case{"Silu", Activation::kSilu, -80, 1e30f, 4, [](double x) { return x * Sigmoid(x); }},
        Case{"Relu", Activation::kRelu, -1e30f, 1e30f, 0, [](double x) { return x > 0 ? x : 0; }},
        Case{"ReluSquared", Activation::kReluSquared, -1e30f, 1e18f, 1, [](double x) { return x > 0 ? x * x : 0; }}),
    [](const auto& info) { return info.param.name; });

// For these the bound is absolute: their exponent or 1 + erf is rounded before use.
class Gelu : public testing::TestWithParam<Case> {};

TEST_P(Gelu, KeepsItsBound) {
  const Case& c = GetParam();
  const std::vector<float> x = Sweep(c.low, c.high);
  std::vector<float> y(x.size());
  SelectKernels("reference")->activate(c.kind, x.data(), static_cast<int64_t>(x.size()), y.data());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(y[i], c.expected(x[i]), c.units * 0x1p-24 * std::fabs(x[i]) + 0x1p-149) << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Gelu,
    testing::Values(
        Case{"Erf", Activation::kGeluErf, -10, 10, 4,
             [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
        Case{"Tanh", Activation::kGeluTanh, -30, 30, 4,
             [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
        Case{"Half", Activation::kGeluHalf, -30, 30, 3 << 13,  // both roundings move the result by 2^-12
             [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
        Case{"Quick", Activation::kGeluQuick, -30, 30, 4, [](double x) { return x * Sigmoid(1.702 * x); }}),
    [](const auto& info) { return info.param.name; });

TEST(ElementaryEnds, AreDefined) {
  const std::vector<float> x = {-kInfinity, kInfinity, 0.0f, 1e30f, -1e30f, 0x1p-149f, -0x1p-149f};
  const std::vector<std::pair<Activation, std::vector<float>>> cases = {
      {Activation::kExp, {0, kInfinity, 1, kInfinity, 0, 1, 1}},
      {Activation::kTanh, {-1, 1, 0, 1, -1, 0x1p-149f, -0x1p-149f}},
      {Activation::kSigmoid, {0, 1, 0.5f, 1, 0, 0.5f, 0.5f}},
      {Activation::kRelu, {0, kInfinity, 0, 1e30f, 0, 0x1p-149f, 0}},
  };
  for (const auto& [kind, expected] : cases) {
    std::vector<float> y(x.size());
    SelectKernels("reference")->activate(kind, x.data(), static_cast<int64_t>(x.size()), y.data());
    EXPECT_EQ(y, expected) << static_cast<int>(kind);
  }
}

TEST(ElementaryEnds, ExpHasNoSubnormalResults) {
  const std::vector<float> x = {-87.33f, -87.331f, -88.0f, -103.0f, -150.0f};
  std::vector<float> y(x.size());
  SelectKernels("reference")->activate(Activation::kExp, x.data(), static_cast<int64_t>(x.size()), y.data());
  EXPECT_GE(y[0], 0x1p-126f);
  EXPECT_EQ(std::vector<float>(y.begin() + 1, y.end()), std::vector<float>(4));
}

TEST(ElementaryEnds, GeluInHalfPrecisionHasElevenBits) {
  const std::vector<float> x = Sweep(-30, 30);
  std::vector<float> y(x.size());
  SelectKernels("reference")->activate(Activation::kGeluHalf, x.data(), static_cast<int64_t>(x.size()), y.data());
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] >= 10) {
      ASSERT_EQ(y[i], x[i]);
    } else {
      int exponent;
      const double significand = std::ldexp(std::frexp(y[i], &exponent), 11);
      ASSERT_EQ(significand, std::round(significand)) << x[i];
    }
  }
}

TEST(ElementaryEnds, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int kind = 0; kind <= static_cast<int>(Activation::kGeluHalf); ++kind) {
    float y = 0;
    SelectKernels("reference")->activate(static_cast<Activation>(kind), &nan, 1, &y);
    EXPECT_TRUE(std::isnan(y)) << kind;
  }
}

}  // namespace
}  // namespace inferd::kernels
