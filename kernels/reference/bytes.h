// Little-endian fields at any address.
#pragma once

#include <cstdint>

#include "kernels/reference/half.h"

namespace inferd::kernels::reference {

inline uint16_t Load16(const uint8_t* p) { return static_cast<uint16_t>(p[0] | p[1] << 8); }
inline uint32_t Load32(const uint8_t* p) { return Load16(p) | static_cast<uint32_t>(Load16(p + 2)) << 16; }
inline float LoadHalf(const uint8_t* p) { return FloatFromHalf(Load16(p)); }
inline float LoadBfloat(const uint8_t* p) { return std::bit_cast<float>(static_cast<uint32_t>(Load16(p)) << 16); }
inline float LoadFloat(const uint8_t* p) { return std::bit_cast<float>(Load32(p)); }

}  // namespace inferd::kernels::reference
