#include "worker/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "absl/synchronization/notification.h"
#include "engine/generation/refusal.h"

namespace inferd::worker {
namespace {

TEST(WorkPool, RunsEverythingBeforeItEnds) {
  std::atomic<int> runs = 0;
  {
    WorkPool pool(3);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.Run(1, [&] { ++runs; }).ok());
  }
  EXPECT_EQ(runs, 100);
}

TEST(WorkPool, OneLongWorkDoesNotHoldUpTheOthers) {
  WorkPool pool(2);
  absl::Notification release, passed;
  ASSERT_TRUE(pool.Run(1, [&] { release.WaitForNotification(); }).ok());
  ASSERT_TRUE(pool.Run(1, [&] { passed.Notify(); }).ok());
  passed.WaitForNotification();
  release.Notify();
}

TEST(WorkPool, SmallWorkWaitsForNoLargeOne) {
  absl::Notification release, passed;
  std::atomic<int> large_runs = 0;
  {
    WorkPool pool(2);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(pool.Run(WorkPool::kLargeBytes + 1,
                           [&] {
                             release.WaitForNotification();
                             ++large_runs;
                           })
                      .ok());
    }
    ASSERT_TRUE(pool.Run(WorkPool::kLargeBytes, [&] { passed.Notify(); }).ok());
    passed.WaitForNotification();
    EXPECT_EQ(large_runs, 0);
    release.Notify();
  }
  EXPECT_EQ(large_runs, 5);
}

TEST(WorkPool, AThreadAloneRunsWorkOfEverySizeInOrder) {
  std::vector<int> order;
  {
    WorkPool pool(1);
    for (int i = 0; i < 6; ++i) {
      const size_t bytes = i % 2 == 0 ? WorkPool::kLargeBytes + 1 : 1;
      ASSERT_TRUE(pool.Run(bytes, [&order, i] { order.push_back(i); }).ok());
    }
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(WorkPool, RefusesMoreThanItsBound) {
  absl::Notification begun, release;
  std::atomic<int> runs = 0;
  {
    WorkPool pool(1, /*most_waiting=*/2);
    ASSERT_TRUE(pool.Run(1,
                         [&] {
                           begun.Notify();
                           release.WaitForNotification();
                         })
                    .ok());
    begun.WaitForNotification();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(pool.Run(1, [&] { ++runs; }).ok());
    const absl::Status full = pool.Run(1, [&] { ++runs; });
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(engine::ToPermanent(full), full) << "time mends it";
    release.Notify();
  }
  EXPECT_EQ(runs, 2) << "what was refused does not run";
}

}  // namespace
}  // namespace inferd::worker
