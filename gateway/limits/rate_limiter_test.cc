#include "gateway/limits/rate_limiter.h"

#include <gtest/gtest.h>

namespace inferd::gateway {
namespace {

using std::chrono::milliseconds;

TEST(RateLimiter, AllowsAMinutesWorthThenSaysWhen) {
  FakeClock clock;
  RateLimiter limiter(clock);
  for (int i = 0; i < 60; ++i) EXPECT_FALSE(limiter.Take("a", 60)) << i;
  EXPECT_EQ(limiter.Take("a", 60), milliseconds(1000));
  EXPECT_FALSE(limiter.Take("b", 60));
  clock.Advance(milliseconds(400));
  EXPECT_EQ(limiter.Take("a", 60), milliseconds(600));
  clock.Advance(milliseconds(600));
  EXPECT_FALSE(limiter.Take("a", 60));
  EXPECT_TRUE(limiter.Take("a", 60));
}

// The answers of a request that asks for several: it is let through, and what it took beyond its share is waited for.
TEST(RateLimiter, WhatIsChargedLaterIsWaitedFor) {
  FakeClock clock;
  RateLimiter limiter(clock);
  EXPECT_FALSE(limiter.Take("a", 60));
  limiter.Charge("a", 127);
  EXPECT_EQ(limiter.Take("a", 60), milliseconds((1 + 128 - 60) * 1000));
  EXPECT_FALSE(limiter.Take("b", 60));
  clock.Advance(milliseconds(69'000));
  EXPECT_FALSE(limiter.Take("a", 60));
  EXPECT_TRUE(limiter.Take("a", 60));
  limiter.Charge("nobody", 5);
  EXPECT_FALSE(limiter.Take("nobody", 1));
}

TEST(RateLimiter, IsNotMovedByAClockJump) {
  FakeClock clock;
  RateLimiter limiter(clock);
  EXPECT_FALSE(limiter.Take("a", 1));
  clock.JumpWall(std::chrono::hours(1));
  EXPECT_EQ(limiter.Take("a", 1), milliseconds(60'000));
}

TEST(RateLimiter, NeverSavesMoreThanAMinute) {
  FakeClock clock;
  RateLimiter limiter(clock);
  EXPECT_FALSE(limiter.Take("a", 2));
  clock.Advance(std::chrono::hours(1));
  EXPECT_FALSE(limiter.Take("a", 2));
  EXPECT_FALSE(limiter.Take("a", 2));
  EXPECT_TRUE(limiter.Take("a", 2));
}

}  // namespace
}  // namespace inferd::gateway
