// One value made of a row by a block: sums in the order of reference/lane_sum.h, and largest values.
//
//   float squares = SumInLanes(n, [=](int64_t i, float sum) { return gpu::MultiplyAdd(x[i], x[i], sum); });
//
// All threads of the block call these, and all get the result. The 16 chains of a sum run in 16 threads.
#pragma once

#include <cmath>

#include "kernels/gpu/gpu.h"

namespace inferd::kernels::gpu {

constexpr int kSumLanes = 16;

// What a level of the fixed tree makes of twice as many values.
template <int kCount>
GPU_DEVICE void AddHalves(const float (&values)[2 * kCount], float (&sums)[kCount]) {
  GPU_UNROLL
  for (int i = 0; i < kCount; ++i) sums[i] = values[i] + values[i + kCount];
}

// Of what 16 lanes have summed, the tree's root.
GPU_DEVICE float TreeOf(const float* lanes) {
  float all[kSumLanes], eight[8], four[4], two[2];
  GPU_UNROLL
  for (int i = 0; i < kSumLanes; ++i) all[i] = lanes[i] + 0.0f;  // a zero of padding makes -0 to +0
  AddHalves(all, eight);
  AddHalves(eight, four);
  AddHalves(four, two);
  return two[0] + two[1];
}

// add(i, sum) gives the sum with element i.
template <class Add>
GPU_DEVICE float SumInLanes(int64_t n, const Add& add) {
  GPU_SHARED(float, lanes, [kSumLanes]);
  if (Thread() < kSumLanes) {
    float sum = 0.0f;
    for (int64_t i = Thread(); i < n; i += kSumLanes) sum = add(i, sum);
    lanes[Thread()] = sum;
  }
  SyncThreads();
  const float total = TreeOf(lanes);
  SyncThreads();  // the next sum may write
  return total;
}

// The largest value(i), NaN left out; -infinity where there is none. The block has kThreads threads, a multiple of 32.
template <int kThreads, class Value>
GPU_DEVICE float LargestOf(int64_t n, const Value& value) {
  GPU_SHARED(float, largest, [kThreads / kWarpLanes]);
  float best = -INFINITY;
  for (int64_t i = Thread(); i < n; i += kThreads) {
    const float x = value(i);
    best = best < x ? x : best;
  }
  for (int mask = kWarpLanes / 2; mask > 0; mask /= 2) {
    const float other = ShuffleXor(best, mask);
    best = best < other ? other : best;
  }
  if (Lane() == 0) largest[Warp()] = best;
  SyncThreads();
  for (int i = 0; i < kThreads / kWarpLanes; ++i) best = best < largest[i] ? largest[i] : best;
  SyncThreads();
  return best;
}

}  // namespace inferd::kernels::gpu
