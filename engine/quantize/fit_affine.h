// Scale and minimum of a group of values that make the error weighted by importance least: x[i] ~ scale * q[i] +
// minimum with q in 0..kHighest. As fit_scale.h, with two unknowns in the least squares.
//
//   Affine fit = FitAffine<15, 32>(x, w, /*no_positive_minimum=*/false);
#pragma once

#include <cmath>

#include "engine/quantize/half_scale.h"
#include "engine/quantize/levels.h"

namespace inferd::quantize {

struct Affine {
  float scale = 0, minimum = 0;
};

// What the least squares need of integers q: sums of w times the named products.
struct AffineSums {
  float q = 0, qq = 0, xq = 0;
};

struct GroupSums {
  float w = 0, x = 0;  // sum(w), sum(w x)
};

struct AffineFit {
  Affine affine;
  float gain = 0;  // by how much the error is less than that of zeros
};

template <int kHighest, int kCount>
AffineSums AffineSumsAt(const float* x, const float* w, float inverse, float minimum) {
  Lanes q_sum{}, qq{}, xq{};
  for (int i = 0; i < kCount; i += kLanes) {
    const Lanes value = Load(x + i);
    const Lanes q = UniformLevels<0, kHighest>::Nearest((value - Splat(minimum)) * Splat(inverse));
    const Lanes wq = Load(w + i) * q;
    q_sum += wq;
    qq += wq * q;
    xq += wq * value;
  }
  return {Sum(q_sum), Sum(qq), Sum(xq)};
}

template <int kCount>
GroupSums GroupSumsOf(const float* x, const float* w) {
  Lanes w_sum{}, wx{};
  for (int i = 0; i < kCount; i += kLanes) {
    w_sum += Load(w + i);
    wx += Load(w + i) * Load(x + i);
  }
  return {Sum(w_sum), Sum(wx)};
}

// scale and minimum of least squares; the minimum at most 0 where asked for.
inline AffineFit SolveAffine(const AffineSums& sums, const GroupSums& group, bool no_positive_minimum) {
  const float determinant = group.w * sums.qq - sums.q * sums.q;
  Affine out;
  if (determinant > 0) {
    out.scale = (group.w * sums.xq - group.x * sums.q) / determinant;
    out.minimum = (sums.qq * group.x - sums.q * sums.xq) / determinant;
  } else {
    out.minimum = group.w > 0 ? group.x / group.w : 0;
  }
  if (no_positive_minimum && out.minimum > 0) {
    out.minimum = 0;
    out.scale = sums.qq > 0 ? sums.xq / sums.qq : 0;
  }
  return {out, out.scale * sums.xq + out.minimum * group.x};
}

template <int kHighest, int kCount>
float AffineErrorAt(const float* x, const float* w, float scale, float minimum) {
  Lanes sum{};
  const Lanes inverse = Splat(Inverse(scale)), s = Splat(scale), m = Splat(minimum);
  for (int i = 0; i < kCount; i += kLanes) {
    const Lanes value = Load(x + i), above = value - m;
    const Lanes rest = above - s * UniformLevels<0, kHighest>::Nearest(above * inverse);
    sum += Load(w + i) * rest * rest;
  }
  return Sum(sum);
}

// The range of the group is tried over kHighest + r levels for r from -reach to reach, from several lowest values.
struct AffineSearch {
  float reach;
  int steps;
  int clips;  // lowest values tried: the least value, then shares of it
};

constexpr float kGainRounding = 1e-5f;  // relative

template <int kHighest, int kCount>
Affine FitAffine(const float* x, const float* w, bool no_positive_minimum, const AffineSearch& search) {
  constexpr int kMostRounds = 8;
  float least = x[0], most = x[0];
  for (int i = 1; i < kCount; ++i) {
    least = std::min(least, x[i]);
    most = std::max(most, x[i]);
  }
  if (no_positive_minimum) least = std::min(least, 0.0f);
  const GroupSums group = GroupSumsOf<kCount>(x, w);
  if (most - least < kSmallestValue) return {0, no_positive_minimum ? std::min(least, 0.0f) : group.x / group.w};
  AffineFit best;
  float least_error = -1;
  // Gains of floats tell fits apart only as far as they differ by more than their rounding: the error itself decides.
  const auto consider = [&](float inverse, float minimum) {
    const AffineFit fit =
        SolveAffine(AffineSumsAt<kHighest, kCount>(x, w, inverse, minimum), group, no_positive_minimum);
    if (fit.gain < best.gain * (1 - kGainRounding)) return false;
    const float error = AffineErrorAt<kHighest, kCount>(x, w, fit.affine.scale, fit.affine.minimum);
    if (least_error >= 0 && !(error < least_error)) return false;
    best = fit;
    least_error = error;
    return true;
  };
  for (int clip = 0; clip < search.clips; ++clip) {
    const float lowest = least + (most - least) * 0.08f * static_cast<float>(clip);
    for (int step = 0; step <= search.steps; ++step) {
      const float levels = static_cast<float>(kHighest) - search.reach +
                           2 * search.reach * static_cast<float>(step) / static_cast<float>(search.steps);
      consider(levels / (most - lowest), lowest);
    }
  }
  for (int round = 0; round < kMostRounds && best.affine.scale != 0; ++round) {
    if (!consider(1.0f / best.affine.scale, best.affine.minimum)) break;
  }
  return best.affine;
}

}  // namespace inferd::quantize
