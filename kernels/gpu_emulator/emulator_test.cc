// What the emulator promises: right kernels give their results in each order of lanes, and wrong ones others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "kernels/gpu/gpu.h"
#include "kernels/gpu_emulator/testing.h"

namespace inferd::kernels::gpu_emulator {
namespace {

constexpr int kThreads = 96;

// ---- kernels with and without a fault

GPU_KERNEL(kThreads, Reverse, const float* x, bool barrier, float* out) {
  GPU_SHARED(float, kept, [kThreads]);
  const int t = gpu::Thread();
  kept[t] = x[t];
  if (barrier) gpu::SyncThreads();
  out[t] = kept[kThreads - 1 - t];
}

// A second round writes what slow threads of the first one may still read.
GPU_KERNEL(kThreads, TwoRounds, const float* x, bool barrier, float* out) {
  GPU_SHARED(float, kept, [kThreads]);
  const int t = gpu::Thread();
  float sum = 0;
  for (int round = 0; round < 2; ++round) {
    kept[t] = x[t] + static_cast<float>(round);
    gpu::SyncThreads();
    sum += kept[(t + 40) % kThreads];
    if (barrier) gpu::SyncThreads();
  }
  out[t] = sum;
}

GPU_KERNEL(kThreads, SumOfWarp, const float* x, float* out) {
  float sum = x[gpu::Thread()];
  for (int mask = 16; mask > 0; mask /= 2) sum += gpu::ShuffleXor(sum, mask);
  out[gpu::Thread()] = sum;
}

GPU_KERNEL(32, Staged, const float* x, bool wait, float* out) {
  GPU_SHARED(float, kept, [128]);
  const int t = gpu::Thread();
  gpu::CopyAsync16(kept + 4 * t, x + 4 * t);
  gpu::CommitCopies();
  if (wait) gpu::WaitCopies<0>();
  gpu::SyncThreads();
  out[t] = kept[127 - t];
  gpu::WaitCopies<0>();
}

GPU_KERNEL(32, TileProduct, const int8_t* a, const int8_t* b, int* out) {
  uint32_t left[4], right[2];
  int d[4];
  const int lane = gpu::Lane();
  for (int r = 0; r < 4; ++r) {
    std::memcpy(&left[r], a + gpu::TileLayout::RowOfA(lane, r) * 32 + gpu::TileLayout::DepthOfA(lane, r), 4);
  }
  for (int r = 0; r < 2; ++r) {
    std::memcpy(&right[r], b + gpu::TileLayout::ColumnOfB(lane) * 32 + gpu::TileLayout::DepthOfB(lane, r), 4);
  }
  gpu::MultiplyTiles(d, left, right);
  for (int r = 0; r < 4; ++r) {
    out[gpu::TileLayout::RowOfD(lane, r) * 8 + gpu::TileLayout::ColumnOfD(lane, r)] = d[r];
  }
}

// ---- running them

std::vector<float> Counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

// kernel(in, fixed, out) or, without `fixed`, kernel(in, out).
template <class Kernel, class... Fixed>
std::vector<float> RunOn(LaneOrder order, uint32_t threads, const std::vector<float>& x, Kernel kernel,
                         Fixed... fixed) {
  Device device({order});
  OnDevice<float> in(device, x), out(device, std::vector<float>(threads, -1.0f));
  Launcher(device, "kernel", {}, {.x = threads})(kernel, in.data(), fixed..., out.data());
  return out.Read();
}

bool Same(const std::vector<float>& a, const std::vector<float>& b) { return a == b; }  // NaN differs from itself

TEST(Emulator, BarriersGiveOneResultInEachOrder) {
  const std::vector<float> x = Counting(kThreads), backwards(x.rbegin(), x.rend());
  std::vector<float> rounds(kThreads);
  for (size_t i = 0; i < rounds.size(); ++i) rounds[i] = 2 * x[(i + 40) % kThreads] + 1;
  for (const LaneOrder order : kOrders) {
    EXPECT_EQ(RunOn(order, kThreads, x, Reverse, true), backwards);
    EXPECT_EQ(RunOn(order, kThreads, x, TwoRounds, true), rounds);
  }
}

TEST(Emulator, MissingBarrierShowsInEachOrder) {
  const std::vector<float> x = Counting(kThreads), backwards(x.rbegin(), x.rend());
  for (const LaneOrder order : kOrders) {
    EXPECT_FALSE(Same(RunOn(order, kThreads, x, Reverse, false), backwards));
  }
}

TEST(Emulator, MissingSecondBarrierShowsInSomeOrder) {
  const std::vector<float> x = Counting(kThreads);
  bool shown = false;
  for (const LaneOrder order : kOrders) {
    const auto with = RunOn(order, kThreads, x, TwoRounds, true);
    shown |= !Same(RunOn(order, kThreads, x, TwoRounds, false), with);
  }
  EXPECT_TRUE(shown);
}

TEST(Emulator, ShufflesExchangeValuesOfOneWarp) {
  for (const LaneOrder order : kOrders) {
    const auto sums = RunOn(order, 64, Counting(64), SumOfWarp);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(sums[i], i < 32 ? 528.0f : 1552.0f);
  }
}

TEST(Emulator, TileProductIsTheMatrixProduct) {
  std::vector<int8_t> a(16 * 32), b(8 * 32);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int8_t>(i * 91 % 255 - 127);
  for (const LaneOrder order : kOrders) {
    std::vector<int> d(16 * 8);
    RunGrid("TileProduct", 32, {}, {.x = 32}, {order}, [&] { TileProduct({}, a.data(), b.data(), d.data()); });
    for (size_t row = 0; row < 16; ++row) {
      for (size_t column = 0; column < 8; ++column) {
        int sum = 0;
        for (size_t i = 0; i < 32; ++i) sum += a[row * 32 + i] * b[column * 32 + i];
        EXPECT_EQ(d[row * 8 + column], sum);
      }
    }
  }
}

TEST(Emulator, AsynchronousCopiesLandWhenWaitedFor) {
  const std::vector<float> x = Counting(128);
  for (const LaneOrder order : kOrders) {
    const auto right = RunOn(order, 32, x, Staged, true);
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(right[i], x[127 - i]);
    const auto early = RunOn(order, 32, x, Staged, false);
    EXPECT_TRUE(std::any_of(early.begin(), early.end(), [](float value) { return std::isnan(value); }));
  }
}

// In enough seeds each of two threads, of one warp, of two or of two blocks, comes before the other.
TEST(Emulator, RandomOrdersHaveEachThreadBeforeEachOther) {
  constexpr uint32_t kBlocks = 3, kAll = kBlocks * kThreads, kSeeds = 40;
  std::vector<std::vector<bool>> before(kAll, std::vector<bool>(kAll));
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    std::vector<uint32_t> order;
    RunGrid("order", kThreads, {.x = kBlocks}, {.x = kThreads}, {LaneOrder::kRandom, seed},
            [&] { order.push_back(static_cast<uint32_t>(gpu::BlockX() * kThreads + gpu::Thread())); });
    ASSERT_EQ(order.size(), kAll);
    for (size_t i = 0; i < kAll; ++i) {
      for (size_t j = i + 1; j < kAll; ++j) before[order[i]][order[j]] = true;
    }
  }
  for (size_t i = 0; i < kAll; ++i) {
    for (size_t j = 0; j < kAll; ++j) EXPECT_TRUE(i == j || before[i][j]) << i << " never before " << j;
  }
}

}  // namespace
}  // namespace inferd::kernels::gpu_emulator
