// Activations as the products with quantized weights take them: rows of these blocks, made by quantize_rows.
//
//   auto* row = reinterpret_cast<const ActivationBlock32*>(activations + token * activation_row_bytes(...));
//   float x = row[i / 32].scale * row[i / 32].quants[i % 32];
//
// quants = x * (127 / largest magnitude) to the nearest integer (ties to even); scale = largest magnitude / 127 without
// its two lowest bits, so that three times a power of two times the scale is a float, too. The sums of quants are kept
// because every product needs them: weights that are stored with a bias (unsigned operand of vpdpbusd) take it away by
// -128 * sum, and weights with a minimum multiply it by the sum.
#pragma once

#include <cstdint>

namespace inferd::kernels {

// An integer n of magnitude up to 2^22, added to kShiftedZeroBits, has the bits of the float kShiftedZero + n: a sum
// that starts there needs no conversion, and fma(sum, scale, -kShiftedZero * scale) is n * scale, rounded once.
constexpr float kShiftedZero = 0x1.8p23f;
constexpr int32_t kShiftedZeroBits = 0x4B400000;

struct ActivationBlock32 {
  float scale;
  float scaled_zero;  // -kShiftedZero * scale
  int32_t first_dot;  // kShiftedZeroBits - 128 * sum of quants
  float scaled_sum;   // scale * sum of quants
  int8_t quants[32];  // -127..127
};

struct ActivationBlock256 {
  float scale;
  uint32_t wide;        // the kWide... that hold
  int32_t offsets[16];  // of elements 16i..16i+15: -128 * sum of quants
  int16_t sums16[16];   // of elements 16i..16i+15: sum of quants
  int16_t sums32[8];    // of elements 32i..32i+31: sum of quants
  int8_t quants[256];   // -127..127
};

static_assert(sizeof(ActivationBlock32) == 48 && sizeof(ActivationBlock256) == 376);

// Whether the products of some group of quants with any values of a kind may have a sum beyond 16 bits. That is rare:
// the largest quant is 127, but their mean magnitude is seldom half of that.
constexpr uint32_t kWideUnsigned4 = 1;  // 32 values in 0..15
constexpr uint32_t kWideUnsigned5 = 2;  // 32 values in 0..31
constexpr uint32_t kWideSigned6 = 4;    // 16 values in -32..31

// In place of one of these: the sums of a type's products always fit, or may never be taken to.
constexpr uint32_t kNeverWide = 0, kAlwaysWide = ~uint32_t{0};

// Whether sums of products with some of these blocks may be wide, for a type with one of the above.
template <uint32_t kKind, int kTokens>
static inline __attribute__((always_inline)) bool AnyWide(const ActivationBlock256* const (&y)[kTokens]) {
  if constexpr (kKind == kNeverWide || kKind == kAlwaysWide) return kKind == kAlwaysWide;
  uint32_t wide = 0;
  for (const ActivationBlock256* block : y) wide |= block->wide;
  return (wide & kKind) != 0;
}

// The largest sums of a block's quants that bound its products' sums.
struct LargestSums {
  int32_t magnitudes16 = 0;  // of the magnitudes of 16 elements
  int32_t one_sign32 = 0;    // of the magnitudes of those of 32 elements that have one sign, twice
};

static constexpr __attribute__((always_inline)) uint32_t WideOf(LargestSums largest) {
  constexpr int32_t kMost = INT16_MAX;
  return (largest.one_sign32 > kMost / 15 * 2 ? kWideUnsigned4 : 0) |
         (largest.one_sign32 > kMost / 31 * 2 ? kWideUnsigned5 : 0) |
         (largest.magnitudes16 > kMost / 32 ? kWideSigned6 : 0);
}

// A largest magnitude below this counts as zero, so that 127 / it is finite.
constexpr float kSmallestMagnitude = 0x1p-100f;
// One from here on makes the scale NaN, which spoils the result visibly; so do infinities and NaN.
constexpr float kTooLargeMagnitude = 0x1p100f;

}  // namespace inferd::kernels
