#include "engine/device/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "engine/device/cpu/cores.h"
#include "engine/device/cpu/cpu_options.h"

namespace inferd::device {
namespace {

class Pool : public testing::TestWithParam<int32_t> {};

TEST_P(Pool, RunsEachItemOnceInEachOfManyJobs) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<int>> runs(257);
  for (int job = 0; job < 2000; ++job) {
    const int64_t items = job % 257;
    for (auto& count : runs) count.store(0, std::memory_order_relaxed);
    pool.Run(items, [&](int64_t item, int32_t thread) {
      EXPECT_GE(thread, 0);
      EXPECT_LT(thread, pool.threads());
      runs[item].fetch_add(1, std::memory_order_relaxed);
    });
    for (int64_t item = 0; item < 257; ++item) ASSERT_EQ(runs[item].load(), item < items ? 1 : 0) << job;
  }
}

TEST_P(Pool, SeesWhatAJobWrote) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> values(1000, 0);
  for (int job = 0; job < 300; ++job) {
    pool.Run(1000, [&](int64_t item, int32_t) { values[item] += item; });  // plain memory, a race if jobs overlapped
  }
  for (int64_t item = 0; item < 1000; ++item) ASSERT_EQ(values[item], 300 * item);
}

TEST_P(Pool, WakesThreadsThatHaveGoneToSleep) {
  ThreadPool pool(GetParam());
  for (int job = 0; job < 20; ++job) {
    // Longer than threads spin for a job: they sleep by now, whatever the system does meanwhile.
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    std::atomic<int64_t> sum{0};
    pool.Run(64, [&](int64_t item, int32_t) { sum += item; });
    EXPECT_EQ(sum.load(), 64 * 63 / 2);
  }
}

TEST_P(Pool, CountsItemsOfAllJobsAsTheyAreDone) {
  ThreadPool pool(GetParam());
  uint32_t expected = 0;
  for (int64_t items : {1, 5, 0, 300}) {
    pool.Run(items, [&](int64_t item, int32_t) {
      // Items are taken in order, and each thread has one that is not done.
      EXPECT_GE(static_cast<int64_t>(pool.items_done() - expected), item + 1 - pool.threads());
      EXPECT_LT(static_cast<int64_t>(pool.items_done() - expected), items);
    });
    expected += static_cast<uint32_t>(items);
    EXPECT_EQ(pool.items_done(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Pool, testing::Values(1, 2, 3, 8));

TEST(Pool, RunsASingleItemInTheCaller) {
  ThreadPool pool(4);
  std::thread::id ran;
  pool.Run(1, [&](int64_t, int32_t thread) {
    EXPECT_EQ(thread, 0);
    ran = std::this_thread::get_id();
  });
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(Cores, ReadsTheQuotaOfAControlGroup) {
  EXPECT_EQ(CoresOfQuota("max 100000"), 0);
  EXPECT_EQ(CoresOfQuota("200000 100000"), 2);
  EXPECT_EQ(CoresOfQuota("150000 100000"), 2);
  EXPECT_EQ(CoresOfQuota("50000 100000"), 1);
  EXPECT_EQ(CoresOfQuota("-1 100000"), 0);
  EXPECT_EQ(CoresOfQuota(""), 0);
  EXPECT_EQ(CoresOfQuota("1000"), 0);
}

// A folder of control groups, as the kernel shows them.
class Groups : public testing::Test {
 protected:
  Groups() { mounted_ = std::filesystem::path(testing::TempDir()) / ("groups-" + std::to_string(getpid())); }
  ~Groups() override { std::filesystem::remove_all(mounted_); }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((mounted_ / path).parent_path());
    std::ofstream(mounted_ / path) << text << "\n";
  }
  int32_t QuotaOf(const std::string& lines) const {
    std::istringstream groups(lines);
    return StrictestQuota(groups, mounted_.string());
  }

  std::filesystem::path mounted_;
};

TEST_F(Groups, StrictestQuotaOnTheWayToTheRootCounts) {
  Write("a/cpu.max", "300000 100000");
  Write("a/b/cpu.max", "max 100000");
  Write("a/b/c/cpu.max", "400000 100000");
  EXPECT_EQ(QuotaOf("0::/a/b/c\n"), 3);
  EXPECT_EQ(QuotaOf("0::/elsewhere\n"), 0);
  EXPECT_EQ(QuotaOf("0::/\n"), 0);
  EXPECT_EQ(QuotaOf("garbage\n\n0:\n"), 0);
}

TEST_F(Groups, OfVersionOneAreReadWhereTheirProcessorLinePoints) {
  Write("cpu/service/cpu.cfs_quota_us", "150000");
  Write("cpu/service/cpu.cfs_period_us", "100000");
  Write("cpu/cpu.cfs_quota_us", "-1");
  Write("cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(QuotaOf("5:memory:/service\n4:cpu,cpuacct:/service\n"), 2);
  EXPECT_EQ(QuotaOf("4:cpuset:/service\n3:cpuacct,cpu:/\n"), 0);
}

TEST(Cores, AreNeverNone) {
  EXPECT_FALSE(UsableCores().empty());
  EXPECT_GE(DefaultThreads(), 1);
  EXPECT_LE(DefaultThreads(), static_cast<int32_t>(UsableCores().size()));
}

}  // namespace
}  // namespace inferd::device
