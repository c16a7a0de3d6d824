// Streams do their work in their order, when somebody waits; the memory of a device.
#include "kernels/gpu_emulator/stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/gpu/gpu.h"
#include "kernels/gpu_emulator/testing.h"

namespace inferd::kernels::gpu_emulator {
namespace {

GPU_KERNEL(64, AddPosition, const int* position, float* x) {
  x[gpu::BlockX() * 64 + gpu::Thread()] += static_cast<float>(*position);
}

GPU_KERNEL(32, ReadAt, const float* x, int at, float* out) { *out = x[at]; }

std::vector<float> Counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(Stream, ArgumentsAreThoseOfTheLaunch) {
  Device device;
  OnDevice<float> x(device, {1, 2, 3}), out(device, {0});
  int at = 1;
  Stream stream(device);
  stream.Launch("ReadAt", ReadAt, {}, {}, x.data(), at, out.data());
  at = 2;
  stream.Wait();
  EXPECT_EQ(out.Read()[0], 2.0f);
}

TEST(Stream, EventsOutliveTheirStream) {
  Device device;
  OnDevice<float> x(device, {1});
  Event event;
  float host = 0;
  {
    Stream first(device);
    first.Copy(&host, x.data(), 4);
    first.Record(event);
    first.Wait();
  }
  Stream second(device);
  second.WaitFor(event);
  second.Wait();
  EXPECT_EQ(host, 1.0f);
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
  first.Launch("AddPosition", AddPosition, {}, {.x = 64}, step.data(), x.data());
  first.Record(added);
  first.Launch("AddPosition", AddPosition, {}, {.x = 64}, step.data(), x.data());
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
  stream.Launch("AddPosition", AddPosition, {.x = 2}, {.x = 64}, step.data(), x.data());
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
