#include "config/base/clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace inferd {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(SystemClock, TellsTheMachinesTimes) {
  const Clock& clock = Clock::System();
  EXPECT_EQ(&clock, &Clock::System());
  const auto before = std::chrono::steady_clock::now();
  const MonotonicTime now = clock.Now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, std::chrono::steady_clock::now());
  const auto wall_before = std::chrono::system_clock::now();
  EXPECT_LE(wall_before - hours(1), clock.WallNow());
  EXPECT_GE(wall_before + hours(1), clock.WallNow());
}

TEST(FakeClock, StandsStillUntilItIsMoved) {
  FakeClock clock;
  const MonotonicTime begin = clock.Now();
  const WallTime wall_begin = clock.WallNow();
  EXPECT_EQ(clock.Now(), begin);
  clock.Advance(seconds(3));
  EXPECT_EQ(clock.Now() - begin, seconds(3));
  EXPECT_EQ(clock.WallNow() - wall_begin, seconds(3));
}

TEST(FakeClock, AJumpOfTheDateMovesNoTimer) {
  FakeClock clock;
  const MonotonicTime begin = clock.Now();
  const WallTime wall_begin = clock.WallNow();
  clock.JumpWall(hours(-1));
  EXPECT_EQ(clock.Now(), begin);
  EXPECT_EQ(clock.WallNow() - wall_begin, hours(-1));
}

}  // namespace
}  // namespace inferd
