// Every type's quantizer against the kernels' dequantizer.
#include "engine/quantize/quantize_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "config/base/status.h"
#include "kernels/kernels.h"

namespace inferd::quantize {
namespace {

using kernels::TensorType;
using kernels::TraitsOf;
using ::testing::Each;
using ::testing::HasSubstr;
using enum kernels::TensorType;

constexpr int64_t kColumns = 1024;

std::vector<TensorType> Types() {
  std::vector<TensorType> types;
  for (uint32_t id = 0; id < 64; ++id) {
    const kernels::TypeTraits* traits = kernels::FindTensorType(id);
    if (traits != nullptr) types.push_back(traits->type);
  }
  CHECK(types.size() == kernels::kTensorTypes);
  return types;
}

std::vector<uint8_t> Quantized(TensorType type, const std::vector<float>& x, const float* importance = nullptr) {
  std::vector<uint8_t> out(RowBytes(type, static_cast<int64_t>(x.size())), 0xA5);
  QuantizeRow(type, x.data(), importance, static_cast<int64_t>(x.size()), out.data());
  return out;
}

std::vector<float> RoundTrip(TensorType type, const std::vector<float>& x, const float* importance = nullptr) {
  const std::vector<uint8_t> bytes = Quantized(type, x, importance);
  std::vector<float> out(x.size());
  kernels::SelectKernels("reference")->dequantize_row(type, bytes.data(), static_cast<int64_t>(x.size()), out.data());
  return out;
}

double Error(const std::vector<float>& x, const std::vector<float>& y, const std::vector<float>& w = {}) {
  double error = 0, squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double weight = w.empty() ? 1.0 : double{w[i % w.size()]};
    error += weight * (double{x[i]} - double{y[i]}) * (double{x[i]} - double{y[i]});
    squares += weight * double{x[i]} * double{x[i]};
  }
  return error / squares;
}

std::vector<float> Normal(size_t n, float deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> out(n);
  for (float& value : out) value = normal(random);
  return out;
}

// What llama.cpp's quantizer of each type leaves of normal numbers (squared error over squares), measured with its
// library; ours are at least as near.
struct Bound {
  TensorType type;
  double error;
};
class ErrorOfType : public ::testing::TestWithParam<Bound> {};

TEST_P(ErrorOfType, IsAtMostThatOfTheReferenceImplementation) {
  const auto [type, bound] = GetParam();
  for (const float deviation : {1.0f, 0.02f}) {
    const std::vector<float> x = Normal(64 * kColumns, deviation, 20);
    const double error = Error(x, RoundTrip(type, x));
    EXPECT_LE(error, bound) << TraitsOf(type).name;
    EXPECT_GE(error, bound / 10) << TraitsOf(type).name << ": a bound that proves nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ErrorOfType,
                         ::testing::Values(Bound{kQ4_0, 0.0073593}, Bound{kQ4_1, 0.0061036}, Bound{kQ5_0, 0.0018094},
                                           Bound{kQ5_1, 0.0014277}, Bound{kQ8_0, 0.0000285}, Bound{kQ2_K, 0.0878486},
                                           Bound{kQ3_K, 0.0226938}, Bound{kQ4_K, 0.0050758}, Bound{kQ5_K, 0.0013013},
                                           Bound{kQ6_K, 0.0003136}, Bound{kIQ4_NL, 0.0057735},
                                           Bound{kIQ4_XS, 0.0058631}, Bound{kTQ1_0, 0.6516185},
                                           Bound{kTQ2_0, 0.6516185}, Bound{kMXFP4, 0.0132243}, Bound{kNVFP4, 0.0090612},
                                           Bound{kIQ2_XXS, 0.1176642}, Bound{kIQ2_XS, 0.0899703},
                                           Bound{kIQ2_S, 0.0700947}, Bound{kIQ3_XXS, 0.0454996},
                                           Bound{kIQ3_S, 0.0276962}, Bound{kIQ1_S, 0.2339279},
                                           Bound{kIQ1_M, 0.2018592}),
                         [](const auto& info) { return std::string(TraitsOf(info.param.type).name); });

TEST(QuantizeRow, ZerosStayZerosInEveryType) {
  for (const TensorType type : Types()) {
    EXPECT_THAT(RoundTrip(type, std::vector<float>(kColumns, 0.0f)), Each(0.0f)) << TraitsOf(type).name;
  }
}

TEST(QuantizeRow, ConstantsAndOutliersAndMagnitudesComeBackNear) {
  for (const TensorType type : Types()) {
    SCOPED_TRACE(TraitsOf(type).name);
    for (const float value : {1.0f, -1.0f, 0.01f, -65504.0f, 30000.0f}) {
      const std::vector<float> constant(kColumns, value);
      if (!CheckRow(type, constant.data(), kColumns).ok()) continue;
      EXPECT_LT(Error(constant, RoundTrip(type, constant)), 0.04) << value;
    }
    std::vector<float> outlier = Normal(kColumns, 0.01f, 3);
    outlier[100] = 8;
    // Types without a zero, and with few scales, lose on the values beside it what they gain on the outlier.
    const bool tiny = TraitsOf(type).block_bytes * 8 < TraitsOf(type).block_elements * 2.7;
    EXPECT_LT(Error(outlier, RoundTrip(type, outlier)), tiny ? 0.55 : 0.15);
  }
}

TEST(QuantizeRow, TinyNumbersGiveFiniteOnes) {
  for (const TensorType type : Types()) {
    for (const float value : {std::numeric_limits<float>::denorm_min(), 1e-39f, -1e-20f, 3e-8f, 6e-8f, -1e-6f}) {
      std::vector<float> x(kColumns, value);
      for (size_t i = 0; i < x.size(); i += 3) x[i] = 0;
      for (const float y : RoundTrip(type, x)) {
        ASSERT_TRUE(std::fabs(y) <= std::max(4 * std::fabs(value), 0x1p-24f))
            << TraitsOf(type).name << ' ' << value << ' ' << y;
      }
    }
  }
}

TEST(QuantizeRow, WhatATypeHoldsExactlyComesBackExactly) {
  std::mt19937 random(4);
  std::vector<float> x(kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 32 == 0 ? -0.5f : static_cast<float>(random() % 3) * 0.5f - 0.5f;
  for (const TensorType type : {kF32, kF16, kBF16, kQ8_0, kTQ1_0, kTQ2_0, kMXFP4, kNVFP4, kQ4_0, kQ5_0}) {
    EXPECT_EQ(RoundTrip(type, x), x) << TraitsOf(type).name;
  }
}

// The weighted error with importance is less than that of a row quantized without, measured with the same weights.
TEST(QuantizeRow, ImportanceLowersTheErrorThatItWeighs) {
  std::vector<float> importance(kColumns);
  std::mt19937 random(6);
  for (float& value : importance) value = std::ldexp(1.0f, static_cast<int>(random() % 12));
  const std::vector<float> x = Normal(kColumns, 0.02f, 7);
  for (const TensorType type : Types()) {
    if (TraitsOf(type).block_elements == 1) continue;
    EXPECT_LT(Error(x, RoundTrip(type, x, importance.data()), importance), Error(x, RoundTrip(type, x), importance))
        << TraitsOf(type).name;
  }
}

TEST(QuantizeRow, ImportanceOfNothingCountsAllAlike) {
  const std::vector<float> x = Normal(kColumns, 0.02f, 8), none(kColumns, 0.0f), same(kColumns, 7.0f);
  for (const TensorType type : Types()) {
    EXPECT_EQ(Quantized(type, x, none.data()), Quantized(type, x)) << TraitsOf(type).name;
    EXPECT_EQ(Quantized(type, x, same.data()), Quantized(type, x)) << TraitsOf(type).name;
  }
}

TEST(CheckRow, RefusesWhatATypeCannotHold) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float value : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x(kColumns, 1.0f);
    x[77] = value;
    for (const TensorType type : Types()) {
      EXPECT_THAT(std::string(MessageOf(CheckRow(type, x.data(), kColumns))), HasSubstr("value 77 of the row is "));
    }
  }
  std::vector<float> x(kColumns, 1.0f);
  x[5] = 70000;
  EXPECT_THAT(std::string(MessageOf(CheckRow(kQ4_K, x.data(), kColumns))),
              HasSubstr("value 5 of the row is 70000, expected at most 65504, the largest that Q4_K can hold"));
  x[5] = 3000;
  EXPECT_THAT(std::string(MessageOf(CheckRow(kNVFP4, x.data(), kColumns))), HasSubstr("expected at most 2688"));
  x[5] = 70000;
  EXPECT_TRUE(CheckRow(kBF16, x.data(), kColumns).ok());
  EXPECT_TRUE(CheckRow(kMXFP4, x.data(), kColumns).ok());
}

}  // namespace
}  // namespace inferd::quantize
