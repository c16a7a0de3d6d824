// The scale of a group of values that makes the error weighted by importance least: x[i] ~ scale * q[i], q of given
// levels. Candidates for the scale, each improved to the least squares of its integers (Lloyd's alternation: for fixed
// integers the best scale is sum(w x q) / sum(w q q); for a fixed scale the best integers are the nearest).
//
//   float scale = FitScale<UniformLevels<-8, 7>, 32>(x, w, SearchOf(5.0f));
//   scale = RefineHalf<UniformLevels<-8, 7>, 32>(x, w, scale);   // the best half beside it
#pragma once

#include <cmath>

#include "engine/quantize/half_scale.h"
#include "engine/quantize/levels.h"

namespace inferd::quantize {

// The largest magnitude of a group is tried at `steps` + 1 levels from `first` to `last`.
struct ScaleSearch {
  float first, last;
  int steps;
};

template <int kCount>
float LargestMagnitude(const float* x) {
  float largest = 0;
  for (int i = 0; i < kCount; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

struct ScaleSums {
  float xq = 0, qq = 0;
  float gain() const { return qq > 0 ? xq * xq / qq : 0; }  // by how much the best scale lowers the error of zeros
};

template <typename Levels, int kCount>
ScaleSums SumsAt(const float* x, const float* w, float inverse) {
  Lanes xq{}, qq{};
  for (int i = 0; i < kCount; i += kLanes) {
    const Lanes value = Load(x + i), q = Levels::Nearest(value * Splat(inverse)), wq = Load(w + i) * q;
    xq += wq * value;
    qq += wq * q;
  }
  return {Sum(xq), Sum(qq)};
}

template <typename Levels, int kCount>
float ErrorAt(const float* x, const float* w, float scale) {
  Lanes sum{};
  const Lanes inverse = Splat(Inverse(scale)), s = Splat(scale);
  for (int i = 0; i < kCount; i += kLanes) {
    const Lanes value = Load(x + i), rest = value - s * Levels::Nearest(value * inverse);
    sum += Load(w + i) * rest * rest;
  }
  return Sum(sum);
}

// 0 for a group of values that no half scale can show.
template <typename Levels, int kCount>
float FitScale(const float* x, const float* w, const ScaleSearch& search) {
  constexpr int kMostRounds = 8;
  const float largest = LargestMagnitude<kCount>(x);
  if (largest < kSmallestValue) return 0;
  ScaleSums best;
  for (int step = 0; step <= search.steps; ++step) {
    const float level = search.first + (search.last - search.first) * static_cast<float>(step) /
                                           static_cast<float>(std::max(search.steps, 1));
    for (const float sign : {1.0f, -1.0f}) {
      const ScaleSums sums = SumsAt<Levels, kCount>(x, w, sign * level / largest);
      if (sums.gain() > best.gain()) best = sums;
      if (Levels::kSymmetric) break;
    }
  }
  for (int round = 0; round < kMostRounds && best.xq != 0; ++round) {
    const ScaleSums sums = SumsAt<Levels, kCount>(x, w, best.qq / best.xq);
    if (!(sums.gain() > best.gain())) break;
    best = sums;
  }
  return best.qq > 0 ? best.xq / best.qq : 0;
}

// The half with the least error among those next to `scale`.
template <typename Levels, int kCount>
float RefineHalf(const float* x, const float* w, float scale) {
  const float nearest = NearestHalf(scale);
  if (nearest == 0) return 0;
  float best = nearest, least = ErrorAt<Levels, kCount>(x, w, nearest);
  for (const int beside : {-2, -1, 1, 2}) {
    const float half = HalfBeside(nearest, beside);
    const float error = ErrorAt<Levels, kCount>(x, w, half);
    if (error < least) {
      least = error;
      best = half;
    }
  }
  return best;
}

template <typename Levels, int kCount>
void RoundTo(const float* x, float scale, int8_t* q) {
  const Lanes inverse = Splat(Inverse(scale));
  for (int i = 0; i < kCount; i += kLanes) {
    const Lanes nearest = Levels::Nearest(Load(x + i) * inverse);
    for (int lane = 0; lane < kLanes; ++lane) q[i + lane] = static_cast<int8_t>(nearest[lane]);
  }
}

}  // namespace inferd::quantize
