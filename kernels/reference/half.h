// IEEE binary16 to and from f32, to nearest even, as the conversion instructions do it.
#pragma once

#include <bit>
#include <cstdint>

namespace inferd::kernels::reference {

inline float FloatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t fraction = half & 0x3FFu;
  if (exponent == 31) {  // infinity, NaN (made quiet)
    return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13 | (fraction != 0 ? 0x400000u : 0));
  }
  if (exponent == 0) {  // subnormal: fraction * 2^-24, exact
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

inline uint16_t HalfFromFloat(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7E00u | static_cast<uint16_t>((magnitude >> 13) & 0x3FFu);
  if (magnitude >= 0x47800000u) return sign | 0x7C00u;  // 65536 and more
  if (magnitude < 0x38800000u) {                        // subnormal: adding 0.5 leaves its 10 bits, rounded, in place
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3F000000u);
  }
  const uint32_t rounded = magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>(rounded >> 13);  // a carry out of the largest fraction gives infinity
}

}  // namespace inferd::kernels::reference
