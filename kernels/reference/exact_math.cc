// See exact_math.h. Polynomials come from fit_polynomials.py.
#include "kernels/exact_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

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

// sin and cos of r in [-pi/4, pi/4], where r + tail is the angle.
double SinOfReduced(double r, double tail) {
  constexpr double kSin[] = {-0.16666666666666667,   0.0083333333333333228,  -0.00019841269841255122,
                             2.7557319214219279e-6,  -2.5052104919259524e-8, 1.6058367623939284e-10,
                             -7.5787481719174306e-13};
  const double square = r * r;
  return r + std::fma(r * square, Polynomial(square, kSin), tail);
}

double CosOfReduced(double r, double tail) {
  constexpr double kCos[] = {0.041666666666666667,   -0.0013888888888888874, 2.4801587301571523e-5,
                             -2.7557319215387601e-7, 2.0876754368790613e-9,  -1.1470293563040321e-11,
                             4.7381223488206245e-14};
  const double square = r * r;
  const double half = 0.5 * square;
  const double main = 1.0 - half;  // its rounding error is (1 - main) - half, exactly
  return main + (((1.0 - main) - half) + std::fma(square * square, Polynomial(square, kCos), -(r * tail)));
}

// sin(x + quadrants * pi/2)
double SinShifted(double x, int64_t quadrants) {
  if (!(std::fabs(x) < 0x1p30)) return kNan;
  const double n = std::fma(x, 0.63661977236758134, kRound) - kRound;
  const double first = std::fma(n, -1.5707963267948966, x);  // pi/2 to 53 bits
  const double second = n * -6.123233995736766e-17;          // and its next 53
  const double r = first + second;
  const double tail = (first - r) + second;
  quadrants += static_cast<int64_t>(n);
  const double value = (quadrants & 1) != 0 ? CosOfReduced(r, tail) : SinOfReduced(r, tail);
  return (quadrants & 2) != 0 ? -value : value;
}

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

double Sin(double x) { return SinShifted(x, 0); }
double Cos(double x) { return SinShifted(x, 1); }

}  // namespace inferd::kernels::exact
