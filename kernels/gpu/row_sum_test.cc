// Values of several rows one after the other by one block: each is whole before the next one begins.
#include "kernels/gpu/row_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/gpu_emulator/testing.h"
#include "kernels/kernel_testing.h"
#include "kernels/reference/lane_sum.h"

namespace inferd::kernels::gpu {
namespace {

using gpu_emulator::Device;
using gpu_emulator::kOrders;
using gpu_emulator::LaneOrder;
using gpu_emulator::Launcher;
using gpu_emulator::OnDevice;

constexpr int kThreads = 128, kRows = 4;

// out [rows][2][threads]: the sum and the largest value of each row, as each thread has them.
GPU_KERNEL(kThreads, SumsAndLargest, const float* x, int n, float* out) {
  for (int row = 0; row < kRows; ++row) {
    out[2 * row * kThreads + Thread()] = SumInLanes(n, [&](int64_t i, float sum) { return sum + x[row * n + i]; });
  }
  for (int row = 0; row < kRows; ++row) {
    out[(2 * row + 1) * kThreads + Thread()] = LargestOf<kThreads>(n, [&](int64_t i) { return x[row * n + i]; });
  }
}

TEST(RowSum, EachThreadGetsEachRowsValues) {
  for (const int n : {1, 15, 16, 17, 128, 300}) {
    const std::vector<float> x = Random(static_cast<uint64_t>(n), static_cast<size_t>(kRows * n));
    std::vector<float> expected;
    for (int row = 0; row < kRows; ++row) {
      const float* const values = x.data() + row * n;
      reference::LaneSum sum;
      for (int i = 0; i < n; ++i) sum.Add(i, values[i]);
      expected.insert(expected.end(), kThreads, sum.Total());
      expected.insert(expected.end(), kThreads, *std::max_element(values, values + n));
    }
    for (const LaneOrder order : kOrders) {
      Device device({order});
      OnDevice<float> in(device, x), out(device, std::vector<float>(expected.size()));
      Launcher(device, "SumsAndLargest", {}, {kThreads})(SumsAndLargest, in.data(), n, out.data());
      ASSERT_EQ(out.Read(), expected) << n << " a row";
    }
  }
}

TEST(RowSum, LargestLeavesOutNan) {
  std::vector<float> x(static_cast<size_t>(kRows * 40), NAN);
  x[5] = -3;
  x[6] = -INFINITY;
  Device device;
  OnDevice<float> in(device, x), out(device, std::vector<float>(2 * kRows * kThreads));
  Launcher(device, "SumsAndLargest", {}, {kThreads})(SumsAndLargest, in.data(), 40, out.data());
  const std::vector<float> got = out.Read();
  EXPECT_EQ(got[kThreads], -3.0f);
  EXPECT_EQ(got[3 * kThreads], -INFINITY);
}

}  // namespace
}  // namespace inferd::kernels::gpu
