// 256 values with one half scale for all and an integer scale for each group of them: the fit of all together.
//
//   SuperScale fit;
//   FitSuperScale<UniformLevels<-32, 31>, 16, -128, 127>(x, w, search, fit);   // Q6_K
//   x[i] ~ fit.scale * fit.scales[i / 16] * q[i], q[i] the nearest level
#pragma once

#include <algorithm>
#include <cmath>

#include "engine/quantize/fit_scale.h"

namespace inferd::quantize {

constexpr int kSuperBlock = 256;

struct SuperScale {
  float scale = 0;  // a half
  int scales[16] = {};
  float error = 0;
};

// The integer scale beside `wanted` / `scale` with the least error of its group.
template <typename Levels, int kGroup, int kLowest, int kHighest>
int BestGroupScale(const float* x, const float* w, float scale, float wanted, float* least) {
  const int middle = static_cast<int>(Round(std::clamp(wanted * Inverse(scale), kLowest * 1.0f, kHighest * 1.0f)));
  int best = middle;
  *least = ErrorAt<Levels, kGroup>(x, w, scale * static_cast<float>(middle));
  for (const int near : {middle - 1, middle + 1}) {
    if (near < kLowest || near > kHighest) continue;
    const float error = ErrorAt<Levels, kGroup>(x, w, scale * static_cast<float>(near));
    if (error < *least) {
      *least = error;
      best = near;
    }
  }
  return best;
}

template <typename Levels, int kGroup, int kLowest, int kHighest>
SuperScale ScalesFor(const float* x, const float* w, float scale, const float* wanted) {
  SuperScale out{.scale = scale};
  for (int j = 0; j < kSuperBlock / kGroup; ++j) {
    float error;
    out.scales[j] =
        BestGroupScale<Levels, kGroup, kLowest, kHighest>(x + j * kGroup, w + j * kGroup, scale, wanted[j], &error);
    out.error += error;
  }
  return out;
}

// The scale of least squares for the integers that a fit gives; also what each group would like best.
template <typename Levels, int kGroup>
float SolveSuperScale(const float* x, const float* w, const SuperScale& fit, float* wanted) {
  double xq = 0, qq = 0;
  for (int j = 0; j < kSuperBlock / kGroup; ++j) {
    const float scale = fit.scale * static_cast<float>(fit.scales[j]);
    const ScaleSums sums = SumsAt<Levels, kGroup>(x + j * kGroup, w + j * kGroup, Inverse(scale));
    if (sums.qq > 0 && scale != 0) wanted[j] = sums.xq / sums.qq;
    xq += static_cast<double>(fit.scales[j]) * static_cast<double>(sums.xq);
    qq += static_cast<double>(fit.scales[j]) * fit.scales[j] * static_cast<double>(sums.qq);
  }
  return qq > 0 ? static_cast<float>(xq / qq) : fit.scale;
}

// `ends`: how many of the integer scales nearest to the end of their range the largest group is tried at.
template <typename Levels, int kGroup, int kLowest, int kHighest>
void FitSuperScale(const float* x, const float* w, const ScaleSearch& search, int ends, SuperScale& best) {
  constexpr int kGroups = kSuperBlock / kGroup, kMostRounds = 3;
  float wanted[kGroups], largest = 0;
  for (int j = 0; j < kGroups; ++j) {
    wanted[j] = FitScale<Levels, kGroup>(x + j * kGroup, w + j * kGroup, search);
    if (std::fabs(wanted[j]) > std::fabs(largest)) largest = wanted[j];
  }
  best = ScalesFor<Levels, kGroup, kLowest, kHighest>(x, w, 0.0f, wanted);
  const auto consider = [&](float scale) {
    const float half = NearestHalf(scale);
    if (half == 0) return false;
    const SuperScale fit = ScalesFor<Levels, kGroup, kLowest, kHighest>(x, w, half, wanted);
    if (!(fit.error < best.error)) return false;
    best = fit;
    return true;
  };
  for (int end = 0; end < ends && largest != 0; ++end) {
    consider(largest / static_cast<float>(kLowest + end));
    consider(largest / static_cast<float>(kHighest - end));
  }
  if (best.scale == 0 && largest != 0) consider(std::copysign(0x1p-24f, largest));
  for (int round = 0; round < kMostRounds && best.scale != 0; ++round) {
    if (!consider(SolveSuperScale<Levels, kGroup>(x, w, best, wanted))) break;
  }
}

template <typename Levels, int kGroup>
void RoundSuperBlock(const float* x, const SuperScale& fit, int8_t* q) {
  for (int j = 0; j < kSuperBlock / kGroup; ++j) {
    RoundTo<Levels, kGroup>(x + j * kGroup, fit.scale * static_cast<float>(fit.scales[j]), q + j * kGroup);
  }
}

}  // namespace inferd::quantize
