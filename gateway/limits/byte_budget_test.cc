#include "gateway/limits/byte_budget.h"

#include <gtest/gtest.h>

#include <limits>

namespace inferd::gateway {
namespace {

TEST(ByteBudget, IsSharedAndGivenBack) {
  ByteBudget budget(100);
  {
    ByteShare first(&budget), second(&budget);
    EXPECT_TRUE(first.GrowTo(60));
    EXPECT_TRUE(first.GrowTo(50)) << "it has them already";
    EXPECT_FALSE(second.GrowTo(41));
    EXPECT_TRUE(second.GrowTo(40));
    EXPECT_FALSE(second.GrowTo(std::numeric_limits<uint64_t>::max()));
    EXPECT_EQ(budget.left(), 0u);
  }
  EXPECT_EQ(budget.left(), 100u);
}

TEST(ByteBudget, ThereMayBeNone) {
  ByteShare share(nullptr);
  EXPECT_TRUE(share.GrowTo(std::numeric_limits<uint64_t>::max()));
}

}  // namespace
}  // namespace inferd::gateway
