#include "engine/sampling/exp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace inferd::sampling {
namespace {

TEST(Exp, IsNearTheCLibrarys) {
  for (double x = -699; x < 700; x += 0.37) {
    // Both are good to about an ulp (2.2e-16) beside the error of the argument's reduction.
    ASSERT_NEAR(Exp(x) / std::exp(x), 1, 2e-15) << x;
  }
  EXPECT_EQ(Exp(0), 1);
}

TEST(Exp, IsDefinedEverywhere) {
  EXPECT_EQ(Exp(-1e30), 0);
  EXPECT_EQ(Exp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE(std::isfinite(Exp(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(std::isnan(Exp(std::nan(""))));
}

}  // namespace
}  // namespace inferd::sampling
