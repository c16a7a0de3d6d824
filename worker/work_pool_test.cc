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
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.Run([&] { ++runs; }).ok());
  }
  EXPECT_EQ(runs, 100);
}

TEST(WorkPool, OneLongWorkDoesNotHoldUpTheOthers) {
  WorkPool pool(2);
  absl::Notification release, passed;
  ASSERT_TRUE(pool.Run([&] { release.WaitForNotification(); }).ok());
  ASSERT_TRUE(pool.Run([&] { passed.Notify(); }).ok());
  passed.WaitForNotification();
  release.Notify();
}

TEST(WorkPool, RefusesMoreThanItsBound) {
  absl::Notification begun, release;
  std::atomic<int> runs = 0;
  {
    WorkPool pool(1, /*most_waiting=*/2);
    ASSERT_TRUE(pool.Run([&] {
                      begun.Notify();
                      release.WaitForNotification();
                    })
                    .ok());
    begun.WaitForNotification();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(pool.Run([&] { ++runs; }).ok());
    EXPECT_EQ(pool.Run([&] { ++runs; }).code(), absl::StatusCode::kResourceExhausted);
    release.Notify();
  }
  EXPECT_EQ(runs, 2) << "what was refused does not run";
}

}  // namespace
}  // namespace inferd::worker
