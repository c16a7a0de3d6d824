#include "daemon/memory.h"

#include <gtest/gtest.h>

#include "daemon/testing/fake_kernel.h"

namespace inferd::daemon {
namespace {

constexpr uint64_t kMiB = 1 << 20;

config::ModelOptions ModelWithPool(uint64_t bytes) {
  config::ModelOptions model;
  model.name = "chat";
  model.kv_cache.bytes = bytes;
  return model;
}

FileIdentity FileOf(uint64_t bytes, uint64_t draft_bytes = 0) {
  return {.size_bytes = bytes, .draft_size_bytes = draft_bytes};
}

TEST(PlanMemory, AddsWeightsPoolAndScratch) {
  const MemoryPlan plan = PlanMemory(ModelWithPool(512 * kMiB), FileOf(100 * kMiB), 4096 * kMiB);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.explanation, "chat: weights 100 MiB + KV pool 512 MiB + scratch 96 MiB = 708 MiB, available 4096 MiB");
}

TEST(PlanMemory, FitsExactlyAndNotByOneByteLess) {
  const uint64_t needed = (100 + 512 + 96) * kMiB;
  EXPECT_TRUE(PlanMemory(ModelWithPool(512 * kMiB), FileOf(100 * kMiB), needed).fits);
  EXPECT_FALSE(PlanMemory(ModelWithPool(512 * kMiB), FileOf(100 * kMiB), needed - 1).fits);
}

TEST(PlanMemory, DoesNotCountWeightsThatAreMappedAlready) {
  const MemoryPlan plan =
      PlanMemory(ModelWithPool(512 * kMiB), FileOf(100 * kMiB), 608 * kMiB, /*weights_shared=*/true);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.weights_bytes, 100 * kMiB);
  EXPECT_EQ(plan.explanation,
            "chat: weights 100 MiB (mapped already, not counted) + KV pool 512 MiB + scratch 96 MiB = 608 MiB, "
            "available 608 MiB");
}

TEST(PlanMemory, CountsTheDraftModel) {
  config::ModelOptions model = ModelWithPool(512 * kMiB);
  model.speculation.kind = config::SpeculationKind::kDraft;
  // Its file, an eighth of the pool, and scratch memory of its own.
  const uint64_t needed = (100 + 30 + 512 + 64 + 2 * 96) * kMiB;
  const MemoryPlan plan = PlanMemory(model, FileOf(100 * kMiB, 30 * kMiB), needed);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.needed_bytes, needed);
  EXPECT_EQ(plan.explanation,
            "chat: weights 130 MiB + KV pool 576 MiB + scratch 192 MiB, the draft model's included = 898 MiB, "
            "available 898 MiB");
  EXPECT_FALSE(PlanMemory(model, FileOf(100 * kMiB, 30 * kMiB), needed - 1).fits);
}

class KernelMemory : public testing::Test, protected FakeKernel {
 protected:
  KernelMemory() {
    Write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   8000 kB\n");
    Write("proc/vmstat", "pgfault 5\noom_kill 7\n");
  }
};

TEST_F(KernelMemory, IsTheMachinesWithoutControlGroups) {
  EXPECT_EQ(AvailableMemoryBy(folders), 8000u << 10);
  EXPECT_EQ(OutOfMemoryKillsBy(folders), 7u);
}

TEST_F(KernelMemory, IsWhatTheTightestGroupOfVersion2Leaves) {
  Write("proc/self/cgroup", "0::/system.slice/inferd.service\n");
  const std::string own = "cgroup/system.slice/inferd.service/", above = "cgroup/system.slice/";
  Write(own + "memory.max", "max\n");
  Write(own + "memory.current", "1000\n");
  Write(own + "memory.events", "low 0\noom 3\noom_kill 2\n");
  EXPECT_EQ(AvailableMemoryBy(folders), 8000u << 10);
  EXPECT_EQ(OutOfMemoryKillsBy(folders), 2u);
  Write(above + "memory.max", "100000\n");
  Write(above + "memory.current", "90000\n");
  EXPECT_EQ(AvailableMemoryBy(folders), 10000u);
  // Cached pages give way.
  Write(above + "memory.stat", "anon 50000\nfile 40000\n");
  EXPECT_EQ(AvailableMemoryBy(folders), 50000u);
  Write(own + "memory.max", "1200\n");
  EXPECT_EQ(AvailableMemoryBy(folders), 200u);
  Write(own + "memory.current", "5000\n");  // over the limit for a moment
  EXPECT_EQ(AvailableMemoryBy(folders), 0u);
}

TEST_F(KernelMemory, IsWhatTheGroupOfVersion1Leaves) {
  Write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/box/one\n1:cpu:/\n0::/\n");
  Write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("cgroup/memory/memory.usage_in_bytes", "123\n");
  Write("cgroup/memory/box/one/memory.limit_in_bytes", "100000\n");
  Write("cgroup/memory/box/one/memory.usage_in_bytes", "90000\n");
  Write("cgroup/memory/box/one/memory.stat", "cache 1\ntotal_cache 30000\n");
  Write("cgroup/memory/box/one/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  EXPECT_EQ(AvailableMemoryBy(folders), 40000u);
  EXPECT_EQ(OutOfMemoryKillsBy(folders), 4u);
}

TEST_F(KernelMemory, AContainerSeesItsGroupAsTheRoot) {
  Write("proc/self/cgroup", "4:memory:/docker/0123\n");
  Write("cgroup/memory/memory.limit_in_bytes", "100000\n");
  Write("cgroup/memory/memory.usage_in_bytes", "60000\n");
  EXPECT_EQ(AvailableMemoryBy(folders), 40000u);
}

TEST(AvailableMemory, IsWhatThisMachineCouldHave) {
  EXPECT_GT(AvailableMemory(), 16 * kMiB);
  EXPECT_LT(AvailableMemory(), uint64_t{1} << 50);
}

}  // namespace
}  // namespace inferd::daemon
