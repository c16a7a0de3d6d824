// One float a thread: the operations that lanes/elementary.h is written in, for kernels of GPUs.
//
//   float y = Exp<gpu::LaneOps>(x);
//
// Its functions may be called from both sides of nvcc, as those of elementary.h are.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/gpu/gpu.h"
#include "kernels/lanes/elementary.h"

namespace inferd::kernels::gpu {

struct LaneOps {
  using Float = float;
  using Mask = bool;
  static GPU_BOTH float Set(float x) { return x; }
  static GPU_BOTH float Add(float a, float b) { return a + b; }
  static GPU_BOTH float Subtract(float a, float b) { return a - b; }
  static GPU_BOTH float Multiply(float a, float b) { return a * b; }
  static GPU_BOTH float Divide(float a, float b) { return a / b; }
  static GPU_BOTH float MultiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
  static GPU_BOTH float Maximum(float a, float b) { return a > b ? a : b; }
  static GPU_BOTH float Minimum(float a, float b) { return a < b ? a : b; }
  static GPU_BOTH bool Less(float a, float b) { return a < b; }
  static GPU_BOTH float Select(bool condition, float a, float b) { return condition ? a : b; }

  // In two steps, of which only the last can round, to infinity.
  static GPU_BOTH float ScaleByPowerOfTwo(float x, float n) {
    if (n != n) return n;
    const auto exponent = static_cast<int32_t>(n);
    const int32_t first = exponent >> 1;
    return x * PowerOfTwo(first) * PowerOfTwo(exponent - first);
  }

 private:
  static GPU_BOTH float PowerOfTwo(int32_t n) { return std::bit_cast<float>((n + 127) << 23); }
};

}  // namespace inferd::kernels::gpu
