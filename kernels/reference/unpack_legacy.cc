// Types with a float scale for each 32 elements, or for each 16: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, MXFP4, NVFP4.
#include <bit>

#include "kernels/reference/bytes.h"
#include "kernels/reference/unpack.h"

namespace inferd::kernels::reference {
namespace {

void SetScale(float scale, IntegerBlock& block) { block.group_scales[0] = block.group_scales[1] = scale; }

// Nibbles: the low ones are elements 0..15, the high ones 16..31.
void Nibbles(const uint8_t* bytes, IntegerBlock& block) {
  for (int i = 0; i < 16; ++i) {
    block.values[i] = bytes[i] & 15;
    block.values[i + 16] = bytes[i] >> 4;
  }
}

void AddFifthBits(uint32_t bits, IntegerBlock& block) {
  for (int i = 0; i < 32; ++i) block.values[i] += static_cast<int8_t>((bits >> i & 1) << 4);
}

void Subtract(int8_t bias, IntegerBlock& block) {
  for (int i = 0; i < 32; ++i) block.values[i] -= bias;
}

// Eight times a non-negative float of 3 fraction bits is 2^(exponent-1) * (8 + fraction): `byte` holds 4 + 3 bits with
// bias 7; 0x7F is not a number and counts as 0. The factor one half belongs to kMxfp4Values.
float HalfOfE4m3(uint8_t byte) {
  const uint32_t exponent = byte >> 3 & 15, fraction = byte & 7;
  if (byte == 0x7F) return 0.0f;
  if (exponent == 0) return static_cast<float>(fraction) * 0x1p-10f;
  return static_cast<float>(8 + fraction) * std::bit_cast<float>((exponent + 127 - 11) << 23);
}

}  // namespace

void UnpackQ4_0(const uint8_t* bytes, IntegerBlock& block) {
  SetScale(LoadHalf(bytes), block);
  Nibbles(bytes + 2, block);
  Subtract(8, block);
}

void UnpackQ4_1(const uint8_t* bytes, IntegerBlock& block) {
  SetScale(LoadHalf(bytes), block);
  block.added = LoadHalf(bytes + 2);
  Nibbles(bytes + 4, block);
}

void UnpackQ5_0(const uint8_t* bytes, IntegerBlock& block) {
  SetScale(LoadHalf(bytes), block);
  Nibbles(bytes + 6, block);
  AddFifthBits(Load32(bytes + 2), block);
  Subtract(16, block);
}

void UnpackQ5_1(const uint8_t* bytes, IntegerBlock& block) {
  SetScale(LoadHalf(bytes), block);
  block.added = LoadHalf(bytes + 2);
  Nibbles(bytes + 8, block);
  AddFifthBits(Load32(bytes + 4), block);
}

void UnpackQ8_0(const uint8_t* bytes, IntegerBlock& block) {
  SetScale(LoadHalf(bytes), block);
  for (int i = 0; i < 32; ++i) block.values[i] = static_cast<int8_t>(bytes[2 + i]);
}

void UnpackIQ4_NL(const uint8_t* bytes, IntegerBlock& block) {
  SetScale(LoadHalf(bytes), block);
  for (int i = 0; i < 16; ++i) {
    block.values[i] = kIq4Values[bytes[2 + i] & 15];
    block.values[i + 16] = kIq4Values[bytes[2 + i] >> 4];
  }
}

// The scale is 2^(byte - 127), halved because kMxfp4Values are doubled; subnormal for 0 and 1.
void UnpackMXFP4(const uint8_t* bytes, IntegerBlock& block) {
  const uint32_t exponent = bytes[0];
  SetScale(std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23), block);
  for (int i = 0; i < 16; ++i) {
    block.values[i] = kMxfp4Values[bytes[1 + i] & 15];
    block.values[i + 16] = kMxfp4Values[bytes[1 + i] >> 4];
  }
}

void UnpackNVFP4(const uint8_t* bytes, IntegerBlock& block) {
  for (int group = 0; group < 4; ++group) {
    block.group_scales[group] = HalfOfE4m3(bytes[group]);
    for (int i = 0; i < 8; ++i) {
      const uint8_t pair = bytes[4 + 8 * group + i];
      block.values[16 * group + i] = kMxfp4Values[pair & 15];
      block.values[16 * group + 8 + i] = kMxfp4Values[pair >> 4];
    }
  }
}

}  // namespace inferd::kernels::reference
