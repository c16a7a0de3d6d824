// What the emulator promises: right kernels give their results in each order of lanes, and each kind of fault shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/gpu/gpu.h"
#include "kernels/gpu_emulator/device.h"
#include "kernels/gpu_emulator/testing.h"

namespace inferd::kernels::gpu_emulator {
namespace {

constexpr int kThreads = 96;

// ---- kernels with and without a fault

GPU_KERNEL(kThreads) Reverse(const float* x, bool barrier, float* out) {
  GPU_SHARED(float, kept, [kThreads]);
  const int t = gpu::Thread();
  kept[t] = x[t];
  if (barrier) gpu::SyncThreads();
  out[t] = kept[kThreads - 1 - t];
}

// A second round writes what slow threads of the first one may still read.
GPU_KERNEL(kThreads) TwoRounds(const float* x, bool barrier, float* out) {
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

GPU_KERNEL(kThreads) SumOfWarp(const float* x, float* out) {
  float sum = x[gpu::Thread()];
  for (int mask = 16; mask > 0; mask /= 2) sum += gpu::ShuffleXor(sum, mask);
  out[gpu::Thread()] = sum;
}

GPU_KERNEL(32) Staged(const float* x, bool wait, float* out) {
  GPU_SHARED(float, kept, [128]);
  const int t = gpu::Thread();
  gpu::CopyAsync16(kept + 4 * t, x + 4 * t);
  gpu::CommitCopies();
  if (wait) gpu::WaitCopies<0>();
  gpu::SyncThreads();
  out[t] = kept[127 - t];
  gpu::WaitCopies<0>();
}

GPU_KERNEL(32) TileProduct(const int8_t* a, const int8_t* b, int* out) {
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

GPU_KERNEL(64) AddPosition(const int* position, float* x) {
  x[gpu::BlockX() * 64 + gpu::Thread()] += static_cast<float>(*position);
}

// ---- running them

std::vector<float> Counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

template <class Body>
std::vector<float> RunOn(LaneOrder order, uint32_t threads, const std::vector<float>& x, const Body& body) {
  Device device({order});
  OnDevice<float> in(device, x), out(device, std::vector<float>(threads, -1.0f));
  Stream stream(device);
  stream.Launch("kernel", {}, {.x = threads}, [&] { body(in.data(), out.data()); });
  stream.Wait();
  return out.Read();
}

template <class Body>
void RunOnce(uint32_t threads, const Body& body) {
  Device device;
  Stream stream(device);
  stream.Launch("faulty", {}, {.x = threads}, body);
  stream.Wait();
}

bool Same(const std::vector<float>& a, const std::vector<float>& b) { return a == b; }  // NaN differs from itself

TEST(Emulator, BarriersGiveOneResultInEachOrder) {
  const std::vector<float> x = Counting(kThreads), backwards(x.rbegin(), x.rend());
  std::vector<float> rounds(kThreads);
  for (size_t i = 0; i < rounds.size(); ++i) rounds[i] = 2 * x[(i + 40) % kThreads] + 1;
  for (const LaneOrder order : kOrders) {
    EXPECT_EQ(RunOn(order, kThreads, x, [](float* in, float* out) { Reverse(in, true, out); }), backwards);
    EXPECT_EQ(RunOn(order, kThreads, x, [](float* in, float* out) { TwoRounds(in, true, out); }), rounds);
  }
}

TEST(Emulator, MissingBarrierShowsInEachOrder) {
  const std::vector<float> x = Counting(kThreads), backwards(x.rbegin(), x.rend());
  for (const LaneOrder order : kOrders) {
    EXPECT_FALSE(Same(RunOn(order, kThreads, x, [](float* in, float* out) { Reverse(in, false, out); }), backwards));
  }
}

TEST(Emulator, MissingSecondBarrierShowsInSomeOrder) {
  const std::vector<float> x = Counting(kThreads);
  bool shown = false;
  for (const LaneOrder order : kOrders) {
    const auto with = RunOn(order, kThreads, x, [](float* in, float* out) { TwoRounds(in, true, out); });
    shown |= !Same(RunOn(order, kThreads, x, [](float* in, float* out) { TwoRounds(in, false, out); }), with);
  }
  EXPECT_TRUE(shown);
}

TEST(Emulator, ShufflesExchangeValuesOfOneWarp) {
  for (const LaneOrder order : kOrders) {
    const auto sums = RunOn(order, 64, Counting(64), [](float* in, float* out) { SumOfWarp(in, out); });
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(sums[i], i < 32 ? 528.0f : 1552.0f);
  }
}

TEST(Emulator, TileProductIsTheMatrixProduct) {
  std::vector<int8_t> a(16 * 32), b(8 * 32);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int8_t>(i * 91 % 255 - 127);
  for (const LaneOrder order : kOrders) {
    std::vector<int> d(16 * 8);
    RunGrid("TileProduct", {}, {.x = 32}, {order}, [&] { TileProduct(a.data(), b.data(), d.data()); });
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
    const auto right = RunOn(order, 32, x, [](float* in, float* out) { Staged(in, true, out); });
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(right[i], x[127 - i]);
    const auto early = RunOn(order, 32, x, [](float* in, float* out) { Staged(in, false, out); });
    EXPECT_TRUE(std::any_of(early.begin(), early.end(), [](float value) { return std::isnan(value); }));
  }
}

using EmulatorDeathTest = testing::Test;

TEST(EmulatorDeathTest, FaultsOfBarriersEndTheProcess) {
  const auto some = [] {
    if (gpu::Thread() < 40) gpu::SyncThreads();
  };
  EXPECT_DEATH(RunOnce(64, some), "kernel faulty, .* a barrier that not all of them reach");
  const auto different = [] {
    if (gpu::Warp() == 0) {
      gpu::SyncThreads();
    } else {
      gpu::SyncThreads();
    }
  };
  EXPECT_DEATH(RunOnce(64, different), "threads wait at different barriers");
  const auto mixed = [] {
    if (gpu::Lane() < 16) {
      gpu::SyncWarp();
    } else {
      gpu::ShuffleXor(1.0f, 1);
    }
  };
  EXPECT_DEATH(RunOnce(32, mixed), "meet in different operations");
  const auto half = [] {
    if (gpu::Lane() < 16) gpu::SyncWarp();
  };
  EXPECT_DEATH(RunOnce(32, half), "a barrier that not all of them reach");
}

TEST(EmulatorDeathTest, LaunchesThatTheDeviceRefusesEndTheProcess) {
  EXPECT_DEATH(RunOnce(1025, [] {}), "1 x 1 x 1 blocks of 1025 x 1 x 1 threads");
  EXPECT_DEATH(RunOnce(0, [] {}), "blocks of 0 x 1 x 1 threads");
  EXPECT_DEATH(RunGrid("tall", {.y = 65536}, {}, {}, [] {}), "kernel tall: a grid of 1 x 65536 x 1");
  const auto large = [] {
    GPU_SHARED(float, kept, [12 * 1024 + 1]);
    kept[0] = 1;
  };
  EXPECT_DEATH(RunOnce(32, large), "more than 48 KiB of shared memory");
}

TEST(EmulatorDeathTest, WritesBeyondMemoryEndTheProcess) {
  const auto shared = [] {
    GPU_SHARED(float, kept, [32]);
    float* const first = kept;
    first[gpu::Thread() + 1] = 1;
  };
  EXPECT_DEATH(RunOnce(32, shared), "wrote beyond a shared array");
  const auto run = [](size_t bytes, int at) {
    Device device;
    auto* const x = static_cast<float*>(device.Allocate(bytes));
    Stream stream(device);
    stream.Launch("faulty", {}, {}, [=] { x[at] = 1; });
    stream.Wait();
    device.Free(x);
  };
  run(400, 99);
  EXPECT_EXIT(run(400, 100), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run(4096, -1), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_DEATH(run(396, 99), "wrote beyond an allocation");
}

TEST(EmulatorDeathTest, UseOutsideOfAStreamsWorkOrAfterFreeEndsTheProcess) {
  const auto from_host = [] {
    Device device;
    auto* const x = static_cast<volatile float*>(device.Allocate(64));
    return x[0];
  };
  EXPECT_EXIT(from_host(), testing::KilledBySignal(SIGSEGV), "");
  const auto after_free = [] {
    Device device;
    auto* const x = static_cast<float*>(device.Allocate(64));
    Stream stream(device);
    stream.Launch("faulty", {}, {}, [=] { x[0] = 1; });
    device.Free(x);
    stream.Wait();
  };
  EXPECT_EXIT(after_free(), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_DEATH({ Device().Allocate(64); }, "was not freed");
  EXPECT_DEATH(gpu::SyncWarp(), "outside of a kernel");
}

TEST(Stream, ReadsBeforeWaitingSeeNothing) {
  Device device;
  OnDevice<float> x(device, Counting(64));
  std::vector<float> host(64, -1.0f);
  Stream stream(device);
  stream.Copy(host.data(), x.data(), 256);
  EXPECT_EQ(host[5], -1.0f);
  stream.Wait();
  EXPECT_EQ(host[5], 6.0f);
}

TEST(Stream, HostMemoryThatChangesTooEarlyShows) {
  Device device;
  OnDevice<float> x(device, Counting(2));
  float host[] = {7, 8};
  Stream stream(device);
  stream.Copy(x.data(), host, sizeof(host));
  host[0] = 9;
  stream.Wait();
  EXPECT_EQ(x.Read(), (std::vector<float>{9, 8}));
}

TEST(Stream, EventsOrderWorkOfTwoStreams) {
  Device device;
  OnDevice<float> x(device, Counting(64));
  OnDevice<int> step(device, {10});
  float host = 0;
  Stream first(device), second(device);
  Event added;
  first.Launch("AddPosition", {}, {.x = 64}, [&] { AddPosition(step.data(), x.data()); });
  first.Record(added);
  first.Launch("AddPosition", {}, {.x = 64}, [&] { AddPosition(step.data(), x.data()); });
  second.Copy(&host, x.data(), sizeof(host));
  second.Wait();
  EXPECT_EQ(host, 1.0f);  // nothing made it wait
  second.WaitFor(added);
  second.Copy(&host, x.data(), sizeof(host));
  second.Wait();
  EXPECT_EQ(host, 11.0f);
  first.Wait();
  EXPECT_EQ(x.Read()[0], 21.0f);
}

TEST(Stream, GraphsReadMemoryAnewAtEachRun) {
  Device device;
  OnDevice<float> x(device, std::vector<float>(128));
  OnDevice<int> step(device, {0});
  Stream stream(device);
  stream.BeginCapture();
  stream.Launch("AddPosition", {.x = 2}, {.x = 64}, [&] { AddPosition(step.data(), x.data()); });
  const Graph graph = stream.EndCapture();
  EXPECT_EQ(x.Read()[70], 0.0f);
  for (int position = 1; position <= 3; ++position) {
    stream.Copy(step.data(), &position, sizeof(position));
    stream.Run(graph);
    stream.Wait();
  }
  EXPECT_EQ(x.Read(), std::vector<float>(128, 6.0f));
}

TEST(Device, MemoryIsNanUntilWrittenAndEndsAtItsSize) {
  Device device({}, 1024);
  void* const all = device.Allocate(1000);
  EXPECT_EQ(device.Allocate(25), nullptr);
  float host = 0;
  Stream stream(device);
  stream.Copy(&host, all, sizeof(host));
  stream.Wait();
  EXPECT_TRUE(std::isnan(host));
  device.Free(all);
  EXPECT_EQ(device.used_bytes(), 0u);
}

}  // namespace
}  // namespace inferd::kernels::gpu_emulator
