// 256 values with a half scale and a half minimum for all, and integers that multiply them for each group.
//
//   SuperAffine fit;
//   FitSuperAffine<15, 32, 63>(x, w, search, fit);   // Q4_K
//   x[i] ~ fit.scale * fit.scales[i / 32] * q[i] - fit.minimum * fit.minimums[i / 32], q[i] in 0..15
#pragma once

#include <algorithm>
#include <cmath>

#include "engine/quantize/fit_affine.h"
#include "engine/quantize/super_block.h"

namespace inferd::quantize {

struct SuperAffine {
  float scale = 0, minimum = 0;  // halves
  int scales[16] = {}, minimums[16] = {};
  float error = 0;
};

struct SuperAffineSearch {
  AffineSearch group;
  int ends;   // integers nearest to the end of their range that the largest scale and minimum are tried at
  int width;  // integers tried to either side of the wanted one
};

template <int kHighest, int kGroup, int kLargest>
void BestGroupIntegers(const float* x, const float* w, const Affine& wanted, int width, int j, SuperAffine& fit) {
  const auto nearest = [](float ratio) {
    return static_cast<int>(Round(std::clamp(ratio, 0.0f, static_cast<float>(kLargest))));
  };
  const int scale = nearest(wanted.scale * Inverse(fit.scale));
  const int minimum = nearest(-wanted.minimum * Inverse(fit.minimum));
  float least = -1;
  for (int s = std::max(scale - width, 0); s <= std::min(scale + width, kLargest); ++s) {
    for (int m = std::max(minimum - width, 0); m <= std::min(minimum + width, kLargest); ++m) {
      const float error = AffineErrorAt<kHighest, kGroup>(x, w, fit.scale * static_cast<float>(s),
                                                          -fit.minimum * static_cast<float>(m));
      if (least >= 0 && !(error < least)) continue;
      least = error;
      fit.scales[j] = s;
      fit.minimums[j] = m;
    }
  }
  fit.error += least;
}

template <int kHighest, int kGroup, int kLargest>
SuperAffine IntegersFor(const float* x, const float* w, float scale, float minimum, const Affine* wanted, int width) {
  SuperAffine fit{.scale = NearestHalf(scale), .minimum = NearestHalf(minimum)};
  for (int j = 0; j < kSuperBlock / kGroup; ++j) {
    BestGroupIntegers<kHighest, kGroup, kLargest>(x + j * kGroup, w + j * kGroup, wanted[j], width, j, fit);
  }
  return fit;
}

// Scale and minimum of least squares for the integers of a fit; also what each group would like best.
template <int kHighest, int kGroup>
Affine SolveSuperAffine(const float* x, const float* w, const SuperAffine& fit, Affine* wanted) {
  double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;  // a = scales q, b = -minimums
  for (int j = 0; j < kSuperBlock / kGroup; ++j) {
    const float *group_x = x + j * kGroup, *group_w = w + j * kGroup;
    const float scale = fit.scale * static_cast<float>(fit.scales[j]);
    const float minimum = -fit.minimum * static_cast<float>(fit.minimums[j]);
    const AffineSums sums = AffineSumsAt<kHighest, kGroup>(group_x, group_w, Inverse(scale), minimum);
    const GroupSums group = GroupSumsOf<kGroup>(group_x, group_w);
    if (scale != 0) wanted[j] = SolveAffine(sums, group, true).affine;
    const double a = fit.scales[j], b = -fit.minimums[j];
    aa += a * a * static_cast<double>(sums.qq);
    ab += a * b * static_cast<double>(sums.q);
    bb += b * b * static_cast<double>(group.w);
    xa += a * static_cast<double>(sums.xq);
    xb += b * static_cast<double>(group.x);
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant > 1e-9 * aa * bb) {
    return {static_cast<float>((bb * xa - ab * xb) / determinant),
            static_cast<float>((aa * xb - ab * xa) / determinant)};
  }
  return {aa > 0 ? static_cast<float>(xa / aa) : fit.scale, fit.minimum};
}

template <int kHighest, int kGroup, int kLargest>
void FitSuperAffine(const float* x, const float* w, const SuperAffineSearch& search, SuperAffine& best) {
  constexpr int kGroups = kSuperBlock / kGroup, kMostRounds = 3;
  Affine wanted[kGroups];
  float scale = 0, minimum = 0;
  for (int j = 0; j < kGroups; ++j) {
    wanted[j] = FitAffine<kHighest, kGroup>(x + j * kGroup, w + j * kGroup, true, search.group);
    scale = std::max(scale, wanted[j].scale);
    minimum = std::max(minimum, -wanted[j].minimum);
  }
  best = IntegersFor<kHighest, kGroup, kLargest>(x, w, 0, 0, wanted, 0);
  const auto consider = [&](float d, float m, int width) {
    const SuperAffine fit = IntegersFor<kHighest, kGroup, kLargest>(x, w, d, m, wanted, width);
    if (!(fit.error < best.error)) return false;
    best = fit;
    return true;
  };
  for (int s = 0; s < search.ends; ++s) {
    for (int m = 0; m < search.ends; ++m) {
      consider(scale / static_cast<float>(kLargest - s), minimum / static_cast<float>(kLargest - m), 0);
    }
  }
  consider(best.scale, best.minimum, search.width);
  for (int round = 0; round < kMostRounds; ++round) {
    const Affine solved = SolveSuperAffine<kHighest, kGroup>(x, w, best, wanted);
    if (!consider(std::max(solved.scale, 0.0f), std::max(solved.minimum, 0.0f), search.width)) break;
  }
}

template <int kHighest, int kGroup>
void RoundSuperAffine(const float* x, const SuperAffine& fit, int8_t* q) {
  float above[kGroup];
  for (int j = 0; j < kSuperBlock / kGroup; ++j) {
    const float minimum = fit.minimum * static_cast<float>(fit.minimums[j]);
    for (int i = 0; i < kGroup; ++i) above[i] = x[j * kGroup + i] + minimum;
    RoundTo<UniformLevels<0, kHighest>, kGroup>(above, fit.scale * static_cast<float>(fit.scales[j]), q + j * kGroup);
  }
}

}  // namespace inferd::quantize
