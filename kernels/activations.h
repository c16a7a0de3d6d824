// Activations as the products with quantized weights take them: rows of these blocks, made by quantize_rows.
//
//   auto* row = reinterpret_cast<const ActivationBlock32*>(activations + token * activation_row_bytes(...));
//   float x = row[i / 32].scale * row[i / 32].quants[i % 32];
//
// quants = x * (127 / largest magnitude) to the nearest integer (ties to even); scale = largest magnitude / 127. The
// sums of quants are kept because every product needs them: weights that are stored with a bias (unsigned operand of
// vpdpbusd) start their accumulator at -128 * sum, and weights with a minimum multiply it by the sum.
#pragma once

#include <cstdint>

namespace inferd::kernels {

struct ActivationBlock32 {
  float scale;
  int32_t offset;     // -128 * sum of quants
  float scaled_sum;   // scale * sum of quants
  int8_t quants[32];  // -127..127
};

struct ActivationBlock256 {
  float scale;
  int32_t offsets[16];  // of elements 16i..16i+15: -128 * sum of quants
  int16_t sums16[16];   // of elements 16i..16i+15: sum of quants
  int16_t sums32[8];    // of elements 32i..32i+31: sum of quants
  int8_t quants[256];   // -127..127
};

static_assert(sizeof(ActivationBlock32) == 44 && sizeof(ActivationBlock256) == 372);

// A largest magnitude below this counts as zero, so that 127 / it is finite.
constexpr float kSmallestMagnitude = 0x1p-100f;

}  // namespace inferd::kernels
