// Each kind of fault in kernels, launches and copies ends the process.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <vector>

#include "kernels/gpu/gpu.h"
#include "kernels/gpu_emulator/stream.h"
#include "kernels/gpu_emulator/testing.h"

namespace inferd::kernels::gpu_emulator {
namespace {

constexpr uint32_t kMadeFor = 96;

GPU_KERNEL(kMadeFor, CopyOne, const float* x, float* out) { out[gpu::Thread()] = x[gpu::Thread()]; }

void RunOnce(uint32_t threads, const std::function<void()>& body) {
  RunGrid("faulty", kMostThreadsOfBlock, {}, {.x = threads}, {}, body);
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
  EXPECT_DEATH(RunGrid("tall", 32, {.y = 65536}, {}, {}, [] {}), "kernel tall: a grid of 1 x 65536 x 1");
  RunGrid("deep", 64, {}, {.z = 64}, {}, [] {});
  EXPECT_DEATH(RunGrid("deep", 128, {}, {.z = 65}, {}, [] {}), "kernel deep: .* blocks of 1 x 1 x 65 threads");
  const auto large = [] {
    GPU_SHARED(float, kept, [12 * 1024 + 1]);
    kept[0] = 1;
  };
  EXPECT_DEATH(RunOnce(32, large), "more than 48 KiB of shared memory");
}

// Compiled for fewer threads, a kernel may take so many registers that the device cannot hold them for more.
TEST(EmulatorDeathTest, MoreThreadsThanAKernelIsMadeForEndTheProcess) {
  Device device;
  OnDevice<float> x(device, std::vector<float>(200)), out(device, std::vector<float>(200));
  const auto run = [&](uint32_t threads) { Launcher(device, "CopyOne", {}, {threads})(CopyOne, x.data(), out.data()); };
  run(kMadeFor);
  EXPECT_DEATH(run(kMadeFor + 1), "kernel CopyOne: blocks of 97 threads, it is made for 96");
}

TEST(EmulatorDeathTest, ShufflesFromLanesThatAreNotThereEndTheProcess) {
  const auto run = [](uint32_t threads, int mask) { RunOnce(threads, [=] { gpu::ShuffleXor(1.0f, mask); }); };
  run(48, 8);
  EXPECT_DEATH(run(48, 16), "thread 32: a shuffle from a lane that is not there");
  EXPECT_DEATH(run(32, 32), "a shuffle from a lane that is not there");
}

TEST(EmulatorDeathTest, AccessBeyondSharedArraysEndsTheProcess) {
  const auto at = [](LaneOrder order, int index, bool write) {
    RunGrid("faulty", 32, {}, {.x = 32}, {order}, [=] {
      GPU_SHARED(float, kept, [32]);
      GPU_SHARED(float, other, [32]);
      volatile float* const first = index < 0 ? other : kept;
      if (gpu::Thread() != 0) return;
      other[0] = kept[0] = 1;
      if (write) {
        first[index] = 1;
      } else {
        first[0] = first[index];
      }
    });
  };
  for (const LaneOrder order : kOrders) {
    for (const int inside : {0, 31}) at(order, inside, true);
  }
  for (const bool write : {true, false}) {
    EXPECT_EXIT(at(LaneOrder::kForward, 32, write), testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EXIT(at(LaneOrder::kRandom, 32, write), testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EXIT(at(LaneOrder::kBackward, -1, write), testing::KilledBySignal(SIGSEGV), "");
  }
  EXPECT_DEATH(at(LaneOrder::kForward, -1, true), "wrote beyond a shared array");
  EXPECT_DEATH(at(LaneOrder::kBackward, 32, true), "wrote beyond a shared array");
}

GPU_KERNEL(32, ReadAt, const float* x, int at, bool write, float* out) {
  *out = x[at];
  if (write) const_cast<float*>(x)[at] = 1;
}

TEST(EmulatorDeathTest, AccessBeyondAllocationsEndsTheProcess) {
  const auto at = [](LaneOrder order, size_t bytes, int index, bool write) {
    Device device({order});
    auto* const x = static_cast<float*>(device.Allocate(bytes));
    OnDevice<float> out(device, {0});
    Launcher(device, "faulty", {}, {})(ReadAt, x, index, write, out.data());
    device.Free(x);
  };
  for (const LaneOrder order : kOrders) {
    for (const int inside : {0, 98, 99}) at(order, 400, inside, true);
  }
  for (const bool write : {true, false}) {
    EXPECT_EXIT(at(LaneOrder::kForward, 400, 100, write), testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EXIT(at(LaneOrder::kRandom, 400, 100, write), testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EXIT(at(LaneOrder::kBackward, 400, -1, write), testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EXIT(at(LaneOrder::kForward, 4096, -1, write), testing::KilledBySignal(SIGSEGV), "");
  }
  EXPECT_DEATH(at(LaneOrder::kForward, 396, 99, true), "wrote beyond an allocation");
  EXPECT_DEATH(at(LaneOrder::kForward, 400, -1, true), "wrote beyond an allocation");
  EXPECT_DEATH(at(LaneOrder::kBackward, 400, 100, true), "wrote beyond an allocation");
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
    OnDevice<float> out(device, {0});
    auto* const x = static_cast<float*>(device.Allocate(64));
    Stream stream(device);
    stream.Launch("late", ReadAt, {}, {}, x, 0, false, out.data());
    device.Free(x);
    stream.Wait();
  };
  EXPECT_DEATH(after_free(), "kernel late: an argument points to memory that is not the device's");
  EXPECT_DEATH({ Device().Allocate(64); }, "was not freed");
  EXPECT_DEATH(gpu::SyncWarp(), "outside of a kernel");
}

struct Inner {
  const float* x;
  int32_t count;
};
struct Outer {
  int64_t stride;
  Inner inner;
  float* out;
};
GPU_KERNEL(32, ReadInner, Outer a) { *a.out = a.inner.x == nullptr ? 7.0f : a.inner.x[a.stride]; }
GPU_KERNEL(32, ReadFirst, const float* const* pages, float* out) { *out = pages[0][0]; }

// A device finds nothing there, or something else.
TEST(EmulatorDeathTest, MemoryOfTheHostAsAnArgumentEndsTheProcess) {
  Device device;
  float host[2] = {1, 2};
  OnDevice<float> x(device, {3, 4}), out(device, {0});
  const auto read = [&](const float* from) {
    Launcher(device, "inner", {}, {})(ReadInner, {.stride = 1, .inner = {from, 2}, .out = out.data()});
    return out.Read()[0];
  };
  EXPECT_EQ(read(x.data()), 4.0f);
  EXPECT_EQ(read(nullptr), 7.0f);
  EXPECT_DEATH(read(host), "kernel inner: an argument points to memory that is not the device's");
  const auto first = [&](const std::vector<const float*>& pages) {
    OnDevice<const float*> table(device, pages);
    Launcher(device, "first", {}, {})(ReadFirst, table.data(), out.data());
    return out.Read()[0];
  };
  EXPECT_EQ(first({x.data(), nullptr}), 3.0f);
  EXPECT_DEATH(first({x.data(), host}), "kernel first: an array of pointers has one that is not to the device's");
}

TEST(EmulatorDeathTest, CopiesBeyondAllocationsOrWithinTheHostEndTheProcess) {
  Device device;
  OnDevice<float> x(device, {1, 2});
  float host[4] = {};
  const auto copy = [&](void* to, const void* from, size_t bytes) {
    Stream stream(device);
    stream.Copy(to, from, bytes);
    stream.Wait();
  };
  EXPECT_DEATH(copy(x.data(), host, 12), "a copy goes beyond an allocation");
  EXPECT_DEATH(copy(host, x.data() + 1, 8), "a copy goes beyond an allocation");
  EXPECT_DEATH(copy(host, host + 2, 8), "from the host to the host");
  const auto fill = [&] {
    Stream stream(device);
    stream.Fill(host, 0, 4);
    stream.Wait();
  };
  EXPECT_DEATH(fill(), "not the device's");
}

TEST(EmulatorDeathTest, StreamsDestroyedWithWaitingWorkEndTheProcess) {
  Device device;
  OnDevice<float> x(device, {1, 2});
  float host[2];
  EXPECT_DEATH({ Stream(device).Copy(host, x.data(), 8); }, "destroyed with work that nobody waited for");
  EXPECT_DEATH({ Stream(device).BeginCapture(); }, "destroyed while work is captured");
}

}  // namespace
}  // namespace inferd::kernels::gpu_emulator
