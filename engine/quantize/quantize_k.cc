// Types with blocks of 256 and an integer scale for each 16 or 32: Q2_K to Q6_K, IQ4_XS.
#include <cstring>

#include "engine/quantize/block_quantizers.h"
#include "engine/quantize/iq4_levels.h"
#include "engine/quantize/super_block.h"
#include "engine/quantize/super_block_minimum.h"

namespace inferd::quantize {
namespace {

// Bits 0-1 of each integer: 32 bytes hold 128, bits 0-1 the first 32, bits 2-3 the next, and so on.
void PutBitPairs(const int8_t* q, uint8_t* out) {
  std::memset(out, 0, 64);
  for (int i = 0; i < kSuperBlock; ++i) {
    out[i / 128 * 32 + i % 32] |= static_cast<uint8_t>((q[i] & 3) << (i / 32 % 4 * 2));
  }
}

// Bit s of byte i is bit `shift` of the integer i of the s-th 32.
void PutHighBits(const int8_t* q, int shift, uint8_t* out) {
  std::memset(out, 0, 32);
  for (int i = 0; i < kSuperBlock; ++i) out[i % 32] |= static_cast<uint8_t>((q[i] >> shift & 1) << (i / 32));
}

// Bits 0-3: each 32 bytes hold 64 integers, low nibbles the first 32.
void PutNibbles(const int8_t* q, uint8_t* out) {
  for (int i = 0; i < 128; ++i) {
    const int8_t* pair = q + i / 32 * 64 + i % 32;
    out[i] = static_cast<uint8_t>((pair[0] & 15) | (pair[32] & 15) << 4);
  }
}

// Eight pairs of six-bit scale and minimum in 12 bytes.
void PutSixBitPairs(const int* scales, const int* minimums, uint8_t* out) {
  for (int j = 0; j < 4; ++j) {
    out[j] = static_cast<uint8_t>(scales[j] | (scales[j + 4] >> 4) << 6);
    out[j + 4] = static_cast<uint8_t>(minimums[j] | (minimums[j + 4] >> 4) << 6);
    out[j + 8] = static_cast<uint8_t>((scales[j + 4] & 15) | (minimums[j + 4] & 15) << 4);
  }
}

void AddToAll(int value, int8_t* q) {
  for (int i = 0; i < kSuperBlock; ++i) q[i] = static_cast<int8_t>(q[i] + value);
}

}  // namespace

void QuantizeQ2_K(const float* x, const float* w, uint8_t* block) {
  SuperAffine fit;
  FitSuperAffine<3, 16, 15>(x, w, {.group = {.reach = 1.2f, .steps = 16, .clips = 3}, .ends = 5, .width = 1}, fit);
  for (int j = 0; j < 16; ++j) block[j] = static_cast<uint8_t>(fit.scales[j] | fit.minimums[j] << 4);
  int8_t q[kSuperBlock];
  RoundSuperAffine<3, 16>(x, fit, q);
  PutBitPairs(q, block + 16);
  PutHalf(fit.scale, block + 80);
  PutHalf(fit.minimum, block + 82);
}

void QuantizeQ3_K(const float* x, const float* w, uint8_t* block) {
  using Levels = UniformLevels<-4, 3>;
  SuperScale fit;
  FitSuperScale<Levels, 16, -32, 31>(x, w, {1.8f, 4.6f, 16}, 6, fit);
  int8_t q[kSuperBlock];
  RoundSuperBlock<Levels, 16>(x, fit, q);
  AddToAll(4, q);
  PutHighBits(q, 2, block);
  PutBitPairs(q, block + 32);
  uint8_t* scales = block + 96;
  std::memset(scales, 0, 12);
  for (int j = 0; j < 16; ++j) {
    const int scale = fit.scales[j] + 32;
    scales[j % 8] |= static_cast<uint8_t>((scale & 15) << (j / 8 * 4));
    scales[8 + j % 4] |= static_cast<uint8_t>((scale >> 4) << (j / 4 * 2));
  }
  PutHalf(fit.scale, block + 108);
}

void QuantizeQ4_K(const float* x, const float* w, uint8_t* block) {
  SuperAffine fit;
  FitSuperAffine<15, 32, 63>(x, w, {.group = {.reach = 1.5f, .steps = 20, .clips = 2}, .ends = 3, .width = 1}, fit);
  PutHalf(fit.scale, block);
  PutHalf(fit.minimum, block + 2);
  PutSixBitPairs(fit.scales, fit.minimums, block + 4);
  int8_t q[kSuperBlock];
  RoundSuperAffine<15, 32>(x, fit, q);
  PutNibbles(q, block + 16);
}

void QuantizeQ5_K(const float* x, const float* w, uint8_t* block) {
  SuperAffine fit;
  FitSuperAffine<31, 32, 63>(x, w, {.group = {.reach = 1.5f, .steps = 20, .clips = 1}, .ends = 3, .width = 1}, fit);
  PutHalf(fit.scale, block);
  PutHalf(fit.minimum, block + 2);
  PutSixBitPairs(fit.scales, fit.minimums, block + 4);
  int8_t q[kSuperBlock];
  RoundSuperAffine<31, 32>(x, fit, q);
  PutHighBits(q, 4, block + 16);
  PutNibbles(q, block + 48);
}

void QuantizeQ6_K(const float* x, const float* w, uint8_t* block) {
  using Levels = UniformLevels<-32, 31>;
  SuperScale fit;
  FitSuperScale<Levels, 16, -128, 127>(x, w, {26.0f, 32.8f, 24}, 4, fit);
  int8_t q[kSuperBlock];
  RoundSuperBlock<Levels, 16>(x, fit, q);
  AddToAll(32, q);
  std::memset(block, 0, 192);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int half = i / 128, place = i % 128;
    block[64 * half + place % 64] |= static_cast<uint8_t>((q[i] & 15) << (place / 64 * 4));
    block[128 + 32 * half + place % 32] |= static_cast<uint8_t>((q[i] >> 4) << (place / 32 * 2));
  }
  for (int j = 0; j < 16; ++j) block[192 + j] = static_cast<uint8_t>(fit.scales[j]);
  PutHalf(fit.scale, block + 208);
}

void QuantizeIQ4_XS(const float* x, const float* w, uint8_t* block) {
  SuperScale fit;
  FitSuperScale<Iq4Levels, 32, -32, 31>(x, w, kIq4Search, 3, fit);
  int8_t q[kSuperBlock];
  RoundSuperBlock<Iq4Levels, 32>(x, fit, q);
  PutHalf(fit.scale, block);
  std::memset(block + 2, 0, 6);
  uint32_t high_bits = 0;
  for (int j = 0; j < 8; ++j) {
    const int scale = fit.scales[j] + 32;
    block[4 + j / 2] |= static_cast<uint8_t>((scale & 15) << (j % 2 * 4));
    high_bits |= static_cast<uint32_t>(scale >> 4) << (2 * j);
  }
  Put16(high_bits, block + 2);
  for (int i = 0; i < 128; ++i) {
    const int8_t* pair = q + i / 16 * 32 + i % 16;
    block[8 + i] = static_cast<uint8_t>(Iq4Code(pair[0]) | Iq4Code(pair[16]) << 4);
  }
}

}  // namespace inferd::quantize
