#include "worker/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"

namespace inferd::worker {
namespace {

TEST(WorkPool, RunsEverythingBeforeItEnds) {
  std::atomic<int> runs = 0;
  {
    WorkPool pool(3);
    for (int i = 0; i < 100; ++i) pool.Run([&] { ++runs; });
  }
  EXPECT_EQ(runs, 100);
}

TEST(WorkPool, OneLongWorkDoesNotHoldUpTheOthers) {
  WorkPool pool(2);
  absl::Notification release, passed;
  pool.Run([&] { release.WaitForNotification(); });
  pool.Run([&] { passed.Notify(); });
  passed.WaitForNotification();
  release.Notify();
}

}  // namespace
}  // namespace inferd::worker
