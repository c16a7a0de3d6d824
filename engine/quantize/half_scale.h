// Scales as the files hold them: IEEE binary16, never infinite.
//
//   float scale = NearestHalf(fitted);      // the value that a reader will see
//   PutHalf(scale, block);
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/reference/half.h"

namespace inferd::quantize {

constexpr float kLargestHalf = 65504.0f;
// A group of values below half of the smallest positive half is nothing but zeros to every type with half scales.
constexpr float kSmallestValue = 0x1p-25f;

inline uint16_t HalfBits(float x) {
  return kernels::reference::HalfFromFloat(std::clamp(x, -kLargestHalf, kLargestHalf));
}
inline float NearestHalf(float x) { return kernels::reference::FloatFromHalf(HalfBits(x)); }
// The half that is `steps` above (in magnitude) a half, of the same sign; the half itself where there is none.
inline float HalfBeside(float half, int steps) {
  const uint16_t bits = HalfBits(half);
  const int magnitude = (bits & 0x7FFF) + steps;
  if (magnitude < 1 || magnitude > 0x7BFF) return half;
  return kernels::reference::FloatFromHalf(static_cast<uint16_t>((bits & 0x8000) | magnitude));
}
inline void Put16(uint32_t value, uint8_t* out) {
  out[0] = static_cast<uint8_t>(value);
  out[1] = static_cast<uint8_t>(value >> 8);
}
inline void PutHalf(float x, uint8_t* out) { Put16(HalfBits(x), out); }
inline float Inverse(float scale) { return scale == 0 ? 0.0f : 1.0f / scale; }

}  // namespace inferd::quantize
