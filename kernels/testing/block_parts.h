// Where the blocks of the quantized types keep their floats and their integer scales; all else are values.
//
//   const BlockParts& parts = PartsOf(TensorType::kQ4_K);
//   for (int i = 0; i < HalvesIn(parts); ++i) PutHalf(parts, block, i, 0x3C00);   // 1.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quant_types.h"

namespace inferd::kernels::testing {

// Byte offsets in a block. MXFP4 and NVFP4 have scales of one byte and no halves; the half of IQ1_M lies in the high
// nibbles of its scales' second bytes.
struct BlockParts {
  TensorType type;
  size_t halves_begin, halves_end, scales_begin, scales_end;
};

constexpr BlockParts kBlockParts[] = {
    {TensorType::kQ4_0, 0, 2, 0, 0},         {TensorType::kQ4_1, 0, 4, 0, 0},      {TensorType::kQ5_0, 0, 2, 0, 0},
    {TensorType::kQ5_1, 0, 4, 0, 0},         {TensorType::kQ8_0, 0, 2, 0, 0},      {TensorType::kIQ4_NL, 0, 2, 0, 0},
    {TensorType::kMXFP4, 0, 0, 0, 1},        {TensorType::kNVFP4, 0, 0, 0, 4},     {TensorType::kQ2_K, 80, 84, 0, 16},
    {TensorType::kQ3_K, 108, 110, 96, 108},  {TensorType::kQ4_K, 0, 4, 4, 16},     {TensorType::kQ5_K, 0, 4, 4, 16},
    {TensorType::kQ6_K, 208, 210, 192, 208}, {TensorType::kIQ1_S, 0, 2, 34, 50},   {TensorType::kIQ1_M, 0, 0, 48, 56},
    {TensorType::kIQ2_XXS, 0, 2, 0, 0},      {TensorType::kIQ2_XS, 0, 2, 66, 74},  {TensorType::kIQ2_S, 0, 2, 74, 82},
    {TensorType::kIQ3_XXS, 0, 2, 66, 98},    {TensorType::kIQ3_S, 0, 2, 106, 110}, {TensorType::kIQ4_XS, 0, 2, 2, 8},
    {TensorType::kTQ1_0, 52, 54, 0, 0},      {TensorType::kTQ2_0, 64, 66, 0, 0},
};

constexpr const BlockParts& PartsOf(TensorType type) {
  const BlockParts* parts = kBlockParts;
  while (parts->type != type) ++parts;
  return *parts;
}

constexpr int HalvesIn(const BlockParts& parts) {
  return parts.type == TensorType::kIQ1_M ? 1 : static_cast<int>(parts.halves_end - parts.halves_begin) / 2;
}

inline uint16_t GetHalf(const BlockParts& parts, const uint8_t* block, int index) {
  if (parts.type == TensorType::kIQ1_M) {
    int half = 0;
    for (int i = 0; i < 4; ++i) half |= block[49 + 2 * i] >> 4 << (4 * i);
    return static_cast<uint16_t>(half);
  }
  const uint8_t* at = block + parts.halves_begin + 2 * index;
  return static_cast<uint16_t>(at[0] | at[1] << 8);
}

inline void PutHalf(const BlockParts& parts, uint8_t* block, int index, uint16_t half) {
  if (parts.type == TensorType::kIQ1_M) {
    for (int i = 0; i < 4; ++i) {
      uint8_t& byte = block[49 + 2 * i];
      byte = static_cast<uint8_t>((byte & 15) | (half >> (4 * i) & 15) << 4);
    }
    return;
  }
  uint8_t* at = block + parts.halves_begin + 2 * index;
  at[0] = static_cast<uint8_t>(half);
  at[1] = static_cast<uint8_t>(half >> 8);
}

}  // namespace inferd::kernels::testing
