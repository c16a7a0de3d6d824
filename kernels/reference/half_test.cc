// Conversions between f16 and f32: every f16, and the f32 around each rounding border.
#include "kernels/reference/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace inferd::kernels::reference {
namespace {

double ValueOf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const double fraction = half & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryFiniteValueGoesThereAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    if ((half & 0x7C00) == 0x7C00) continue;
    ASSERT_EQ(FloatFromHalf(half), ValueOf(half)) << half;
    ASSERT_EQ(HalfFromFloat(FloatFromHalf(half)), half) << half;
  }
}

TEST(Half, RoundsToNearestWithTiesToEven) {
  for (uint16_t half = 0; half < 0x7BFF; ++half) {
    const float middle = static_cast<float>((ValueOf(half) + ValueOf(half + 1)) / 2);
    ASSERT_EQ(HalfFromFloat(middle), (half & 1) == 0 ? half : half + 1) << half;
    ASSERT_EQ(HalfFromFloat(std::nextafter(middle, 0.0f)), half) << half;
    ASSERT_EQ(HalfFromFloat(std::nextafter(middle, 1e9f)), half + 1) << half;
    ASSERT_EQ(HalfFromFloat(-middle), HalfFromFloat(middle) | 0x8000) << half;
  }
}

TEST(Half, EndsOfTheRange) {
  EXPECT_EQ(HalfFromFloat(65519.0f), 0x7BFF);
  EXPECT_EQ(HalfFromFloat(65520.0f), 0x7C00);
  EXPECT_EQ(HalfFromFloat(1e30f), 0x7C00);
  EXPECT_EQ(HalfFromFloat(-INFINITY), 0xFC00);
  EXPECT_EQ(HalfFromFloat(0x1p-149f), 0);
  EXPECT_EQ(FloatFromHalf(0x7C00), INFINITY);
  EXPECT_TRUE(std::isnan(FloatFromHalf(0x7C01)));
  EXPECT_TRUE(std::isnan(FloatFromHalf(HalfFromFloat(NAN))));
}

}  // namespace
}  // namespace inferd::kernels::reference
