#include "engine/scheduler/load.h"

#include <gtest/gtest.h>

namespace inferd::scheduler {
namespace {

TEST(PromptSizes, TheShorterGoBefore) {
  PromptSizes sizes;
  EXPECT_EQ(sizes.Before(100), 0);
  sizes.Add(0);
  EXPECT_EQ(sizes.tokens(), 0);
  sizes.Add(20);
  sizes.Add(50);
  EXPECT_EQ(sizes.Before(100), 70);
  EXPECT_EQ(sizes.tokens(), 70);
}

TEST(PromptSizes, TheLongerTakeTurns) {
  PromptSizes sizes;
  sizes.Add(5000);
  EXPECT_EQ(sizes.Before(100), 100);
  for (int i = 0; i < 9; ++i) sizes.Add(5000);
  EXPECT_EQ(sizes.Before(100), 100) << "with half of each step";
  sizes.Add(60);
  EXPECT_EQ(sizes.Before(100), 60 + 160);
  EXPECT_EQ(sizes.Before(5000), 50060);
}

TEST(PromptSizes, AnyNumberHasItsPlace) {
  PromptSizes sizes;
  sizes.Add(int64_t{1} << 60);
  EXPECT_EQ(sizes.tokens(), int64_t{1} << 60);
  EXPECT_EQ(sizes.Before(1), 1);
}

}  // namespace
}  // namespace inferd::scheduler
