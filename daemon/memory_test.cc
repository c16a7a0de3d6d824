#include "daemon/memory.h"

#include <gtest/gtest.h>

namespace inferd::daemon {
namespace {

constexpr uint64_t kMiB = 1 << 20;

config::ModelOptions ModelWithPool(uint64_t bytes) {
  config::ModelOptions model;
  model.name = "chat";
  model.kv_cache.bytes = bytes;
  return model;
}

TEST(PlanMemory, AddsWeightsPoolAndScratch) {
  const MemoryPlan plan = PlanMemory(ModelWithPool(512 * kMiB), 100 * kMiB, 4096 * kMiB);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.explanation, "chat: weights 100 MiB + KV pool 512 MiB + scratch 96 MiB = 708 MiB, available 4096 MiB");
}

TEST(PlanMemory, FitsExactlyAndNotByOneByteLess) {
  const uint64_t needed = (100 + 512 + 96) * kMiB;
  EXPECT_TRUE(PlanMemory(ModelWithPool(512 * kMiB), 100 * kMiB, needed).fits);
  EXPECT_FALSE(PlanMemory(ModelWithPool(512 * kMiB), 100 * kMiB, needed - 1).fits);
}

TEST(PlanMemory, DoesNotCountWeightsThatAreMappedAlready) {
  const MemoryPlan plan = PlanMemory(ModelWithPool(512 * kMiB), 100 * kMiB, 608 * kMiB, /*weights_shared=*/true);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.weights_bytes, 100 * kMiB);
  EXPECT_EQ(plan.explanation,
            "chat: weights 100 MiB (mapped already, not counted) + KV pool 512 MiB + scratch 96 MiB = 608 MiB, "
            "available 608 MiB");
}

TEST(AvailableMemory, IsWhatThisMachineCouldHave) {
  EXPECT_GT(AvailableMemory(), 16 * kMiB);
  EXPECT_LT(AvailableMemory(), uint64_t{1} << 50);
}

}  // namespace
}  // namespace inferd::daemon
