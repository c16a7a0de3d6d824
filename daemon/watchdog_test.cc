#include "daemon/watchdog.h"

#include <gtest/gtest.h>

namespace inferd::daemon {
namespace {

using std::chrono::seconds;

// Asks once a second, as the supervisor does; the second in which the watchdog expires, -1 for none.
template <typename Answer>
int ExpiresAfter(int limit, int horizon, Answer answer) {
  FakeClock clock;
  Watchdog watchdog(seconds(limit), clock.Now());
  for (int second = 1; second <= horizon; ++second) {
    clock.Advance(seconds(1));
    answer(watchdog, clock.Now(), second);
    if (watchdog.Expired(clock.Now())) return second;
  }
  return -1;
}

TEST(Watchdog, SilenceExpires) {
  EXPECT_EQ(ExpiresAfter(10, 100, [](Watchdog&, MonotonicTime, int) {}), 10);
}

TEST(Watchdog, WorkWithoutStepsExpires) {
  EXPECT_EQ(ExpiresAfter(10, 100, [](Watchdog& w, MonotonicTime now, int) { w.Answered(now, 0, true); }), 10);
}

TEST(Watchdog, StepsKeepItAlive) {
  EXPECT_EQ(ExpiresAfter(10, 100,
                         [](Watchdog& w, MonotonicTime now, int second) {
                           w.Answered(now, static_cast<uint64_t>(second / 9), true);
                         }),
            -1);
}

TEST(Watchdog, IdleKeepsItAlive) {
  EXPECT_EQ(ExpiresAfter(10, 100, [](Watchdog& w, MonotonicTime now, int) { w.Answered(now, 7, false); }), -1);
}

TEST(Watchdog, WorkAfterIdleGetsTheWholeLimit) {
  EXPECT_EQ(ExpiresAfter(10, 100, [](Watchdog& w, MonotonicTime now, int second) { w.Answered(now, 7, second > 50); }),
            60);
}

TEST(Watchdog, ASupervisorThatStoodStillDoesNotBlameTheWorker) {
  FakeClock clock;
  Watchdog watchdog(seconds(10), clock.Now());
  clock.Advance(seconds(3600));
  EXPECT_EQ(watchdog.Expired(clock.Now()), std::nullopt);
  for (int i = 0; i < 9; ++i) {
    clock.Advance(seconds(1));
    EXPECT_EQ(watchdog.Expired(clock.Now()), std::nullopt);
  }
  clock.Advance(seconds(1));
  EXPECT_NE(watchdog.Expired(clock.Now()), std::nullopt);
}

}  // namespace
}  // namespace inferd::daemon
