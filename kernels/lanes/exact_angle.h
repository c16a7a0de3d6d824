// Sine and cosine in double as one sequence of operations without branches, so that a compiler may run it in lanes:
// exact::Sin and Cos, and the tables of RoPE.
//
//   SineCosine both = ExactSineCosine<Ops>(123.0);    // |x| < 2^30
//
// Ops only keeps the code of instruction sets apart. The polynomials come from reference/fit_polynomials.py.
#pragma once

#include <cstdint>
#include <cstring>

namespace inferd::kernels {

struct SineCosine {
  double sine, cosine;
};

template <class Ops>
inline SineCosine ExactSineCosine(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the low bits
  const double shifted = __builtin_fma(x, 0.63661977236758134, kRound);
  const double n = shifted - kRound;
  uint64_t quadrant;
  std::memcpy(&quadrant, &shifted, sizeof(quadrant));

  // x = n * pi/2 + r + tail, with pi/2 in two parts of 53 bits.
  const double first = __builtin_fma(n, -1.5707963267948966, x);
  const double second = n * -6.123233995736766e-17;
  const double r = first + second;
  const double tail = (first - r) + second;
  const double square = r * r;

  double p = -7.5787481719174306e-13;
  p = __builtin_fma(p, square, 1.6058367623939284e-10);
  p = __builtin_fma(p, square, -2.5052104919259524e-8);
  p = __builtin_fma(p, square, 2.7557319214219279e-6);
  p = __builtin_fma(p, square, -0.00019841269841255122);
  p = __builtin_fma(p, square, 0.0083333333333333228);
  p = __builtin_fma(p, square, -0.16666666666666667);
  const double sine = r + __builtin_fma(r * square, p, tail);

  double q = 4.7381223488206245e-14;
  q = __builtin_fma(q, square, -1.1470293563040321e-11);
  q = __builtin_fma(q, square, 2.0876754368790613e-9);
  q = __builtin_fma(q, square, -2.7557319215387601e-7);
  q = __builtin_fma(q, square, 2.4801587301571523e-5);
  q = __builtin_fma(q, square, -0.0013888888888888874);
  q = __builtin_fma(q, square, 0.041666666666666667);
  const double half = 0.5 * square;
  const double main = 1.0 - half;  // its rounding error is (1 - main) - half, exactly
  const double cosine = main + (((1.0 - main) - half) + __builtin_fma(square * square, q, -(r * tail)));

  const double odd_sine = (quadrant & 1) != 0 ? cosine : sine;
  const double odd_cosine = (quadrant & 1) != 0 ? sine : cosine;
  return {(quadrant & 2) != 0 ? -odd_sine : odd_sine, ((quadrant + 1) & 2) != 0 ? -odd_cosine : odd_cosine};
}

// See Kernels::rope_table.
template <class Ops>
void RopeTable(int64_t position, const double* inverse_frequencies, int64_t pairs, float magnitude, float* table) {
  const double turns = static_cast<double>(position);
  const double length = static_cast<double>(magnitude);
  for (int64_t i = 0; i < pairs; ++i) {
    const SineCosine both = ExactSineCosine<Ops>(turns * inverse_frequencies[i]);
    table[i] = static_cast<float>(both.cosine * length);
    table[pairs + i] = static_cast<float>(both.sine * length);
  }
}

}  // namespace inferd::kernels
