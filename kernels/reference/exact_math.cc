// See exact_math.h. Polynomials come from fit_polynomials.py.
#include "kernels/exact_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/lanes/exact_angle.h"
#include "kernels/reference/scalar.h"

namespace inferd::kernels::exact {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding and subtracting it rounds to an integer

// Horner's rule, lowest coefficient first.
template <int kCount>
double Polynomial(double x, const double (&coefficients)[kCount]) {
  double sum = coefficients[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) sum = std::fma(sum, x, coefficients[i]);
  return sum;
}

double PowerOfTwo(int64_t n) { return std::bit_cast<double>((n + 1023) << 52); }

}  // namespace

double Exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.79) return kInfinity;
  if (x < -745.14) return 0.0;
  constexpr double kTail[] = {0.5,
                              0.16666666666666684,
                              0.041666666666666724,
                              0.0083333333333167382,
                              0.0013888888888858537,
                              0.00019841269897060092,
                              2.4801587373575571e-5,
                              2.7557234235601208e-6,
                              2.7557233488676114e-7,
                              2.5112240261804219e-8,
                              2.0926906181534723e-9};
  const double n = std::fma(x, 1.4426950408889634, kRound) - kRound;
  const double first = std::fma(n, -0.69314718055989033, x);  // ln 2 to 42 bits: exact
  const double second = n * -5.4979230187083712e-14;
  const double r = first + second;
  const double low = (first - r) + second;
  const double value = 1.0 + (r + std::fma(r * r, Polynomial(r, kTail), low));
  const int64_t exponent = static_cast<int64_t>(n);
  const int64_t half = exponent >> 1;
  return value * PowerOfTwo(half) * PowerOfTwo(exponent - half);
}

double Log(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (std::isinf(x)) return x;
  int64_t exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  // x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2))
  const int64_t bits = std::bit_cast<int64_t>(x) - 0x3FE6A09E667F3BCD;
  exponent += bits >> 52;
  const double f = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1.0;
  // log(1 + f) = 2 atanh(s), s = f / (2 + f); f - s f = 2 s, written so that f itself is not rounded
  constexpr double kTail[] = {0.66666666666666661, 0.40000000000006262, 0.28571428569081155, 0.22222222647511717,
                              0.18181775608072308, 0.15387093279300259, 0.13250061030131974, 0.13251850605719924};
  const double s = f / (2.0 + f);
  const double square = s * s;
  const double half = 0.5 * f * f;
  const double n = static_cast<double>(exponent);
  const double small = std::fma(s, half + square * Polynomial(square, kTail), n * 5.4979230187083712e-14);
  return std::fma(n, 0.69314718055989033, f - (half - small));
}

double Pow(double x, double y) { return Exp(y * Log(x)); }

double Sin(double x) { return std::fabs(x) < 0x1p30 ? ExactSineCosine<reference::Scalar>(x).sine : kNan; }
double Cos(double x) { return std::fabs(x) < 0x1p30 ? ExactSineCosine<reference::Scalar>(x).cosine : kNan; }

}  // namespace inferd::kernels::exact
