// Four floats side by side. The compiler's own vectors: every operation is the IEEE operation on each lane, so results
// are the same with any instruction set.
//
//   Lanes sum{};
//   for (int i = 0; i < n; i += kLanes) sum += Load(x + i) * Load(w + i);
//   float total = Sum(sum);
#pragma once

#include <cstring>

namespace inferd::quantize {

using Lanes = float __attribute__((vector_size(16)));
constexpr int kLanes = 4;

inline Lanes Load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void Store(Lanes v, float* p) { std::memcpy(p, &v, sizeof v); }
inline Lanes Splat(float x) { return Lanes{x, x, x, x}; }
inline float Sum(Lanes v) { return (v[0] + v[1]) + (v[2] + v[3]); }

inline Lanes Clamp(Lanes v, float lowest, float highest) {
  v = v < Splat(lowest) ? Splat(lowest) : v;
  return v > Splat(highest) ? Splat(highest) : v;
}

// To the nearest integer, ties to even, for |v| < 2^22.
inline Lanes Round(Lanes v) { return (v + Splat(0x1.8p23f)) - Splat(0x1.8p23f); }
inline float Round(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

}  // namespace inferd::quantize
