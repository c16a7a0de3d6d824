// e^x in plain IEEE operations, so that a probability has the same bits on every CPU (the C library's exp does not
// promise that). No fma: without hardware for it that would be a slow call.
//
//   double probability = Exp(logit - log_sum);
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace inferd::sampling {

// Relative error below 1e-15 for finite x; 0 below -700 and e^700 above 700. NaN gives NaN.
// x = k ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite: ln 2 in two parts), then the Taylor series of e^r to r^13.
inline double Exp(double x) {
  if (x != x) return x;
  if (x < -700) return 0;
  if (x > 700) x = 700;
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;  // k * kLn2High is exact
  const int64_t k = static_cast<int64_t>(x * kLog2E + (x < 0 ? -0.5 : 0.5));
  const double r = (x - static_cast<double>(k) * kLn2High) - static_cast<double>(k) * kLn2Low;
  double sum = 1.0 / 6227020800.0;
  for (double term : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                      1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
    sum = sum * r + term;
  }
  return sum * std::bit_cast<double>((k + 1023) << 52);
}

}  // namespace inferd::sampling
