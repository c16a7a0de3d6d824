#include "daemon/backoff.h"

#include <gtest/gtest.h>

namespace inferd::daemon {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr config::RestartOptions kOptions{
    .first_delay = Milliseconds(100), .max_delay = Milliseconds(1000), .max = 6, .window = seconds(60)};

TEST(Backoff, DoublesUpToTheMaximum) {
  FakeClock clock;
  Backoff backoff(kOptions, [] { return 0.0; });
  for (const int expected : {100, 200, 400, 800, 1000, 1000}) {
    EXPECT_EQ(backoff.AfterCrash(clock.Now()), Milliseconds(expected));
    clock.Advance(seconds(1));
  }
}

TEST(Backoff, TakesARandomHalfOff) {
  FakeClock clock;
  double random = 0.999;
  Backoff backoff(kOptions, [&] { return random; });
  EXPECT_EQ(backoff.AfterCrash(clock.Now()), Milliseconds(50));
  random = 0.5;
  EXPECT_EQ(backoff.AfterCrash(clock.Now()), Milliseconds(150));
}

TEST(Backoff, GivesUpWhenTheBudgetOfTheWindowIsSpent) {
  FakeClock clock;
  Backoff backoff(kOptions, [] { return 0.0; });
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(backoff.AfterCrash(clock.Now()).has_value());
  EXPECT_EQ(backoff.AfterCrash(clock.Now()), std::nullopt);
}

TEST(Backoff, ForgetsCrashesOlderThanTheWindow) {
  FakeClock clock;
  Backoff backoff(kOptions, [] { return 0.0; });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(backoff.AfterCrash(clock.Now()), Milliseconds(100));
    clock.Advance(minutes(1));
  }
}

TEST(Backoff, NoBudgetMeansNoRestart) {
  FakeClock clock;
  Backoff backoff({.max = 0}, [] { return 0.0; });
  EXPECT_EQ(backoff.AfterCrash(clock.Now()), std::nullopt);
}

TEST(Backoff, IsNotMovedByAJumpOfTheDate) {
  FakeClock clock;
  Backoff backoff(kOptions, [] { return 0.0; });
  EXPECT_EQ(backoff.AfterCrash(clock.Now()), Milliseconds(100));
  clock.JumpWall(std::chrono::hours(1));
  EXPECT_EQ(backoff.AfterCrash(clock.Now()), Milliseconds(200));
}

}  // namespace
}  // namespace inferd::daemon
