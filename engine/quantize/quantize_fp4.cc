// Types whose values come from a short table, for 32 or 64 values: IQ4_NL, MXFP4, NVFP4.
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/quantize/block_quantizers.h"
#include "engine/quantize/fit_scale.h"
#include "engine/quantize/iq4_levels.h"

namespace inferd::quantize {
namespace {

// FP4 (E2M1), doubled.
struct Fp4Table {
  static constexpr int8_t kValues[15] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
};
using Fp4Levels = TableLevels<Fp4Table>;

// Bit 3 is the sign, the others count 0, 1, 2, 3, 4, 6, 8, 12.
uint8_t Fp4Code(int8_t value) {
  constexpr uint8_t kCodes[13] = {0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7};
  return value < 0 ? static_cast<uint8_t>(8 | kCodes[-value]) : kCodes[value];
}

constexpr int kSmallestExponent = 2, kLargestExponent = 254;  // below, the scale has no inverse
float HalfOfPower(int exponent) { return std::bit_cast<float>(static_cast<uint32_t>(exponent - 1) << 23); }

// Half of E4M3 with bias 7 (no sign), codes 0..0x7E.
float HalfOfE4m3(int code) {
  const int exponent = code >> 3, fraction = code & 7;
  if (exponent == 0) return std::ldexp(static_cast<float>(fraction), -10);
  return std::ldexp(static_cast<float>(8 + fraction), exponent - 11);
}

constexpr int kLargestE4m3 = 0x7E;

int LeastErrorE4m3(const float* x, const float* w) {
  const float largest = LargestMagnitude<16>(x);
  int best = 0;
  float least = ErrorAt<Fp4Levels, 16>(x, w, 0.0f);
  for (int code = 1; code <= kLargestE4m3; ++code) {
    const float scale = HalfOfE4m3(code);
    if (scale * 24 < largest && code < kLargestE4m3) continue;  // clips more than half of the largest away
    const float error = ErrorAt<Fp4Levels, 16>(x, w, scale);
    if (error < least) {
      least = error;
      best = code;
    }
    if (scale * 4 > largest) break;
  }
  return best;
}

}  // namespace

void QuantizeIQ4_NL(const float* x, const float* w, uint8_t* block) {
  const float scale = RefineHalf<Iq4Levels, 32>(x, w, FitScale<Iq4Levels, 32>(x, w, kIq4Search));
  PutHalf(scale, block);
  int8_t q[32];
  RoundTo<Iq4Levels, 32>(x, scale, q);
  for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<uint8_t>(Iq4Code(q[i]) | Iq4Code(q[i + 16]) << 4);
}

void QuantizeMXFP4(const float* x, const float* w, uint8_t* block) {
  const float largest = LargestMagnitude<32>(x);
  if (largest == 0) {
    std::memset(block, 0, 17);
    return;
  }
  const int middle = std::ilogb(largest) + 125;  // the largest at 4 to 8 of 6
  int best = kSmallestExponent;
  float least = ErrorAt<Fp4Levels, 32>(x, w, HalfOfPower(best));
  for (int exponent = std::max(middle - 2, best); exponent <= std::min(middle + 2, kLargestExponent); ++exponent) {
    const float error = ErrorAt<Fp4Levels, 32>(x, w, HalfOfPower(exponent));
    if (error < least) {
      least = error;
      best = exponent;
    }
  }
  block[0] = static_cast<uint8_t>(best);
  int8_t q[32];
  RoundTo<Fp4Levels, 32>(x, HalfOfPower(best), q);
  for (int i = 0; i < 16; ++i) block[1 + i] = static_cast<uint8_t>(Fp4Code(q[i]) | Fp4Code(q[i + 16]) << 4);
}

void QuantizeNVFP4(const float* x, const float* w, uint8_t* block) {
  for (int group = 0; group < 4; ++group, x += 16, w += 16) {
    const int code = LeastErrorE4m3(x, w);
    block[group] = static_cast<uint8_t>(code);
    int8_t q[16];
    RoundTo<Fp4Levels, 16>(x, HalfOfE4m3(code), q);
    for (int i = 0; i < 8; ++i) {
      block[4 + 8 * group + i] = static_cast<uint8_t>(Fp4Code(q[i]) | Fp4Code(q[i + 8]) << 4);
    }
  }
}

}  // namespace inferd::quantize
