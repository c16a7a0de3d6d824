// One float at a time: the operations that lanes/elementary.h is written in, for the reference kernels.
//
//   float y = Exp<Scalar>(x);
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace inferd::kernels::reference {

struct Scalar {
  using Float = float;
  using Mask = bool;
  static float Set(float x) { return x; }
  static float Add(float a, float b) { return a + b; }
  static float Subtract(float a, float b) { return a - b; }
  static float Multiply(float a, float b) { return a * b; }
  static float Divide(float a, float b) { return a / b; }
  static float MultiplyAdd(float a, float b, float c) { return std::fma(a, b, c); }
  static float Maximum(float a, float b) { return a > b ? a : b; }
  static float Minimum(float a, float b) { return a < b ? a : b; }
  static bool Less(float a, float b) { return a < b; }
  static float Select(bool condition, float a, float b) { return condition ? a : b; }

  // In two steps, of which only the last can round, to infinity.
  static float ScaleByPowerOfTwo(float x, float n) {
    if (std::isnan(n)) return n;
    const int32_t exponent = static_cast<int32_t>(n);
    const int32_t first = exponent >> 1;
    return x * PowerOfTwo(first) * PowerOfTwo(exponent - first);
  }

 private:
  static float PowerOfTwo(int32_t n) { return std::bit_cast<float>((n + 127) << 23); }
};

}  // namespace inferd::kernels::reference
