// exp, tanh, erf, softplus and the activations made of them: each one sequence of IEEE operations that every variant
// runs in its own registers, so that all give the same bits.
//
//   Ops::Float y = Exp<Ops>(x);   // Ops: reference/scalar.h, x86_avx512/lanes.h, ...
//
// Ops supplies Float, Mask and Set, Add, Subtract, Multiply, Divide, MultiplyAdd (fma), Less, Select, and
//   Maximum(a, b)            a > b ? a : b, so that NaN in b stays; Minimum alike
//   ScaleByPowerOfTwo(x, n)  x * 2^n, infinity where it is too large, for |x| in [0.5, 2] and integral n in -126..128
// Bounds are in units of the last place of the f32 result, tested in elementary_test.cc; NaN gives NaN. The
// polynomials come from reference/fit_polynomials.py.
#pragma once

#include "kernels/kernels.h"

namespace inferd::kernels {

template <class Ops>
constexpr typename Ops::Float Negate(typename Ops::Float x) {
  return Ops::Multiply(x, Ops::Set(-1.0f));
}

template <class Ops>
constexpr typename Ops::Float Absolute(typename Ops::Float x) {
  return Ops::Select(Ops::Less(x, Ops::Set(0.0f)), Negate<Ops>(x), x);
}

// Horner's rule, highest coefficient first.
template <class Ops, int kCount>
constexpr typename Ops::Float Polynomial(typename Ops::Float x, const float (&coefficients)[kCount]) {
  typename Ops::Float sum = Ops::Set(coefficients[0]);
  for (int i = 1; i < kCount; ++i) sum = Ops::MultiplyAdd(sum, x, Ops::Set(coefficients[i]));
  return sum;
}

// x = n ln 2 + r with |r| <= ln 2 / 2; expm1 = e^r - 1.
template <class Ops>
struct ReducedExponent {
  typename Ops::Float n, expm1;
};

template <class Ops>
constexpr ReducedExponent<Ops> ReduceExponent(typename Ops::Float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding and subtracting it rounds to the nearest integer
  constexpr float kTail[] = {0.0013946459911820136f, 0.0083665839953257268f, 0.041666281860834063f,
                             0.16666542991848935f, 0.50000000619931791f};
  auto n = Ops::Subtract(Ops::MultiplyAdd(x, Ops::Set(1.44269504f), Ops::Set(kRound)), Ops::Set(kRound));
  auto r = Ops::MultiplyAdd(n, Ops::Set(-0.693145752f), x);  // ln 2 in two parts, the first with 16 bits
  r = Ops::MultiplyAdd(n, Ops::Set(-1.42860682e-6f), r);
  return {n, Ops::MultiplyAdd(Ops::Multiply(r, r), Polynomial<Ops>(r, kTail), r)};
}

// Within 2 units; infinity above 88.73; 0 below -87.33, where results would be subnormal: x86 takes hundreds of cycles
// to make one and as many for each product with it, and the weights of keys that attention does not see are all down
// there.
template <class Ops>
constexpr typename Ops::Float Exp(typename Ops::Float x) {
  const auto least = Ops::Set(-87.33f);
  auto reduced = ReduceExponent<Ops>(Ops::Minimum(Ops::Set(89.0f), Ops::Maximum(least, x)));
  auto power = Ops::ScaleByPowerOfTwo(Ops::Add(reduced.expm1, Ops::Set(1.0f)), reduced.n);
  return Ops::Select(Ops::Less(x, least), Ops::Set(0.0f), power);
}

// Within 4 units: expm1(2|x|) / (expm1(2|x|) + 2).
template <class Ops>
constexpr typename Ops::Float Tanh(typename Ops::Float x) {
  auto twice = Ops::Minimum(Ops::Set(20.0f), Absolute<Ops>(Ops::Add(x, x)));
  auto reduced = ReduceExponent<Ops>(twice);
  auto power = Ops::ScaleByPowerOfTwo(Ops::Set(1.0f), reduced.n);
  auto expm1 = Ops::MultiplyAdd(power, reduced.expm1, Ops::Subtract(power, Ops::Set(1.0f)));
  auto result = Ops::Divide(expm1, Ops::Add(expm1, Ops::Set(2.0f)));
  return Ops::Select(Ops::Less(x, Ops::Set(0.0f)), Negate<Ops>(result), result);
}

// Within 4 units: x P(x^2) up to 1, 1 - exp(Q(|x|)) beyond, where Q fits log(erfc).
template <class Ops>
constexpr typename Ops::Float Erf(typename Ops::Float x) {
  constexpr float kNear[] = {7.8888048673793404e-5f, -0.00080207555175442375f, 0.0051895266655468311f,
                             -0.026854440601350474f, 0.11283600094659643f,     -0.37612627129999954f,
                             1.128379165913061f};
  constexpr float kFar[] = {0.00018557322299300622f, -0.0029396000974672957f, 0.021805291332164977f,
                            -0.10303731587685264f,   -0.63822573427896866f,   -1.1270400039397376f,
                            -0.00035372684207406895f};
  auto near = Ops::Multiply(x, Polynomial<Ops>(Ops::Multiply(x, x), kNear));
  auto size = Ops::Minimum(Ops::Set(4.0f), Absolute<Ops>(x));
  auto far = Ops::Subtract(Ops::Set(1.0f), Exp<Ops>(Polynomial<Ops>(size, kFar)));
  far = Ops::Select(Ops::Less(x, Ops::Set(0.0f)), Negate<Ops>(far), far);
  return Ops::Select(Ops::Less(Ops::Set(1.0f), size), far, near);
}

// log(1 + e^x), within 4 units: max(x, 0) + log1p(e^-|x|), with log1p(z) = 2 atanh(z / (2 + z)).
template <class Ops>
constexpr typename Ops::Float Softplus(typename Ops::Float x) {
  constexpr float kAtanh[] = {0.140985854702321f, 0.13978284050817736f, 0.20012589991503692f, 0.33333154460501422f,
                              1.0000000040565309f};
  auto z = Exp<Ops>(Negate<Ops>(Absolute<Ops>(x)));
  auto s = Ops::Divide(z, Ops::Add(z, Ops::Set(2.0f)));
  auto log1p = Ops::Multiply(Ops::Add(s, s), Polynomial<Ops>(Ops::Multiply(s, s), kAtanh));
  return Ops::Add(Ops::Maximum(Ops::Set(0.0f), x), log1p);
}

// x / (1 + e^-(factor x))
template <class Ops>
constexpr typename Ops::Float TimesSigmoid(typename Ops::Float x, typename Ops::Float exponent) {
  return Ops::Divide(x, Ops::Add(Exp<Ops>(Negate<Ops>(exponent)), Ops::Set(1.0f)));
}

template <class Ops>
constexpr typename Ops::Float GeluTanh(typename Ops::Float x) {
  // x (1 + tanh(u)) / 2 = x / (1 + e^-2u) with 2u = x sqrt(8 / pi) (1 + 0.044715 x^2)
  auto cubic = Ops::MultiplyAdd(Ops::Multiply(x, x), Ops::Set(0.0713548162f), Ops::Set(1.59576912f));
  return TimesSigmoid<Ops>(x, Ops::Multiply(x, cubic));
}

// The nearest number with 11 significant bits, as half precision has (Veltkamp's splitting); x unchanged if it is
// large.
template <class Ops>
constexpr typename Ops::Float RoundToHalf(typename Ops::Float x) {
  auto scaled = Ops::Multiply(x, Ops::Set(8193.0f));  // 2^13 + 1
  auto rounded = Ops::Subtract(scaled, Ops::Subtract(scaled, x));
  return Ops::Select(Ops::Less(Absolute<Ops>(x), Ops::Set(65536.0f)), rounded, x);
}

// What a table of GELU in half precision, indexed by half-precision x, gives: x itself from 10 on, 0 below -10.
template <class Ops>
constexpr typename Ops::Float GeluHalf(typename Ops::Float x) {
  auto y = RoundToHalf<Ops>(GeluTanh<Ops>(RoundToHalf<Ops>(x)));
  y = Ops::Select(Ops::Less(x, Ops::Set(10.0f)), y, x);
  return Ops::Select(Ops::Less(x, Ops::Set(-10.0f)), Ops::Set(0.0f), y);
}

template <class Ops>
constexpr typename Ops::Float GeluErf(typename Ops::Float x) {
  auto erf = Erf<Ops>(Ops::Multiply(x, Ops::Set(0.707106781f)));
  return Ops::Multiply(Ops::Multiply(x, Ops::Set(0.5f)), Ops::Add(erf, Ops::Set(1.0f)));
}

template <class Ops, Activation kKind>
constexpr typename Ops::Float Activate(typename Ops::Float x) {
  if constexpr (kKind == Activation::kSilu) return TimesSigmoid<Ops>(x, x);
  if constexpr (kKind == Activation::kGeluTanh) return GeluTanh<Ops>(x);
  if constexpr (kKind == Activation::kGeluHalf) return GeluHalf<Ops>(x);
  if constexpr (kKind == Activation::kGeluErf) return GeluErf<Ops>(x);
  if constexpr (kKind == Activation::kRelu) return Ops::Maximum(Ops::Set(0.0f), x);
  if constexpr (kKind == Activation::kReluSquared) {
    auto positive = Ops::Maximum(Ops::Set(0.0f), x);
    return Ops::Multiply(positive, positive);
  }
  if constexpr (kKind == Activation::kSigmoid) return TimesSigmoid<Ops>(Ops::Set(1.0f), x);
  if constexpr (kKind == Activation::kTanh) return Tanh<Ops>(x);
  if constexpr (kKind == Activation::kGeluQuick) {
    return TimesSigmoid<Ops>(x, Ops::Multiply(x, Ops::Set(1.702f)));
  }
  if constexpr (kKind == Activation::kSoftplus) return Softplus<Ops>(x);
  if constexpr (kKind == Activation::kExp) return Exp<Ops>(x);
}

}  // namespace inferd::kernels
