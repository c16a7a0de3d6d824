#include "engine/model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace inferd::model {
namespace {

RopeSpec Plain() { return {.rotated = 64, .base = 10000.0, .original_context = 4096}; }

double PlainFrequency(int64_t pair) { return std::pow(10000.0, -2.0 * static_cast<double>(pair) / 64.0); }

TEST(Rope, PlainFrequenciesAreAGeometricSequence) {
  const RopeFrequencies f = FrequenciesOf(Plain(), 4096);
  ASSERT_EQ(f.inverse.size(), 32u);
  for (int64_t pair = 0; pair < 32; ++pair) EXPECT_NEAR(f.inverse[pair] / PlainFrequency(pair), 1.0, 1e-14);
  EXPECT_EQ(f.magnitude, 1.0f);
}

TEST(Rope, LinearScalingSlowsEveryPair) {
  RopeSpec rope = Plain();
  rope.scaling = RopeScaling::kLinear;
  rope.factor = 4;
  const RopeFrequencies f = FrequenciesOf(rope, 16384);
  for (int64_t pair = 0; pair < 32; ++pair) EXPECT_NEAR(f.inverse[pair] * 4 / PlainFrequency(pair), 1.0, 1e-14);
}

// Section 3.2 of the paper by hand: of 4096 tokens and 64 dimensions, the pair that turns 32 times is number 10.46 and
// the one that turns once number 22.51, so that the ramp goes from 10 to 23.
TEST(Rope, YarnKeepsFastPairsAndSlowsSlowOnes) {
  RopeSpec rope = Plain();
  rope.scaling = RopeScaling::kYarn;
  rope.factor = 4;
  const RopeFrequencies f = FrequenciesOf(rope, 16384);
  const auto turns_at = [](double turns) {
    return 64.0 * std::log(4096.0 / (turns * 2 * M_PI)) / (2 * std::log(10000.0));
  };
  const double low = std::floor(turns_at(32)), high = std::ceil(turns_at(1));
  EXPECT_EQ(low, 10);
  EXPECT_EQ(high, 23);
  for (int64_t pair = 0; pair < 32; ++pair) {
    const double ratio = f.inverse[pair] / PlainFrequency(pair);
    if (pair <= 10) {
      EXPECT_NEAR(ratio, 1.0, 1e-14) << pair;
    } else if (pair >= 23) {
      EXPECT_NEAR(ratio, 0.25, 1e-14) << pair;
    } else {
      EXPECT_NEAR(ratio, 1.0 - 0.75 * static_cast<double>(pair - 10) / 13.0, 1e-12) << pair;
    }
  }
  EXPECT_FLOAT_EQ(f.magnitude, static_cast<float>(0.1 * std::log(4.0) + 1.0));
}

TEST(Rope, LongFactorsApplyBeyondTheOriginalContext) {
  RopeSpec rope = Plain();
  rope.factors_short.assign(32, 1.0f);
  rope.factors_long.assign(32, 2.0f);
  EXPECT_NEAR(FrequenciesOf(rope, 4096).inverse[5] / PlainFrequency(5), 1.0, 1e-14);
  EXPECT_NEAR(FrequenciesOf(rope, 4097).inverse[5] / PlainFrequency(5), 0.5, 1e-14);
}

TEST(Rope, LogMultiplierDividesTheMagnitude) {
  RopeSpec rope = Plain();
  rope.scaling = RopeScaling::kYarn;
  rope.factor = 40;
  rope.yarn_log_multiplier = 1;
  EXPECT_FLOAT_EQ(FrequenciesOf(rope, 4096).magnitude, 1.0f);
}

}  // namespace
}  // namespace inferd::model
