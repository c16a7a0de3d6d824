#include "config/base/open_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace inferd {
namespace {

using std::chrono::milliseconds;

TEST(OpenCalls, NothingOpenIsNotWaitedFor) {
  OpenCalls open;
  open.Enter();
  open.Leave();
  EXPECT_EQ(open.WaitForNone(Clock::System().Now() + std::chrono::hours(1)), 0u);
}

TEST(OpenCalls, TheDeadlineEndsTheWait) {
  OpenCalls open;
  open.Enter();
  open.Enter();
  const MonotonicTime deadline = Clock::System().Now() + milliseconds(30);
  EXPECT_EQ(open.WaitForNone(deadline), 2u);
  EXPECT_GE(Clock::System().Now(), deadline);
  EXPECT_EQ(open.WaitForNone(deadline), 2u) << "a deadline that has passed";
}

TEST(OpenCalls, WaitsUntilTheLastHasLeft) {
  OpenCalls open;
  open.Enter();
  std::atomic<bool> left = false;
  std::thread reader([&] {
    left = true;
    open.Leave();
  });
  EXPECT_EQ(open.WaitForNone(Clock::System().Now() + std::chrono::hours(1)), 0u);
  EXPECT_TRUE(left);
  reader.join();
}

}  // namespace
}  // namespace inferd
