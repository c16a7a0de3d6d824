// The program's own clock_gettime stands in front of the C library's, so that a test can set the wall clock.
#include "config/base/steady_mutex.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "config/base/repeating_thread.h"

namespace {

std::atomic<time_t> wall_ahead_seconds{0};

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += wall_ahead_seconds;
  return result;
}

namespace inferd {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// The kernel, which measures waits by the wall clock, is an hour behind what we read: as after a clock that was set
// back in the middle of the wait.
class WallClockIsSetBack : public testing::Test {
 protected:
  void SetUp() override { wall_ahead_seconds = 3600; }
  void TearDown() override { wall_ahead_seconds = 0; }
};

TEST_F(WallClockIsSetBack, IsSeenByThisProgram) {
  timespec real;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
  EXPECT_GE(Clock::System().WallNow() - WallTime(std::chrono::seconds(real.tv_sec)), hours(1));
}

TEST_F(WallClockIsSetBack, ATimedWaitEndsAtItsTime) {
  SteadyMutex mutex;
  bool late = false;
  std::atomic<bool> returned = false;
  // Ends a wait that goes by the wall clock.
  std::thread watch([&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!returned && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    SteadyLock lock(&mutex);
    late = true;
  });
  const MonotonicTime deadline = Clock::System().Now() + milliseconds(30);
  {
    SteadyLock lock(&mutex);
    EXPECT_FALSE(mutex.AwaitUntil([&] { return late; }, deadline));
  }
  EXPECT_GE(Clock::System().Now(), deadline);
  returned = true;
  watch.join();
}

TEST_F(WallClockIsSetBack, PausesOfARepeatingThreadEnd) {
  std::atomic<int> turns = 0;
  RepeatingThread thread([&] {
    ++turns;
    return milliseconds(1);
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (turns < 5 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_GE(turns, 5);
}

TEST(SteadyMutex, AWaitEndsWhenTheConditionHolds) {
  SteadyMutex mutex;
  int stage = 0;
  std::thread other([&] {
    SteadyLock lock(&mutex);
    stage = 1;
    mutex.Await([&] { return stage == 2; });
    stage = 3;
  });
  const auto becomes = [&](int wanted) { return [&stage, wanted] { return stage == wanted; }; };
  SteadyLock lock(&mutex);
  EXPECT_TRUE(mutex.AwaitUntil(becomes(1), Clock::System().Now() + hours(1)));
  stage = 2;
  EXPECT_TRUE(mutex.AwaitUntil(becomes(3), Clock::System().Now() + hours(1)));
  other.join();
}

TEST(RepeatingThread, EndsAtOnceInAPauseAndInterruptsATurn) {
  std::atomic<bool> interrupted = false;
  std::atomic<int> turns = 0;
  {
    RepeatingThread thread(
        [&] {
          ++turns;
          return milliseconds(hours(1));
        },
        [&] { interrupted = true; });
    while (turns == 0) std::this_thread::yield();
  }
  EXPECT_EQ(turns, 1);
  EXPECT_TRUE(interrupted);
}

}  // namespace
}  // namespace inferd
