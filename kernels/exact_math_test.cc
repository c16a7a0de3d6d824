// Bounds of exact_math.h against libm's long double functions (64-bit significand on x86-64, 113-bit on ARM).
#include "kernels/exact_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace inferd::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double UnitInLastPlace(long double x) {
  int exponent;
  std::frexp(static_cast<double>(std::fabs(x)), &exponent);
  return std::ldexp(1.0, exponent - 53);
}

double ErrorInUnits(double value, long double expected) {
  return static_cast<double>(std::fabs(value - expected)) / UnitInLastPlace(expected);
}

TEST(ExactMath, ExpIsWithinOneUnit) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> wide(-708, 709), narrow(-1, 1);
  for (int i = 0; i < 200000; ++i) {
    for (const double x : {wide(random), narrow(random), narrow(random) * 1e-9}) {
      ASSERT_LE(ErrorInUnits(exact::Exp(x), std::exp(static_cast<long double>(x))), 1.0) << x;
    }
  }
}

TEST(ExactMath, ExpAtItsEnds) {
  EXPECT_EQ(exact::Exp(0), 1.0);
  EXPECT_EQ(exact::Exp(kInfinity), kInfinity);
  EXPECT_EQ(exact::Exp(-kInfinity), 0.0);
  EXPECT_EQ(exact::Exp(710), kInfinity);
  EXPECT_EQ(exact::Exp(-746), 0.0);
  EXPECT_NEAR(exact::Exp(-744), std::exp(-744.0), 0x1p-1074);  // subnormal: within one step
  EXPECT_TRUE(std::isnan(exact::Exp(std::nan(""))));
}

TEST(ExactMath, LogIsWithinOneUnit) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-1074, 1023), near(0.5, 2);
  for (int i = 0; i < 200000; ++i) {
    for (const double x : {std::exp2(exponent(random)), near(random), 1 + (near(random) - 1) * 1e-7}) {
      ASSERT_LE(ErrorInUnits(exact::Log(x), std::log(static_cast<long double>(x))), 1.0) << x;
    }
  }
}

TEST(ExactMath, LogAtItsEnds) {
  EXPECT_EQ(exact::Log(1), 0.0);
  EXPECT_EQ(exact::Log(0), -kInfinity);
  EXPECT_EQ(exact::Log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(exact::Log(-1)));
  EXPECT_TRUE(std::isnan(exact::Log(std::nan(""))));
}

TEST(ExactMath, PowKeepsItsBound) {
  for (const double base : {10000.0, 500000.0, 1e6, 1e7, 2.0, 0.25}) {
    for (double exponent = -1; exponent <= 1; exponent += 1.0 / 256) {
      const long double expected = std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
      const double bound = 0x1p-52 * (1 + std::fabs(exponent * std::log(base)));
      ASSERT_LE(std::fabs(exact::Pow(base, exponent) - expected), bound * expected) << base << "^" << exponent;
    }
  }
}

TEST(ExactMath, SinAndCosKeepTheirBound) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> small(-4, 4), exponent(0, 30);
  for (int i = 0; i < 200000; ++i) {
    for (const double x : {small(random), std::exp2(exponent(random)), -std::exp2(exponent(random)) * 0.999}) {
      ASSERT_LE(std::fabs(exact::Sin(x) - std::sin(static_cast<long double>(x))), 0x1p-52) << x;
      ASSERT_LE(std::fabs(exact::Cos(x) - std::cos(static_cast<long double>(x))), 0x1p-52) << x;
    }
  }
}

TEST(ExactMath, SinAndCosAtTheirEnds) {
  EXPECT_EQ(exact::Sin(0), 0.0);
  EXPECT_EQ(exact::Cos(0), 1.0);
  for (const double x : {0x1p30, -0x1p30, kInfinity, std::nan("")}) {
    EXPECT_TRUE(std::isnan(exact::Sin(x))) << x;
    EXPECT_TRUE(std::isnan(exact::Cos(x))) << x;
  }
}

}  // namespace
}  // namespace inferd::kernels
